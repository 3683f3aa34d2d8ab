"""NOT IN by conditions that can be hashed, or that few rows fulfil.

``a NOT IN (SELECT b FROM R WHERE c)`` is the antijoin on ``(a = b OR (a = b) IS NULL) AND c``, for
which each row has to be compared with each of the list. A comparison that is not false is true, or
NULL because a is, or because b is, so that the same rows stay after three antijoins: on ``b IS
NULL``, on ``a IS NULL`` and on ``a = b`` (docs/decisions/0025).
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, beside, columns_of, substitute, under
from python_ivm.algebra.conditions import conjuncts, null_rejected, true_or_null
from python_ivm.algebra.nodes import Filter, Join, Node, Project, SemiJoin, Sort
from python_ivm.algebra.walks import bottom_up, size
from python_ivm.optimize.analysis.provenance import Kinds, Provenance, family

_MOST_OPERATORS = 60
"""The most operators of a list that is read three times. Nested lists would be read nine times, and
so on."""


def null_aware_anti_join(plan: Node, kinds: Kinds) -> Node:
    """Write NOT IN as three antijoins where two columns of like types are compared.

    Args:
        plan: A plan of the sources' rows.
        kinds: The types of the sources' columns.

    Returns:
        A plan with the same rows.
    """
    provenance = Provenance(kinds)

    def rule(node: Node) -> Node:
        if not isinstance(node, SemiJoin) or not node.anti or size(node.right) > _MOST_OPERATORS:
            return node
        compared = next(filter(None, (_compared(c, node) for c in node.conditions)), None)
        if compared is None:
            return node
        condition, asked, listed = compared
        if not _alike(provenance.kinds(node.left, asked), provenance.kinds(node.right, listed)):
            return node
        others = tuple(c for c in node.conditions if c is not condition)
        left = node.left
        if not _never_null(node.right, listed):
            left = _without_null_listed(node, left, listed, others)
        if not _never_null(node.left, asked):
            left = _without_null_asked(node, left, asked, others)
        equal = exp.EQ(this=asked.expression(), expression=listed.expression())
        return replace(node, left=left, conditions=(equal, *others))

    return bottom_up(plan, rule)


def _compared(condition: exp.Expr, node: SemiJoin) -> tuple[exp.Expr, ColumnRef, ColumnRef] | None:
    """The condition itself, the left and the right column, if it is NOT IN's of two columns."""
    equal = condition.this.unnest() if isinstance(condition, exp.Or) else None
    if not isinstance(equal, exp.EQ) or condition != true_or_null(equal):
        return None
    sides = equal.this.unnest(), equal.expression.unnest()
    refs = [ColumnRef(s.table, s.name) for s in sides if isinstance(s, exp.Column)]
    if len(refs) < 2 or refs[0] not in node.left.schema or refs[1] not in node.right.schema:
        return None
    return condition, refs[0], refs[1]


def _alike(kinds: frozenset[str | None], others: frozenset[str | None]) -> bool:
    """Whether the comparison of two columns is NULL only where one of them is: none is cast."""
    every = kinds | others
    if not kinds or not others or None in every:
        return False
    return len(every) == 1 or {family(kind) for kind in every} == {"whole number"}


def _without_null_listed(
    node: SemiJoin, left: Node, listed: ColumnRef, others: tuple[exp.Expr, ...]
) -> SemiJoin:
    """The rows for which the list has no NULL."""
    nulls = Filter(node.right, _is_null(listed))
    rows, conditions = _renamed(nulls, beside(node.label, "nulls"), others)
    return SemiJoin(left, rows, conditions, True, beside(node.label, "null"))


def _without_null_asked(
    node: SemiJoin, left: Node, asked: ColumnRef, others: tuple[exp.Expr, ...]
) -> SemiJoin:
    """The rows that are not NULL, or for which the list is empty."""
    rows, conditions = _renamed(node.right, beside(node.label, "some"), others)
    if not others:
        any_row = Sort(rows, (), limit=exp.Literal.number(1))
        one = tuple(Named(c.name, c.expression()) for c in rows.schema)
        rows = Project(any_row, beside(node.label, "any"), one)
    return SemiJoin(left, rows, (_is_null(asked), *conditions), True, beside(node.label, "unknown"))


def _renamed(
    rows: Node, relation: str, conditions: tuple[exp.Expr, ...]
) -> tuple[Node, tuple[exp.Expr, ...]]:
    """What conditions name of rows, as a relation, and the conditions over it."""
    used = {column for condition in conditions for column in columns_of(condition)}
    items, mapping = under(relation, (column for column in rows.schema if column in used))
    items = items or (Named("one", exp.Literal.number(1)),)
    moved = tuple(substitute(condition, mapping) for condition in conditions)
    return Project(rows, relation, items), moved


def _is_null(column: ColumnRef) -> exp.Expr:
    return exp.Is(this=column.expression(), expression=exp.Null())


def _never_null(node: Node, column: ColumnRef) -> bool:
    """Whether conditions leave no NULL of a column."""
    match node:
        case Filter():
            conditions = conjuncts(node.condition)
        case Join() | SemiJoin(anti=False):
            conditions = list(node.conditions)
        case SemiJoin():
            conditions = []
        case Project():
            item = next(i.expression for i in node.items if i.name == column.name)
            if not isinstance(item, exp.Column):
                return False
            return _never_null(node.input, ColumnRef(item.table, item.name))
        case _:
            return False
    if any(column in null_rejected(condition) for condition in conditions):
        return True
    below = next((child for child in node.inputs if column in child.schema), None)
    return below is not None and _never_null(below, column)
