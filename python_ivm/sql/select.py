"""One SELECT, bound clause by clause in the order of evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, columns_of, substitute, under
from python_ivm.algebra.conditions import conjuncts
from python_ivm.algebra.nodes import (
    Aggregate,
    Filter,
    FullJoin,
    Join,
    LeftJoin,
    Node,
    Project,
    SemiJoin,
    Sort,
    Values,
)
from python_ivm.algebra.plans import ends_in_generate
from python_ivm.errors import InvalidModel, NotYetImplemented
from python_ivm.sources.clock import readings
from python_ivm.sql import generators, windows
from python_ivm.sql.aggregates import is_aggregate_call
from python_ivm.sql.clock_filters import by_the_clock, filtered, inner_join
from python_ivm.sql.determined import RowOrder, is_choice
from python_ivm.sql.grouping import (
    HOLE,
    AfterGrouping,
    group_keys,
    grouping_sets,
    has_aggregate,
    refuse_aggregates,
)
from python_ivm.sql.grouping_sets import expand
from python_ivm.sql.lateral import join_lateral
from python_ivm.sql.order import Order, is_constant, modifiers, order_key
from python_ivm.sql.parse import position
from python_ivm.sql.predicates import is_list_query, is_predicate, plain_predicates
from python_ivm.sql.subqueries import Subqueries

if TYPE_CHECKING:
    from python_ivm.sql.bind import Binder, Cte

_SUBQUERIES = (exp.Subquery, exp.Select, exp.SetOperation)
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
        around: The query around, where this is a subquery that may name its columns.
        columns: What each visible column is in the plan so far.
    """

    def __init__(
        self,
        binder: Binder,
        tree: exp.Select,
        wanted: str,
        ctes: Mapping[str, Cte],
        around: SelectBinder | None = None,
    ) -> None:
        """Take the SELECT and the name that its result should have."""
        self.binder = binder
        self.tree = windows.with_named_windows(tree)
        self.wanted = wanted
        self.ctes = ctes
        self.around = around
        self.columns: dict[ColumnRef, exp.Expr] = {}
        self.subqueries = Subqueries(self)

    def inside(self, tree: exp.Select) -> SelectBinder:
        """A binder for a subquery of this SELECT."""
        return SelectBinder(self.binder, tree, "subquery", self.ctes, self)

    def bind(self) -> Node:
        """The SELECT as a plan."""
        self._refuse_unknown_clauses()
        node, conditions = self.from_and_where()
        if conditions:
            node = Filter(node, exp.and_(*conditions))
        names = [s.alias_or_name for s in self.tree.selects]
        shown = [self.expression(s.unalias()) for s in self.tree.selects]
        having = self._clause("having")
        qualify = self._clause("qualify")
        order = modifiers(self.tree)
        keys = tuple(self._ordered(k) for k in order.keys) if order else ()
        selects = list(zip(names, shown, strict=True))
        node, grouping, selects, having, qualify = self._grouped(
            node, selects, having, qualify, keys
        )
        before = dict(zip(names, shown, strict=True))
        keys = tuple(order_key(k, before, grouping) for k in keys)
        keys = tuple(k for k in keys if not is_constant(k.this))
        if grouping is not None:
            if grouping.sets is not None:
                node = Join((node, grouping.sets.rows))
            node = Aggregate(node, grouping.relation, grouping.grouped_by, tuple(grouping.measures))
        values = [e for _, e in selects] + ([qualify] if qualify is not None else []) + list(keys)
        if having is not None:
            holes = {c.name for c in columns_of(having) if c.relation == HOLE}
            node, (having, *values) = self._filled(node, [having, *values], holes)
            node = filtered(node, having)
        node, values = self._filled(node, values)
        node, values = windows.bind(self.binder, node, values)
        selects = list(zip(names, values, strict=False))
        sorted_by = values[len(values) - len(keys) :]
        keys = tuple(key for key in sorted_by if isinstance(key, exp.Ordered))
        if qualify is not None:
            node = filtered(node, values[len(names)])
        return self._finish(node, selects, order, keys)

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
            node = self._joined(from_.this, self.tree.args.get("joins") or [])
        for view in self.tree.args.get("laterals") or []:
            node = generators.generate(self, node, view, bool(view.args.get("outer")))
        if self._joins_later():
            node = self._joinable(node)
        where = self.tree.args.get("where")
        kept: list[exp.Expr] = []
        asking: list[exp.Expr] = []
        for condition in conjuncts(where.this) if where is not None else []:
            refuse_aggregates(condition, "WHERE")
            if condition.find(*_SUBQUERIES) is None:
                kept.append(self.expression(condition))
            else:
                asking.append(condition)
        own = set(node.schema)
        local = [c for c in kept if columns_of(c) <= own]
        if local and (asking or any(readings(c) for c in local)):
            node = filtered(node, exp.and_(*local))
            kept = [c for c in kept if c not in local]
        for condition in asking:
            node, kept = self._asking(node, condition, kept)
        return node, kept

    def _joins_later(self) -> bool:
        """Whether a clause after FROM becomes a join."""
        group = self.tree.args.get("group")
        clauses = [*self.tree.selects, group]
        clauses += [self.tree.args.get(k) for k in ("where", "having", "qualify", "order")]
        asks = any(clause.find(*_SUBQUERIES) for clause in clauses if clause is not None)
        return asks or (group is not None and expand(group) is not None)

    def _joinable(self, node: Node) -> Node:
        """A plan that a join may follow: rows of LATERAL VIEWs become a relation of their own."""
        if not ends_in_generate(node):
            return node
        return self._as_one_relation(node, "generated")

    def closed_under(self, node: Node) -> Node:
        """The node itself, if its conditions name only what is below it."""
        below = {c for child in node.inputs for c in child.schema}
        if any(not columns_of(e) <= below for e in node.expressions):
            raise NotYetImplemented(
                "A subquery that names columns of a query further out",
                operator="correlated subquery",
                **position(self.tree),
            )
        return node

    def _joined(self, first: exp.Expr, joins: Sequence[exp.Join]) -> Node:
        node = self._relation(first)
        for join in joins:
            kind = " ".join(w for w in (join.method, join.side, join.kind) if w).upper()
            on = join.args.get("on")
            if isinstance(join.this, exp.Lateral):
                node = self._lateral(kind, node, join.this, on)
                continue
            node = self._joinable(node)
            other = self._joinable(self._relation(join.this))
            terms = conjuncts(on) if on is not None else []
            asking = [c for c in terms if c.find(*_SUBQUERIES) is not None]
            conditions = [self.expression(c) for c in terms if c.find(*_SUBQUERIES) is None]
            for condition in conditions:
                refuse_aggregates(condition, "a join condition")
            if asking and kind not in ("", "INNER", "CROSS"):
                node, other, conditions = self._asking_below(node, other, conditions, asking)
                asking = []
            node = self._join(kind, node, other, conditions, join)
            for condition in asking:
                node, _ = self._asking(node, condition, [])
            if asking:
                node = self._as_one_relation(node, "joined")
        return node

    def _asking_below(
        self, node: Node, other: Node, conditions: list[exp.Expr], asking: list[exp.Expr]
    ) -> tuple[Node, Node, list[exp.Expr]]:
        """Join the subqueries of an outer join's condition to the side whose columns they name."""
        every = [*conditions, *(self.expression(c) for c in asking)]
        for hole in sorted({c.name for e in every for c in columns_of(e) if c.relation == HOLE}):
            named = self.subqueries.free(hole)
            if named <= set(other.schema):
                other, every = self._filled(other, every, {hole})
            elif named <= set(node.schema):
                node, every = self._filled(node, every, {hole})
            else:
                raise NotYetImplemented(
                    "A subquery with columns of both sides in the condition of an outer join",
                    operator="ON",
                    **position(asking[0]),
                )
        return node, other, every

    def _lateral(self, kind: str, node: Node, lateral: exp.Lateral, on: exp.Expr | None) -> Node:
        """A join to a function or a subquery that may name the relations before it."""
        sides = {"": False, "INNER": False, "CROSS": False, "LEFT": True, "LEFT OUTER": True}
        if kind not in sides:
            raise NotYetImplemented(
                f"{kind} JOIN LATERAL", operator="LATERAL", **position(lateral.this)
            )
        if generators.is_generator(lateral.this):
            return generators.generate(self, node, lateral, sides[kind], on)
        return join_lateral(self, self._joinable(node), lateral, sides[kind], on)

    def _as_one_relation(self, node: Node, wanted: str) -> Project:
        """Rows of several relations as one, which can be joined to others as it is."""
        relation = self.binder.name(wanted)
        items, moved = under(relation, node.schema)
        self._move(moved)
        return Project(node, relation, items)

    def _asking(
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
        joined = self.subqueries.as_semi_join(node, condition)
        if joined is not None:
            return self.closed_under(joined), kept
        node, filled = self._filled(node, [self.expression(condition), *kept])
        return self.closed_under(filtered(node, filled[0])), filled[1:]

    def _join(
        self, kind: str, node: Node, other: Node, conditions: list[exp.Expr], join: exp.Join
    ) -> Node:
        node, other, conditions = by_the_clock(kind, node, other, conditions)
        on = tuple(conditions)
        label = self.binder.name(f"{_name(other)}_match")
        match kind.removesuffix(" OUTER"):
            case "" | "INNER" | "CROSS":
                return inner_join(node, other, on)
            case "LEFT":
                return LeftJoin(node, other, on, label)
            case "RIGHT":
                return LeftJoin(other, node, on, label)
            case "FULL":
                return FullJoin(node, other, on, label)
            case "LEFT SEMI" | "SEMI":
                return SemiJoin(node, other, on, False, label)
            case "LEFT ANTI" | "ANTI":
                return SemiJoin(node, other, on, True, label)
        raise NotYetImplemented(f"{kind} JOIN", operator=f"{kind} JOIN", **position(join.this))

    def _relation(self, source: exp.Expr) -> Node:
        if isinstance(source, exp.Subquery) and _is_from_item(source.this):
            inner = source.this.copy()
            joins = inner.args.get("joins") or []
            inner.set("joins", None)
            return self._joined(inner, joins)
        if source.args.get("joins"):
            raise NotYetImplemented("A join inside FROM", operator="JOIN", **position(source))
        if isinstance(source, exp.Table) and isinstance(source.this, exp.Func):
            return generators.table_function(self, source)
        alias, node = self.binder.relation(source, self.ctes)
        self.show(alias, node.schema)
        return node

    def show(self, alias: str, columns: Iterable[ColumnRef]) -> None:
        """Let expressions name a relation's columns by its alias."""
        for column in columns:
            self.columns[ColumnRef(alias, column.name)] = column.expression()

    # -- expressions -------------------------------------------------------------------------

    def expression(self, expression: exp.Expr, generator: bool = False) -> exp.Expr:
        """An expression over the plan's columns; subqueries in it become holes.

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
            hole = self.subqueries.hole(node)
            if node is copied:
                copied = hole
            else:
                node.replace(hole)
        self._refuse_generators(list(copied.iter_expressions()) if generator else [copied])
        return self._resolved(copied)

    def _resolved(self, expression: exp.Expr) -> exp.Expr:
        mapping: dict[ColumnRef, exp.Expr] = {}
        scope: SelectBinder | None = self
        while scope is not None:
            for column, value in scope.columns.items():
                mapping.setdefault(column, value)
            scope = scope.around
        for named in expression.find_all(exp.Column):
            found = ColumnRef(named.table, named.name)
            if named.table and named.table != HOLE and found not in mapping:
                raise NotYetImplemented(
                    f"Column {named.name} of a query further out",
                    operator="correlated subquery",
                    **position(named),
                )
            further_out = named.table != HOLE and found not in self.columns
            if further_out and any(column.name == named.table for column in self.columns):
                raise NotYetImplemented(
                    f"{named.table}.{named.name}, which to Spark is a field of a column "
                    f"{named.table} of the subquery,",
                    operator="correlated subquery",
                    hint="Give the table of the query further out another alias.",
                    **position(named),
                )
        return substitute(expression, mapping)

    @staticmethod
    def _refuse_generators(expressions: Iterable[exp.Expr]) -> None:
        for expression in expressions:
            for node in expression.walk():
                if generators.is_generator(node):
                    refused = "A generator function inside an expression"
                    raise NotYetImplemented(refused, operator=refused, **position(node))

    def _ordered(self, key: exp.Ordered) -> exp.Ordered:
        copied = key.copy()
        copied.set("this", self.expression(copied.this))
        return copied

    def _filled(
        self, node: Node, expressions: list[exp.Expr], only: set[str] | None = None
    ) -> tuple[Node, list[exp.Expr]]:
        """Join the subqueries of expressions, and keep the visible columns up to date."""
        node, filled, moved = self.subqueries.fill(node, expressions, only)
        self._move(moved)
        return node, filled

    def _move(self, moved: Mapping[ColumnRef, exp.Expr]) -> None:
        if moved:
            self.columns = {c: substitute(e, moved) for c, e in self.columns.items()}

    # -- GROUP BY ----------------------------------------------------------------------------

    def _grouped(
        self,
        node: Node,
        selects: list[tuple[str, exp.Expr]],
        having: exp.Expr | None,
        qualify: exp.Expr | None,
        sort: tuple[exp.Ordered, ...],
    ) -> tuple[
        Node,
        AfterGrouping | None,
        list[tuple[str, exp.Expr]],
        exp.Expr | None,
        exp.Expr | None,
    ]:
        """What stands above the grouping, over its output, and the input with its subqueries."""
        group = self.tree.args.get("group")
        aggregated = having is not None or any(has_aggregate(e) for _, e in selects)
        if group is None and not aggregated:
            return node, None, selects, having, qualify
        keys: list[Named] = []
        if group is not None:
            keys = group_keys(group, selects, self.expression)
        early = {
            c.name
            for e in (*(e for _, e in selects), having, *(k.expression for k in keys))
            if e is not None
            for call in e.find_all(exp.Expr)
            if is_aggregate_call(call) or any(e is k.expression for k in keys)
            for c in columns_of(call)
            if c.relation == HOLE
        }
        if early:
            every = [e for _, e in selects] + [k.expression for k in keys]
            every += [having] if having is not None else []
            node, every = self._filled(node, every, early)
            selects = [(n, e) for (n, _), e in zip(selects, every, strict=False)]
            keys = [
                Named(k.name, e)
                for k, e in zip(keys, every[len(selects) : len(selects) + len(keys)], strict=True)
            ]
            having = every[-1] if having is not None else None
        sets = None
        if group is not None:
            named = self.binder.name("grouping_sets")
            sets = grouping_sets(group, keys, self.expression, named)
        above = [*(e for _, e in selects), having, qualify, *sort]
        calls = [n for e in above if e is not None for n in e.walk() if is_aggregate_call(n)]
        self.binder.chooses |= any(map(is_choice, calls))
        grouping = AfterGrouping(
            self.binder.name(f"{self.wanted}_groups"), keys, sets, order=RowOrder.of(calls)
        )
        shown = [(name, grouping.apply(e, wanted=name)) for name, e in selects]
        condition = grouping.apply(having) if having is not None else None
        qualified = grouping.apply(qualify) if qualify is not None else None
        self._subqueries_above_groups([e for _, e in shown], condition, grouping)
        return node, grouping, shown, condition, qualified

    def _subqueries_above_groups(
        self, shown: list[exp.Expr], having: exp.Expr | None, grouping: AfterGrouping
    ) -> None:
        """Subqueries above GROUP BY see the groups' keys and aggregates."""
        above = [*shown, *([having] if having is not None else [])]
        holes = {c.name for e in above for c in columns_of(e) if c.relation == HOLE}
        for name in sorted(holes):
            self.subqueries.above_groups(name, grouping)

    # -- projection, DISTINCT, ORDER BY and LIMIT ----------------------------------------------

    def _finish(
        self,
        node: Node,
        selects: list[tuple[str, exp.Expr]],
        order: Order | None,
        keys: tuple[exp.Ordered, ...],
    ) -> Node:
        names = [name for name, _ in selects]
        if len(set(names)) != len(names):
            names = [f"{n}_{i}" if names.index(n) != i else n for i, n in enumerate(names)]
        items = tuple(Named(n, e) for n, (_, e) in zip(names, selects, strict=True))
        if self.tree.args.get("distinct") is None:
            if order is not None:
                node = Sort(node, keys, order.limit, order.offset)
            return Project(node, self.binder.name(self.wanted), items)
        if self.tree.args["distinct"].args.get("on"):
            raise NotYetImplemented("DISTINCT ON", operator="DISTINCT ON")
        rows = Project(node, self.binder.name(f"{self.wanted}_rows"), items)
        distinct = self.binder.distinct(rows, self.wanted)
        top: Node = distinct
        if order is not None:
            by_expression = {item.expression.unnest(): item.name for item in items}
            over = tuple(self._over_distinct(k, by_expression, distinct.relation) for k in keys)
            top = Sort(distinct, over, order.limit, order.offset)
        columns = tuple(Named(c.name, c.expression()) for c in distinct.schema)
        return Project(top, self.binder.name(self.wanted), columns)

    def _over_distinct(
        self, key: exp.Ordered, outputs: Mapping[exp.Expr, str], relation: str
    ) -> exp.Ordered:
        def replacement(node: exp.Expr) -> exp.Expr:
            name = outputs.get(node)
            return node if name is None else ColumnRef(relation, name).expression()

        copied = key.copy()
        copied.set("this", copied.this.transform(replacement))
        for column in copied.find_all(exp.Column):
            if column.table != relation:
                raise InvalidModel(
                    f"ORDER BY names {column.name}, which SELECT DISTINCT does not show",
                    **position(column),
                )
        return copied

    def _refuse_unknown_clauses(self) -> None:
        for clause, value in self.tree.args.items():
            if value and clause not in _KNOWN_CLAUSES:
                shown = _CLAUSES.get(clause, clause.rstrip("_").upper())
                raise NotYetImplemented(shown, operator=shown, **position(self.tree))


def _outermost_subqueries(expression: exp.Expr) -> list[exp.Expr]:
    """The subqueries of an expression that are in no other one."""
    if is_predicate(expression) or isinstance(expression, _SUBQUERIES):
        return [expression]
    if isinstance(expression, exp.Not) and is_list_query(expression.this.unnest()):
        return [expression]
    return [
        found for child in expression.iter_expressions() for found in _outermost_subqueries(child)
    ]


def _is_from_item(inside: exp.Expr) -> bool:
    """Whether parentheses in FROM hold relations rather than a query."""
    if isinstance(inside, exp.Subquery):
        return bool(inside.alias or inside.args.get("joins"))
    return isinstance(inside, exp.Table)


def _name(node: Node) -> str:
    return node.schema[0].relation if node.schema else "rows"
