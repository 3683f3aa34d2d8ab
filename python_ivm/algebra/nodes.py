"""The logical plan's operators.

Every relation in a plan has a name of its own (the binder makes the user's aliases unique), so a
column is known by ``relation.name`` wherever it stands and expressions stay as the user wrote
them: sqlglot trees whose columns are all qualified. Nodes are frozen; expressions in them must
not be changed in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

from sqlglot import exp

from python_ivm.errors import Internal

COUNT = "__ivm_count__"
"""The column of a delta that holds its signed multiplicity, and of a state its multiplicity."""


class At(Enum):
    """Which contents of a source a scan reads."""

    PRE = "pre"
    """The state at the last refresh."""
    POST = "post"
    """The state now."""
    DELTA = "delta"
    """What changed in between, with a signed :data:`COUNT`."""


@dataclass(frozen=True)
class ColumnRef:
    """A column of a relation of the plan."""

    relation: str
    name: str

    def expression(self) -> exp.Column:
        """The column as an expression."""
        return exp.column(self.name, table=self.relation, quoted=True)


@dataclass(frozen=True)
class Named:
    """An expression and the name of the column that it makes."""

    name: str
    expression: exp.Expr


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

    def walk(self) -> Iterator[Node]:
        """This node and all below, from the top; one that stands in several places once."""
        seen = {id(self)}
        stack: list[Node] = [self]
        while stack:
            node = stack.pop()
            yield node
            for child in reversed(node.inputs):
                if id(child) not in seen:
                    seen.add(id(child))
                    stack.append(child)


@dataclass(frozen=True)
class Scan(Node):
    """Reads a source table: its contents before or after the change, or the change itself."""

    source: str
    relation: str
    columns: tuple[str, ...]
    at: At = At.POST

    @property
    def inputs(self) -> tuple[Node, ...]:
        """None: a leaf."""
        return ()

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """The table's columns, and the count where the change is read."""
        names = (*self.columns, COUNT) if self.at is At.DELTA else self.columns
        return tuple(ColumnRef(self.relation, name) for name in names)

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """Itself."""
        return self


@dataclass(frozen=True)
class Filter(Node):
    """Keeps the rows for which the condition is true."""

    input: Node
    condition: exp.Expr

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The one input."""
        return (self.input,)

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """The input's."""
        return self.input.schema

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The condition."""
        return (self.condition,)

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """The same condition over another input."""
        return replace(self, input=inputs[0])


@dataclass(frozen=True)
class ClockFilter(Node):
    """Keeps the rows for which the condition is true as of the refresh.

    The condition asks the clock by placeholders (``sources/clock.py``). Rows come and go by the
    clock alone; no other operator's expressions may ask it.
    """

    input: Node
    condition: exp.Expr

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The one input."""
        return (self.input,)

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """The input's."""
        return self.input.schema

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The condition."""
        return (self.condition,)

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """The same condition over another input."""
        return replace(self, input=inputs[0])


@dataclass(frozen=True)
class Project(Node):
    """Computes named expressions; the result is a relation of its own name.

    A title is shown as a comment above the SQL.
    """

    input: Node
    relation: str
    items: tuple[Named, ...]
    title: str = field(default="", compare=False)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The one input."""
        return (self.input,)

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """One column for each item."""
        return tuple(ColumnRef(self.relation, item.name) for item in self.items)

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The items' expressions."""
        return tuple(item.expression for item in self.items)

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """The same items over another input."""
        return replace(self, input=inputs[0])


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
class LeftJoin(Node):
    """Every row of the left side with its matches on the right, or else with NULLs.

    RIGHT JOIN is this with its sides exchanged.
    """

    left: Node
    right: Node
    conditions: tuple[exp.Expr, ...]
    label: str = field(default="", compare=False)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The preserved side, then the other."""
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


@dataclass(frozen=True)
class FullJoin(Node):
    """Matching pairs of rows, and every other row of both sides with NULLs."""

    left: Node
    right: Node
    conditions: tuple[exp.Expr, ...]
    label: str = field(default="", compare=False)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """Both sides."""
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


@dataclass(frozen=True)
class SemiJoin(Node):
    """Keeps the rows that have (or, as an antijoin, do not have) a match on the other side.

    EXISTS, IN and their negations are this, and so is the restriction of a subplan to affected
    groups.
    """

    left: Node
    right: Node
    conditions: tuple[exp.Expr, ...]
    anti: bool = False
    label: str = field(default="", compare=False)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The rows to keep, then those to look among."""
        return (self.left, self.right)

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """The left side's."""
        return self.left.schema

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The conditions."""
        return self.conditions

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """The same conditions over other inputs."""
        return replace(self, left=inputs[0], right=inputs[1])


@dataclass(frozen=True)
class Mark(Node):
    """Every row with one more column: whether it has a match on the other side.

    EXISTS and IN where they are not a condition by themselves: under OR, in SELECT or in CASE.
    """

    left: Node
    right: Node
    conditions: tuple[exp.Expr, ...]
    relation: str
    items: tuple[Named, ...]
    mark: str

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The rows to mark, then those to look among."""
        return (self.left, self.right)

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """The items and the mark, under this relation's name."""
        names = (*(item.name for item in self.items), self.mark)
        return tuple(ColumnRef(self.relation, name) for name in names)

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The conditions and the items."""
        return (*self.conditions, *(item.expression for item in self.items))

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """The same conditions over other inputs."""
        return replace(self, left=inputs[0], right=inputs[1])


@dataclass(frozen=True)
class Window(Node):
    """Every row with the values of window functions that share their PARTITION BY.

    Attributes:
        for_groups: Whether the partitions are the groups of the aggregate above.
    """

    input: Node
    relation: str
    items: tuple[Named, ...]
    partition: tuple[exp.Expr, ...]
    functions: tuple[Named, ...]
    for_groups: bool = False

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The one input."""
        return (self.input,)

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """The items and the functions, under this relation's name."""
        return tuple(ColumnRef(self.relation, i.name) for i in (*self.items, *self.functions))

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The items, the functions and the partition keys."""
        named = tuple(i.expression for i in (*self.items, *self.functions))
        return (*named, *self.partition)

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """The same functions over another input."""
        return replace(self, input=inputs[0])


@dataclass(frozen=True)
class Repeat(Node):
    """Every row as many times as an expression says; not at all where it is below 1."""

    input: Node
    times: exp.Expr

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The one input."""
        return (self.input,)

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """The input's."""
        return self.input.schema

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The number of times."""
        return (self.times,)

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """Another input as many times."""
        return replace(self, input=inputs[0])


@dataclass(frozen=True)
class Generate(Node):
    """Every row once for each row that a generator function (explode, say) makes of it.

    An outer one keeps a row of which the function makes none, with NULLs.
    """

    input: Node
    function: exp.Expr
    relation: str
    names: tuple[str, ...]
    outer: bool = False

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The one input."""
        return (self.input,)

    @property
    def schema(self) -> tuple[ColumnRef, ...]:
        """The input's columns, then the function's."""
        made = tuple(ColumnRef(self.relation, name) for name in self.names)
        return (*self.input.schema, *made)

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The function."""
        return (self.function,)

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """The same function over another input."""
        return replace(self, input=inputs[0])


@dataclass(frozen=True)
class TableFunction(Node):
    """The rows of a function of constants, such as range(3), which never change."""

    relation: str
    names: tuple[str, ...]
    function: exp.Expr

    @property
    def inputs(self) -> tuple[Node, ...]:
        """None: a leaf."""
        return ()

    @property
    def schema(self) -> tuple[ColumnRef, ...]:
        """The names."""
        return tuple(ColumnRef(self.relation, name) for name in self.names)

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """Itself."""
        return self


@dataclass(frozen=True)
class Values(Node):
    """Constant rows, which never change."""

    relation: str
    names: tuple[str, ...]
    rows: tuple[tuple[exp.Expr, ...], ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        """None: a leaf."""
        return ()

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """The names."""
        return tuple(ColumnRef(self.relation, name) for name in self.names)

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """Itself."""
        return self


@dataclass(frozen=True)
class Aggregate(Node):
    """Groups by the keys (one group for all where there are none) and computes the measures.

    DISTINCT is an aggregate over all columns without measures. An aggregate is *global* (one row,
    even over no rows) where it has no keys and is not a DISTINCT.
    """

    input: Node
    relation: str
    keys: tuple[Named, ...]
    measures: tuple[Named, ...]

    @property
    def is_global(self) -> bool:
        """Whether the result is one row whatever comes in."""
        return not self.keys

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The one input."""
        return (self.input,)

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """Keys, then measures."""
        return tuple(ColumnRef(self.relation, item.name) for item in (*self.keys, *self.measures))

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The keys' and the measures' expressions."""
        return tuple(item.expression for item in (*self.keys, *self.measures))

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """The same groups over another input."""
        return replace(self, input=inputs[0])


@dataclass(frozen=True)
class UnionAll(Node):
    """The bag union of inputs that have as many columns as there are names."""

    parts: tuple[Node, ...]
    relation: str
    names: tuple[str, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The united relations."""
        return self.parts

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """The union's names."""
        return tuple(ColumnRef(self.relation, name) for name in self.names)

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """The union of other inputs."""
        return replace(self, parts=inputs)


@dataclass(frozen=True)
class Sort(Node):
    """ORDER BY with an optional LIMIT and OFFSET."""

    input: Node
    order: tuple[exp.Ordered, ...]
    limit: exp.Expr | None = field(default=None)
    offset: exp.Expr | None = field(default=None)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The one input."""
        return (self.input,)

    @cached_property
    def schema(self) -> tuple[ColumnRef, ...]:
        """The input's."""
        return self.input.schema

    @property
    def expressions(self) -> tuple[exp.Expr, ...]:
        """The sort keys."""
        return self.order

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """The same order over another input."""
        return replace(self, input=inputs[0])


def over(node: Node, inputs: tuple[Node, ...]) -> Node:
    """A node over other inputs; the node itself where they are its own."""
    same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
    return node if same else node.with_inputs(inputs)


def ends_in_generate(node: Node) -> bool:
    """Whether a plan's SELECT ends in LATERAL VIEWs, after which no join can stand."""
    while isinstance(node, (Filter, ClockFilter)):
        node = node.input
    return isinstance(node, Generate)


def columns_of(expression: exp.Expr) -> set[ColumnRef]:
    """The columns that an expression names."""
    return {ColumnRef(c.table, c.name) for c in expression.find_all(exp.Column)}


def flat_names(columns: Iterable[ColumnRef], taken: Iterable[str] = ()) -> dict[ColumnRef, str]:
    """A name for each column that no other has, its own where it can be.

    Args:
        columns: Columns of one or more relations.
        taken: Names that none may have.
    """
    every = list(columns)
    reserved = set(taken)
    names: dict[ColumnRef, str] = {}
    for column in every:
        clash = sum(other.name == column.name for other in every) > 1 or column.name in reserved
        name = f"{column.relation}_{column.name}" if clash else column.name
        while name in names.values():
            name += "_"
        names[column] = name
    return names


def substitute(expression: exp.Expr, mapping: Mapping[ColumnRef, exp.Expr]) -> exp.Expr:
    """The expression with columns replaced by expressions."""
    if not mapping:
        return expression
    result = expression.copy()
    for column in list(result.find_all(exp.Column)):
        found = mapping.get(ColumnRef(column.table, column.name))
        if found is None:
            continue
        new = found.copy()
        if isinstance(new, exp.Column):
            new.this.meta.update(column.this.meta)  # errors still say where
        elif not isinstance(new, (exp.Literal, exp.Func, exp.Dot, exp.Bracket)):
            new = exp.paren(new, copy=False)
        if column is result:
            return new
        column.replace(new)
    return result


def size(node: Node) -> int:
    """The number of operators where each stands as often as it is read.

    It is what Spark plans, which writes out every reference to a CTE.
    """
    known: dict[int, int] = {}
    stack = [node]
    while stack:
        current = stack[-1]
        missing = [child for child in current.inputs if id(child) not in known]
        if missing:
            stack.extend(missing)
            continue
        known[id(stack.pop())] = 1 + sum(known[id(child)] for child in current.inputs)
    return known[id(node)]


def check(node: Node) -> Node:
    """Check a plan's invariants: names resolve, relations are unique, unions fit.

    Returns:
        The plan itself.

    Raises:
        Internal: If an invariant is broken.
    """
    for current in node.walk():
        visible = {column for child in current.inputs for column in child.schema}
        for expression in current.expressions:
            missing = columns_of(expression) - visible
            if missing:
                names = ", ".join(sorted(f"{c.relation}.{c.name}" for c in missing))
                raise Internal(
                    f"{type(current).__name__} names columns that nothing below has: {names}"
                )
        if isinstance(current, (Join, LeftJoin, FullJoin, Generate, Project, Aggregate)):
            schema = current.schema
            if len(set(schema)) != len(schema):
                raise Internal(f"{type(current).__name__} has two columns of one name: {schema}")
        if isinstance(current, UnionAll):
            for part in current.parts:
                if len(part.schema) != len(current.names):
                    raise Internal("UnionAll has inputs of different widths")
    return node
