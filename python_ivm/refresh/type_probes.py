"""What a build asks Spark of a query's types, before anything is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sqlglot import exp
from sqlglot.errors import ParseError

from python_ivm.algebra.columns import Named
from python_ivm.algebra.nodes import Aggregate, Node, Project, UnionAll
from python_ivm.algebra.normalize import normalize
from python_ivm.bind.query import Query
from python_ivm.bind.ties import ORDERS, break_ties, text
from python_ivm.bind.union_types import key
from python_ivm.errors import NotYetImplemented
from python_ivm.functions.comparable import is_comparable, may_leave_ties
from python_ivm.parse.parser import DIALECT, quoted_name
from python_ivm.refresh.model import Model
from python_ivm.refresh.statement_builders import state_query
from python_ivm.render.questions import probe_query
from python_ivm.render.renderer import Renderer
from python_ivm.render.sources import source_relations
from python_ivm.sources.history import SourceChange
from python_ivm.state.layout import Layout, arguments_to_type, stored_recursion
from python_ivm.state.rows import is_nested

_BOUNDS = re.compile(r"struct<start:timestamp(_ntz)?,end:timestamp(_ntz)?>", re.IGNORECASE)

Described = Sequence[tuple[str, str]]
"""Names and Spark types of columns."""


@dataclass
class Questions:
    """Asks Spark about a model.

    Attributes:
        model: The model.
        united: What the parts of its unions are cast to, as :func:`.union_types.known`
            takes it, as far as it was asked.
    """

    model: Model
    united: dict[str, Mapping[str, str]] = field(default_factory=dict)
    _compared: dict[str, str] = field(default_factory=dict)

    @property
    def orders(self) -> dict[str, Mapping[str, str]]:
        """The types by which ties are broken, as :func:`.ties.known_kinds` takes them."""
        found = {value: kind for value, kind in self._compared.items() if not is_comparable(kind)}
        return {ORDERS: found} if found else {}

    @cached_property
    def _current(self) -> dict[str, SourceChange]:
        return self.model.sources.current_versions()

    def arguments(self, query: Query) -> dict[str, Mapping[str, str]]:
        """The types that decide the layout: by relation and name of an aggregate's argument."""
        found: dict[str, Mapping[str, str]] = {}
        for relation, (rows, arguments) in arguments_to_type(query.plan).items():
            kinds = [kind for _, kind in self._types(rows, arguments)]
            names = [argument.name for argument in arguments]
            found[relation] = dict(zip(names, kinds, strict=True))
        return found

    def recursion(self, query: Query) -> dict[str, Mapping[str, str]]:
        """The columns that hold other values, or that Spark cannot compare, of a recursion.

        Returns:
            Their types by relation and name; nothing if the model cannot store the recursion.
        """
        node = stored_recursion(query.plan)
        if node is None:
            return {}
        if node.is_set:
            return {node.relation: {}}  # a loop has no other values
        items = tuple(Named(column.name, column.expression()) for column in node.schema)
        return {node.relation: {n: k for n, k in self._types(node, items) if is_nested(k)}}

    def casts(self, union: UnionAll) -> list[Mapping[str, str]]:
        """What the parts of a union must be cast to.

        Raises:
            NotYetImplemented: If Spark does not tell the types, or not in full.
        """
        kinds = [self._columns(part) for part in union.parts]
        if all(kind == kinds[0] for kind in kinds):
            return [{} for _ in union.parts]
        wanted = self._columns(union)
        casts: list[Mapping[str, str]] = []
        for number, own in enumerate(kinds):
            columns = zip(union.names, own, wanted, strict=True)
            casts.append({name: kind for name, before, kind in columns if kind != before})
            if casts[-1]:
                self.united[key(union, number)] = casts[-1]
        for kind in (kind for cast in casts for kind in cast.values()):
            if not _can_be_written(kind):
                raise NotYetImplemented(
                    f"A set operation of columns of type {kind}", operator="UNION"
                )
        return casts

    def kinds(self, rows: Node, values: Sequence[exp.Expr]) -> Mapping[str, str]:
        """The types of those values over a plan's rows that Spark cannot compare, by text."""
        if not self._may_leave_ties:
            return {}
        asked = [value for value in values if text(value) not in self._compared]
        if asked:
            items = tuple(Named(f"v{number}", value) for number, value in enumerate(asked, 1))
            typed = break_ties(normalize(Project(rows, "typed", items)), self.kinds)
            shown = tuple(Named(column.name, column.expression()) for column in typed.schema)
            described = zip(asked, self._types(typed, shown), strict=True)
            self._compared |= {text(value): kind for value, (_, kind) in described}
        known = {text(value): self._compared[text(value)] for value in values}
        return {value: kind for value, kind in known.items() if not is_comparable(kind)}

    @cached_property
    def _may_leave_ties(self) -> bool:
        kinds = [kind for t in self.model.schemas().values() for kind in t.columns.values()]
        return may_leave_ties([*kinds, self.model.reading.text])

    def state(self, query: Query, decided: Layout) -> Described:
        """The columns of a state.

        Raises:
            NotYetImplemented: If Spark does not take the form in which the planner computes one of
                many results: values of a type that has no order, for instance.
            Exception: Spark's, if it does not take another form of a query that it takes.
        """
        body = state_query(decided, self._current, self.model.clock(None))
        try:
            return self.model.warehouse.describe(body)
        except Exception as error:
            if not query.chooses:
                raise
            raise NotYetImplemented(
                f"The order of rows that this query leaves open ({_told(error)})", operator="order"
            ) from error

    def groups(self, query: Query) -> Iterator[Described]:
        """The keys of each GROUP BY."""
        for node in query.plan.walk():
            if isinstance(node, Aggregate) and node.keys:
                yield self._types(node.input, node.keys)

    def refuse_sessions(self, used: Mapping[str, Iterable[str]]) -> None:
        """Refuse sources' columns that ``session_window()`` made: Spark merges them in each group.

        Delta keeps what a column is, but shows it in no description: Spark is asked for a plan.

        Args:
            used: The columns that the query reads, by source.

        Raises:
            NotYetImplemented: If there is one.
        """
        for source, columns in used.items():
            table = self.model.schemas()[source]
            for column in map(table.spelling, columns):
                if not _BOUNDS.fullmatch(table.columns[column]):
                    continue
                name = quoted_name((column,))
                asked = f"SELECT {name} FROM {quoted_name(table.parts)} GROUP BY {name}"
                if "MergingSessions" in str(self.model.warehouse.texts(f"EXPLAIN {asked}")):
                    raise NotYetImplemented(
                        f"The column {column} of {source}, which session_window() made",
                        operator="session_window()",
                        hint="Make a struct of its start and end where it is written.",
                    )

    def _columns(self, node: Node) -> list[str]:
        """The types of a plan's columns; the plan is not normalized yet."""
        columns = [Named(f"c{n}", column.expression()) for n, column in enumerate(node.schema, 1)]
        rows = break_ties(normalize(Project(node, "typed", tuple(columns))), self.kinds)
        items = tuple(Named(column.name, column.expression()) for column in rows.schema)
        try:
            described = self._types(rows, items)
        except Exception as error:
            self.model.warehouse.describe(self.model.request.sql)  # fails if it is the user's error
            raise NotYetImplemented(
                f"A set operation whose types Spark does not tell ({_told(error)})",
                operator="UNION",
            ) from error
        return [kind for _, kind in described]

    def _types(self, rows: Node, items: tuple[Named, ...]) -> Described:
        """The types of expressions over a plan's rows."""
        renderer = Renderer(source_relations(self._current, self.model.clock(None)))
        return self.model.warehouse.describe(probe_query(rows, items, renderer))


def _can_be_written(kind: str) -> bool:
    """Whether a type can be written as Spark tells it: it cuts wide structs short."""
    try:
        written = exp.DataType.build(kind, dialect=DIALECT).sql(dialect=DIALECT)
    except ParseError:
        return False
    return re.sub(r"\W", "", written).lower() == re.sub(r"\W", "", kind).lower()


def _told(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
