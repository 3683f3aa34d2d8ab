"""Drawings of models that were made for an earlier page, and are the same still.

To plan a model takes most of a page's time. A drawing follows from the model's text, from what its
state was built for (its bookmark's fingerprint has plan, types and layout), and from this package.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dbt.adapters.sparkivm.__version__ import version
from python_ivm.refresh.metadata.versions import state_history
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.request import Request
from python_ivm.state.bookmark import digest

SETTLED = frozenset({"UNCHANGED", "CHANGED"})
"""Reasons of a next refresh that say that query, views and state are those of the last one."""


class Drawn:
    """The drawings of a project, kept in a file.

    Args:
        file: Where they are kept; a broken one counts as none. None keeps none.
    """

    def __init__(self, file: Path | None) -> None:
        """Read what was kept."""
        self._file = file
        self._kept = _read(file) if file is not None else {}
        self._used: dict[str, Any] = {}

    def of(
        self,
        request: Request,
        warehouse: Warehouse,
        reason: str,
        draw: Callable[[], Mapping[str, Any]],
    ) -> Mapping[str, Any]:
        """A model's drawing.

        Args:
            request: The model.
            warehouse: Is asked for its bookmark.
            reason: The code of why its next refresh would do what it does.
            draw: Draws it.
        """
        bookmark = state_history(warehouse, request.state).bookmark if reason in SETTLED else None
        if bookmark is None:
            return draw()
        names = (request.view, request.state)
        key = digest(version, request.sql, dict(request.settings), bookmark.fingerprint, names)
        self._used[key] = self._kept[key] if key in self._kept else draw()
        found: Mapping[str, Any] = self._used[key]
        return found

    def keep(self) -> None:
        """Write those that were asked for."""
        if self._file is None or self._used == self._kept:
            return
        with suppress(OSError):  # the next page then draws them again
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(json.dumps(self._used), encoding="utf-8")


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
