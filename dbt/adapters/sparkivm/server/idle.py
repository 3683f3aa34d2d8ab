"""Ends a resident Spark that nobody uses, in a small process of its own.

It runs as a script, by its path, and imports nothing but Python's own modules: it stays for hours,
and an import of dbt takes a hundred megabytes.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

_POLL = 2.0  # seconds
_ENDING_POLL = 0.2
_PATIENCE = 30.0
_WATCHES = "server.idle"


def watch(folder: Path, minutes: float) -> None:
    """Have a resident Spark end after some time without use.

    Args:
        folder: `.sparkivm` of the project.
        minutes: how long it may be idle.
    """
    with (folder / "server.log").open("ab") as log:
        subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(folder), str(minutes)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def is_watched(folder: Path) -> bool:
    """Whether such a process looks at the project's server."""
    try:
        with (folder / _WATCHES).open("rb") as file:
            return not _locked(file.fileno(), exclusive=False)
    except OSError:
        return False


def _locked(descriptor: int, *, exclusive: bool) -> bool:
    """Try to lock an open file."""
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _runs(server: int) -> bool:
    """Whether the server lives: it holds the lock on this file."""
    if not _locked(server, exclusive=False):
        return True
    fcntl.flock(server, fcntl.LOCK_UN)
    return False


def _run(folder: Path, minutes: float) -> None:
    """Look at the server until it has ended, or was idle for so long.

    It may have been killed meanwhile, and another one started in its place.
    """
    watches = os.open(folder / _WATCHES, os.O_RDWR | os.O_CREAT, 0o600)
    if not _locked(watches, exclusive=True):
        return  # another one looks at it
    server = os.open(folder / "server.json", os.O_RDONLY)
    users = os.open(folder / "server.users", os.O_RDWR | os.O_CREAT, 0o600)
    used = time.time()
    while _runs(server):
        time.sleep(min(_POLL, minutes * 60 / 4))
        if not _locked(users, exclusive=True):
            used = time.time()
            continue
        # Nobody can come while the lock is held; who waits for it finds no server afterwards.
        idle = time.time() - max(used, os.fstat(users).st_mtime)
        if idle >= minutes * 60:
            print(f"Ended after {minutes:g} minutes without use.", flush=True)
            end_process(_pid(server), lambda: _runs(server))
            return
        fcntl.flock(users, fcntl.LOCK_UN)


def _pid(server: int) -> int:
    """The process that the server's file names; while its lock is held, the number is its own.

    Nobody starts one meanwhile, as who comes has to wait.
    """
    return int(json.loads(os.pread(server, os.fstat(server).st_size, 0))["pid"])


def end_process(pid: int, runs: Callable[[], bool]) -> bool:
    """Ask a process to end, and kill it if it does not.

    Args:
        pid: Its number.
        runs: Whether it still lives.

    Returns:
        Whether it has ended.
    """
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            if not runs():
                return True
            time.sleep(_ENDING_POLL)
    return False


if __name__ == "__main__":
    _run(Path(sys.argv[1]), float(sys.argv[2]))
