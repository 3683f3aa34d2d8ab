"""Advice on how tables are best laid out, with what it would spare by the files' statistics."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from python_ivm.optimize.analysis.provenance import Key
from python_ivm.optimize.analysis.zone_maps import ColumnLayout
from python_ivm.optimize.cost import SMALL
from python_ivm.refresh.model import Model
from python_ivm.render.sources import relation_name
from python_ivm.state.layout import STATE

_MIB = 2**20


def layouts(keys: Collection[Key], model: Model) -> str:
    """The columns by which tables are looked up, and what to cluster each large table by.

    Args:
        keys: The columns.
        model: Tells of the tables' files.

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
    for source in sorted(columns, key=lambda source: _name(source, model)):
        lines.append(f"  {_name(source, model)}: {' or '.join(columns[source])}")
        lines += [f"    {line}" for line in _of_files(source, columns[source], model)]
    return "\n".join(lines)


def _of_files(source: str, columns: list[str], model: Model) -> Iterator[str]:
    """How a table's files lie by each column; nothing where it is not known."""
    size = model.size(source)
    if size is None:
        return
    if size <= SMALL:
        yield f"It has {_told(size)}: too little for its layout to matter."
        return
    files = model.files(source) or ()
    for column in columns:
        layout = ColumnLayout.of(files, column)
        if layout is None:
            continue
        if layout.is_by_key:
            yield f"It is laid out by {column}: a value lies in {layout.holding:.1f} of its files."
            continue
        one = size / len(files)
        yield (
            f"A value of {column} lies in {layout.holding:.0f} of its {len(files)} files: "
            f"{_told(one * layout.holding)} are read for it."
        )
        yield f"Clustered by it, about {_told(one)} would be:"
        yield f"  {_clustering(source, column, model)}"


def _clustering(source: str, column: str, model: Model) -> str:
    if source == STATE:
        return f"liquid_clustered_by: {column} (in the model's config)"
    name = _name(source, model)
    return f"ALTER TABLE {name} CLUSTER BY ({column}); OPTIMIZE {name} FULL"


def _name(source: str, model: Model) -> str:
    return relation_name(model.request.state) if source == STATE else source


def _told(size: float) -> str:
    return f"{size / _MIB:,.1f} MiB" if size < 10 * _MIB else f"{size / _MIB:,.0f} MiB"
