"""Advice on how tables are best laid out, with what it would spare by the files' statistics."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from python_ivm.optimize.analysis.provenance import Key
from python_ivm.optimize.analysis.zone_maps import ColumnLayout
from python_ivm.optimize.cost import CLUSTERED_FILE_BYTES, SMALL_TABLE
from python_ivm.refresh.model import Model
from python_ivm.refresh.statement_builders import QUERY
from python_ivm.render.sources import relation_name
from python_ivm.state.layout import STATE, Layout
from python_ivm.state.storage import CLUSTERS, Visible, columns_clause

_MIB = 2**20
_DELTAS_FILE_BYTES = 2**30
"""The size of file that Delta's OPTIMIZE aims at, unless it is told another."""
_FILE_SIZE = "spark.databricks.delta.optimize.maxFileSize"
_FILES = 1_000
"""About how many files a large source gets: its log lists them all."""


def layouts(keys: Collection[Key], model: Model, layout: Layout) -> str:
    """The columns by which tables are looked up, and what to cluster each large table by.

    Args:
        keys: The columns.
        model: Tells of the tables' files.
        layout: What the model's own state stores.

    Returns:
        Text; empty if no key is looked up.
    """
    columns: dict[str, list[str]] = {}
    for key in sorted(keys):
        columns.setdefault(key.source, []).append(key.column)
    if not columns:
        return ""
    lines = [
        "Keys of a change are looked up by these columns. Files of a large table are skipped if it",
        "is clustered by one of them, or if rows that come together have near values in it:",
    ]
    for name, source in sorted((_name(source, model), source) for source in columns):
        lines.append(f"  {name}: {' or '.join(columns[source])}")
        lines += [f"    {line}" for line in _of_files(source, columns[source], model, layout)]
    return "\n".join(lines)


def _of_files(source: str, columns: Collection[str], model: Model, layout: Layout) -> Iterator[str]:
    """How a table's files lie by each column; nothing where it is not known."""
    size = model.statistics.size(source)
    if size is None:
        return
    if size <= SMALL_TABLE:
        yield f"It has {_told(size)}: too little for its layout to matter."
        return
    files = model.statistics.files(source) or ()
    found = [(column, ColumnLayout.of(files, column)) for column in columns]
    known = {column: lies for column, lies in found if lies is not None}
    for column, lies in known.items():
        holding = max(1.0, lies.holding)
        read = size * holding / len(files)
        yield f"A value of {column} lies in {holding:.0f} of its {len(files)} files: {_told(read)}."
    if any(lies.is_by_key for lies in known.values()):
        yield "So it is laid out by one of them; to cluster it by another one would lose that."
        return
    for column in known:
        if source == STATE or _is_state(source, model):
            file, how = CLUSTERED_FILE_BYTES, _clustering_of_state(source, column, model, layout)
        else:
            file = _file_bytes(size)
            how = _clustering(_name(source, model), column, file)
        if how:
            where = f"one file of {_told(file)}"
            yield f"If it were clustered by {column}, a value would lie in about {where}:"
            yield f"  {how}"
            return


def _is_state(source: str, model: Model) -> bool:
    """Whether a source is the state of another maintained model."""
    return QUERY in model.warehouse.properties(model.statistics.parts(source) or ())


def _file_bytes(size: int) -> int:
    """The size of the files of a clustered source, in whole MiB: a thousand files, if it is large.

    Delta's own aim is 1 GiB, so that a table of less would have one file, whatever it is clustered
    by.
    """
    wanted = max(CLUSTERED_FILE_BYTES, min(size // _FILES, _DELTAS_FILE_BYTES))
    return wanted // _MIB * _MIB


def _clustering(name: str, column: str, file: int) -> str:
    """How to cluster a source."""
    return (
        f"ALTER TABLE {name} CLUSTER BY {columns_clause((column,))}; "
        f"SET {_FILE_SIZE} = {file}; OPTIMIZE {name} FULL; RESET {_FILE_SIZE}"
    )


def _clustering_of_state(source: str, column: str, model: Model, layout: Layout) -> str:
    """How to cluster a state; empty for a column that its view does not show."""
    shown = column
    if source == STATE:
        stored = Visible.of(layout).stored
        shown = next((shown for shown, kept in stored.items() if kept == column), "")
    if not shown or shown.startswith("__ivm"):
        return ""
    return f"{CLUSTERS}: {shown} (config of its model); dbt run; dbt-sparkivm maintain --force"


def _name(source: str, model: Model) -> str:
    return relation_name(model.statistics.parts(source) or (source,))


def _told(size: float) -> str:
    return f"{size / _MIB:,.1f} MiB" if size < 10 * _MIB else f"{size / _MIB:,.0f} MiB"
