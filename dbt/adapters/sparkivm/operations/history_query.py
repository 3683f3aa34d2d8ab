"""The refreshes of a project's models as SQL, for a model that keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from python_ivm.operate.records import Record
from python_ivm.render.sources import string

COLUMNS = {
    "model": "string",
    "state": "string",
    "refresh": "bigint",
    "version": "bigint",
    "at": "timestamp",
    "strategy": "string",
    "reason": "string",
    "sentence": "string",
    "fallback": "boolean",
    "seconds": "double",
    "rows_inserted": "bigint",
    "rows_updated": "bigint",
    "rows_deleted": "bigint",
    "sources": "map<string, bigint>",
    "rows_affected": "bigint",
}
"""The columns of the query and their types."""


@dataclass(frozen=True)
class Past:
    """A model's refreshes.

    Attributes:
        model: Its public view.
        state: Its state table.
        records: The refreshes.
    """

    model: str
    state: str
    records: Sequence[Record]


def query(found: Sequence[Past], since: Mapping[str, int]) -> str:
    """The refreshes as rows.

    Args:
        found: The models.
        since: The time of the last refresh that is known already, in milliseconds, by state.
    """
    rows = [
        f"({', '.join(_values(past, record))})"
        for past in found
        for record in past.records
        if record.milliseconds is not None and record.milliseconds > since.get(past.state, -1)
    ]
    names = ", ".join(f"`{name}`" for name in COLUMNS)
    casts = ",\n  ".join(f"cast(`{name}` as {kind}) as `{name}`" for name, kind in COLUMNS.items())
    body = ",\n  ".join(rows) or f"({', '.join(['null'] * len(COLUMNS))})"
    least = "" if rows else "\nwhere false"
    return f"select\n  {casts}\nfrom values\n  {body}\nas refreshes({names}){least}"


def _values(past: Past, record: Record) -> list[str]:
    sources = ", ".join(f"{string(name)}, {version}" for name, version in record.sources.items())
    return [
        string(past.model),
        string(past.state),
        str(record.refresh),
        str(record.version),
        f"timestamp_millis({record.milliseconds})",
        string(record.strategy),
        string(record.reason),
        string(record.sentence),
        _literal(record.fallback),
        _literal(record.seconds),
        _literal(record.inserted),
        _literal(record.updated),
        _literal(record.deleted),
        f"map({sources})" if sources else "cast(map() as map<string, bigint>)",
        _literal(record.affected),
    ]


def _literal(value: bool | float | None) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else repr(value)
