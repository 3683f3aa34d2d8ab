"""How the rows of a bag are found in its state: by their hash.

A ``MERGE`` reads of its whole target what it compares, so that it looks for the hash alone, and
compares the columns of the few rows that it found. Two rows of one hash stop it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from python_ivm.algebra.nodes import COUNT
from python_ivm.bind.query import Query
from python_ivm.functions.comparable import is_comparable
from python_ivm.state.counters import change, stored

VIEW = "__ivm_view__"
"""Under this name the types of the view's columns stand among those of relations."""

COLLISION = "two different rows of the view have the same hash"
"""What the ``MERGE`` says when it stops."""

_NESTED = ("array<", "map<", "struct<", "variant")


def nested_columns(
    query: Query, described: Sequence[tuple[str, str]]
) -> dict[str, Mapping[str, str]]:
    """The columns of a query that hold other values, or that Spark cannot compare.

    Args:
        query: The bound query.
        described: Its columns' names and Spark types.

    Returns:
        Their types by the names that they have in the plan, under :data:`VIEW`; empty if there
        are none.
    """
    kinds = [kind for _, kind in described]
    columns = zip(query.plan.schema, kinds, strict=True)
    nested = {c.name: kind for c, kind in columns if is_nested(kind)}
    return {VIEW: nested} if nested else {}


def is_nested(kind: str) -> bool:
    """Whether values of a Spark type hold others, or cannot be compared by Spark."""
    return kind.lower().startswith(_NESTED) or not is_comparable(kind)


def row_hash(values: Sequence[exp.Expr]) -> exp.Expr:
    """A row's 64-bit hash.

    Spark's hash passes over NULLs, so that (1, NULL) and (NULL, 1) would have the same one; which
    values are NULL is therefore a part of it.
    """
    hashed = [value.copy() for value in values]
    if len(values) > 1:
        hashed += [exp.Is(this=value.copy(), expression=exp.Null()) for value in values]
    return exp.Anonymous(this="xxhash64", expressions=hashed)


def unless_equal(names: Sequence[str]) -> exp.When:
    """The clause that stops a ``MERGE`` which found a row by its hash and not by its values.

    Args:
        names: The columns that must agree; at least one.
    """
    differ = [exp.NullSafeNEQ(this=stored(name), expression=change(name)) for name in names]
    stop = exp.Anonymous(this="raise_error", expressions=[exp.Literal.string(COLLISION)])
    update = exp.EQ(this=exp.column(COUNT, quoted=True), expression=stop)
    return exp.When(matched=True, condition=exp.or_(*differ), then=exp.Update(expressions=[update]))
