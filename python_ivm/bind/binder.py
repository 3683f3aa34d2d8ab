"""From a qualified tree to the logical plan."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from python_ivm.algebra import nodes
from python_ivm.algebra.columns import ColumnRef, Named, first_free, may_be_beside
from python_ivm.algebra.invariants import check
from python_ivm.algebra.nodes import Node
from python_ivm.algebra.normalize import keeps_some, normalize
from python_ivm.bind.clauses import modifiers
from python_ivm.bind.grouping.order_by import order_key
from python_ivm.bind.query import COPIES, VIEW, Hints, Query
from python_ivm.bind.recursion import is_recursive, recursion, refuse_endless
from python_ivm.bind.scope import Cte, Ctes, renamed
from python_ivm.bind.select import SelectBinder
from python_ivm.bind.set_operations import set_operation
from python_ivm.bind.subqueries.domain import Domains
from python_ivm.bind.ties import Kinds, break_ties
from python_ivm.bind.union_types import Casts, of_one_type
from python_ivm.bind.windows.session_windows import refuse_windows_again
from python_ivm.errors import InvalidModel, NotYetImplemented
from python_ivm.functions.aggregates import has_aggregate
from python_ivm.parse.clock_calls import NAMES, calls, with_readings
from python_ivm.parse.hints import JOINS, PARTITIONS, hints_of
from python_ivm.parse.trees import position, variables
from python_ivm.qualify.checks.determinism import check_deterministic
from python_ivm.qualify.checks.lambda_variables import check_lambda_variables
from python_ivm.qualify.qualify import qualify
from python_ivm.qualify.schema import Schemas, column_names
from python_ivm.sources.clock import readings

_RESERVED = frozenset(
    {"changed", "change", "delta", "net_delta", "lost", "recomputed", "source", "state", "stored"}
)
"""Relations of the MERGE, which stand beside the model's own in one SELECT."""


def bind(
    parsed: exp.Query,
    schemas: Schemas,
    casts: Casts | None = None,
    kinds: Kinds | None = None,
    taken: Collection[str] = (),
) -> Query:
    """Bind a model to its sources.

    Args:
        parsed: The model's tree, in which each table has its full name.
        schemas: The tables that it reads.
        casts: What the parts of unions are cast to; None casts nothing.
        kinds: Knows the types of values that only break ties; None takes each as it is.
        taken: Names that no relation may have, as relations of other plans have them.

    Returns:
        The bound query.

    Raises:
        InvalidModel: If the SQL is wrong.
        Unsupported: If its result does not follow from its sources.
        NotYetImplemented: If the planner has no rule for a construct.
    """
    check_deterministic(parsed)
    check_lambda_variables(parsed, _RESERVED)
    _refuse_columns_named_like_the_clock(parsed, schemas)
    tree = with_readings(qualify(parsed, schemas))
    _check_output_names(tree, _spelling(parsed, tree.named_selects, schemas))
    binder = Binder(schemas)
    binder.taken |= _column_names(tree, schemas).union(taken)
    refuse_endless(tree)
    plan = binder.query(tree, VIEW, {})
    refuse_windows_again(plan)
    columns = _spelling(parsed, [c.name for c in plan.schema], schemas)
    sources = tuple(dict.fromkeys(n.source for n in plan.walk() if isinstance(n, nodes.Scan)))
    plan = break_ties(plan, kinds)
    if casts is not None:
        plan = of_one_type(plan, casts, binder.name)
    plan = check(break_ties(normalize(plan), kinds))
    _forget_positions(plan)
    chooses = binder.chooses or keeps_some(plan)
    partitions = tuple(hint for hint in hints_of(parsed) if hint.name in PARTITIONS)
    hints = Hints(binder.join_hints, partitions)
    return Query(plan, columns, sources, chooses, _clock_elsewhere(plan), hints)


def _column_names(tree: exp.Query, schemas: Schemas) -> set[str]:
    """The names of columns and of variables of lambda functions, which no relation may have.

    In its function Spark takes ``x.k`` for a field of the variable ``x``; in a subquery ``a.k``
    for a field of its own column ``a``, not for a column of the relation ``a`` around it. No
    subquery reads what the query shows of its groups.
    """
    top = tree.selects if isinstance(tree, exp.Select) else []
    shown = {id(item) for item in top if has_aggregate(item)}
    named = (item.alias for item in tree.find_all(exp.Alias) if id(item) not in shown)
    return column_names(schemas) | set(named) | variables([tree])


def _clock_elsewhere(plan: Node) -> frozenset[str]:
    """The readings of the clock outside of :class:`~nodes.ClockFilter`."""
    asking = (node for node in plan.walk() if not isinstance(node, nodes.ClockFilter))
    return frozenset(kind for node in asking for e in _every(node) for kind in readings(e))


def _every(node: Node) -> tuple[exp.Expr, ...]:
    """The expressions of a node, those of constant rows among them."""
    match node:
        case nodes.TableFunction():
            return (node.function,)
        case nodes.Values():
            return tuple(value for row in node.rows for value in row)
    return node.expressions


def _refuse_columns_named_like_the_clock(parsed: exp.Query, schemas: Schemas) -> None:
    """Spark takes a bare name for the column of that name, if there is one."""
    names = column_names(schemas) & set(NAMES)
    if calls(parsed) and names:
        raise NotYetImplemented(
            f"The clock beside a column named {min(names)}",
            hint="Give the column another name.",
        )


def _forget_positions(plan: Node) -> None:
    """Drop what only the binder's errors need, and every copy would carry along."""
    for node in plan.walk():
        for expression in node.expressions:
            for part in expression.walk():
                if part.meta_get("line") is not None:
                    part._meta = None


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
class Binder:
    """Binds one model.

    Attributes:
        schemas: The tables that it reads.
        taken: The relation names that are taken.
        domains: The rows for whose values correlated subqueries are evaluated.
        chooses: Whether Spark may give several results for the model, of which the plan gives one.
        join_hints: By relation, the names of the user's hints of how to join it.
    """

    schemas: Schemas
    taken: set[str] = field(default_factory=lambda: set(_RESERVED))
    domains: Domains = field(default_factory=Domains)
    chooses: bool = False
    join_hints: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def name(self, wanted: str) -> str:
        """A relation name that nothing else in the plan has."""
        found = first_free(wanted, self._is_free)
        self.taken.add(found)
        return found

    def _is_free(self, name: str) -> bool:
        return name not in self.taken and not any(
            may_be_beside(name, other) or may_be_beside(other, name) for other in self.taken
        )

    def query(self, tree: exp.Expr, wanted: str, ctes: Ctes) -> Node:
        """Bind a query expression; the result is a relation named like ``wanted``."""
        if isinstance(tree, exp.Subquery):
            if any(tree.args.get(k) for k in ("order", "limit", "offset", "pivots", "sample")):
                raise NotYetImplemented("A modifier behind a parenthesis", operator="subquery")
            return self.query(tree.this, wanted, ctes)
        ctes = self._with(tree, ctes)
        if isinstance(tree, exp.Select):
            return SelectBinder(self, tree, wanted, ctes).bind()
        if isinstance(tree, exp.SetOperation):
            return self._set_operation(tree, wanted, ctes)
        raise NotYetImplemented(
            f"{tree.key.upper()} as a query", operator=tree.key.upper(), **position(tree)
        )

    def _with(self, tree: exp.Expr, ctes: Ctes) -> Ctes:
        with_ = tree.args.get("with_")
        if with_ is None:
            return ctes
        scope = dict(ctes)
        for cte in with_.expressions:
            scope[cte.alias] = Cte(cte, dict(scope))
        return scope

    def _set_operation(self, tree: exp.SetOperation, wanted: str, ctes: Ctes) -> Node:
        if tree.args.get("by_name"):
            raise NotYetImplemented(f"{tree.key.upper()} BY NAME", operator=tree.key.upper())
        parts = [self.query(side, f"{wanted}_part", ctes) for side in (tree.left, tree.right)]
        widths = [len(part.schema) for part in parts]
        if len(set(widths)) != 1:
            raise InvalidModel(
                f"{tree.key.upper()}'s sides have {widths[0]} and {widths[1]} columns",
                **position(tree),
            )
        names = tuple(c.name for c in parts[0].schema)
        node: Node
        if isinstance(tree, exp.Union):
            node = nodes.UnionAll(tuple(parts), self.name(wanted), names)
            if tree.args.get("distinct"):
                node = self.distinct(node, wanted)
        else:
            node = set_operation(tree, parts, names, self.name(f"{wanted}_sides"))
            node = renamed(node, names, self.name(wanted))
        order = modifiers(tree)
        if order is None:
            return node
        scope = {name: c.expression() for name, c in zip(names, node.schema, strict=True)}
        keys = tuple(order_key(key, scope, None) for key in order.keys)
        return renamed(nodes.Sort(node, keys, order.limit, order.offset), names, self.name(wanted))

    def domain(self, node: Node, relation: str, items: Sequence[Named]) -> nodes.Bindings:
        """The distinct values of rows for which a correlated subquery is evaluated."""
        return self.domains.of(node, relation, items)

    def distinct(self, node: Node, wanted: str) -> nodes.Aggregate:
        """DISTINCT over a relation's columns."""
        keys = tuple(Named(c.name, c.expression()) for c in node.schema)
        return nodes.Aggregate(node, self.name(f"{wanted}_distinct"), keys, ())

    def relation(self, source: exp.Expr, ctes: Ctes) -> tuple[str, Node]:
        """Bind an item of a FROM clause.

        Returns:
            The alias by which the query names it, and the bound relation.
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
                return alias, self._cte(ctes[source.name], alias)
            return alias, self._scan(source, alias)
        if isinstance(source, exp.Subquery):
            alias = source.alias_or_name
            return alias, self.query(source.this, alias or "derived", ctes)
        if isinstance(source, exp.Values):
            return self._values(source)
        raise NotYetImplemented(
            f"{source.key.upper()} in FROM", operator=source.key.upper(), **position(source)
        )

    def hint(self, select: exp.Select, alias: str, relation: str) -> None:
        """Note how a SELECT's hints say to join a relation of its FROM."""
        found = [
            hint.name
            for hint in hints_of(select)
            if hint.name in JOINS and any(a and a[-1].lower() == alias for a in hint.arguments)
        ]
        if found:
            self.join_hints[relation] = tuple(found)

    def _cte(self, cte: Cte, alias: str) -> Node:
        """A CTE is bound once; where it is named again, it is the same relation renamed."""
        if isinstance(cte.plan, nodes.WorkingTable):
            return replace(cte.plan, relation=self.name(alias))
        if cte.plan is None:
            if is_recursive(cte.tree):
                cte.plan = recursion(self, cte.tree, cte.scope)
            else:
                cte.plan = self.query(cte.tree.this, alias, cte.scope)
            return cte.plan
        return renamed(cte.plan, tuple(c.name for c in cte.plan.schema), self.name(alias))

    def _scan(self, source: exp.Table, alias: str) -> Node:
        """A source; a state's rows as often as they count (see ``state/public.py``)."""
        table = self.schemas[source.name]
        columns = tuple(name.lower() for name in table.columns)
        scan = nodes.Scan(source.name, self.name(alias), columns)
        copies = source.meta.get(COPIES)
        if copies is None:
            return scan
        return nodes.Repeat(scan, ColumnRef(scan.relation, copies).expression())

    def _values(self, source: exp.Values) -> tuple[str, Node]:
        alias = source.alias or "values"
        rows = tuple(
            tuple(e.copy() for e in (row.expressions if isinstance(row, exp.Tuple) else [row]))
            for row in source.expressions
        )
        names = tuple(name.lower() for name in source.alias_column_names)
        names = names or tuple(f"col{n}" for n in range(1, len(rows[0]) + 1))
        return alias, nodes.Values(self.name(alias), names, rows)
