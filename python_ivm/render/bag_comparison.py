"""A query of the rows in which two bags differ; floating numbers may differ by a little."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sqlglot
from sqlglot import exp

from python_ivm.algebra.columns import Named
from python_ivm.functions.comparable import comparable
from python_ivm.parse.parser import DIALECT, quoted_name
from python_ivm.render.renderer import listed
from python_ivm.render.sources import text
from python_ivm.state.sum_types import SqlType, SumKind

EXPECTED = "expected"
ACTUAL = "actual"
TOLERANCE = 1e-9
"""How far two floating numbers may differ, relative to the larger one (and absolute below 1)."""


Sampled = Callable[[Mapping[str, str]], exp.Expr]
"""The condition on a view's columns, given with their types, that a sample's rows meet."""


def comparison(
    expected: str, actual: str, columns: Mapping[str, str], sample: Sampled | None
) -> str:
    """A query of the rows in which two queries differ as bags.

    Both are CTEs under the columns' names. Floating columns are compared up to :data:`TOLERANCE`,
    within groups of rows that agree in all others.

    Args:
        expected: The SQL of the rows that should be there.
        actual: The SQL of the rows that are.
        columns: The columns of both and their types, in order.
        sample: Which rows are compared; None means all.

    Returns:
        A query of the columns, ``expected_rows`` and ``actual_rows``: how many times either has
        the row. No row means that they are equal.
    """
    names = ", ".join(quoted_name((name,)) for name in columns)
    ctes = ",\n".join(
        f"{name} ({names}) AS (\n{sql}\n)" for name, sql in ((EXPECTED, expected), (ACTUAL, actual))
    )
    floating = [n for n, kind in columns.items() if SqlType.of(kind).kind is SumKind.FLOATING]
    exact = [
        Named(name, comparable(exp.column(name, quoted=True), kind))
        for name, kind in columns.items()
        if name not in floating
    ]
    condition = sample(columns) if sample is not None else None
    return f"WITH {ctes}\n{text(_difference(exact, floating, condition))}"


def _difference(exact: list[Named], floating: list[str], condition: exp.Expr | None) -> exp.Expr:
    """The groups of equal rows whose number, or whose floating values, differ."""
    sides = {
        side: _grouped(side, exact, floating, condition).subquery(side)
        for side in (EXPECTED, ACTUAL)
    }
    names = [named.name for named in exact]
    same = [exp.NullSafeEQ(this=_of(EXPECTED, n), expression=_of(ACTUAL, n)) for n in names]
    select = exp.Select().from_(sides[EXPECTED])
    select = select.join(
        sides[ACTUAL], on=exp.and_(*same) if same else exp.true(), join_type="full"
    )
    shown = [
        exp.alias_(exp.func("coalesce", _of(EXPECTED, n), _of(ACTUAL, n)), n, quoted=True)
        for n in names
    ]
    counts = []
    for side in (EXPECTED, ACTUAL):
        number = exp.func("coalesce", _of(side, "__rows"), exp.Literal.number(0))
        counts.append(exp.alias_(number, f"{side}_rows"))
        if floating:
            shown.append(exp.alias_(_of(side, "__floats"), f"{side}_values"))
    different: exp.Expr = exp.Not(
        this=exp.NullSafeEQ(this=_of(EXPECTED, "__rows"), expression=_of(ACTUAL, "__rows"))
    )
    if floating:
        different = exp.or_(different, _floats_differ(len(floating)))
    return select.select(*shown, *counts).where(different)


def _grouped(
    side: str, exact: list[Named], floating: list[str], condition: exp.Expr | None
) -> exp.Select:
    keys = [named.expression for named in exact]
    items = [listed(named.expression, named.name) for named in exact]
    items.append(exp.alias_(exp.Count(this=exp.Star()), "__rows"))
    if floating:
        values = exp.func("array", *(exp.cast(exp.column(n, quoted=True), "double")
                                     for n in floating))  # fmt: skip
        collected = exp.Anonymous(this="collect_list", expressions=[values])
        items.append(
            exp.alias_(exp.Anonymous(this="sort_array", expressions=[collected]), "__floats")
        )
    select = exp.Select().from_(exp.to_table(side)).select(*items)
    if condition is not None:
        select = select.where(condition.copy())
    if keys:
        return select.group_by(*(key.copy() for key in keys))
    return select.having(exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0)))


def _floats_differ(width: int) -> exp.Expr:
    """Whether two sorted arrays of rows of floating numbers differ somewhere by too much."""
    lists = f"{EXPECTED}.__floats, {ACTUAL}.__floats"
    close = (
        f"(x <=> y OR COALESCE(ABS(x - y) <= {TOLERANCE} * GREATEST(ABS(x), ABS(y), 1D), FALSE))"
    )
    inner = f"FORALL(ZIP_WITH(a, b, (x, y) -> {close}), ok -> ok)"
    return sqlglot.parse_one(
        f"NOT COALESCE(FORALL(ZIP_WITH({lists}, (a, b) -> {inner}), ok -> ok), FALSE)", read=DIALECT
    )


def _of(side: str, name: str) -> exp.Column:
    return exp.column(name, table=side, quoted=True)
