"""Subqueries that are correlated by equalities: evaluated for all keys at once, and joined on them.

The keys are the inner sides of the equalities. GROUP BY, DISTINCT, window functions and LIMIT are
done for each key: the keys are added to them.

Source: Neumann and Kemper, "Unnesting Arbitrary Queries", BTW 2015, for correlations that are a
conjunction of equalities at the subquery's top.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from python_ivm.algebra.conditions import conjuncts
from python_ivm.algebra.nodes import Node
from python_ivm.bind.grouping.grouping_sets import has_only_keys
from python_ivm.bind.scope import SelectScope
from python_ivm.bind.subqueries.correlation import compares_alike, no_rule, outer_columns
from python_ivm.bind.subqueries.unnest import order_over_rows, within_keys
from python_ivm.functions.aggregates import has_aggregate

_KEY = "__subquery_key_"


@dataclass(frozen=True)
class EqualityCorrelated:
    """A subquery that is evaluated for every value of its keys.

    Attributes:
        rows: Its rows for all keys.
        columns: Its own columns, over the rows.
        keys: The keys, over the rows.
        outer: What the outer query compares them with, over that query's rows.
    """

    rows: Node
    columns: tuple[exp.Expr, ...]
    keys: tuple[exp.Expr, ...]
    outer: tuple[exp.Expr, ...]

    @property
    def conditions(self) -> tuple[exp.Expr, ...]:
        """When a row belongs to a row of the outer query."""
        pairs = zip(self.outer, self.keys, strict=True)
        return tuple(exp.EQ(this=outer.copy(), expression=key.copy()) for outer, key in pairs)


def equality_correlated(around: SelectScope, tree: exp.Query, wanted: str) -> EqualityCorrelated:
    """A correlated subquery with GROUP BY, DISTINCT, or ORDER BY and LIMIT.

    Args:
        around: The outer query.
        tree: The subquery.
        wanted: The name that its rows should have.

    Raises:
        NotYetImplemented: If it has another shape, or is correlated by more than equalities.
    """
    group = tree.args.get("group")
    aggregated = group is None and any(has_aggregate(s) for s in tree.selects)
    other = aggregated or tree.args.get("offset") or tree.args.get("windows")
    if not isinstance(tree, exp.Select) or not has_only_keys(group) or other:
        raise no_rule("A correlated subquery of this shape", tree)
    local = tree.copy()
    number = len(local.selects)
    where = local.args.get("where")
    terms = conjuncts(where.this) if where is not None else []
    correlated = [t for t in terms if outer_columns(t, within=tree)]
    rest = [t.copy() for t in terms if not outer_columns(t, within=tree)]
    sides = [_sides(term, tree) for term in correlated]
    if not compares_alike(tree):
        raise no_rule("A correlated subquery that compares values of unlike types", tree)
    local.set("where", exp.Where(this=exp.and_(*rest)) if rest else None)
    inner = [i for i, _ in sides]
    for index, side in enumerate(inner, 1):
        local.select(exp.alias_(side.copy(), f"{_KEY}{index}"), copy=False)
        if group is not None:
            local.args["group"].append("expressions", side.copy())
    within_keys(local, inner)
    _limit_by_rank(local, inner)
    rows = around.binder.query(local, wanted, around.ctes)
    columns = tuple(c.expression() for c in rows.schema)
    outer = tuple(around.expression(o) for _, o in sides)
    return EqualityCorrelated(rows, columns[:number], columns[number:], outer)


def _limit_by_rank(local: exp.Select, keys: list[exp.Expr]) -> None:
    """LIMIT of a correlated subquery: the first rows of each key."""
    order, limit = order_over_rows(local), local.args.get("limit")
    local.set("order", None)
    if limit is None:
        return
    taken = ("group", "distinct", "having", "qualify")
    if not order or any(local.args.get(k) for k in taken):
        raise no_rule("A correlated subquery with LIMIT of this shape", local)
    rank = exp.Window(
        this=exp.RowNumber(),
        partition_by=[k.copy() for k in keys],
        order=exp.Order(expressions=order),
    )
    local.set("limit", None)
    local.set("qualify", exp.Qualify(this=exp.LTE(this=rank, expression=limit.expression.copy())))


def _sides(term: exp.Expr, tree: exp.Query) -> tuple[exp.Expr, exp.Expr]:
    """The inner and the outer side of a correlated equality."""
    if isinstance(term, exp.EQ):
        for inner, outer in ((term.left, term.right), (term.right, term.left)):
            every = list(outer.find_all(exp.Column))
            if not outer_columns(inner, within=tree) and len(every) == len(
                outer_columns(outer, within=tree)
            ):
                return inner, outer
    raise no_rule("A subquery of this shape, correlated by more than equalities", term)
