"""How much a refresh reads: the fixed costs of a statement count where it is little."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence

from python_ivm.algebra.nodes import At, Node
from python_ivm.delta.reads import Read, reads
from python_ivm.refresh.model import Model
from python_ivm.sources.history import DataFile, SourceChange
from python_ivm.state.layout import STATE

FEW_ROWS = 20_000
"""Changed rows, of all sources together."""
FEW_BYTES = 32 * 2**20
"""Bytes of the tables that are read whole, as Delta has stored them."""
STATE_WEIGHT = 3
"""A byte of a state counts for so many: its rows are short, some numbers without texts."""
_APART = 1.5
"""In at most so many files, on average, lies a value of a column by which a table is laid out."""
_TARGET = Read(STATE, At.PRE)


class ReadVolume:
    """How much a refresh reads, as far as histories, sizes and statistics of files tell."""

    def __init__(self, model: Model, changes: Iterable[SourceChange]) -> None:
        """Take the model, and what happened to the sources whose change is read."""
        self._model = model
        self._rows = [change.rows for change in changes]

    def is_little(self, plan: Node) -> bool:
        """Whether a MERGE reads few rows.

        Of its target Delta reads whole files, whatever the condition.

        Args:
            plan: The plan of its source.
        """
        if any(rows is None for rows in self._rows) or sum(filter(None, self._rows)) > FEW_ROWS:
            return False
        left: float = FEW_BYTES
        for read in sorted([_TARGET, *reads(plan)], key=lambda read: len(read.keys)):
            part = share(read, self._model.files) if read.keys else 1.0
            bytes_ = self._model.size(read.source) if part else 0
            if bytes_ is None:
                return False
            weight = STATE_WEIGHT if self._model.is_state(read.source) else 1
            left -= bytes_ * weight * part
            if left < 0:
                return False
        return True


def share(read: Read, files: Callable[[str], Sequence[DataFile] | None]) -> float:
    """Which part of a table is read to find few values of its keys, from 0 to 1.

    None of it if it is laid out by one of them, as row groups and pages of files are left out, too.
    Where its files cannot be told, it is taken for laid out by what it is joined by, but not by
    what groups it.
    """
    known = files(read.source)
    if known is None:
        return 0.0 if read.joined else 1.0
    return min((_share(known, key) for key in read.keys), default=1.0)


def _share(files: Sequence[DataFile], key: str) -> float:
    ends = [(_ordinal(f.lowest.get(key)), _ordinal(f.highest.get(key))) for f in files]
    known = [(low, high) for low, high in ends if low is not None and high is not None]
    if len(known) < len(files) or len(files) < 2:
        return 1.0
    whole = max(high for _, high in known) - min(low for low, _ in known)
    if whole == 0:
        return 1.0
    holding = sum(high - low for low, high in known) / whole
    return 0.0 if holding <= _APART else min(1.0, holding / len(files))


def _ordinal(value: object) -> float | None:
    """A number or a day as a number."""
    if isinstance(value, str):
        try:
            return float(dt.date.fromisoformat(value).toordinal())
        except ValueError:
            return None
    return float(value) if isinstance(value, (int, float)) else None
