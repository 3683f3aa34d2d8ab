"""What the adapter says while dbt runs: warnings that count, and what a silence is for."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

from dbt.adapters.events.types import AdapterEventWarning
from dbt_common.events.contextvars import get_node_info
from dbt_common.events.functions import fire_event, warn_or_error
from dbt_common.events.types import Note

_PATIENCE = 3.0  # seconds of silence before what is waited for is said


def warn(text: str) -> None:
    """Warn the user.

    Raises:
        EventCompilationError: if dbt's `--warn-error` or `warn_error_options` make it an error.
    """
    warn_or_error(
        AdapterEventWarning(name="SparkIvm", base_msg=text, args=[], node_info=get_node_info())
    )


def say(text: str) -> None:
    """Tell the user what is being done, at dbt's level info."""
    fire_event(Note(msg=text))


@contextmanager
def waiting(text: str) -> Generator[None, None, None]:
    """Say what is waited for, once, if it takes longer than a few seconds."""
    timer = threading.Timer(_PATIENCE, say, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
