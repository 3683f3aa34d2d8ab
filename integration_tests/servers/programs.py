"""What the servers' programs share: a port, the wait for a start, and to stay until Ctrl-C."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

HOST = "127.0.0.1"
_POLL = 0.2  # seconds


def free_port() -> int:
    """A port of :data:`HOST` that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def await_start(
    name: str,
    process: subprocess.Popen[bytes],
    log: Path,
    has_started: Callable[[], bool],
    patience: float,
) -> None:
    """Wait until a server has started.

    Args:
        name: The server, for the message.
        process: It.
        log: Where it writes.
        has_started: Looks whether it has.
        patience: How long to wait, in seconds.

    Raises:
        RuntimeError: If it ended, or has not started by then; with the end of its log.
    """
    end = time.monotonic() + patience
    while time.monotonic() < end and process.poll() is None:
        if has_started():
            return
        time.sleep(_POLL)
    raise RuntimeError(f"{name} does not start: {log.read_text()[-2000:]}")


def stay() -> None:
    """Wait for Ctrl-C."""
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        pass
