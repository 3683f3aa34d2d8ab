"""What is known of a project's resident Spark: where it listens, its token, whether it runs.

One file in the project's folder says it. Whoever starts the server locks the file, and the server
inherits the lock and holds it for as long as it lives: so no crash and no reused process number can
make a dead server look alive. Nothing here imports Spark.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

_FILE = "server.json"


@dataclass(frozen=True)
class Resident:
    """A resident Spark that runs.

    Attributes:
        pid: its process.
        port: on this machine's loopback.
        token: without which it answers nobody.
        requested: the settings that the profile of its start asked for.
        ready: whether it has opened its metastore.
    """

    pid: int
    port: int
    token: str
    requested: tuple[str, ...] = ()
    ready: bool = False

    @property
    def url(self) -> str:
        """Its address, for clients of Spark Connect; the token is told apart from it."""
        return f"sc://localhost:{self.port}"


class AlreadyLocked(Exception):
    """Another process starts or is the resident Spark."""


def find(folder: Path) -> Resident | None:
    """The resident Spark of a project, if it runs or starts.

    Args:
        folder: `.sparkivm` of the project.
    """
    try:
        with state_file(folder).open("rb") as file:
            if _lock(file, exclusive=False):
                return None
            content = json.load(file)
        return Resident(**{**content, "requested": tuple(content["requested"])})
    except (OSError, ValueError, KeyError, TypeError):
        return None  # there is none, or its start is still writing


def holder(folder: Path) -> str | None:
    """How to call the resident Spark of a project in a message; None if none runs."""
    found = find(folder)
    return None if found is None else f"The resident Spark (process {found.pid}, {found.url})"


def state_file(folder: Path) -> Path:
    """The file that says where the server listens; only its owner may read it."""
    return folder / _FILE


def is_locked(folder: Path) -> bool:
    """Whether a server runs or starts, even if nothing is known of it yet."""
    try:
        with state_file(folder).open("rb") as file:
            return not _lock(file, exclusive=False)
    except OSError:
        return False


@contextmanager
def locked(folder: Path) -> Generator[IO[bytes]]:
    """Hold the state file's lock, which a child process given its descriptor inherits.

    Raises:
        AlreadyLocked: another process holds it.
    """
    path = state_file(folder)
    # Made with these rights, not given them later: the token must at no time be readable.
    file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0)
    with file:
        os.chmod(path, 0o600)
        if not _lock(file, exclusive=True):
            raise AlreadyLocked
        file.truncate(0)
        yield file


def write(file: IO[bytes], resident: Resident) -> None:
    """Say where the server listens, in the locked file."""
    content = json.dumps(asdict(resident)).encode()
    file.seek(0)
    file.write(content)
    file.truncate(len(content))


def _lock(file: IO[bytes], *, exclusive: bool) -> bool:
    """Try to lock an open file; closing it gives the lock back, unless a child has it too."""
    try:
        import fcntl  # not on Windows, where there are no resident servers
    except ImportError:
        return True
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
