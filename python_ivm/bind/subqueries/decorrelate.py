"""Subqueries in expressions: decorrelated to semi-, anti- and outer joins and to marks.

A subquery whose correlated conditions are conjuncts of its own WHERE is joined on these
(`predicate_pullup`, `equality_correlated`); any other by a dependent join (`dependent_join`).

Sources: Neumann and Kemper, "Unnesting Arbitrary Queries", BTW 2015; Nagata et al., §4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, columns_of, substitute, under
from python_ivm.algebra.conditions import true_or_null
from python_ivm.algebra.nodes import (
    Aggregate,
    Join,
    LeftJoin,
    Mark,
    Node,
    SemiJoin,
)
from python_ivm.bind.scope import PLACEHOLDER, SelectScope, placeholders
from python_ivm.bind.subqueries.correlation import has_outer_aggregate, outer_columns
from python_ivm.bind.subqueries.dependent_join import DependentJoin, dependent_join
from python_ivm.bind.subqueries.predicate_pullup import SubqueryBinder
from python_ivm.bind.subqueries.predicates import is_predicate, plain_predicates
from python_ivm.bind.subqueries.scalar import Correlated, Scalar, one_for_each
from python_ivm.errors import InvalidModel, NotYetImplemented
from python_ivm.parse.trees import SUBQUERIES, position
from python_ivm.qualify.type_coercion import refuse_texts_among_others


@dataclass(frozen=True)
class Matched:
    """EXISTS, or IN: its comparison is one of the conditions.

    Attributes:
        other: The subquery's rows.
        conditions: When a row matches, over its columns and those of the outer query.
        unknown: For IN, when a row matches or its comparison is NULL.
        negated: Whether the value is the opposite.
    """

    other: Node
    conditions: tuple[exp.Expr, ...]
    unknown: tuple[exp.Expr, ...] | None = None
    negated: bool = False

    def opposite(self) -> Matched:
        """NOT EXISTS or NOT IN; for NOT IN, a comparison that is NULL counts as a match."""
        return replace(self, conditions=self.unknown or self.conditions, negated=True)


Bound = Matched | Scalar | Correlated | DependentJoin
B = TypeVar("B", Matched, Scalar | Correlated)


@dataclass
class Subqueries:
    """The subqueries of one SELECT: found while expressions are bound, joined when needed.

    Attributes:
        around: The SELECT.
        pending: The subqueries that are not joined yet, by the names of their placeholders.
        written: Their trees; equal ones are joined once.
    """

    around: SelectScope
    pending: dict[str, Bound] = field(default_factory=dict)
    written: dict[str, exp.Expr] = field(default_factory=dict)

    # -- as a condition by itself ------------------------------------------------------------

    def as_semi_join(self, node: Node, condition: exp.Expr) -> Node | None:
        """The rows that a condition keeps, if it is a (negated) EXISTS or IN; else None."""
        negated, inner = False, plain_predicates(condition).unnest()
        while isinstance(inner, exp.Not):
            negated, inner = not negated, inner.this.unnest()
        if not is_predicate(inner):
            return None
        found = self._predicate(inner)
        if negated:
            found = found.opposite()
        matched = (
            self._matched_for_domain(found, node) if isinstance(found, DependentJoin) else found
        )
        label = self.around.binder.name("exists" if isinstance(inner, exp.Exists) else "in_list")
        compared = len(_compared(inner))
        in_columns = compared if compared == len(matched.conditions) else 0
        return SemiJoin(node, matched.other, matched.conditions, negated, label, in_columns)

    # -- inside an expression ----------------------------------------------------------------

    def placeholder(self, subquery: exp.Expr) -> exp.Expr:
        """A column that stands for a subquery, or for a NOT IN, until :meth:`fill`.

        As a value, Spark's IN is false where the standard's is NULL, and its NOT IN is true only
        where no comparison is true or NULL (the existence join of its optimizer).
        """
        bound: Bound
        if isinstance(subquery, exp.Not):
            bound = self._predicate(subquery.this.unnest()).opposite()
        elif is_predicate(subquery):
            bound = self._predicate(subquery)
        else:
            bound = self._scalar(_select(subquery))
        name = f"subquery_{len(self.pending) + 1}"
        self.pending[name] = bound
        self.written[name] = subquery.copy()
        return ColumnRef(PLACEHOLDER, name).expression()

    def fill(
        self, node: Node, expressions: list[exp.Expr], only: set[str] | None = None
    ) -> tuple[Node, list[exp.Expr], Mapping[ColumnRef, exp.Expr]]:
        """Join the subqueries of expressions.

        Args:
            node: The rows.
            expressions: Expressions over them with placeholders.
            only: The placeholders to fill; None means all.

        Returns:
            The rows with the subqueries' values, the expressions over them, and the new expressions
            of the rows' columns.
        """
        moved: dict[ColumnRef, exp.Expr] = {}
        needed = dict.fromkeys(
            placeholder
            for placeholder in placeholders(expressions)
            if only is None or placeholder in only
        )
        values: dict[exp.Expr, exp.Expr] = {}
        for name in needed:
            bound, written = self.pending[name], self.written[name]
            if written in values:
                value = values[written]
                expressions = [
                    substitute(e, {ColumnRef(PLACEHOLDER, name): value}) for e in expressions
                ]
                continue
            if isinstance(bound, DependentJoin):
                asked = tuple(substitute(c, moved) for c in bound.conditions)
                bound = self._for_domain(replace(bound, conditions=asked), node)
            if isinstance(bound, Scalar):
                value = bound.value
                if bound.conditions:
                    conditions = tuple(substitute(c, moved) for c in bound.conditions)
                    label = self.around.binder.name("scalar")
                    node = LeftJoin(node, bound.other, conditions, label)
                else:
                    node = Join((node, bound.other))
            elif isinstance(bound, Correlated):
                value = bound.value
                node = self._add_value(node, bound, moved)
            else:
                conditions = tuple(substitute(c, moved) for c in bound.conditions)
                node, value, step = self._add_mark(node, bound.other, conditions)
                if bound.negated:
                    value = exp.Not(this=value)
                moved = {c: substitute(e, step) for c, e in moved.items()}
                moved |= {c: e for c, e in step.items() if c not in moved}
                expressions = [substitute(e, step) for e in expressions]
                values = {w: substitute(v, step) for w, v in values.items()}
            values[written] = value
            expressions = [
                substitute(e, {ColumnRef(PLACEHOLDER, name): value}) for e in expressions
            ]
        return node, expressions, moved

    def move(self, moved: Mapping[ColumnRef, exp.Expr]) -> None:
        """Write the conditions of subqueries that are not joined yet over new columns."""
        for name in self.pending:
            self._move(name, lambda condition: substitute(condition, moved))

    def like(self, names: Iterable[str]) -> set[str]:
        """The placeholders of subqueries that are written like some of them."""
        wanted = {self.written[name] for name in names}
        return {name for name, written in self.written.items() if written in wanted}

    def free(self, name: str) -> set[ColumnRef]:
        """The columns of the SELECT that the conditions of a subquery name."""
        bound = self.pending[name]
        inner = _own_columns(bound)
        return {c for condition in bound.conditions for c in columns_of(condition)} - inner

    def _add_value(
        self, node: Node, bound: Correlated, moved: Mapping[ColumnRef, exp.Expr]
    ) -> LeftJoin:
        """Rows with a subquery's value, which is computed once for each row of the domain.

        Source: Neumann and Kemper, the join with the distinct values of the free variables.
        """
        conditions = tuple(substitute(c, moved) for c in bound.conditions)
        inner = set(bound.rows.schema)
        free = sorted(
            {c for condition in conditions for c in columns_of(condition) if c not in inner},
            key=lambda c: (c.relation, c.name),
        )
        asked = self.around.binder.name("asked")
        items, mapping = under(asked, free, taken=(m.name for m in bound.measures))
        domain = self.around.binder.domain(node, asked, items)
        found = Join((domain, bound.rows), tuple(substitute(c, mapping) for c in conditions))
        keys = tuple(Named(item.name, mapping[c]) for c, item in zip(free, items, strict=True))
        other = Aggregate(found, bound.relation, keys, bound.measures)
        same = tuple(
            exp.NullSafeEQ(
                this=c.expression(), expression=ColumnRef(bound.relation, key.name).expression()
            )
            for c, key in zip(free, keys, strict=True)
        )
        return LeftJoin(node, other, same, self.around.binder.name("scalar"))

    def above_groups(self, name: str, over_groups: Callable[[exp.Expr], exp.Expr]) -> None:
        """Let a subquery above GROUP BY name keys and aggregates instead of the rows' columns.

        Raises:
            InvalidModel: If it names a column that is neither grouped nor inside an aggregate.
        """
        inner = _own_columns(self.pending[name])
        own = {c: ColumnRef(PLACEHOLDER, f"{c.relation}.{c.name}") for c in inner}
        hidden: dict[ColumnRef, exp.Expr] = {c: h.expression() for c, h in own.items()}
        shown: dict[ColumnRef, exp.Expr] = {h: c.expression() for c, h in own.items()}

        def above(condition: exp.Expr) -> exp.Expr:
            return substitute(over_groups(substitute(condition, hidden)), shown)

        self._move(name, above)

    def _move(self, name: str, over: Callable[[exp.Expr], exp.Expr]) -> None:
        """Write a subquery's conditions over other columns."""
        bound = self.pending[name]
        self.pending[name] = replace(bound, conditions=tuple(map(over, bound.conditions)))

    def _add_mark(
        self, node: Node, other: Node, conditions: tuple[exp.Expr, ...]
    ) -> tuple[Node, exp.Expr, dict[ColumnRef, exp.Expr]]:
        relation = self.around.binder.name("marked")
        mark = f"{relation}_match"
        items, step = under(relation, node.schema, taken=(mark,))
        marked = Mark(node, other, conditions, relation, items, mark)
        return marked, ColumnRef(relation, mark).expression(), step

    # -- dependent joins ---------------------------------------------------------------------

    def _for_domain(self, bound: DependentJoin, node: Node) -> Matched | Scalar:
        """A dependent join, now that the rows of the outer query are known."""
        if not bound.is_value:
            return self._matched_for_domain(bound, node)
        rows, columns, same = bound.rows(node, "subquery")
        return one_for_each(self.around.binder.name("scalar_value"), rows, columns[0], same)

    def _matched_for_domain(self, bound: DependentJoin, node: Node) -> Matched:
        rows, columns, same = bound.rows(node, "subquery")
        if not bound.compared:
            return Matched(rows, tuple(same), None, bound.negated)
        matched = _in_list(rows, bound.compared, columns, same)
        return matched.opposite() if bound.negated else matched

    # -- binding -----------------------------------------------------------------------------

    def _predicate(self, node: exp.Expr) -> Matched | DependentJoin:
        wanted = _compared(node)
        select = _select(node.args.get("query") or node.this)
        if isinstance(node, exp.In):
            _check_list(node, wanted, select)
        return self._by_shape(select, lambda: self._match(select, wanted), wanted)

    def _match(self, select: exp.Query, wanted: list[exp.Expr]) -> Matched:
        subquery = SubqueryBinder(self.around, select)
        if not wanted:
            other, _, conditions = subquery.rows(())
            return Matched(other, conditions)
        other, values, conditions = subquery.rows(tuple(s.unalias() for s in select.selects))
        return _in_list(other, [self.around.expression(w) for w in wanted], values, conditions)

    def _scalar(self, select: exp.Query) -> Scalar | Correlated | DependentJoin:
        if len(select.selects) != 1:
            raise InvalidModel(
                f"A scalar subquery with {len(select.selects)} columns", **position(select)
            )
        return self._by_shape(select, SubqueryBinder(self.around, select).scalar, is_value=True)

    def _by_shape(
        self,
        select: exp.Query,
        rule: Callable[[], B],
        compared: Sequence[exp.Expr] = (),
        is_value: bool = False,
    ) -> B | DependentJoin:
        """A subquery by the rule for its shape; where none fits, by a dependent join."""
        if has_outer_aggregate(select):
            return dependent_join(self.around, select, compared, is_value)
        try:
            return rule()
        except (InvalidModel, NotYetImplemented):
            if not outer_columns(select):
                raise
            return dependent_join(self.around, select, compared, is_value)


def _compared(node: exp.Expr) -> list[exp.Expr]:
    """What IN compares with the columns of its subquery; nothing for EXISTS."""
    if isinstance(node, exp.Exists):
        return []
    return list(node.this.expressions) if isinstance(node.this, exp.Tuple) else [node.this]


def _check_list(node: exp.In, wanted: list[exp.Expr], select: exp.Query) -> None:
    """Refuse what has no rule in an IN, whatever the shape of its subquery."""
    for kind, what in ((SUBQUERIES, "A subquery"), ((exp.Window,), "A window function")):
        if node.this.find(*kind) is not None:
            raise NotYetImplemented(
                f"{what} on the left of IN",
                operator="IN",
                hint="Compute it in a derived table.",
                **position(node),
            )
    if len(wanted) != len(select.selects):
        raise InvalidModel(
            f"IN compares {len(wanted)} columns with {len(select.selects)}", **position(node)
        )
    for one, item in zip(wanted, select.selects, strict=True):
        refuse_texts_among_others(one, item.unalias())


def _in_list(
    other: Node,
    wanted: Sequence[exp.Expr],
    values: Sequence[exp.Expr],
    conditions: Iterable[exp.Expr],
) -> Matched:
    """A match by equal values among rows that belong to a row of the outer query."""
    equal = [
        exp.EQ(this=exp.paren(w), expression=exp.paren(v))
        for w, v in zip(wanted, values, strict=True)
    ]
    unknown = true_or_null(exp.and_(*(e.copy() for e in equal)))
    return Matched(other, (*equal, *conditions), (unknown, *conditions))


def _own_columns(bound: Bound) -> set[ColumnRef]:
    """The subquery's columns that its conditions may name."""
    if isinstance(bound, DependentJoin):
        return set()
    return set((bound.rows if isinstance(bound, Correlated) else bound.other).schema)


def _select(node: exp.Expr) -> exp.Query:
    inner = node.unnest() if isinstance(node, exp.Subquery) else node
    if not isinstance(inner, exp.Query):
        raise NotYetImplemented(f"{node.key.upper()} as a subquery", **position(node))
    return inner
