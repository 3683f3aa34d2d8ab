"""A compiled plan that rows are sent through, again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from python_ivm.algebra.columns import ColumnRef
from python_ivm.algebra.nodes import Node
from python_ivm.rows.builder import Builder, Rows, named
from python_ivm.rows.compiler import compiled
from python_ivm.rows.kinds import ValueType
from python_ivm.rows.lookups import Lookup
from python_ivm.rows.operators import Bag, Given, Linear, Operator, add

Tables = Mapping[int, tuple[Bag | Lookup, Sequence[ValueType]]]
"""By the identity of a plan's node its rows, and the types of its columns."""


class Pipeline:
    """The operators of a plan: rows of one of its inputs go in, what follows from them comes out.

    Attributes:
        kinds: The types of the plan's own columns.
        first: What comes out before any row went in.
    """

    def __init__(
        self,
        plan: Node,
        entry: Node | None,
        kinds: Sequence[ValueType],
        tables: Tables,
        shown: Sequence[tuple[ColumnRef, ValueType]],
        ansi: bool,
    ) -> None:
        """Compile a plan.

        Args:
            plan: The plan.
            entry: The input of which rows are sent; None if all are given.
            kinds: The types of its columns.
            tables: The rows of all other inputs.
            shown: The columns that come out, and the types that they are brought to.
            ansi: Whether ANSI mode is on.

        Raises:
            NotYetImplemented: If the row engine cannot compute something in the plan.
        """
        builder = Builder(ansi)
        place = builder.add(_Entry())
        known = {id(entry): named(place, entry, kinds)} if entry is not None else {}

        def of(node: Node) -> Rows:
            if id(node) not in known:
                if id(node) in tables:
                    rows, types = tables[id(node)]
                    known[id(node)] = named(builder.add(Given(rows)), node, types)
                else:
                    known[id(node)] = compiled(builder, node, [of(child) for child in node.inputs])
            return known[id(node)]

        last = of(plan)
        self.kinds = [last.columns[(c.relation, c.name)][1] for c in plan.schema]
        brought = builder.brought(last, [kind for _, kind in shown], [c for c, _ in shown])
        self._exit = builder.add(Linear([brought]), [last.operator])
        self._operators: Sequence[Operator] = builder.operators
        self._inputs = builder.inputs
        read = {place for inputs in builder.inputs for place in inputs}
        self.first = self._send(
            {place: op.start() for place, op in enumerate(self._operators) if place in read}
        )

    def send(self, rows: Bag) -> Bag:
        """What follows from rows.

        Raises:
            Overflow: If a number does not fit its column.
        """
        return self._send({0: rows})

    def _send(self, given: dict[int, Bag]) -> Bag:
        """Operators stand behind their inputs."""
        for place, inputs in enumerate(self._inputs):
            changes: dict[int, Bag] = {}
            for port, read in enumerate(inputs):
                if given.get(read):
                    changes[port] = given[read]
            if changes:
                change = self._operators[place].step(changes)
                add(given.setdefault(place, {}), change)
        return given.get(self._exit, {})


class _Entry(Operator):
    """Where rows come in."""
