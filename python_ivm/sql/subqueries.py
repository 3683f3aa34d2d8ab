"""Subqueries in expressions: decorrelated to semi-, anti- and outer joins and to marks.

Sources: Neumann and Kemper, "Unnesting Arbitrary Queries", BTW 2015, for the special case that a
correlation is a conjunction at the subquery's top; papers/outer-join-semijoin-ivm, §4.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, columns_of, flat_names, substitute
from python_ivm.algebra.conditions import common_conjuncts, true_or_null
from python_ivm.algebra.nodes import (
    Aggregate,
    Filter,
    Join,
    LeftJoin,
    Mark,
    Node,
    Project,
    SemiJoin,
)
from python_ivm.errors import InvalidModel, NotYetImplemented
from python_ivm.sql.by_key import by_key, outer_columns
from python_ivm.sql.grouping import HOLE, AfterGrouping, has_aggregate
from python_ivm.sql.parse import position
from python_ivm.sql.predicates import is_predicate, plain_predicates

if TYPE_CHECKING:
    from python_ivm.sql.select import SelectBinder

TOO_MANY = "[SCALAR_SUBQUERY_TOO_MANY_ROWS] More than one row returned by a subquery"


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


@dataclass(frozen=True)
class Scalar:
    """A subquery that is asked for its value.

    Attributes:
        other: At most one row for each row of the query around.
        conditions: When that row belongs to a row of the query around; none if there is one row.
        value: The value, over the columns of ``other``; NULLs there mean that there is no row.
    """

    other: Node
    conditions: tuple[exp.Expr, ...]
    value: exp.Expr


@dataclass(frozen=True)
class Correlated:
    """A subquery that is asked for its value, and whose conditions are more than equalities.

    Attributes:
        rows: The subquery's rows.
        conditions: Which of them belong to a row of the query around, over both sides' columns.
        relation: The name of the aggregate that gives the value.
        measures: Its measures.
        value: The value, over that relation's columns; NULLs there mean that there is no row.
    """

    rows: Node
    conditions: tuple[exp.Expr, ...]
    relation: str
    measures: tuple[Named, ...]
    value: exp.Expr


@dataclass
class Subqueries:
    """The subqueries of one SELECT: found while expressions are bound, joined when needed."""

    around: SelectBinder
    pending: dict[str, Matched | Scalar | Correlated] = field(default_factory=dict)

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
        for name in needed:
            bound = self.pending[name]
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
            expressions = [substitute(e, {ColumnRef(HOLE, name): value}) for e in expressions]
        return node, expressions, moved

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
        names = flat_names(free, taken=(m.name for m in bound.measures))
        bindings = Aggregate(
            node, asked, tuple(Named(n, c.expression()) for c, n in names.items()), ()
        )
        mapping: dict[ColumnRef, exp.Expr] = {
            c: ColumnRef(asked, n).expression() for c, n in names.items()
        }
        found = Join((bindings, bound.rows), tuple(substitute(c, mapping) for c in conditions))
        keys = tuple(Named(n, ColumnRef(asked, n).expression()) for n in names.values())
        other = Aggregate(found, bound.relation, keys, bound.measures)
        same = tuple(
            exp.NullSafeEQ(
                this=c.expression(), expression=ColumnRef(bound.relation, n).expression()
            )
            for c, n in names.items()
        )
        return LeftJoin(node, other, same, self.around.binder.name("scalar"))

    def above_groups(self, name: str, grouping: AfterGrouping) -> None:
        """Let a subquery above GROUP BY name keys and aggregates instead of the rows' columns.

        Raises:
            InvalidModel: If it names a column that is neither grouped nor inside an aggregate.
        """
        bound = self.pending[name]
        inner = _rows(bound).schema
        own = {c: ColumnRef(HOLE, f"{c.relation}.{c.name}") for c in inner}
        hidden: dict[ColumnRef, exp.Expr] = {c: h.expression() for c, h in own.items()}
        shown: dict[ColumnRef, exp.Expr] = {h: c.expression() for c, h in own.items()}

        def above(conditions: tuple[exp.Expr, ...]) -> tuple[exp.Expr, ...]:
            applied = (grouping.apply(substitute(c, hidden)) for c in conditions)
            return tuple(substitute(c, shown) for c in applied)

        if isinstance(bound, Matched) and bound.unknown is not None:
            bound = replace(bound, unknown=above(bound.unknown))
        self.pending[name] = replace(bound, conditions=above(bound.conditions))

    def _add_mark(
        self, node: Node, other: Node, conditions: tuple[exp.Expr, ...]
    ) -> tuple[Node, exp.Expr, dict[ColumnRef, exp.Expr]]:
        relation = self.around.binder.name("marked")
        names = flat_names(node.schema)
        items = tuple(Named(name, c.expression()) for c, name in names.items())
        mark = f"{relation}_match"
        marked = Mark(node, other, conditions, relation, items, mark)
        step: dict[ColumnRef, exp.Expr] = {
            c: ColumnRef(relation, name).expression() for c, name in names.items()
        }
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
        if len(wanted) != len(select.selects):
            raise InvalidModel(
                f"IN compares {len(wanted)} columns with {len(select.selects)}", **position(node)
            )
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


class Inside:
    """Binds a subquery whose expressions may name columns of the query around it."""

    def __init__(self, around: SelectBinder, tree: exp.Query) -> None:
        """Take the query around and the subquery."""
        self.around = around
        self.tree = tree
        self.binder = around.binder

    def rows(
        self, values: tuple[exp.Expr, ...]
    ) -> tuple[Node, list[exp.Expr], tuple[exp.Expr, ...]]:
        """The subquery's rows as a relation.

        Args:
            values: Expressions of the subquery that the caller compares.

        Returns:
            The relation, the values over its columns, and the correlated conditions.
        """
        if not self.is_simple():
            if outer_columns(self.tree):
                found = by_key(self.around, self.tree, "subquery")
                return found.rows, list(found.columns[: len(values)]), found.conditions
            whole = self._uncorrelated()
            return whole, [c.expression() for c in whole.schema[: len(values)]], ()
        select, node, correlated = self.from_and_where()
        bound = [select.expression(v) for v in values]
        own = set(node.schema)
        used = {c for e in (*bound, *correlated) for c in columns_of(e) if c in own}
        kept = [c for c in node.schema if c in used] or list(node.schema[:1])
        names = flat_names(kept)
        relation = self.binder.name("subquery")
        items = tuple(Named(name, c.expression()) for c, name in names.items())
        mapping: dict[ColumnRef, exp.Expr] = {
            c: ColumnRef(relation, name).expression() for c, name in names.items()
        }
        rows = Project(node, relation, items)
        return (
            rows,
            [substitute(e, mapping) for e in bound],
            tuple(substitute(c, mapping) for c in correlated),
        )

    def scalar(self) -> Scalar | Correlated:
        """The subquery as at most one row for each row of the query around."""
        tree = self.tree
        aggregated = isinstance(tree, exp.Select) and has_aggregate(tree.selects[0])
        if not isinstance(tree, exp.Select) or not self.is_simple(aggregates=True):
            if outer_columns(tree):
                return self._by_key()
            return self._one_row(self._uncorrelated())
        select, node, correlated = self.from_and_where()
        value = select.expression(tree.selects[0].unalias())
        if not correlated:
            if not aggregated:
                return self._one_row(self._uncorrelated())
            grouping = AfterGrouping(self.binder.name("scalar_value"), [])
            shown = grouping.apply(value)
            other = Aggregate(node, grouping.relation, (), tuple(grouping.measures))
            return Scalar(other, (), shown)
        equalities = self.equalities_or_none(node, correlated)
        if equalities is None:
            return self._by_any_condition(node, value, correlated, aggregated)
        keys, outer = equalities
        grouping = AfterGrouping(self.binder.name("scalar_value"), list(keys))
        if aggregated:
            shown = of_no_rows(grouping.apply(value), grouping)
        else:
            shown = _value_of(grouping, value)
        other = Aggregate(node, grouping.relation, keys, tuple(grouping.measures))
        return Scalar(other, equal_keys(outer, other), shown)

    def _by_key(self) -> Scalar:
        """The value for each key of a subquery that groups, is distinct or keeps the first rows."""
        found = by_key(self.around, self.tree, "subquery")
        keys = tuple(Named(f"key_{n}", key) for n, key in enumerate(found.keys, 1))
        grouping = AfterGrouping(self.binder.name("scalar_value"), list(keys))
        shown = _value_of(grouping, found.columns[0])
        other = Aggregate(found.rows, grouping.relation, keys, tuple(grouping.measures))
        return Scalar(other, equal_keys(found.outer, other), shown)

    def _one_row(self, whole: Node) -> Scalar:
        """The one value of a relation that must not have more than one row."""
        relation = self.binder.name("scalar_value")
        value = Named("value", _only(whole.schema[0].expression()))
        other = Aggregate(whole, relation, (), (value,))
        return Scalar(other, (), ColumnRef(relation, "value").expression())

    def is_simple(self, aggregates: bool = False) -> bool:
        """Whether the subquery is FROM and WHERE, so that its conditions can be pulled out."""
        tree = self.tree
        if not isinstance(tree, exp.Select):
            return False
        if tree.args.get("group") or tree.args.get("having") or tree.args.get("windows"):
            return False
        if any(tree.args.get(k) for k in ("limit", "offset", "qualify", "with_")):
            return False
        if tree.args.get("distinct") is not None and aggregates:
            return False
        if any(s.find(exp.Window) for s in tree.selects):
            return False
        return aggregates or not any(has_aggregate(s) for s in tree.selects)

    def _uncorrelated(self) -> Node:
        """The subquery bound by itself."""
        return self.binder.query(self.tree, "subquery", self.around.ctes)

    def from_and_where(self) -> tuple[SelectBinder, Node, list[exp.Expr]]:
        """FROM and WHERE, and the conditions that name columns of the query around."""
        assert isinstance(self.tree, exp.Select)
        select = self.around.inside(self.tree)
        node, kept = select.from_and_where()
        own = set(node.schema)
        kept = [
            part for c in kept for part in ([c] if columns_of(c) <= own else common_conjuncts(c))
        ]
        correlated = [c for c in kept if not columns_of(c) <= own]
        local = [c for c in kept if columns_of(c) <= own]
        if local:
            node = Filter(node, exp.and_(*local))
        return select, node, correlated

    def _by_any_condition(
        self, node: Node, value: exp.Expr, correlated: list[exp.Expr], aggregated: bool
    ) -> Correlated:
        grouping = AfterGrouping(self.binder.name("scalar_value"), [])
        if aggregated:
            shown = of_no_rows(grouping.apply(value), grouping)
        else:
            grouping.measures.append(Named("value", _only(value)))
            shown = ColumnRef(grouping.relation, "value").expression()
        measures = tuple(grouping.measures)
        own = set(node.schema)
        used = {c for e in (*correlated, *(m.expression for m in measures)) for c in columns_of(e)}
        if any(c not in own for m in measures for c in columns_of(m.expression)):
            raise NotYetImplemented(
                "An aggregate over a column of the query around",
                operator="correlated subquery",
                **position(self.tree),
            )
        kept = [c for c in node.schema if c in used] or list(node.schema[:1])
        names = flat_names(kept)
        relation = self.binder.name("subquery")
        mapping: dict[ColumnRef, exp.Expr] = {
            c: ColumnRef(relation, name).expression() for c, name in names.items()
        }
        rows = Project(node, relation, tuple(Named(n, c.expression()) for c, n in names.items()))
        return Correlated(
            rows,
            tuple(substitute(c, mapping) for c in correlated),
            grouping.relation,
            tuple(Named(m.name, substitute(m.expression, mapping)) for m in measures),
            shown,
        )

    def equalities(
        self, node: Node, correlated: Iterable[exp.Expr]
    ) -> tuple[tuple[Named, ...], list[exp.Expr]]:
        """As :meth:`equalities_or_none`.

        Raises:
            NotYetImplemented: If the conditions are more than equalities.
        """
        found = self.equalities_or_none(node, correlated)
        if found is None:
            raise NotYetImplemented(
                "A subquery with an aggregate, correlated by more than equalities",
                operator="correlated subquery",
                **position(self.tree),
            )
        return found

    def equalities_or_none(
        self, node: Node, correlated: Iterable[exp.Expr]
    ) -> tuple[tuple[Named, ...], list[exp.Expr]] | None:
        """The inner and the outer sides of conditions that are all ``inner = outer``; else None."""
        own = set(node.schema)
        keys: list[Named] = []
        outer: list[exp.Expr] = []
        for condition in correlated:
            sides = [condition.left, condition.right] if isinstance(condition, exp.EQ) else []
            inner = [s for s in sides if columns_of(s) and columns_of(s) <= own]
            around = [s for s in sides if not columns_of(s) & own]
            if len(inner) != 1 or len(around) != 1:
                return None
            keys.append(Named(f"key_{len(keys) + 1}", inner[0]))
            outer.append(around[0])
        return tuple(keys), outer


def _rows(bound: Matched | Scalar | Correlated) -> Node:
    return bound.rows if isinstance(bound, Correlated) else bound.other


def _select(node: exp.Expr) -> exp.Query:
    inner = node.unnest() if isinstance(node, exp.Subquery) else node
    if not isinstance(inner, exp.Query):
        raise NotYetImplemented(f"{node.key.upper()} as a subquery", **position(node))
    return inner


def _only(value: exp.Expr) -> exp.Expr:
    """An aggregate that gives the one value of a group, and Spark's error if there are more."""
    return _one_of(exp.Count(this=exp.Star()), exp.Max(this=value.copy()))


def _value_of(grouping: AfterGrouping, value: exp.Expr) -> exp.Expr:
    """The one value of a group, and Spark's error where a row of the query around finds more."""
    grouping.measures.append(Named("value", exp.Max(this=value.copy())))
    grouping.measures.append(Named("number", exp.Count(this=exp.Star())))
    found, number = (ColumnRef(grouping.relation, m.name).expression() for m in grouping.measures)
    return _one_of(number, found)


def _one_of(number: exp.Expr, value: exp.Expr) -> exp.Expr:
    """A value, and Spark's error where it is one of several."""
    several = exp.GT(this=number, expression=exp.Literal.number(1))
    error = exp.Anonymous(this="raise_error", expressions=[exp.Literal.string(TOO_MANY)])
    return exp.Case().when(several, error).else_(value)


def equal_keys(outer: Iterable[exp.Expr], groups: Aggregate) -> tuple[exp.Expr, ...]:
    """When a row of the query around belongs to a group: its values equal the group's keys."""
    return tuple(
        exp.EQ(this=value, expression=ColumnRef(groups.relation, key.name).expression())
        for value, key in zip(outer, groups.keys, strict=True)
    )


def of_no_rows(shown: exp.Expr, grouping: AfterGrouping) -> exp.Expr:
    """A value over aggregates whose group may be missing: counts are then 0, all else NULL."""
    counts = {
        ColumnRef(grouping.relation, m.name): exp.func(
            "coalesce",
            ColumnRef(grouping.relation, m.name).expression(),
            exp.Literal.number(0),
        )
        for m in grouping.measures
        if isinstance(
            m.expression.this if isinstance(m.expression, exp.Filter) else m.expression,
            (exp.Count, exp.CountIf, exp.ApproxDistinct),
        )
    }
    return substitute(shown, counts)
