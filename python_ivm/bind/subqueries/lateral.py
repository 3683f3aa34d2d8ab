"""LATERAL subqueries: joins to relations that may name those before them in FROM.

They are decorrelated as subqueries in expressions are. One of FROM and WHERE alone is a join on its
correlated conditions. With an aggregate, but without GROUP BY, it is a left join to groups. With
GROUP BY, DISTINCT, LIMIT or window functions it is evaluated for every key (`equality_correlated`).
One of another shape is a dependent join (`dependent_join`).

Source: Neumann and Kemper, "Unnesting Arbitrary Queries", BTW 2015.
"""

from __future__ import annotations

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, columns_of, substitute, under
from python_ivm.algebra.conditions import conjuncts
from python_ivm.algebra.nodes import Aggregate, Filter, Join, LeftJoin, Node, Project
from python_ivm.bind.grouping.post_aggregation import PostAggregation
from python_ivm.bind.scope import SelectScope
from python_ivm.bind.subqueries.correlation import no_rule, outer_columns
from python_ivm.bind.subqueries.dependent_join import dependent_join
from python_ivm.bind.subqueries.equality_correlated import equality_correlated
from python_ivm.bind.subqueries.predicate_pullup import SubqueryBinder, asks_subquery
from python_ivm.bind.subqueries.scalar import equal_keys, of_no_rows
from python_ivm.errors import InvalidModel, NotYetImplemented
from python_ivm.functions.aggregates import has_aggregate


def join_lateral(
    select: SelectScope, node: Node, lateral: exp.Lateral, left: bool, on: exp.Expr | None
) -> Node:
    """The rows of a join to a LATERAL subquery.

    Args:
        select: The SELECT; gets the subquery's columns.
        node: The relations before it.
        lateral: The subquery.
        left: Whether rows without a match stay.
        on: The join's condition.

    Raises:
        NotYetImplemented: If the subquery cannot be decorrelated.
    """
    tree = lateral.this.unnest()
    try:
        return _by_shape(select, node, lateral, left, on)
    except (InvalidModel, NotYetImplemented):
        if not outer_columns(tree):
            raise
        found = dependent_join(select, tree)
        rows, columns, same = found.rows(node, lateral.alias or "derived")
    names = _names(lateral)
    return _joined(select, node, rows, tuple(same), lateral, names, columns, left, on)


def _names(lateral: exp.Lateral) -> list[str]:
    """What the subquery's columns are called."""
    return [n.lower() for n in lateral.alias_column_names] or list(
        lateral.this.unnest().named_selects
    )


def _by_shape(
    select: SelectScope, node: Node, lateral: exp.Lateral, left: bool, on: exp.Expr | None
) -> Node:
    """The rows of a join to a subquery of a shape that has a rule of its own."""
    tree = lateral.this.unnest()
    names = _names(lateral)
    subquery = SubqueryBinder(select, tree)
    if not outer_columns(tree):
        other = select.binder.query(tree, lateral.alias or "derived", select.ctes)
        columns: list[exp.Expr] = [c.expression() for c in other.schema]
        return _joined(select, node, other, (), lateral, names, columns, left, on)
    if subquery.is_simple(aggregates=True):  # nor DISTINCT, which a join would lose
        if not any(map(has_aggregate, tree.selects)):
            return _simple(select, node, subquery, lateral, names, left, on)
        node = _aggregated(select, node, subquery, lateral, names)
        if on is None or on == exp.true():
            return node
        if left:
            raise no_rule("LEFT JOIN LATERAL of an aggregate on a condition", on)
        return Filter(node, select.expression(on))
    found = equality_correlated(select, tree, lateral.alias or "derived")
    return _joined(
        select, node, found.rows, found.conditions, lateral, names, list(found.columns), left, on
    )


def _simple(
    select: SelectScope,
    node: Node,
    subquery: SubqueryBinder,
    lateral: exp.Lateral,
    names: list[str],
    left: bool,
    on: exp.Expr | None,
) -> Node:
    """FROM and WHERE: a join on the correlated conditions."""
    inner, rows, correlated = subquery.from_and_where()
    values = [inner.expression(s.unalias()) for s in subquery.tree.selects]
    own = set(rows.schema)
    if any(map(asks_subquery, values)):
        raise no_rule("A subquery in the SELECT list of a LATERAL subquery", lateral)
    mixed = [v for v in values if not columns_of(v) <= own]
    if mixed and left:
        raise no_rule("LEFT JOIN LATERAL with columns of the relations before it", lateral)
    used = {c for e in (*correlated, *mixed) for c in columns_of(e) if c in own}
    relation = select.binder.name(lateral.alias or "derived")
    flat, inward = under(relation, (c for c in rows.schema if c in used), taken=names)
    items = [Named(n, v) for n, v in zip(names, values, strict=True) if v not in mixed]
    items = [*items, *flat] or [Named("one", exp.Literal.number(1))]
    columns = [
        substitute(v, inward) if v in mixed else ColumnRef(relation, n).expression()
        for n, v in zip(names, values, strict=True)
    ]
    conditions = tuple(substitute(c, inward) for c in correlated)
    other = Project(rows, relation, tuple(items))
    return _joined(select, node, other, conditions, lateral, names, columns, left, on)


def _aggregated(
    select: SelectScope,
    node: Node,
    subquery: SubqueryBinder,
    lateral: exp.Lateral,
    names: list[str],
) -> Node:
    """Aggregates without GROUP BY: always one row, which groups by the keys are joined to."""
    inner, rows, correlated = subquery.from_and_where()
    keys, outer = subquery.equalities(rows, correlated)
    grouping = PostAggregation(
        select.binder.name(f"{lateral.alias or 'derived'}_groups"), list(keys)
    )
    columns = [
        of_no_rows(grouping.apply(inner.expression(s.unalias())), grouping)
        for s in subquery.tree.selects
    ]
    if any(map(asks_subquery, [*columns, *(m.expression for m in grouping.measures)])):
        raise no_rule("A subquery in the SELECT list of a LATERAL subquery", lateral)
    other = Aggregate(rows, grouping.relation, keys, tuple(grouping.measures))
    conditions = equal_keys(outer, other)
    return _joined(select, node, other, conditions, lateral, names, columns, True, None)


def _joined(
    select: SelectScope,
    node: Node,
    other: Node,
    conditions: tuple[exp.Expr, ...],
    lateral: exp.Lateral,
    names: list[str],
    columns: list[exp.Expr],
    left: bool,
    on: exp.Expr | None,
) -> Node:
    for name, column in zip(names, columns, strict=True):
        select.columns[ColumnRef(lateral.alias, name)] = column
    if on is not None and on != exp.true():
        conditions = (*conditions, *conjuncts(select.expression(on)))
    if left:
        label = select.binder.name(f"{lateral.alias or 'derived'}_match")
        return select.closed_under(LeftJoin(node, other, conditions, label))
    return select.closed_under(Join((node, other), conditions))
