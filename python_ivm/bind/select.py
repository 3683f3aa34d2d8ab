"""One SELECT, bound clause by clause in the order of evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, columns_of, substitute, under
from python_ivm.algebra.conditions import conjuncts
from python_ivm.algebra.nodes import (
    Filter,
    Node,
    Project,
    Values,
)
from python_ivm.algebra.walks import ends_in_generate
from python_ivm.bind import generators
from python_ivm.bind.clauses import Clauses, modifiers
from python_ivm.bind.clock_filters import filtered
from python_ivm.bind.from_clause import joined
from python_ivm.bind.grouping.group_by import grouped
from python_ivm.bind.projection import projected
from python_ivm.bind.scope import PLACEHOLDER, Ctes, ModelScope, SelectScope, placeholders
from python_ivm.bind.subqueries.correlation import field_to_spark, no_rule
from python_ivm.bind.subqueries.decorrelate import Subqueries
from python_ivm.bind.subqueries.predicates import is_list_query, is_predicate, plain_predicates
from python_ivm.bind.windows import window_functions
from python_ivm.errors import NotYetImplemented
from python_ivm.functions.aggregates import refuse_aggregates
from python_ivm.functions.generators import is_generator
from python_ivm.parse.trees import SUBQUERIES, has_grouping_sets, position
from python_ivm.qualify.time_windows import is_time_window
from python_ivm.sources.clock import readings

_KNOWN_CLAUSES = frozenset(
    {
        "with_", "expressions", "from_", "joins", "where", "group", "having", "order", "limit",
        "offset", "distinct", "hint", "kind", "operation_modifiers", "qualify", "laterals",
        "windows",
    }
)  # fmt: skip

_CLAUSES = {
    "windows": "WINDOW", "sort": "SORT BY", "cluster": "CLUSTER BY", "distribute": "DISTRIBUTE BY",
    "pivots": "PIVOT", "match": "MATCH_RECOGNIZE", "connect": "CONNECT BY", "locks": "FOR UPDATE",
}  # fmt: skip
"""How clauses are written that sqlglot knows by other names."""


class SelectBinder:
    """Binds one SELECT.

    Attributes:
        binder: Binds the relations that it reads.
        ctes: The CTEs that it can see.
        around: The outer query, where this is a subquery that may name its columns.
        columns: What each visible column is in the plan so far.
    """

    def __init__(
        self,
        binder: ModelScope,
        tree: exp.Select,
        wanted: str,
        ctes: Ctes,
        around: SelectScope | None = None,
    ) -> None:
        """Take the SELECT and the name that its result should have."""
        self.binder = binder
        self.tree = window_functions.with_named_windows(tree)
        self.wanted = wanted
        self.ctes = ctes
        self.around = around
        self.columns: dict[ColumnRef, exp.Expr] = {}
        self.subqueries = Subqueries(self)

    def nested(self, tree: exp.Select) -> SelectBinder:
        """A binder for a subquery of this SELECT."""
        return SelectBinder(self.binder, tree, "subquery", self.ctes, self)

    def bind(self) -> Node:
        """The SELECT as a plan."""
        self._refuse_unknown_clauses()
        node, conditions = self.from_and_where()
        if conditions:
            node = Filter(node, exp.and_(*conditions))
        order = modifiers(self.tree)
        clauses = Clauses(
            names=tuple(s.alias_or_name for s in self.tree.selects),
            selects=tuple(self.expression(s.unalias()) for s in self.tree.selects),
            having=self._clause("having"),
            qualify=self._clause("qualify"),
            order=tuple(self._ordered(k) for k in order.keys) if order else (),
        )
        node, clauses = grouped(self, node, clauses)
        if clauses.having is not None:
            asked = set(placeholders([clauses.having]))
            node, every = self.filled(node, clauses.expressions, asked)
            clauses = clauses.over(every)
            assert clauses.having is not None
            node, clauses = filtered(node, clauses.having), replace(clauses, having=None)
        node, every = self.filled(node, clauses.expressions)
        node, every = window_functions.computed(self.binder, node, every)
        clauses = clauses.over(every)
        if clauses.qualify is not None:
            node = filtered(node, clauses.qualify)
        return projected(self, node, clauses, order)

    def _clause(self, name: str) -> exp.Expr | None:
        clause = self.tree.args.get(name)
        return None if clause is None else self.expression(clause.this)

    # -- FROM and WHERE ----------------------------------------------------------------------

    def from_and_where(self) -> tuple[Node, list[exp.Expr]]:
        """The joined relations, subqueries of WHERE among them, and the other conditions."""
        from_ = self.tree.args.get("from_")
        if from_ is None:
            one = ((exp.Literal.number(1),),)
            node: Node = Values(self.binder.name("one_row"), ("one",), one)
        else:
            node = joined(self, from_.this, self.tree.args.get("joins") or [])
        views = self.tree.args.get("laterals") or []
        for view in (v for v in views if not is_time_window(v.this)):
            node = generators.generate(self, node, view, bool(view.args.get("outer")))
        if self._joins_later():
            node = self.joinable(node)
        where = self.tree.args.get("where")
        kept: list[exp.Expr] = []
        asking: list[exp.Expr] = []
        for condition in conjuncts(where.this) if where is not None else []:
            refuse_aggregates(condition, "WHERE")
            if condition.find(*SUBQUERIES) is None:
                kept.append(self.expression(condition))
            else:
                asking.append(condition)
        own = set(node.schema)
        local = [c for c in kept if columns_of(c) <= own]
        if local and (asking or any(readings(c) for c in local)):
            node = filtered(node, exp.and_(*local))
            kept = [c for c in kept if c not in local]
        for condition in asking:
            node, kept = self.asking(node, condition, kept)
        return self._in_time_windows(node, kept)

    def _in_time_windows(self, node: Node, kept: list[exp.Expr]) -> tuple[Node, list[exp.Expr]]:
        """The rows of WHERE in their time windows, and the conditions that name an outer query."""
        views = [v for v in self.tree.args.get("laterals") or [] if is_time_window(v.this)]
        own = set(node.schema)
        local = [c for c in kept if columns_of(c) <= own]
        if views and local:
            node, kept = filtered(node, exp.and_(*local)), [c for c in kept if c not in local]
        for view in views:
            node = generators.generate(self, node, view, outer=False)
        if views and self._joins_later():
            below = node.schema
            node = self.as_one_relation(node, "generated")
            moved = dict(zip(below, (c.expression() for c in node.schema), strict=True))
            kept = [substitute(c, moved) for c in kept]
        return node, kept

    def _joins_later(self) -> bool:
        """Whether a clause after FROM becomes a join."""
        group = self.tree.args.get("group")
        clauses = [*self.tree.selects, group]
        clauses += [self.tree.args.get(k) for k in ("where", "having", "qualify", "order")]
        asks = any(clause.find(*SUBQUERIES) for clause in clauses if clause is not None)
        return asks or (group is not None and has_grouping_sets(group))

    def joinable(self, node: Node) -> Node:
        """A plan that a join may follow: rows of LATERAL VIEWs become a relation of their own."""
        if not ends_in_generate(node):
            return node
        return self.as_one_relation(node, "generated")

    def closed_under(self, node: Node) -> Node:
        """The node itself, if its conditions name only what is below it."""
        below = {c for child in node.inputs for c in child.schema}
        if any(not columns_of(e) <= below for e in node.expressions):
            raise no_rule("A subquery that names columns of a query further out", self.tree)
        return node

    def as_one_relation(self, node: Node, wanted: str) -> Project:
        """Rows of several relations as one, which can be joined to others as it is."""
        relation = self.binder.name(wanted)
        items, moved = under(relation, node.schema)
        self.move(moved)
        return Project(node, relation, items)

    def asking(
        self, node: Node, condition: exp.Expr, kept: list[exp.Expr]
    ) -> tuple[Node, list[exp.Expr]]:
        """Keep the rows for which a condition with subqueries is true.

        Args:
            node: The rows.
            condition: The condition.
            kept: Other conditions over the rows.

        Returns:
            The rows that stay, and the other conditions over them.
        """
        semi_join = self.subqueries.as_semi_join(node, condition)
        if semi_join is not None:
            return self.closed_under(semi_join), kept
        node, filled = self.filled(node, [self.expression(condition), *kept])
        return self.closed_under(filtered(node, filled[0])), filled[1:]

    def show(self, alias: str, columns: Iterable[ColumnRef]) -> None:
        """Let expressions name a relation's columns by its alias."""
        for column in columns:
            self.columns[ColumnRef(alias, column.name)] = column.expression()

    # -- expressions -------------------------------------------------------------------------

    def expression(self, expression: exp.Expr, generator: bool = False) -> exp.Expr:
        """An expression over the plan's columns; subqueries in it become placeholders.

        Args:
            expression: As the query has it.
            generator: Whether it is a generator's call itself.
        """
        copied = plain_predicates(expression)
        for node in _outermost_subqueries(copied):
            if isinstance(node.parent, (exp.Any, exp.All)):
                raise NotYetImplemented(
                    "A comparison with ANY or ALL of a subquery",
                    operator="ANY",
                    **position(node.parent),
                )
            placeholder = self.subqueries.placeholder(node)
            if node is copied:
                copied = placeholder
            else:
                node.replace(placeholder)
        self._refuse_generators(list(copied.iter_expressions()) if generator else [copied])
        return self._resolved(copied)

    def _resolved(self, expression: exp.Expr) -> exp.Expr:
        mapping: dict[ColumnRef, exp.Expr] = {}
        scope: SelectScope | None = self
        while scope is not None:
            for column, value in scope.columns.items():
                mapping.setdefault(column, value)
            scope = scope.around
        for named in expression.find_all(exp.Column):
            found = ColumnRef(named.table, named.name)
            if named.table and named.table != PLACEHOLDER and found not in mapping:
                raise no_rule(f"Column {named.name} of a query further out", named)
            further_out = named.table != PLACEHOLDER and found not in self.columns
            if further_out and any(column.name == named.table for column in self.columns):
                raise field_to_spark(named)
        return substitute(expression, mapping)

    @staticmethod
    def _refuse_generators(expressions: Iterable[exp.Expr]) -> None:
        for expression in expressions:
            for node in expression.walk():
                if is_generator(node):
                    refused = "A generator function inside an expression"
                    raise NotYetImplemented(refused, operator=refused, **position(node))

    def _ordered(self, key: exp.Ordered) -> exp.Ordered:
        copied = key.copy()
        copied.set("this", self.expression(copied.this))
        return copied

    def filled(
        self, node: Node, expressions: list[exp.Expr], only: set[str] | None = None
    ) -> tuple[Node, list[exp.Expr]]:
        """Join the subqueries of expressions, of which the rows may get other columns."""
        joined, filled, moved = self.subqueries.fill(node, expressions, only)
        self.move(moved)
        above = joined
        while above is not node and above.inputs:
            above = self.closed_under(above).inputs[0]
        return joined, filled

    def move(self, moved: Mapping[ColumnRef, exp.Expr]) -> None:
        """Keep visible columns and open subqueries up to date, where the rows got other columns."""
        if moved:
            self.columns = {c: substitute(e, moved) for c, e in self.columns.items()}
            self.subqueries.move(moved)

    def _refuse_unknown_clauses(self) -> None:
        for clause, value in self.tree.args.items():
            if value and clause not in _KNOWN_CLAUSES:
                shown = _CLAUSES.get(clause, clause.rstrip("_").upper())
                raise NotYetImplemented(shown, operator=shown, **position(self.tree))
        if any(isinstance(item, exp.QueryTransform) for item in self.tree.expressions):
            raise NotYetImplemented("TRANSFORM", operator="TRANSFORM", **position(self.tree))


def _outermost_subqueries(expression: exp.Expr) -> list[exp.Expr]:
    """The subqueries of an expression that are in no other one."""
    if is_predicate(expression) or isinstance(expression, SUBQUERIES):
        return [expression]
    if isinstance(expression, exp.Not) and is_list_query(expression.this.unnest()):
        return [expression]
    return [
        found for child in expression.iter_expressions() for found in _outermost_subqueries(child)
    ]
