"""What is known of a project's resident Spark: where it listens, its token, whether it runs.

One file in the project's folder says it. Whoever starts the server locks the file, and the server
inherits the lock and holds it for as long as it lives: so no crash and no reused process number can
make a dead server look alive. A second file is locked by all processes that use the server, for as
long as they live: so an idle one is known. Nothing here imports Spark.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO

_FILE = "server.json"
_USERS = "server.users"


@dataclass(frozen=True)
class Resident:
    """A resident Spark that runs.

    Attributes:
        pid: its process.
        port: on this machine's loopback.
        token: without which it answers nobody.
        requested: the settings that the profile of its start asked for.
        ready: whether it has opened its metastore.
        fingerprint: of the settings and versions that only a restart can change.
        idle_minutes: after how long without use it ends; None if it stays until it is stopped.
    """

    pid: int
    port: int
    token: str
    requested: tuple[str, ...] = ()
    ready: bool = False
    fingerprint: str = ""
    idle_minutes: float | None = None

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
        known = {field.name for field in fields(Resident)}  # another version may say more
        content = {name: value for name, value in content.items() if name in known}
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


def users_file(folder: Path) -> Path:
    """The file that all users of the server lock; its time is that of the last one's coming."""
    return folder / _USERS


class Use:
    """A process's use of the resident Spark, until it is closed or the process ends."""

    def __init__(self, folder: Path) -> None:
        """Come; waits while somebody stops the server because nobody uses it."""
        path = users_file(folder)
        self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0)
        _wait_for_lock(self._file)
        os.utime(path)

    def close(self) -> None:
        """Go."""
        self._file.close()

    @contextmanager
    def alone(self) -> Generator[bool]:
        """Keep others from coming for a moment; gives whether nobody else uses the server."""
        alone = _lock(self._file, exclusive=True)
        try:
            yield alone
        finally:
            _wait_for_lock(self._file)  # an attempt that failed may have lost the lock, too


_uses: dict[Path, Use] = {}
_coming = threading.Lock()


def used(folder: Path) -> Use:
    """This process's use of a project's resident Spark, from the first call on."""
    with _coming:
        if folder not in _uses:
            _uses[folder] = Use(folder)
        return _uses[folder]


def _wait_for_lock(file: IO[bytes]) -> None:
    import fcntl

    fcntl.flock(file, fcntl.LOCK_SH)


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
