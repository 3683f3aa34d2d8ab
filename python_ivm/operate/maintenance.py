"""What a state needs after many small refreshes, measured; its bookmark stays at hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from python_ivm.operate.unbuilt import unbuilt
from python_ivm.optimize.analysis.zone_maps import ColumnLayout
from python_ivm.optimize.cost import CLUSTERED_FILE_BYTES, FILE_BYTES, Execution
from python_ivm.refresh import statement_builders
from python_ivm.refresh.lifecycle.ownership import refuse_state_of_another_model
from python_ivm.refresh.metadata.versions import state_history
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement import Statement, StatementKind
from python_ivm.render.sources import relation_name
from python_ivm.sources.history import Detail
from python_ivm.state.bookmark import Bookmark, Found, Told, no_refresh
from python_ivm.state.storage import Storage

_SOME_FILES = 16
"""Up to this many small files cost a refresh or a reader no more than one file."""
_REFRESHES = 16
"""How many refreshes pass before the files are looked at again."""
_MANY_RANGES = 4
"""With fewer files than this a clustered state is read as a whole just as fast."""
_FEW = 0.25
"""A state is laid out by a column if each value lies in at most this part of its files."""
_RETENTION = 7 * 86_400_000
"""Delta keeps files that no version needs for a week, in milliseconds."""
REASON = "MAINTAINED"
"""The reason code of the commit that moves the bookmark to the newest version."""


@dataclass(frozen=True)
class Maintenance:
    """What is to be done to a state.

    Attributes:
        statements: In order; the last one keeps the bookmark among the newest commits. None if
            nothing is needed.
        told: What is done and why, in words.
    """

    statements: tuple[Statement, ...] = ()
    told: str = ""


def maintenance(
    request: Request, warehouse: Warehouse, now: int, *, forced: bool = False
) -> Maintenance:
    """What a model's state needs; runs only metadata queries.

    Args:
        request: The model.
        warehouse: Answers questions about tables.
        now: The time, in milliseconds.
        forced: Whether it is done in any case.

    Raises:
        InvalidModel: If the state is another model's.
    """
    found = state_history(warehouse, request.state)
    bookmark = found.bookmark
    if bookmark is None:
        return Maintenance(told=unbuilt(found))
    refuse_state_of_another_model(request, bookmark)
    if not found.intact:
        return Maintenance(told="its state was written by something else; the next run builds it")
    if bookmark.clone is not None:
        return Maintenance(told="its state is a clone, whose files are the other one's")
    told = bookmark.told or Told("", "")
    detail = warehouse.detail(request.state)
    optimize = _optimize(request, warehouse, bookmark, detail, forced)
    old = forced or told.vacuumed is None or now - told.vacuumed >= _RETENTION
    planned: list[Statement] = []
    done = []
    name = relation_name(request.state)
    if optimize is not None:
        statement, why = optimize
        planned.append(statement)
        done.append(f"OPTIMIZE ({why})")
    if old:
        planned.append(Statement(StatementKind.TIDY, f"VACUUM {name}"))
        done.append("VACUUM (of files that no version of the last week needs)")
    if not planned:
        return Maintenance(told=_nothing(detail))
    told = replace(
        told,
        optimized=bookmark.refresh + 1 if optimize else told.optimized,
        vacuumed=now if old else told.vacuumed,
    )
    planned.append(_kept(request, found, bookmark, told))
    return Maintenance(tuple(planned), ", ".join(done))


def _optimize(
    request: Request, warehouse: Warehouse, bookmark: Bookmark, detail: Detail | None, forced: bool
) -> tuple[Statement, str] | None:
    """The statement that writes the state's files anew, and why; None if they may stay."""
    last = (bookmark.told.optimized if bookmark.told else None) or 0
    if not forced and bookmark.refresh - last < _REFRESHES:
        return None
    name = relation_name(request.state)
    clusters = Storage.of_value(bookmark.storage).cluster_by
    some = 1 if forced else _SOME_FILES
    if not clusters:
        compact = Statement(StatementKind.TIDY, f"OPTIMIZE {name}", execution=Execution.COMPACTING)
        why = _is_in_pieces(detail, FILE_BYTES, some)
        return (compact, why) if why else None
    large = forced or (
        detail is not None and (detail.bytes or 0) >= _MANY_RANGES * CLUSTERED_FILE_BYTES
    )
    # What is not maintained is written anew by the next refresh.
    spread = _is_spread(request, warehouse, clusters) if large and bookmark.maintained else ""
    why = spread or _is_in_pieces(detail, CLUSTERED_FILE_BYTES, some)
    sql = f"OPTIMIZE {name} FULL" if spread else f"OPTIMIZE {name}"
    if not why:
        return None
    return Statement(StatementKind.TIDY, sql, execution=Execution.CLUSTERING), why


def _is_in_pieces(detail: Detail | None, size: int, some: int) -> str:
    """Why the files are worth a rewrite, of which each should have a size; empty if they are not.

    Args:
        detail: What the state tells.
        size: In bytes.
        some: This many small files are no reason.
    """
    if detail is None or detail.files is None or detail.bytes is None:
        return ""
    enough = math.ceil(detail.bytes / size)
    if detail.files <= 2 * enough + some - 1:
        return ""
    return f"{detail.files} files where {max(enough, 1)} would do"


def _is_spread(request: Request, warehouse: Warehouse, clusters: Sequence[str]) -> str:
    """Why a state is worth to be laid out by the columns that it is clustered by; else empty.

    It was built before it was clustered by them. Where its files' statistics tell nothing of the
    first column, it counts as laid out.
    """
    files = warehouse.files(request.state) or ()
    names = {name.lower(): name for file in files for name in file.lowest}
    column = names.get(clusters[0].lower())
    lies = ColumnLayout.of(files, column) if column else None
    if lies is None or lies.holding <= _FEW * len(files):
        return ""
    return f"a value of {column} lies in {lies.holding:.0f} of its {len(files)} files"


def _nothing(detail: Detail | None) -> str:
    files = "" if detail is None or detail.files is None else f"; it has {detail.files} files"
    return f"nothing is needed{files}"


def _kept(request: Request, found: Found, bookmark: Bookmark, told: Told) -> Statement:
    """A commit without rows that has the bookmark: Delta forgets old commits, never the newest.

    It has the fence of a refresh, so that it cannot undo one that came meanwhile.
    """
    told = no_refresh(found, told, REASON)
    after = replace(bookmark, refresh=bookmark.refresh + 1, told=told)
    return replace(
        statement_builders.keep_bookmark(request),
        bookmark=after.text(),
        fence=statement_builders.fence(request, after.refresh),
    )
