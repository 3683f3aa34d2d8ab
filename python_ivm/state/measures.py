"""From an aggregate call to the counters that maintain it and the expression that shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named
from python_ivm.algebra.nodes import FEED_COLUMNS
from python_ivm.errors import NotYetImplemented
from python_ivm.functions.aggregates import SUMS, arguments, condition, core, function_name
from python_ivm.state.counters import (
    Counter,
    Extremum,
    NonNull,
    Recomputed,
    Rows,
)
from python_ivm.state.sum_types import SqlType, SumKind
from python_ivm.state.totals import Total, WideAverage, WideTotal, average

C = TypeVar("C", bound=Counter)

_LONG = {"bigint", "long"}
_SINGLE = {"float", "real"}
_EXACT_PRODUCT = 27
"""The digits of a decimal that fit in 38 when it is multiplied by a count, which has 10."""
_SAFE = re.compile(r"[^ ,;{}()\n\t=.`]+\Z")
"""Names that Delta takes without column mapping."""
_OWN = re.compile(r"__ivm_|_.*_\Z|__is_cdc\Z|__delta_internal_", re.IGNORECASE)
"""Names that the planner, or Delta in a MERGE, may have for columns of its own."""


def is_storable(name: str) -> bool:
    """Whether a state's column may have the name of one of the model's columns.

    Not if Delta does not take it there, or would take it for another column.
    """
    taken = _OWN.match(name) is not None or name.lower() in FEED_COLUMNS
    return _SAFE.match(name) is not None and not taken


@dataclass
class Measures:
    """The counters of one aggregate.

    Attributes:
        types: The type of each summed argument, by the measure's name.
        counters: The counters so far, the number of rows first; equal ones are shared.
        shown: For each measure of the aggregate, the expression over the state that shows it.
    """

    relation: str
    types: Mapping[str, str]
    taken: set[str] = field(default_factory=set)
    counters: list[Counter] = field(default_factory=lambda: [Rows()])
    shown: dict[ColumnRef, exp.Expr] = field(default_factory=dict)
    _arguments: list[tuple[exp.Expr, ...]] = field(default_factory=list)

    def add(self, measure: Named, visible: bool) -> None:
        """Add the counters of a measure.

        Args:
            measure: The aggregate call, in a form that does not depend on the rows' order, and
                its name.
            visible: Whether the name is one of the model's columns.

        Raises:
            NotYetImplemented: If a stored column would have another one's name.
        """
        call = measure.expression
        wanted = measure.name if visible and is_storable(measure.name) else None
        expression = self._expression(core(call), condition(call), measure, wanted)
        self.shown[ColumnRef(self.relation, measure.name)] = expression

    def _expression(
        self,
        call: exp.Expr,
        condition: exp.Expr | None,
        measure: Named,
        wanted: str | None,
    ) -> exp.Expr:
        distinct = isinstance(call.this, exp.Distinct)
        if isinstance(call, exp.Count) and not distinct:
            return self._count(call, condition, wanted)
        if isinstance(call, (exp.Min, exp.Max)) and not call.expressions:
            inner = call.this.expressions[0] if distinct else call.this
            argument = _filtered(inner, condition)
            number = self._number((argument,))
            kind = "min" if isinstance(call, exp.Min) else "max"
            name = wanted or f"__ivm_{kind}_{number}__"
            return self._share(Extremum(name, argument, kind == "min"))
        if isinstance(call, (exp.Sum, exp.Avg)) and not distinct:
            argument = _filtered(call.this, condition)
            told = self.types.get(measure.name, "").strip().lower()
            sql_type = SqlType.of(told)
            if isinstance(call, exp.Avg) and told in _LONG:
                return self._average_of_longs(argument)
            if _adds_up(call, sql_type):
                return self._sum(call, argument, told, wanted)
        if isinstance(call, (exp.LogicalAnd, exp.LogicalOr)):
            return self._boolean(call, condition)
        picked = _picked_field(call)
        if picked is not None:
            return self._row(call, condition, picked)
        number = self._number((measure.expression,))
        return self._share(Recomputed(wanted or f"__ivm_value_{number}__", measure.expression))

    def _count(self, call: exp.Count, condition: exp.Expr | None, wanted: str | None) -> exp.Expr:
        arguments = (call.this, *call.expressions)
        star = isinstance(call.this, exp.Star)
        constant = all(isinstance(a, exp.Literal) for a in arguments)
        if (star or constant) and condition is None:
            return exp.column(self.counters[0].name, quoted=True)
        if star:
            arguments = (exp.Literal.number(1),)
        filtered = tuple(_filtered(a, condition) for a in arguments)
        return self._nonnull(filtered, wanted)

    def _boolean(self, call: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
        """``bool_and`` and ``bool_or`` by the number of values that decide them."""
        argument = call.this.expressions[0] if isinstance(call.this, exp.Distinct) else call.this
        value = _filtered(argument, condition)
        every = isinstance(call, exp.LogicalAnd)
        # To sqlglot AND and OR are functions, too.
        bound = isinstance(argument, (exp.Binary, exp.Unary)) and not isinstance(
            argument, exp.Paren
        )
        holds = exp.paren(argument.copy()) if bound else argument.copy()
        deciding = exp.Not(this=holds) if every else holds
        one = exp.Case().when(deciding, exp.Literal.number(1))
        decided = self._nonnull((_filtered(one, condition),), None)
        known = exp.GT(this=self._nonnull((value,), None), expression=exp.Literal.number(0))
        compare = exp.EQ if every else exp.GT
        shown = compare(this=decided, expression=exp.Literal.number(0))
        return exp.Case().when(known, shown)

    def _row(self, call: exp.Expr, condition: exp.Expr | None, field: exp.Expr) -> exp.Expr:
        """``max_by`` and ``min_by`` as the extreme value of a struct that holds what is shown."""
        key = _filtered(arguments(call)[1], condition)
        smallest = function_name(call) == "min_by"
        name = f"__ivm_{'min' if smallest else 'max'}_{self._number((key,))}__"
        stored = self._share(Extremum(name, key, smallest))
        return exp.Dot(this=stored, expression=field.copy())

    def _nonnull(self, arguments: tuple[exp.Expr, ...], wanted: str | None) -> exp.Column:
        number = self._number(arguments)
        return self._share(NonNull(wanted or f"__ivm_nonnull_{number}__", arguments))

    def _sum(
        self,
        call: exp.Expr,
        argument: exp.Expr,
        told: str,
        wanted: str | None,
    ) -> exp.Expr:
        sql_type = SqlType.of(told)
        number = self._number((argument,))
        nonnull = self._nonnull((argument,), None)
        name = wanted if wanted and isinstance(call, exp.Sum) else f"__ivm_sum_{number}__"
        decimal = ""
        if sql_type.kind is SumKind.DECIMAL and sql_type.precision > 16:
            decimal = f"decimal({min(38, sql_type.precision + 10)},{sql_type.scale})"
        if told in _SINGLE:  # as Spark adds it: a float times a count would be a float
            argument = exp.cast(argument.copy(), "double")
        kind = WideTotal if sql_type.precision > _EXACT_PRODUCT else Total
        total = self._kept(kind(name, argument, sql_type.kind, nonnull.name, decimal))
        if isinstance(call, exp.Sum):
            return exp.column(total.name, quoted=True)
        if isinstance(total, WideTotal):
            average_name = wanted or f"__ivm_avg_{number}__"
            return self._share(WideAverage(average_name, total, sql_type))
        return self._quotient(total, sql_type)

    def _average_of_longs(self, argument: exp.Expr) -> exp.Expr:
        """Spark adds up doubles, which do not overflow as a sum of bigints may."""
        wide = exp.cast(argument.copy(), "decimal(20,0)")
        nonnull = self._nonnull((argument,), None)
        name = f"__ivm_sum_{self._number((wide,))}__"
        total = self._kept(Total(name, wide, SumKind.DECIMAL, nonnull.name, "decimal(30,0)"))
        return self._quotient(total, SqlType(SumKind.INTEGRAL))

    @staticmethod
    def _quotient(total: Total, sql_type: SqlType) -> exp.Expr:
        """A sum by its count, NULL over no values."""
        nonnull = exp.column(total.nonnull, quoted=True)
        count = exp.func("nullif", nonnull, exp.Literal.number(0))
        return average(exp.column(total.name, quoted=True), count, sql_type)

    def _number(self, arguments: tuple[exp.Expr, ...]) -> int:
        if arguments not in self._arguments:
            self._arguments.append(arguments)
        return self._arguments.index(arguments) + 1

    def _share(self, counter: Counter) -> exp.Column:
        """The column of an equal counter if there is one, else that of the new one."""
        return exp.column(self._kept(counter).name, quoted=True)

    def _kept(self, counter: C) -> C:
        """An equal counter if there is one, else the new one."""
        for known in self.counters:
            if isinstance(known, type(counter)) and _same(known, counter):
                return known
        if counter.name.lower() in self.taken:
            raise NotYetImplemented(f"Two stored columns named {counter.name}")
        self.taken.add(counter.name.lower())
        self.counters.append(counter)
        return counter


def _picked_field(call: exp.Expr) -> exp.Expr | None:
    """The field that ``max_by(x, struct(…, x, …))`` shows; None for any other call."""
    if function_name(call) not in ("max_by", "min_by"):
        return None
    given = arguments(call)
    key = given[1].args["ifs"][0].args["true"] if isinstance(given[1], exp.Case) else given[1]
    if len(given) > 2 or not isinstance(key, exp.Struct):
        return None
    return next((f.this for f in key.expressions if f.expression == given[0]), None)


def _same(one: Counter, other: Counter) -> bool:
    """Whether two counters differ by name only."""
    if type(one) is not type(other):
        return False
    left = {k: v for k, v in vars(one).items() if k != "name"}
    right = {k: v for k, v in vars(other).items() if k != "name"}
    return left == right


def _adds_up(call: exp.Expr, sql_type: SqlType) -> bool:
    """Whether a sum is kept by adding: its type must neither lose digits nor be unknown.

    Of a product with more than 38 digits Spark keeps up to 6 decimal places. An average is divided
    exactly at more scales than 4, but not at all of them; the bound is one that is safe for every
    precision here (docs/decisions/0002).
    """
    if sql_type.kind is not SumKind.DECIMAL:
        return sql_type.kind is not SumKind.OTHER
    if isinstance(call, exp.Avg):
        return sql_type.scale <= 4
    return sql_type.precision <= _EXACT_PRODUCT or sql_type.scale <= 6


def _filtered(argument: exp.Expr, condition: exp.Expr | None) -> exp.Expr:
    """An aggregate's argument, NULL where its FILTER does not hold."""
    if condition is None:
        return argument
    return exp.Case().when(condition.copy(), argument.copy())


def summed_arguments(calls: Iterable[Named]) -> tuple[Named, ...]:
    """The arguments of sums and averages whose types matter, by the call's name."""
    found = []
    for named in calls:
        call = named.expression
        function = core(call.this if isinstance(call, exp.Window) else call)
        if function_name(function) in SUMS:
            value = arguments(function)[0]
            distinct = isinstance(value, exp.Distinct)
            found.append(Named(named.name, value.expressions[0] if distinct else value))
    return tuple(found)
