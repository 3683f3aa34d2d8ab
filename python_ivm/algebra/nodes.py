"""The logical plan's operators.

Every relation in a plan has a name of its own (the binder makes the user's aliases unique), so a
column is known by ``relation.name`` wherever it stands and expressions stay as the user wrote
them: sqlglot trees whose columns are all qualified. Nodes are frozen; expressions in them must
not be changed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named

COUNT = "__ivm_count__"
"""The column of a delta that holds its signed multiplicity, and of a state its multiplicity."""


FEED_COLUMNS = frozenset({"_change_type", "_commit_version", "_commit_timestamp"})
"""The columns of a change feed beside the table's own, which can have none of these names."""


class At(Enum):
    """Which contents of a source a scan reads."""

    PRE = "pre"
    """The state at the last refresh."""
    POST = "post"
    """The state now."""
    DELTA = "delta"
    """What changed in between, with a signed :data:`COUNT`."""


@dataclass(frozen=True)
class Node:
    """An operator. Its schema is the tuple of columns that an operator above may name.

    A node may stand in several places of a plan, as a CTE that is named twice does.
    """

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The operators below."""
        raise NotImplementedError

    @property
    def schema(self) -> tuple[ColumnRef, ...]:
        """The columns that come out."""
        raise NotImplementedError

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The expressions that this operator evaluates over its inputs' columns."""
        return ()

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """This operator over other inputs."""
        raise NotImplementedError

    def walk(self, enters: Callable[[Node], bool] = lambda node: True) -> Iterator[Node]:
        """This node and all below, from the top; one that stands in several places once.

        Args:
            enters: Whether to go to a node's inputs.
        """
        seen = {id(self)}
        stack: list[Node] = [self]
        while stack:
            node = stack.pop()
            yield node
            for child in reversed(node.inputs if enters(node) else ()):
                if id(child) not in seen:
                    seen.add(id(child))
                    stack.append(child)


@dataclass(frozen=True)
class Leaf(Node):
    """An operator that reads no other."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """None."""
        return ()

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """Itself."""
        return self


@dataclass(frozen=True)
class Unary(Node):
    """An operator over one other, whose columns it keeps unless it says else."""

    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The one input."""
        return (self.input,)

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """The input's."""
        return self.input.schema

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """The same operator over another input."""
        return replace(self, input=inputs[0])


@dataclass(frozen=True)
class Binary(Node):
    """An operator that looks for each row of one side among the other's, by conditions."""

    left: Node
    right: Node
    conditions: tuple[exp.Expr, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The left side, then the right."""
        return (self.left, self.right)

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """Both sides' columns."""
        return (*self.left.schema, *self.right.schema)

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The conditions."""
        return self.conditions

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """The same conditions over other inputs."""
        return replace(self, left=inputs[0], right=inputs[1])


class Relation(Node):
    """An operator whose columns are a relation's with names of their own.

    Attributes:
        relation: The relation's name.
        names: The columns'.
    """

    relation: str
    names: tuple[str, ...]

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """The names."""
        return tuple(ColumnRef(self.relation, name) for name in self.names)


class ByPosition(Relation):
    """An operator whose inputs have as many columns as it has names, and give them in order."""


@dataclass(frozen=True)
class Scan(Leaf):
    """Reads a source table: its contents before or after the change, or the change itself.

    Attributes:
        source: The source's planner key.
        relation: The relation's name.
        columns: The columns that are read.
        at: Which contents.
        net: Of a change, whether rows that came and went are left out: the columns of which equal
            values may be of different texts (0.0 and -0.0); None keeps all rows.
    """

    source: str
    relation: str
    columns: tuple[str, ...]
    at: At = At.POST
    net: tuple[str, ...] | None = None

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """The table's columns, and the count where the change is read."""
        names = (*self.columns, COUNT) if self.at is At.DELTA else self.columns
        return tuple(ColumnRef(self.relation, name) for name in names)


@dataclass(frozen=True)
class Filter(Unary):
    """Keeps the rows for which the condition is true."""

    condition: exp.Expr

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The condition."""
        return (self.condition,)


@dataclass(frozen=True)
class ClockFilter(Unary):
    """Keeps the rows for which the condition is true as of the refresh.

    The condition asks the clock by placeholders (``sources/clock.py``). Rows come and go by the
    clock alone; no other operator's expressions may ask it.
    """

    condition: exp.Expr

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The condition."""
        return (self.condition,)


@dataclass(frozen=True)
class Project(Unary):
    """Computes named expressions; the result is a relation of its own name.

    A title is shown as a comment above the SQL.
    """

    relation: str
    items: tuple[Named, ...]
    title: str = field(default="", compare=False)

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """One column for each item."""
        return tuple(ColumnRef(self.relation, item.name) for item in self.items)

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The items' expressions."""
        return tuple(item.expression for item in self.items)


@dataclass(frozen=True)
class Join(Node):
    """The inner (or cross) join of any number of inputs under a conjunction of conditions."""

    parts: tuple[Node, ...]
    conditions: tuple[exp.Expr, ...] = ()

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The joined relations."""
        return self.parts

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """All inputs' columns."""
        return tuple(column for part in self.parts for column in part.schema)

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The conditions."""
        return self.conditions

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """The same conditions over other inputs."""
        return replace(self, parts=inputs)


@dataclass(frozen=True)
class LeftJoin(Binary):
    """Every row of the left side with its matches on the right, or else with NULLs.

    RIGHT JOIN is this with its sides exchanged.
    """

    label: str = field(default="", compare=False)


@dataclass(frozen=True)
class FullJoin(Binary):
    """Matching pairs of rows, and every other row of both sides with NULLs."""

    label: str = field(default="", compare=False)


@dataclass(frozen=True)
class SemiJoin(Binary):
    """Keeps the rows that have (or, as an antijoin, do not have) a match on the other side.

    EXISTS, IN and their negations are this.

    Attributes:
        anti: Whether it keeps the rows without a match.
        label: Its name in titles.
        in_columns: How many columns it compares, if it is an IN without other conditions.
    """

    anti: bool = False
    label: str = field(default="", compare=False)
    in_columns: int = field(default=0, compare=False)

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """The left side's."""
        return self.left.schema


@dataclass(frozen=True)
class Reduction(Binary):
    """Rows of a delta, of which those that match nothing on the right cancel each other out.

    A delta rule says by it which rows matter. It stands for its left side; the optimizer makes a
    semijoin of it (``optimize/semijoin_reduction.py``).
    """

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """The left side's."""
        return self.left.schema


@dataclass(frozen=True)
class AffectedKeys(Leaf):
    """The keys of the rows of an operator that a change lets come or go.

    A delta rule says by it where a change has an effect. The optimizer writes the plan that finds
    the keys (``optimize/affected_keys.py``): with duplicates, and perhaps with others, for the rows
    of one key too many cancel out.

    Attributes:
        relation: The keys' relation.
        keys: Expressions over the operator's columns; they name the columns.
        of: The operator. It is no input: nothing is read of it as it stands here.
        asked: What is asked of its columns in the end: the keys themselves, or the conditions of
            which they are the columns.
    """

    relation: str
    keys: tuple[Named, ...]
    of: Node
    asked: tuple[exp.Expr, ...]

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """One column for each key."""
        return tuple(ColumnRef(self.relation, key.name) for key in self.keys)


@dataclass(frozen=True)
class Mark(Binary):
    """Every row with one more column: whether it has a match on the other side.

    EXISTS and IN where they are not a condition by themselves: under OR, in SELECT or in CASE.
    """

    relation: str
    items: tuple[Named, ...]
    mark: str

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """The items and the mark, under this relation's name."""
        names = (*(item.name for item in self.items), self.mark)
        return tuple(ColumnRef(self.relation, name) for name in names)

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The conditions and the items."""
        return (*self.conditions, *(item.expression for item in self.items))


@dataclass(frozen=True)
class Window(Unary):
    """Every row with the values of window functions that share their PARTITION BY.

    Attributes:
        for_groups: Whether the partitions are the groups of the aggregate above.
    """

    relation: str
    items: tuple[Named, ...]
    partition: tuple[exp.Expr, ...]
    functions: tuple[Named, ...]
    for_groups: bool = False

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """The items and the functions, under this relation's name."""
        return tuple(ColumnRef(self.relation, i.name) for i in (*self.items, *self.functions))

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The items, the functions and the partition keys."""
        named = tuple(i.expression for i in (*self.items, *self.functions))
        return (*named, *self.partition)


@dataclass(frozen=True)
class Repeat(Unary):
    """Every row as many times as an expression says; not at all where it is below 1."""

    times: exp.Expr

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The number of times."""
        return (self.times,)


@dataclass(frozen=True)
class Generate(Unary):
    """Every row once for each row that a generator function (explode, say) makes of it.

    An outer one keeps a row of which the function makes none, with NULLs.
    """

    function: exp.Expr
    relation: str
    names: tuple[str, ...]
    outer: bool = False

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """The input's columns, then the function's."""
        made = tuple(ColumnRef(self.relation, name) for name in self.names)
        return (*self.input.schema, *made)

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The function."""
        return (self.function,)


@dataclass(frozen=True)
class TableFunction(Leaf, Relation):
    """The rows of a function of constants, such as range(3), which never change."""

    relation: str
    names: tuple[str, ...]
    function: exp.Expr


@dataclass(frozen=True)
class Values(Leaf, Relation):
    """Constant rows, which never change."""

    relation: str
    names: tuple[str, ...]
    rows: tuple[tuple[exp.Expr, ...], ...]


@dataclass(frozen=True)
class Aggregate(Unary):
    """Groups by the keys (one group for all where there are none) and computes the measures.

    DISTINCT is an aggregate over all columns without measures. An aggregate is *global* (one row,
    even over no rows) where it has no keys and is not a DISTINCT.
    """

    relation: str
    keys: tuple[Named, ...]
    measures: tuple[Named, ...]

    @property
    def is_global(self) -> bool:
        """Whether the result is one row whatever comes in."""
        return not self.keys

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """Keys, then measures."""
        return tuple(ColumnRef(self.relation, item.name) for item in (*self.keys, *self.measures))

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The keys' and the measures' expressions."""
        return tuple(item.expression for item in (*self.keys, *self.measures))


@dataclass(frozen=True)
class Bindings(Aggregate):
    """The distinct values for which a correlated subquery is done at once.

    There may be more of them than the rows around have, as what is found for a value is joined to
    the rows that have it. So they never change: a refresh takes those before and those now for
    both states.
    """


@dataclass(frozen=True)
class UnionAll(ByPosition):
    """The bag union of inputs that have as many columns as there are names."""

    parts: tuple[Node, ...]
    relation: str
    names: tuple[str, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The united relations."""
        return self.parts

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """The union of other inputs."""
        return replace(self, parts=inputs)


@dataclass(frozen=True)
class Recursion(ByPosition):
    """WITH RECURSIVE: the anchor's rows, then round by round those that the step makes of the last.

    The step reads the rows of the last round as a :class:`WorkingTable`.

    A set, of a UNION, has each row once, with the round in which it came as its last column. Spark
    has no rule for it: a loop computes the rows (``loops/recursive_sets.py``), and Spark reads them
    as the table of the loop's binding.

    Attributes:
        anchor: The rows that it begins with.
        step: What follows from the rows of the last round.
        relation: Its relation.
        names: Its columns.
        loop: Of a set the name of the binding; empty of a bag.
    """

    anchor: Node
    step: Node
    relation: str
    names: tuple[str, ...]
    loop: str = ""

    @property
    def is_set(self) -> bool:
        """Whether it is a set, whose rows a loop computes."""
        return bool(self.loop)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The anchor, then the step."""
        return (self.anchor, self.step)

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """The recursion of another anchor and step."""
        return replace(self, anchor=inputs[0], step=inputs[1])


@dataclass(frozen=True)
class WorkingTable(Leaf, Relation):
    """The rows of a recursion's last round; it stands in the recursion's step only."""

    relation: str
    recursion: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Sort(Unary):
    """ORDER BY with an optional LIMIT and OFFSET."""

    order: tuple[exp.Ordered, ...]
    limit: exp.Expr | None = field(default=None)
    offset: exp.Expr | None = field(default=None)

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The sort keys."""
        return self.order
