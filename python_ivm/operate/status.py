"""Where a maintained model stands: its last refresh, its sources, its state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from python_ivm.operate.pending import Pending, pending
from python_ivm.operate.records import Record, records
from python_ivm.operate.unbuilt import unbuilt
from python_ivm.parse.parser import table_key
from python_ivm.refresh.metadata.versions import state_history
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.request import Request
from python_ivm.sources.history import COMMITS_WITHOUT_JOB


@dataclass(frozen=True)
class Status:
    """Where a maintained model stands.

    Attributes:
        model: The model's name.
        state: The state table.
        last: Its last refresh; None if it is not built.
        sources: What happened to each source since.
        rows: Rows of the state; None if its files do not tell.
        bytes: The size of its files; None likewise.
        files: How many files it has; None likewise.
        trouble: What is not as a run left it, in words.
    """

    model: str
    state: str
    last: Record | None
    sources: Sequence[Pending] = ()
    rows: int | None = None
    bytes: int | None = None
    files: int | None = None
    trouble: Sequence[str] = ()


def status(request: Request, warehouse: Warehouse) -> Status:
    """Where a model stands; runs only metadata queries.

    Args:
        request: The model.
        warehouse: Answers questions about tables.
    """
    name = table_key(request.state)
    commits = warehouse.history(request.state, COMMITS_WITHOUT_JOB)
    found = state_history(warehouse, request.state)
    if found.bookmark is None or not commits:
        return Status(request.model, name, None, trouble=(unbuilt(found),))
    past = records(commits) or records(warehouse.history(request.state, None) or ())
    sources = tuple(
        pending(warehouse, tuple(key.split(".")), version)
        for key, version in found.bookmark.sources.items()
    )
    detail, files = warehouse.detail(request.state), warehouse.files(request.state)
    rows = [file.rows for file in files or ()]
    known = [number for number in rows if number is not None]
    return Status(
        request.model,
        name,
        past[0],
        sources,
        sum(known) if files is not None and len(known) == len(rows) else None,
        detail.bytes if detail is not None else None,
        detail.files if detail is not None else None,
        tuple(_trouble(request, found.intact, sources)),
    )


def _trouble(request: Request, intact: bool, sources: Sequence[Pending]) -> list[str]:
    told = []
    if not intact:
        told.append("its state was written by something else: the next run builds it anew")
    if not request.view_exists:
        told.append("its public view is gone or another one: the next run makes it again")
    gone = [s.source for s in sources if s.version is None]
    if gone:
        told.append(f"{', '.join(gone)} is missing or no Delta table any more")
    return told


def last_fallback(found: Sequence[Record]) -> Record | None:
    """The newest refresh that read all rows where one would expect it to follow what changed.

    Args:
        found: A state's refreshes, newest first.
    """
    return next((record for record in found if record.fallback), None)
