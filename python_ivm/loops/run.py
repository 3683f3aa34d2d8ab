"""Running a loop: what Spark has to give it, its limits, and what comes out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any, Protocol

from python_ivm.algebra.nodes import Node
from python_ivm.errors import InvalidModel, LoopNotEnded
from python_ivm.loops.loop import Loop
from python_ivm.parse.loops import LOOP_VIEW
from python_ivm.parse.parser import quoted_name
from python_ivm.render.sources import string
from python_ivm.rows.circuit import Endless, Limits, Result, Runner
from python_ivm.rows.kinds import Overflow, ValueType
from python_ivm.rows.lookups import Lookup
from python_ivm.rows.operators import Bag, Row

Ask = Callable[[str], Iterable[Sequence[Any]]]
"""Runs a query, and gives its rows: their values in the order of the columns."""


class OnLimit(Enum):
    """What happens to a loop that reaches a limit."""

    ERROR = "error"
    """The refresh fails, and the view stays as it was."""
    RETURN = "return"
    """What the loop has by then is its result; the next run computes it anew."""


@dataclass(frozen=True)
class Relation:
    """A binding's rows, for what stands behind the loop.

    Attributes:
        name: The name of the temporary view.
        columns: Names and types of the columns.
        rows: The rows, as often as they are there.
    """

    name: str
    columns: tuple[tuple[str, ValueType], ...]
    rows: Bag

    @property
    def all_rows(self) -> list[Row]:
        """The rows, each as often as it is there."""
        return [row for row, times in self.rows.items() for _ in range(times)]

    @property
    def schema(self) -> str:
        """The columns in Spark's words."""
        return ", ".join(f"{quoted_name((name,))} {kind}" for name, kind in self.columns)

    def view(self) -> str:
        """The statement that makes the temporary view; it holds all rows as text."""
        return f"CREATE OR REPLACE TEMPORARY VIEW {quoted_name((self.name,))} AS\n{self._query()}"

    def _query(self) -> str:
        struct = ", ".join(f"{quoted_name((name,))}: {kind}" for name, kind in self.columns)
        names = [name for name, _ in self.columns]
        rows = [
            {n: _plain(v) for n, v in zip(names, row, strict=True) if v is not None}
            for row in self.all_rows
        ]
        text = json.dumps(rows, separators=(",", ":"), ensure_ascii=True)
        text = text.replace("${", "\\u0024{")  # or Spark would put a setting's value there
        kind = f"array<struct<{struct}>>"
        return f"SELECT INLINE(FROM_JSON({string(text)}, {string(kind)}))"


def _plain(value: Any) -> Any:
    if isinstance(value, (Decimal, date)):
        return str(value)
    return value


class Rounds(Protocol):
    """Rounds that are run before the statement that reads their rows."""

    @property
    def model(self) -> str:
        """The model's name."""

    @property
    def plans(self) -> tuple[Node, ...]:
        """What is asked of Spark before."""

    @property
    def queries(self) -> tuple[str, ...]:
        """The same as queries."""

    def run(self, ask: Ask) -> tuple[list[Relation], Result]:
        """Run the rounds.

        Args:
            ask: Runs a query in Spark.

        Returns:
            What is to be shown to Spark, and how the rounds ended.
        """

    def told(self, result: Result) -> str:
        """How they ended, in the log's words."""


@dataclass(frozen=True)
class LoopRun:
    """A loop that is about to be run.

    Attributes:
        model: The model's name.
        loop: The loop.
        queries: What is asked of Spark before, one query for each of the loop's givens.
        kinds: The types of the columns of these.
        shown: The bindings that are read behind the loop.
        limits: How far it may go.
        on_limit: What happens then.
    """

    model: str
    loop: Loop
    queries: tuple[str, ...]
    kinds: tuple[tuple[ValueType, ...], ...]
    shown: tuple[str, ...]
    limits: Limits
    on_limit: OnLimit

    @property
    def plans(self) -> tuple[Node, ...]:
        """What is asked of Spark before."""
        return tuple(self.loop.givens)

    def run(self, ask: Ask) -> tuple[list[Relation], Result]:
        """Run the loop.

        Args:
            ask: Runs a query in Spark.

        Returns:
            The rows of the bindings that are read behind the loop, and how it ended.

        Raises:
            LoopNotEnded: If it reaches a limit, or comes back to the same rows for ever.
        """
        try:
            result = self.rounds(ask)
        except Endless as error:
            raise self._endless([error.sizes], "within one round") from None
        except Overflow as error:
            raise self._too_large(error) from None
        if not result.ended and (result.period or self.on_limit is OnLimit.ERROR):
            raise self._not_ended(result)
        return self.relations(result), result

    def rounds(self, ask: Ask) -> Result:
        """The rounds alone.

        Args:
            ask: Runs a query in Spark.

        Raises:
            Endless: If a circle within a round adds rows without end.
            Overflow: If a number does not fit its column.
        """
        rows = {
            place: self.given(place, ask(query), kinds)
            for place, (query, kinds) in enumerate(zip(self.queries, self.kinds, strict=True))
        }
        by_plan = {id(n): k for n, k in zip(self.loop.givens, self.kinds, strict=True)}
        return Runner(self.loop.circuit(rows, lambda node: by_plan[id(node)])).run(self.limits)

    def given(
        self, place: int, rows: Iterable[Sequence[Any]], kinds: Sequence[ValueType]
    ) -> Bag | Lookup:
        """What Spark gave for one of the queries; it may be able to look rows up."""
        return rows_of(rows, kinds)

    def relations(self, result: Result) -> list[Relation]:
        """The rows of the bindings that are read behind the loop."""
        return [self._relation(name, result.rows[name]) for name in self.shown]

    def told(self, result: Result) -> str:
        """How it ended, in the log's words."""
        return f"a loop of {result.rounds + 1:,} round{'s' if result.rounds else ''}"

    def _relation(self, name: str, rows: Bag) -> Relation:
        columns = zip(self.loop.names[name], self.loop.kinds[name], strict=True)
        return Relation(LOOP_VIEW.format(name), tuple(columns), rows)

    def _not_ended(self, result: Result) -> LoopNotEnded:
        if result.period:
            told = f"{self._names} comes back to the same rows every {result.period} rounds"
            return LoopNotEnded(
                f"The loop {told}, so that it has no end",
                model=self.model,
                hint="Nothing was written. Let it end: by a condition on the rows that come round.",
                **self._place,
            )
        return self._endless(result.growth, f"after {result.rounds:,} rounds")

    def _endless(self, growth: Sequence[Mapping[str, int]], when: str) -> LoopNotEnded:
        last = growth[-1]
        grown = ", ".join(
            f"{name} has {' → '.join(f'{sizes[name]:,}' for sizes in growth)} rows" for name in last
        )
        return LoopNotEnded(
            f"The loop {self._names} has not ended {when}: {grown}",
            model=self.model,
            hint="Nothing was written. If it only needs longer, raise ivm_max_rounds "
            f"({self.limits.rounds:,}) or ivm_max_rows ({self.limits.rows:,}); "
            "ivm_on_limit: return takes what there is.",
            **self._place,
        )

    def _too_large(self, error: Overflow) -> InvalidModel:
        return InvalidModel(
            f"In the loop {self._names} a number does not fit its column: {error}",
            model=self.model,
            hint="Nothing was written. The first SELECT of a binding says of which type its "
            "columns are: cast there to bigint, or to a decimal of more digits.",
            **self._place,
        )

    @property
    def _names(self) -> str:
        return ", ".join(self.loop.names)

    @property
    def _place(self) -> dict[str, Any]:
        program = self.loop.program
        return {} if program is None else program.position(program.bindings[0])


def rows_of(rows: Iterable[Sequence[Any]], kinds: Sequence[ValueType]) -> Bag | Lookup:
    """Rows as Spark gives them, which it may let one look up."""
    return rows if isinstance(rows, Lookup) else bag_of(rows, kinds)


def bag_of(rows: Iterable[Sequence[Any]], kinds: Sequence[ValueType]) -> Bag:
    """Rows as Spark gives them."""
    made = [_FROM_SPARK.get(kind.name) for kind in kinds]
    if not any(made):
        return Counter(map(tuple, rows))
    return Counter(
        tuple(
            value if value is None or to is None else to(value)
            for value, to in zip(found, made, strict=True)
        )
        for found in rows
    )


_FROM_SPARK: Mapping[str, Callable[[Any], Any]] = {
    "decimal": lambda value: value if isinstance(value, Decimal) else Decimal(str(value)),
    "date": lambda value: date.fromisoformat(value) if isinstance(value, str) else value,
}
"""A server may give texts for these."""
