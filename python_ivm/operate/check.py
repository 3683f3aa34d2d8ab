"""Whether and how a model can be maintained, and what stands in the way; built or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from python_ivm.errors import IvmError
from python_ivm.explain.recomputations import recomputations
from python_ivm.refresh.maintainability import maintained
from python_ivm.refresh.metadata import versions
from python_ivm.refresh.metadata.cached_warehouse import CachedWarehouse
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.model import Model
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.request import Request
from python_ivm.render.sources import relation_name

FOLLOWED = "followed"
PARTLY = "partly"
FULL = "full"
REFUSED = "refused"


@dataclass(frozen=True)
class Check:
    """What a model's query allows.

    Attributes:
        model: The model's name.
        verdict: ``followed``: changes of its sources are followed; ``partly``: they are, and
            groups, partitions or values that they touch are recomputed; ``full``: each change
            rebuilds it; ``refused``: a run fails.
        reason: The code of why it is rebuilt or refused; empty else.
        explanation: The same in words, with advice.
        line: The line of the compiled SQL that stands in the way, counted from 1; None if it is no
            single line.
        column: The column in it.
        text: The text of that line.
        recomputed: What is recomputed where a change touches it.
        advice: What keeps changes from being followed, though the query does not.
    """

    model: str
    verdict: str
    reason: str = ""
    explanation: str = ""
    line: int | None = None
    column: int | None = None
    text: str = ""
    recomputed: Sequence[str] = ()
    advice: Sequence[str] = ()


def check(request: Request, warehouse: Warehouse) -> Check:
    """Say whether and how a model can be maintained; runs only metadata queries.

    Args:
        request: The model.
        warehouse: Answers questions about tables.
    """
    try:
        model = Model(request, CachedWarehouse(warehouse))
        how = maintained(model, None)
        advice = () if isinstance(how, Reason) else _advice(model)
    except IvmError as error:
        return refused(request, error)
    if isinstance(how, Reason):
        text = _line(request.sql, how.line)
        return Check(request.model, FULL, how.code, how.words, how.line, how.column, text)
    found = recomputations(how.layout)
    verdict = PARTLY if found else FOLLOWED
    return Check(request.model, verdict, recomputed=found, advice=advice)


def refused(request: Request, error: Exception) -> Check:
    """Of a model that a run cannot build."""
    line, column = getattr(error, "line", None), getattr(error, "column", None)
    code = getattr(error, "code", type(error).__name__)
    text = _line(request.sql, line)
    return Check(request.model, REFUSED, str(code), str(error), line, column, text)


def _advice(model: Model) -> tuple[str, ...]:
    """What to do about sources whose changes cannot be read."""
    if model.request.options.enable_change_feed:
        return ()
    return tuple(
        f"{relation_name(table.parts)} has no change feed: set "
        "delta.enableChangeDataFeed = true on it, or ivm_enable_change_feed: true in the config"
        for table in model.tables
        if not versions.has_change_feed(model.warehouse, table.parts)
    )


def _line(sql: str, line: int | None) -> str:
    lines = sql.splitlines()
    return lines[line - 1].strip() if line is not None and 0 < line <= len(lines) else ""
