"""How much a refresh reads: the fixed costs of a statement count where it is little."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from sqlglot import exp

from python_ivm.delta.bounds import BOUNDS
from python_ivm.sources.history import SourceChange
from python_ivm.sql.parse import table_key

FEW_ROWS = 20_000
"""Changed rows, of all sources together."""
FEW_BYTES = 32 * 2**20
"""Bytes of the tables that are read without bounds on their keys, as Delta has stored them."""
STATE_WEIGHT = 3
"""A byte of a state counts for so many: its rows are short, some numbers without texts."""
_NARROW = 1_000
"""So many keys may lie between the lowest and the highest one."""

Name = tuple[str, ...]


def reads_little(
    merge: exp.Expr,
    changes: Iterable[SourceChange],
    size: Callable[[Name], int | None],
    states: Collection[str],
) -> bool:
    """Whether a MERGE reads few rows, as far as history and sizes tell.

    Args:
        merge: The statement.
        changes: What happened to the sources whose change it reads.
        size: A table's size in bytes; None if it is not known. Asked only if few rows changed.
        states: Which of the tables are states of models, by planner key.
    """
    rows = [change.rows for change in changes]
    if any(number is None for number in rows) or sum(filter(None, rows)) > FEW_ROWS:
        return False
    left = FEW_BYTES
    for name in read_without_bounds(merge):
        bytes_ = size(name)
        if bytes_ is None:
            return False
        left -= bytes_ * (STATE_WEIGHT if table_key(name) in states else 1)
        if left < 0:
            return False
    return True


def read_without_bounds(merge: exp.Expr) -> list[Name]:
    """The tables that a MERGE reads, its target among them, as often as it reads them whole.

    A read is bounded by the condition that its key is one of a change's: of whole numbers and dates
    the statistics of files and row groups tell where they are. A wide range may be all that there
    is, and so may what the user's own conditions leave. Of its target Delta reads whole files,
    whatever the condition.
    """
    bounded = {(id(scope), alias) for scope, alias in _bounds(merge)}
    return [
        tuple(part.name for part in table.parts)
        for table in merge.find_all(exp.Table)
        if isinstance(table.this, exp.Identifier)
        and (
            table.parent is merge
            or (
                table.args.get("version") is not None
                and (id(_scope(table)), table.alias_or_name) not in bounded
            )
        )
    ]


def _bounds(merge: exp.Expr) -> Iterator[tuple[exp.Expr | None, str]]:
    for condition in merge.find_all(exp.Between, exp.In, exp.EQ):
        if not condition.meta.get(BOUNDS):
            continue
        if isinstance(condition, exp.Between) and _width(condition) > _NARROW:
            continue
        column = condition.this.unnest()
        if isinstance(column, exp.Column):
            yield _scope(condition), column.table


def _width(condition: exp.Between) -> int:
    """How many whole numbers lie in a range; 0 for a range of something else."""
    low, high = condition.args["low"], condition.args["high"]
    return int(high.to_py()) - int(low.to_py()) + 1 if low.is_int and high.is_int else 0


def _scope(node: exp.Expr) -> exp.Expr | None:
    return node.find_ancestor(exp.Select, exp.Merge)
