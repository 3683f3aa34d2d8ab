"""From a qualified tree to the logical plan."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from python_ivm.algebra.nodes import (
    Aggregate,
    ColumnRef,
    Filter,
    Join,
    Named,
    Node,
    Project,
    Scan,
    Sort,
    UnionAll,
    check,
    substitute,
)
from python_ivm.algebra.normalize import normalize
from python_ivm.errors import InvalidModel, NotYetImplemented
from python_ivm.sql.determinism import check_deterministic
from python_ivm.sql.grouping import (
    AfterGrouping,
    group_keys,
    has_aggregate,
    refuse_aggregates,
)
from python_ivm.sql.order import Order, is_constant, modifiers, order_key
from python_ivm.sql.parse import parse, position
from python_ivm.sql.qualify import qualify
from python_ivm.sql.schema import Schemas

VIEW = "ivm_view"
"""The relation name of a plan's result."""

_RESERVED = frozenset(
    {"changed", "change", "delta", "net_delta", "lost", "recomputed", "source", "state", "stored"}
)
"""Relations of the MERGE, which stand beside the model's own in one SELECT."""

_SUBQUERIES = (exp.Subquery, exp.Exists, exp.Select, exp.SetOperation)
_GENERATORS = tuple(
    getattr(exp, name)
    for name in ("Explode", "ExplodeOuter", "Posexplode", "PosexplodeOuter", "Inline", "Unnest")
    if hasattr(exp, name)
)
_GENERATOR_NAMES = frozenset({"stack", "inline", "inline_outer", "json_tuple"})


@dataclass(frozen=True)
class Query:
    """A bound model.

    Attributes:
        plan: The normalized logical plan; its result is the relation :data:`VIEW`.
        columns: The visible columns' names as the user spells them.
        sources: Planner keys of the tables that it reads, in the order of first use.
    """

    plan: Node
    columns: tuple[str, ...]
    sources: tuple[str, ...]


def bind(sql: str, schemas: Schemas) -> Query:
    """Parse a model and bind it to its sources.

    Args:
        sql: The model's compiled SQL.
        schemas: The tables that it reads.

    Returns:
        The bound query.

    Raises:
        InvalidModel: If the SQL is wrong.
        Unsupported: If its result does not follow from its sources.
        NotYetImplemented: If the planner has no rule for a construct.
    """
    parsed = parse(sql)
    check_deterministic(parsed)
    tree = qualify(parsed, schemas)
    _check_output_names(tree, _spelling(parsed, tree.named_selects, schemas))
    plan = _Binder(schemas).query(tree, VIEW, {})
    columns = _spelling(parsed, [c.name for c in plan.schema], schemas)
    sources = tuple(dict.fromkeys(n.source for n in plan.walk() if isinstance(n, Scan)))
    if not sources:
        raise NotYetImplemented("The query reads no table", operator="SELECT without FROM")
    return Query(check(normalize(plan)), columns, sources)


def _check_output_names(parsed: exp.Query, columns: tuple[str, ...]) -> None:
    seen: set[str] = set()
    for index, name in enumerate(columns):
        if name.lower() in seen:
            selects = parsed.selects
            where = position(selects[index]) if len(selects) == len(columns) else {}
            raise InvalidModel(
                f"Two output columns are named {name}",
                hint="Give one of them another name with AS.",
                **where,
            )
        seen.add(name.lower())


def _spelling(parsed: exp.Query, lowered: list[str], schemas: Schemas) -> tuple[str, ...]:
    """The output names as the user (or else the source table) spells them."""
    spelled: dict[str, str] = {}
    for table in schemas.values():
        for name in table.columns:
            spelled.setdefault(name.lower(), name)
    for alias in parsed.find_all(exp.Alias):
        spelled[alias.alias.lower()] = alias.alias
    for select in parsed.selects:
        name = select.alias_or_name
        if name and name != "*":
            spelled[name.lower()] = name
    return tuple(spelled.get(name, name) for name in lowered)


@dataclass
class _Binder:
    """Binds one model; holds the relation names that are taken."""

    schemas: Schemas
    taken: set[str] = field(default_factory=lambda: set(_RESERVED))

    def name(self, wanted: str) -> str:
        """A relation name that nothing else in the plan has."""
        candidates = itertools.chain([wanted], (f"{wanted}_{n}" for n in itertools.count(2)))
        found = next(c for c in candidates if c not in self.taken)
        self.taken.add(found)
        return found

    def query(self, tree: exp.Expr, wanted: str, ctes: Mapping[str, _Cte]) -> Node:
        """Bind a query expression; the result is a relation named like ``wanted``."""
        if isinstance(tree, exp.Subquery):
            if any(tree.args.get(k) for k in ("order", "limit", "offset", "pivots", "sample")):
                raise NotYetImplemented("A modifier behind a parenthesis", operator="subquery")
            return self.query(tree.this, wanted, ctes)
        ctes = self._with(tree, ctes)
        if isinstance(tree, exp.Select):
            return _SelectBinder(self, tree, wanted, ctes).bind()
        if isinstance(tree, exp.SetOperation):
            return self._set_operation(tree, wanted, ctes)
        raise NotYetImplemented(
            f"{tree.key.upper()} as a query", operator=tree.key.upper(), **position(tree)
        )

    def _with(self, tree: exp.Expr, ctes: Mapping[str, _Cte]) -> Mapping[str, _Cte]:
        with_ = tree.args.get("with_")
        if with_ is None:
            return ctes
        if with_.args.get("recursive"):
            raise NotYetImplemented("A recursive CTE", operator="WITH RECURSIVE", **position(with_))
        scope = dict(ctes)
        for cte in with_.expressions:
            scope[cte.alias] = _Cte(cte.this, dict(scope))
        return scope

    def _set_operation(self, tree: exp.SetOperation, wanted: str, ctes: Mapping[str, _Cte]) -> Node:
        if not isinstance(tree, exp.Union) or tree.args.get("by_name"):
            raise NotYetImplemented(f"{tree.key.upper()}", operator=tree.key.upper())
        relation = self.name(wanted)
        parts = [self.query(side, f"{wanted}_part", ctes) for side in (tree.left, tree.right)]
        widths = [len(part.schema) for part in parts]
        if len(set(widths)) != 1:
            raise InvalidModel(
                f"UNION's sides have {widths[0]} and {widths[1]} columns", **position(tree)
            )
        names = tuple(c.name for c in parts[0].schema)
        node: Node = UnionAll(tuple(parts), relation, names)
        if tree.args.get("distinct"):
            node = self.distinct(node, wanted)
        order = modifiers(tree)
        if order is None:
            return node
        scope = {
            name: ColumnRef(node.schema[i].relation, name).expression()
            for i, name in enumerate(names)
        }
        keys = tuple(order_key(key, scope, None) for key in order.keys)
        return Sort(node, keys, order.limit, order.offset)

    def distinct(self, node: Node, wanted: str) -> Aggregate:
        """DISTINCT over a relation's columns."""
        keys = tuple(Named(c.name, c.expression()) for c in node.schema)
        return Aggregate(node, self.name(f"{wanted}_distinct"), keys, ())

    def relation(self, source: exp.Expr, ctes: Mapping[str, _Cte]) -> tuple[str, Node]:
        """Bind an item of a FROM clause.

        Returns:
            The alias by which the query around names it, and the bound relation.
        """
        if source.args.get("pivots"):
            raise NotYetImplemented("PIVOT", operator="PIVOT", **position(source))
        if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
            alias = source.alias_or_name
            if source.args.get("version") or source.args.get("when"):
                raise NotYetImplemented(
                    "Time travel in a model", operator="VERSION AS OF", **position(source)
                )
            if source.name in ctes and source.name not in self.schemas:
                cte = ctes[source.name]
                return alias, self.query(cte.tree, alias, cte.scope)
            table = self.schemas[source.name]
            columns = tuple(name.lower() for name in table.columns)
            return alias, Scan(source.name, self.name(alias), columns)
        if isinstance(source, exp.Subquery):
            alias = source.alias_or_name
            return alias, self.query(source.this, alias or "derived", ctes)
        raise NotYetImplemented(
            f"{source.key.upper()} in FROM", operator=source.key.upper(), **position(source)
        )


@dataclass(frozen=True)
class _Cte:
    """A CTE's tree and the CTEs that it can see; it is bound anew wherever it is named."""

    tree: exp.Expr
    scope: Mapping[str, _Cte]


class _SelectBinder:
    """Binds one SELECT, clause by clause in the order of evaluation."""

    def __init__(
        self, binder: _Binder, tree: exp.Select, wanted: str, ctes: Mapping[str, _Cte]
    ) -> None:
        self.binder = binder
        self.tree = tree
        self.wanted = wanted
        self.ctes = ctes
        self.aliases: dict[str, Node] = {}

    def bind(self) -> Node:
        """The SELECT as a plan."""
        self._refuse_unknown_clauses()
        node = self._from()
        where = self.tree.args.get("where")
        if where is not None:
            node = Filter(node, refuse_aggregates(self._expression(where.this), "WHERE"))
        selects = [(s.alias_or_name, self._expression(s.unalias())) for s in self.tree.selects]
        having = self.tree.args.get("having")
        condition = self._expression(having.this) if having is not None else None
        grouping = self._grouping(selects, condition)
        order = modifiers(self.tree)
        keys = tuple(self._ordered(k) for k in order.keys) if order else ()
        if grouping is not None:
            before = dict(selects)
            rewritten = [(name, grouping.apply(e, wanted=name)) for name, e in selects]
            condition = grouping.apply(condition) if condition is not None else None
            keys = tuple(order_key(k, before, grouping) for k in keys)
            selects = rewritten
            node = Aggregate(
                node, grouping.relation, tuple(grouping.keys), tuple(grouping.measures)
            )
        else:
            keys = tuple(order_key(k, dict(selects), None) for k in keys)
        if condition is not None:
            node = Filter(node, condition)
        keys = tuple(k for k in keys if not is_constant(k.this))
        return self._finish(node, selects, order, keys)

    def _finish(
        self,
        node: Node,
        selects: list[tuple[str, exp.Expr]],
        order: Order | None,
        keys: tuple[exp.Ordered, ...],
    ) -> Node:
        """Projection, DISTINCT, ORDER BY and LIMIT above everything else."""
        names = [name for name, _ in selects]
        if len(set(names)) != len(names) and self.wanted != VIEW:
            names = [f"{n}_{i}" if names.index(n) != i else n for i, n in enumerate(names)]
        items = tuple(Named(n, e) for n, (_, e) in zip(names, selects, strict=True))
        if len({i.name for i in items}) != len(items):
            _check_output_names(self.tree, tuple(names))
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
            by_expression = {item.expression: item.name for item in items}
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

    def _from(self) -> Node:
        from_ = self.tree.args.get("from_")
        if from_ is None:
            raise NotYetImplemented("SELECT without FROM", operator="SELECT without FROM")
        parts = [self._relation(from_.this)]
        conditions: list[exp.Expr] = []
        for join in self.tree.args.get("joins") or []:
            kind = " ".join(w for w in (join.method, join.side, join.kind) if w).upper()
            if kind not in ("", "INNER", "CROSS"):
                raise NotYetImplemented(
                    f"{kind} JOIN", operator=f"{kind} JOIN", **position(join.this)
                )
            parts.append(self._relation(join.this))
            if join.args.get("on") is not None:
                on = self._expression(join.args["on"])
                conditions.append(refuse_aggregates(on, "a join condition"))
        return parts[0] if len(parts) == 1 else Join(tuple(parts), tuple(conditions))

    def _relation(self, source: exp.Expr) -> Node:
        alias, node = self.binder.relation(source, self.ctes)
        self.aliases[alias] = node
        return node

    def _ordered(self, key: exp.Ordered) -> exp.Ordered:
        copied = key.copy()
        copied.set("this", self._expression(copied.this))
        return copied

    def _expression(self, expression: exp.Expr) -> exp.Expr:
        """An expression over the plan's columns, after refusing what has no rule."""
        for node in expression.walk():
            name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
            refused = None
            if isinstance(node, _SUBQUERIES):
                refused = "a subquery in an expression"
            elif isinstance(node, exp.Window):
                refused = "a window function"
            elif isinstance(node, _GENERATORS) or name in _GENERATOR_NAMES:
                refused = "a generator function"
            if refused:
                raise NotYetImplemented(refused.capitalize(), operator=refused, **position(node))
        mapping: dict[ColumnRef, exp.Expr] = {
            ColumnRef(alias, column.name): column.expression()
            for alias, node in self.aliases.items()
            for column in node.schema
        }
        return substitute(expression, mapping)

    def _grouping(
        self, selects: list[tuple[str, exp.Expr]], having: exp.Expr | None
    ) -> AfterGrouping | None:
        group = self.tree.args.get("group")
        aggregated = having is not None or any(has_aggregate(e) for _, e in selects)
        if group is None and not aggregated:
            return None
        keys: list[Named] = []
        if group is not None:
            keys = group_keys(group, selects, self._expression)
        return AfterGrouping(self.binder.name(f"{self.wanted}_groups"), keys)

    def _refuse_unknown_clauses(self) -> None:
        known = {
            "with_", "expressions", "from_", "joins", "where", "group", "having", "order",
            "limit", "offset", "distinct", "hint", "kind", "operation_modifiers",
        }  # fmt: skip
        for clause, value in self.tree.args.items():
            if value and clause not in known:
                shown = clause.rstrip("_").upper()
                raise NotYetImplemented(shown, operator=shown, **position(self.tree))
