"""Loop programs by their definition: every round computes every binding from nothing, on DuckDB.

It shares nothing with the planner: bindings are texts, in which ``{f}`` is the binding ``f`` and
``{f'}`` the same as of the round before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import duckdb

from tests.planner.lake import bag

_NAME = re.compile(r"\{(\w+)('?)\}")
_MOST = 600
Rows = Counter[tuple[Any, ...]]


class NotEnded(Exception):
    """A program that does not come to rest."""


def spark_sql(bindings: Mapping[str, str], main: str) -> str:
    """A program as a model's SQL."""

    def written(text: str) -> str:
        return _NAME.sub(lambda m: f"ivm_delay.{m[1]}" if m[2] else m[1], text)

    listed = ",\n".join(f"{name}(a, b) as ({written(body)})" for name, body in bindings.items())
    return f"with recursive {listed}\n{written(main)}"


def evaluate(
    db: duckdb.DuckDBPyConnection,
    bindings: Mapping[str, str],
    main: str,
    most_rounds: int = 12,
    most_rows: int = 150,
) -> Rows:
    """The rows of a program.

    Raises:
        NotEnded: If it has not come to rest by a limit.
    """
    before: dict[str, Rows] = {name: Counter() for name in bindings}
    for _ in range(most_rounds):
        now = _round(db, bindings, before, most_rows)
        if now == before:
            return _rows(db, main)
        before = now
    raise NotEnded(f"{most_rounds} rounds")


def _round(
    db: duckdb.DuckDBPyConnection,
    bindings: Mapping[str, str],
    before: Mapping[str, Rows],
    most_rows: int,
) -> dict[str, Rows]:
    """One round: component by component, each from nothing until it adds nothing."""
    now: dict[str, Rows] = {name: Counter() for name in bindings}
    for name in bindings:
        _write(db, name, now[name])
        _write(db, f"{name}_before", before[name])
    for component in _components(bindings):
        while True:
            after = {name: _rows(db, bindings[name]) for name in component}
            if after == {name: now[name] for name in component}:
                break
            now |= after
            for name in component:
                _write(db, name, now[name])
            if sum(rows.total() for rows in now.values()) > most_rows:
                raise NotEnded(f"{most_rows} rows")
    return now


def _components(bindings: Mapping[str, str]) -> list[set[str]]:
    """The bindings that read each other within a round, each behind those that it reads."""
    reads = {n: {m[1] for m in _NAME.finditer(body) if not m[2]} for n, body in bindings.items()}
    for _ in bindings:
        reads = {n: seen.union(*(reads[m] for m in seen)) for n, seen in reads.items()}
    found: list[set[str]] = []
    for name in sorted(bindings, key=lambda n: len(reads[n] | {n})):
        if not any(name in component for component in found):
            found.append({name} | {other for other in reads[name] if name in reads[other]})
    return found


def _rows(db: duckdb.DuckDBPyConnection, sql: str) -> Rows:
    text = _NAME.sub(lambda m: f"naive_{m[1]}_before" if m[2] else f"naive_{m[1]}", sql)
    text = text.replace("<=>", "is not distinct from")
    found = db.execute(f"select * from ({text}) q limit {_MOST}").fetchall()
    if len(found) == _MOST:
        raise NotEnded(f"{_MOST} rows at once")
    return bag(found)


def _write(db: duckdb.DuckDBPyConnection, name: str, rows: Rows) -> None:
    db.execute(f"create or replace temp table naive_{name} (a int, b int)")
    listed = list(rows.elements())
    if listed:
        marks = ", ".join("(?, ?)" for _ in listed)
        db.execute(f"insert into naive_{name} values {marks}", [v for row in listed for v in row])
