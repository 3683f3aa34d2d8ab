"""A disk of a few megabytes, and processes that see it."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
_MOUNTS = (
    ["unshare", "--mount"],
    ["unshare", "--user", "--map-root-user", "--mount"],
)
_TIMEOUT = 540  # seconds


class SmallDisk:
    """A file system of limited size, of which a ballast file takes all but what is to be left.

    It goes with the last process that sees it, so that nothing has to be unmounted.

    Args:
        folder: Where it is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def mount(self, megabytes: int) -> SmallDisk:
        """Make it, of this size."""
        self.folder.mkdir(parents=True, exist_ok=True)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(self.folder)]
        subprocess.run(mount, check=True)
        return self

    def leave(self, kilobytes: int) -> None:
        """Fill it, but for so much."""
        self.free()
        found = os.statvfs(self.folder)
        with self._ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, found.f_bavail * found.f_frsize - kilobytes * 1024)

    def free(self) -> None:
        """Make room."""
        self._ballast.unlink(missing_ok=True)


@cache
def _unshare() -> list[str] | None:
    """The command before one that may mount; None where nobody may."""
    for command in _MOUNTS:
        try:
            probe = [*command, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
            if subprocess.run(probe, capture_output=True).returncode == 0:
                return command
        except OSError:  # no such command
            return None
    return None


def with_small_disk(module: str, *arguments: str) -> None:
    """Run a module in a process of its own that may mount, and fail if it does."""
    command = _unshare()
    if command is None:
        pytest.skip("this user may mount no file system, even in a namespace of its own")
    own_process(module, *arguments, before=command)


def own_process(module: str, *arguments: str, before: list[str] | None = None) -> None:
    """Run a module in a process of its own, with a Spark of its own, and fail if it does."""
    ran = subprocess.run(
        [*(before or []), sys.executable, "-m", module, *arguments],
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_TIMEOUT,
    )
    assert ran.returncode == 0, ran.stdout[-6000:]
