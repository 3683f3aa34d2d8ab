"""Subqueries in expressions: decorrelated to semi-, anti- and outer joins and to marks.

Sources: Neumann and Kemper, "Unnesting Arbitrary Queries", BTW 2015, for the special case that a
correlation is a conjunction at the subquery's top; Nagata et al., §4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

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
from python_ivm.errors import InvalidModel, NotYetImplemented
from python_ivm.sql.grouping import HOLE, AfterGrouping
from python_ivm.sql.inside import Correlated, Inside, Scalar
from python_ivm.sql.likeness import refuse_texts_among_others
from python_ivm.sql.parse import position
from python_ivm.sql.predicates import SUBQUERIES, is_predicate, plain_predicates

if TYPE_CHECKING:
    from python_ivm.sql.select import SelectBinder


@dataclass(frozen=True)
class Matched:
    """A subquery that is asked for a match: EXISTS, or IN with its comparison among the conditions.

    Attributes:
        other: The subquery's rows.
        conditions: When one of them matches, over its columns and those of the query around.
        unknown: For IN, when one of them matches or its comparison is NULL.
        negated: Whether the value asked for is the opposite.
    """

    other: Node
    conditions: tuple[exp.Expr, ...]
    unknown: tuple[exp.Expr, ...] | None = None
    negated: bool = False


@dataclass
class Subqueries:
    """The subqueries of one SELECT: found while expressions are bound, joined when needed.

    Attributes:
        around: The SELECT.
        pending: What was found, by the name of the hole that stands for it.
        written: How each was written; equal ones have one value.
    """

    around: SelectBinder
    pending: dict[str, Matched | Scalar | Correlated] = field(default_factory=dict)
    written: dict[str, exp.Expr] = field(default_factory=dict)

    # -- as a condition by itself ------------------------------------------------------------

    def as_semi_join(self, node: Node, condition: exp.Expr) -> Node | None:
        """The rows that a condition keeps, where it is one (negated) EXISTS or IN; else None."""
        negated, inner = False, plain_predicates(condition).unnest()
        while isinstance(inner, exp.Not):
            negated, inner = not negated, inner.this.unnest()
        if not is_predicate(inner):
            return None
        found = self._predicate(inner)
        conditions = found.conditions
        if negated and found.unknown is not None:
            conditions = found.unknown
        label = self.around.binder.name("exists" if isinstance(inner, exp.Exists) else "in_list")
        return SemiJoin(node, found.other, conditions, negated, label)

    # -- inside an expression ----------------------------------------------------------------

    def hole(self, subquery: exp.Expr) -> exp.Expr:
        """A column that stands for a subquery, or for a NOT IN, until :meth:`fill`.

        As a value, Spark's IN is false where the standard's is NULL, and its NOT IN is true only
        where no comparison is true or NULL (the existence join of its optimizer).
        """
        bound: Matched | Scalar | Correlated
        if isinstance(subquery, exp.Not):
            found = self._predicate(subquery.this.unnest())
            bound = replace(found, conditions=found.unknown or found.conditions, negated=True)
        elif is_predicate(subquery):
            bound = self._predicate(subquery)
        else:
            bound = self._scalar(_select(subquery))
        name = f"subquery_{len(self.pending) + 1}"
        self.pending[name] = bound
        self.written[name] = subquery.copy()
        return ColumnRef(HOLE, name).expression()

    def fill(
        self, node: Node, expressions: list[exp.Expr], only: set[str] | None = None
    ) -> tuple[Node, list[exp.Expr], Mapping[ColumnRef, exp.Expr]]:
        """Join the subqueries that expressions need.

        Args:
            node: The rows.
            expressions: Expressions over them with holes.
            only: The holes to fill; None means all.

        Returns:
            The plan with them, the expressions over it, and what became of the plan's columns.
        """
        moved: dict[ColumnRef, exp.Expr] = {}
        needed = dict.fromkeys(
            c.name
            for e in expressions
            for c in sorted(columns_of(e), key=lambda c: c.name)
            if c.relation == HOLE and (only is None or c.name in only)
        )
        values: dict[exp.Expr, exp.Expr] = {}
        for name in needed:
            bound, written = self.pending[name], self.written[name]
            if written in values:
                value = values[written]
            elif isinstance(bound, Scalar):
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
            expressions = [substitute(e, {ColumnRef(HOLE, name): value}) for e in expressions]
        return node, expressions, moved

    def move(self, moved: Mapping[ColumnRef, exp.Expr]) -> None:
        """Let subqueries that are still to be joined name what became of the rows' columns."""
        for name in self.pending:
            self._move(name, lambda condition: substitute(condition, moved))

    def like(self, names: Iterable[str]) -> set[str]:
        """The holes of subqueries that are written like some of them."""
        wanted = {self.written[name] for name in names}
        return {name for name, written in self.written.items() if written in wanted}

    def free(self, name: str) -> set[ColumnRef]:
        """The columns around a subquery that its conditions name."""
        bound = self.pending[name]
        inner = set(_rows(bound).schema)
        return {c for condition in bound.conditions for c in columns_of(condition)} - inner

    def _add_value(
        self, node: Node, bound: Correlated, moved: Mapping[ColumnRef, exp.Expr]
    ) -> LeftJoin:
        """Rows with a subquery's value: it is computed once for each of the values that it names.

        Source: Neumann and Kemper, the join with the distinct bindings of the free variables.
        """
        conditions = tuple(substitute(c, moved) for c in bound.conditions)
        inner = set(bound.rows.schema)
        free = sorted(
            {c for condition in conditions for c in columns_of(condition) if c not in inner},
            key=lambda c: (c.relation, c.name),
        )
        asked = self.around.binder.name("asked")
        items, mapping = under(asked, free, taken=(m.name for m in bound.measures))
        bindings = Aggregate(node, asked, items, ())
        found = Join((bindings, bound.rows), tuple(substitute(c, mapping) for c in conditions))
        keys = tuple(Named(item.name, mapping[c]) for c, item in zip(free, items, strict=True))
        other = Aggregate(found, bound.relation, keys, bound.measures)
        same = tuple(
            exp.NullSafeEQ(
                this=c.expression(), expression=ColumnRef(bound.relation, key.name).expression()
            )
            for c, key in zip(free, keys, strict=True)
        )
        return LeftJoin(node, other, same, self.around.binder.name("scalar"))

    def above_groups(self, name: str, grouping: AfterGrouping) -> None:
        """Let a subquery above GROUP BY name keys and aggregates instead of the rows' columns.

        Raises:
            InvalidModel: If it names a column that is neither grouped nor inside an aggregate.
        """
        inner = _rows(self.pending[name]).schema
        own = {c: ColumnRef(HOLE, f"{c.relation}.{c.name}") for c in inner}
        hidden: dict[ColumnRef, exp.Expr] = {c: h.expression() for c, h in own.items()}
        shown: dict[ColumnRef, exp.Expr] = {h: c.expression() for c, h in own.items()}

        def above(condition: exp.Expr) -> exp.Expr:
            return substitute(grouping.apply(substitute(condition, hidden)), shown)

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

    # -- binding -----------------------------------------------------------------------------

    def _predicate(self, node: exp.Expr) -> Matched:
        if isinstance(node, exp.Exists):
            inside = Inside(self.around, _select(node.this))
            other, _, conditions = inside.rows(())
            return Matched(other, conditions)
        select = _select(node.args["query"])
        asked = node.this
        wanted = list(asked.expressions) if isinstance(asked, exp.Tuple) else [asked]
        for kind, what in ((SUBQUERIES, "A subquery"), ((exp.Window,), "A window function")):
            if asked.find(*kind) is not None:
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
        inside = Inside(self.around, select)
        other, values, conditions = inside.rows(tuple(s.unalias() for s in select.selects))
        equal = [
            exp.EQ(this=exp.paren(self.around.expression(w)), expression=exp.paren(v))
            for w, v in zip(wanted, values, strict=True)
        ]
        unknown = true_or_null(exp.and_(*(e.copy() for e in equal)))
        return Matched(other, (*equal, *conditions), (unknown, *conditions))

    def _scalar(self, select: exp.Query) -> Scalar | Correlated:
        if len(select.selects) != 1:
            raise InvalidModel(
                f"A scalar subquery with {len(select.selects)} columns", **position(select)
            )
        return Inside(self.around, select).scalar()


def _rows(bound: Matched | Scalar | Correlated) -> Node:
    return bound.rows if isinstance(bound, Correlated) else bound.other


def _select(node: exp.Expr) -> exp.Query:
    inner = node.unnest() if isinstance(node, exp.Subquery) else node
    if not isinstance(inner, exp.Query):
        raise NotYetImplemented(f"{node.key.upper()} as a subquery", **position(node))
    return inner
