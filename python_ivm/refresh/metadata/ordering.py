"""Which sources have the column whose values are time points (config ``ivm_step: <column>``)."""

from __future__ import annotations

from collections.abc import Sequence

from python_ivm.errors import InvalidModel
from python_ivm.parse.parser import TableReference
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.sources.history import Until

_ORDERED = (
    "tinyint", "smallint", "int", "bigint", "decimal", "date", "timestamp", "timestamp_ntz",
    "string",
)  # fmt: skip


def ordered_by(
    name: str, tables: Sequence[TableReference], warehouse: Warehouse, own_key: str | None
) -> dict[str, Until]:
    """The sources that have a column, by planner key, each before its first time point.

    Args:
        name: The column.
        tables: The model's sources.
        warehouse: Is asked for columns.
        own_key: The key of the model's own rows, which are none of the sources.

    Raises:
        InvalidModel: If none has it, or if its type orders no rows.
    """
    found: dict[str, Until] = {}
    for source in tables:
        if source.last or source.previous or source.key == own_key:
            continue
        for stored, kind in (warehouse.columns(source.parts) or {}).items():
            if stored.lower() != name.lower():
                continue
            if kind.lower().partition("(")[0] not in _ORDERED:
                raise InvalidModel(
                    f"Config ivm_step is {name!r}, and {source.key}.{stored} is of type {kind}, "
                    "which says no order of time points",
                    line=source.line,
                    column=source.column,
                    hint=f"Types that do are {', '.join(_ORDERED)}.",
                )
            found[source.key] = Until(stored, kind.lower())
    kinds = {until.kind for until in found.values()}
    if len(kinds) > 1:
        raise InvalidModel(
            f"Config ivm_step is {name!r}, which is of several types in the model's sources: "
            f"{', '.join(sorted(kinds))}",
            line=tables[0].line,
            column=tables[0].column,
            hint="Give the column one type, by a table that casts it.",
        )
    if not found:
        raise InvalidModel(
            f"Config ivm_step is {name!r}, and no source of the model has a column of that name",
            line=tables[0].line,
            column=tables[0].column,
            hint="It is refresh, commit, or the name of a column of a table that the model reads.",
        )
    return found
