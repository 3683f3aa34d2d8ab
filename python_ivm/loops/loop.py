"""A loop that can be run: bound, ordered, and with the types of its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from python_ivm.algebra.nodes import Filter, Join, Node, Scan
from python_ivm.algebra.walks import bottom_up
from python_ivm.bind.binder import bind
from python_ivm.errors import InvalidModel, NotYetImplemented
from python_ivm.loops.graph import Graph, Vertex, graph_of, reading_vertex
from python_ivm.loops.order import Order
from python_ivm.loops.program import Program
from python_ivm.loops.verdict import refuse_knots
from python_ivm.parse.clock_calls import calls
from python_ivm.parse.loops import DELAY, NOW
from python_ivm.parse.trees import position
from python_ivm.qualify.schema import Schemas, TableSchema
from python_ivm.rows.builder import Builder, Rows, named
from python_ivm.rows.circuit import Circuit
from python_ivm.rows.compiler import compiled
from python_ivm.rows.kinds import VOID, ValueType
from python_ivm.rows.lookups import Lookup
from python_ivm.rows.operators import Bag, Delayed, Given, Linear, Stored

Kinds = Mapping[str, Sequence[ValueType]]
"""The types of each binding's columns."""
Describe = Callable[[Node], Sequence[ValueType]]
"""The types of the columns of a plan that reads nothing of the loop."""


@dataclass(frozen=True)
class Loop:
    """A loop.

    Attributes:
        program: The program; None if it is the change of a recursion.
        plans: Each binding's query as a plan, in which bindings are tables.
        graph: The operators and bindings.
        order: Their order in a round.
        names: The names of each binding's columns.
        kinds: Their types.
        ansi: Whether ANSI mode is on.
    """

    program: Program | None
    plans: Mapping[str, Node]
    graph: Graph
    order: Order
    names: Mapping[str, tuple[str, ...]]
    kinds: Kinds
    ansi: bool

    @property
    def schemas(self) -> dict[str, TableSchema]:
        """The bindings as tables, for what stands behind the loop."""
        return {s.key: s for s in _schemas(self.names, self.kinds) if s.parts[0] == NOW}

    @property
    def givens(self) -> list[Node]:
        """The plans that read nothing of the loop: what must be known before it is run."""
        return [v.node for v in self.graph.vertices if v.is_given and v.node is not None]

    def circuit(self, rows: Mapping[int, Bag | Lookup], kinds: Describe) -> Circuit:
        """The loop as operators over rows.

        Args:
            rows: For each plan of :attr:`givens`, by its place there, its rows.
            kinds: The types of their columns.
        """
        given = {id(node): rows[place] for place, node in enumerate(self.givens)}
        builder, _ = _compiled(
            self.graph, self.plans, self.names, self.kinds, kinds, self.ansi, given
        )
        return _circuit(builder, self.graph, self.order)


def loop_of(program: Program, schemas: Schemas, ansi: bool, describe: Describe) -> Loop:
    """Bind a program's loop, and find its order and its types.

    Args:
        program: The program.
        schemas: The tables that the query reads.
        ansi: Whether ANSI mode is on.
        describe: Asks for the types of what Spark computes before the loop.

    Raises:
        InvalidModel: If the SQL is wrong.
        LoopNotExecutable: If no order of the operators is right.
        NotYetImplemented: If the row engine cannot compute something in the loop.
    """
    _refuse_clock(program)
    names = _names(program, schemas)
    unknown = _schemas(names, {name: [VOID] * len(names[name]) for name in names})
    tables = {**schemas, **{schema.key: schema for schema in unknown}}
    plans: dict[str, Node] = {}
    relations: set[str] = set()
    for name in program.bindings:
        bound = bind(program.body(name), tables, taken=relations).plan
        plan = pushed(_with_columns(bound, tables))
        relations |= {column.relation for node in plan.walk() for column in node.schema}
        if len(plan.schema) != len(names[name]):
            raise InvalidModel(
                f"{name} has {len(plan.schema)} columns, and names {len(names[name])}",
                **program.position(name),
            )
        plans[name] = plan
    graph = graph_of(plans)
    refuse_knots(program, graph)
    kinds = binding_types(graph, plans, names, describe, ansi)
    _refuse_untyped(program, names, kinds)
    return Loop(program, plans, graph, graph.order(), names, kinds, ansi)


def _with_columns(plan: Node, tables: Schemas) -> Node:
    """A plan whose tables show a column each, also where only their number of rows counts."""

    def rule(node: Node) -> Node:
        if not isinstance(node, Scan) or node.columns:
            return node
        return replace(node, columns=(next(iter(tables[node.source].columns)).lower(),))

    return bottom_up(plan, rule)


def _refuse_untyped(
    program: Program, names: Mapping[str, Sequence[str]], kinds: Mapping[str, Sequence[ValueType]]
) -> None:
    """Refuse a column behind the loop of which no value has a type, as no table can store it."""
    read = {table.name for table in program.main.find_all(exp.Table) if table.db == NOW}
    for binding in program.bindings:
        if binding in read and VOID in kinds[binding]:
            column = names[binding][list(kinds[binding]).index(VOID)]
            raise InvalidModel(
                f"The column {column} of {binding} has no type: it is NULL in all rows",
                hint=f"Cast it to a type in a SELECT of {binding}: CAST(NULL AS INT).",
                **program.position(binding),
            )


def _refuse_clock(program: Program) -> None:
    for name in program.bindings:
        for call in calls(program.body(name)):
            raise NotYetImplemented(
                "The clock within a loop",
                hint="Give the rows that depend on it a model of their own, which the loop reads.",
                **position(call),
            )


def _names(program: Program, schemas: Schemas) -> dict[str, tuple[str, ...]]:
    """The names of each binding's columns: those in its list, else those of its first SELECT."""
    found: dict[str, tuple[str, ...]] = {}
    waiting = list(program.bindings)
    while waiting:
        before = len(waiting)
        for name in list(waiting):
            names = _names_of(program, name, schemas, found)
            if names is not None:
                found[name] = names
                waiting.remove(name)
        if len(waiting) == before:
            name = waiting[0]
            raise InvalidModel(
                f"The columns of {name} cannot be told from its first SELECT",
                hint=f"List them: {name}(column, …) AS (…).",
                **program.position(name),
            )
    return found


def _names_of(
    program: Program, name: str, schemas: Schemas, known: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...] | None:
    listed = program.ctes[name].alias_column_names
    if listed:
        return tuple(column.lower() for column in listed)
    first: exp.Expr = program.body(name)
    with_ = first.args.get("with_")
    while isinstance(first, (exp.SetOperation, exp.Subquery)):
        first = first.this
    if not isinstance(first, exp.Select):
        return None
    if not first.is_star:
        return tuple(str(column).lower() for column in first.named_selects)
    tables = {f"{schema}.{other}" for other in known for schema in (NOW, DELAY)}
    read = [t for t in first.find_all(exp.Table) if t.db.lower() in (NOW, DELAY)]
    if any(f"{t.db}.{t.name}".lower() not in tables for t in read):
        return None
    first = first.copy()
    if with_ is not None and first.args.get("with_") is None:
        first.set("with_", with_.copy())
    void = _schemas(known, {other: [VOID] * len(known[other]) for other in known})
    return bind(first, {**schemas, **{schema.key: schema for schema in void}}).columns


def _schemas(names: Mapping[str, Sequence[str]], kinds: Kinds) -> list[TableSchema]:
    """The bindings as tables, now and as of the round before."""
    found = []
    for name, columns in names.items():
        types = dict(zip(columns, map(str, kinds[name]), strict=True))
        found += [TableSchema((schema, name), types) for schema in (NOW, DELAY)]
    return found


def pushed(plan: Node) -> Node:
    """Conditions on one part of a join below it, so that Spark gives fewer rows."""
    inputs = tuple(pushed(child) for child in plan.inputs)
    if inputs != plan.inputs:
        plan = plan.with_inputs(inputs)
    if not isinstance(plan, Join) or len(plan.parts) < 2:
        return plan
    parts, left = list(plan.parts), list(plan.conditions)
    for place, part in enumerate(parts):
        columns = {column.expression() for column in part.schema}
        own = [c for c in left if set(c.find_all(exp.Column)) <= columns and c.find(exp.Column)]
        for condition in own:
            parts[place] = Filter(parts[place], condition)
            left.remove(condition)
    return Join(tuple(parts), tuple(left))


# -- types -----------------------------------------------------------------------------------------


def binding_types(
    graph: Graph,
    plans: Mapping[str, Node],
    names: Mapping[str, Sequence[str]],
    describe: Describe,
    ansi: bool,
) -> dict[str, list[ValueType]]:
    """The types of all bindings' columns.

    A column has the type that its parts give it as long as nothing is known of the bindings that
    they read, as the anchor of a recursion in SQL decides. What comes round is brought to it.
    """
    kinds = {name: [VOID] * len(columns) for name, columns in names.items()}
    while True:
        _, results = _compiled(graph, plans, names, kinds, describe, ansi, {})
        moved = False
        for name, rows in results.items():
            found = [rows.columns[(c.relation, c.name)][1] for c in plans[name].schema]
            for place, kind in enumerate(found):
                if kinds[name][place] == VOID and kind != VOID:
                    kinds[name][place] = kind
                    moved = True
        if not moved:
            return kinds


# -- operators -------------------------------------------------------------------------------------


def _compiled(
    graph: Graph,
    plans: Mapping[str, Node],
    names: Mapping[str, Sequence[str]],
    kinds: Kinds,
    describe: Describe,
    ansi: bool,
    given: Mapping[int, Bag | Lookup],
) -> tuple[Builder, dict[str, Rows]]:
    """All operators of a loop, and what each binding's query gives."""
    builder = Builder(ansi)
    done: dict[int, Rows] = {}
    operators: dict[int, int] = {}
    for name, vertex in graph.stored.items():
        builder.owner = vertex
        operators[vertex] = builder.add(Stored(name))
    for name, vertex in graph.delays.items():
        builder.owner = vertex
        operators[vertex] = builder.add(Delayed(name), [operators[graph.stored[name]]])

    def of(vertex: int) -> Rows:
        if vertex not in done:
            done[vertex] = made(vertex, graph.vertices[vertex])
        return done[vertex]

    def made(vertex: int, what: Vertex) -> Rows:
        assert what.node is not None
        read = reading_vertex(graph, vertex)
        if read is not None:
            (source,) = graph.inputs[vertex]
            builder.owner = vertex
            assert isinstance(what.node, Scan)
            return _read(builder, what.node, operators[source], kinds[read[0]], names[read[0]])
        if what.is_given:
            builder.owner = vertex
            place = builder.add(Given(given.get(id(what.node), {})))
            return named(place, what.node, describe(what.node))
        inputs = [of(one) for one in graph.inputs[vertex]]
        builder.owner = vertex
        return compiled(builder, what.node, inputs)

    results: dict[str, Rows] = {}
    for name, vertex in graph.stored.items():
        (source,) = graph.inputs[vertex]
        rows = results[name] = of(source)
        builder.owner = vertex
        brought = builder.brought(rows, kinds[name], plans[name].schema)
        cast = builder.add(Linear([brought]), [rows.operator])
        builder.inputs[operators[vertex]] = [cast]
    return builder, results


def _read(
    builder: Builder, node: Scan, operator: int, kinds: Sequence[ValueType], names: Sequence[str]
) -> Rows:
    """The columns of a binding that a plan reads."""
    places = [names.index(name) for name in node.columns]
    read = [kinds[place] for place in places]
    if places != list(range(len(names))):
        picked = Linear([lambda row: tuple([row[place] for place in places])])
        operator = builder.add(picked, [operator])
    return named(operator, node, read)


def _circuit(builder: Builder, graph: Graph, order: Order) -> Circuit:
    """The operators in the order of their vertices."""
    count = len(builder.operators)

    def key(place: int) -> tuple[int, bool, int]:
        stored = isinstance(builder.operators[place], Stored)
        return order.number[builder.owners[place]], stored, place

    placed = sorted(range(count), key=key)
    new = {old: place for place, old in enumerate(placed)}
    readers: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for reader, inputs in enumerate(builder.inputs):
        for port, read in enumerate(inputs):
            readers[new[read]].append((new[reader], port))
    circles = [
        frozenset(new[place] for place in range(count) if builder.owners[place] in set(circle))
        for circle in order.circles
    ]
    retracting = frozenset(
        (place, port)
        for circle in circles
        for place in circle
        for port in range(len(builder.inputs[placed[place]]))
        if not graph.is_monotone(builder.owners[placed[place]], port)
    )
    return Circuit([builder.operators[old] for old in placed], readers, circles, retracting)
