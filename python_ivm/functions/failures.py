"""Which expressions can fail for a row, where Spark's ANSI mode is on.

An error there depends on values: a divisor of 0, a number that outgrows its type, a text that is no
date. What is listed here cannot fail, whatever its columns hold; all else is taken for what can.
Without ANSI mode the same expressions give NULL, and only an error that the query asks for is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from sqlglot import exp

COUNT, WHOLE, FLOATING, NUMBER = "count", "whole", "floating", "number"
TEXT, BOOLEAN, TIME, NULL = "text", "boolean", "time", "null"
"""Families of types. A count is a whole number too small for a sum of some of them to overflow.
Arrays, maps and structs are known by their type's name."""

_NUMBERS = frozenset({COUNT, WHOLE, FLOATING, NUMBER})
_OF_TYPES = {
    **dict.fromkeys(("tinyint", "smallint", "int", "integer", "bigint", "long"), WHOLE),
    **dict.fromkeys(("float", "double", "real"), FLOATING),
    **dict.fromkeys(("date", "timestamp", "timestamp_ntz", "timestamp_ltz"), TIME),
    "boolean": BOOLEAN,
}
_RAISED = frozenset({"assert_true", "raise_error"})
"""Functions that fail in every mode."""

_CONSTANT = (exp.Literal, exp.Null, exp.Boolean, exp.Placeholder, exp.Interval, exp.Star)
_FORM = (
    exp.Alias, exp.Column, exp.DataType, exp.DataTypeParam, exp.Distinct, exp.Dot, exp.Filter,
    exp.Identifier, exp.IgnoreNulls, exp.Is, exp.Order, exp.Ordered, exp.Paren, exp.PropertyEQ,
    exp.Struct, exp.Tuple, exp.Var, exp.Where, exp.Window, exp.WindowSpec,
)  # fmt: skip
"""What only says where something stands."""
_TEXTS = (
    exp.Concat, exp.DPipe, exp.Initcap, exp.Length, exp.Lower, exp.Replace, exp.StartsWith,
    exp.Trim, exp.Upper,
)  # fmt: skip
"""Functions of texts: any value has one."""
_TIMES = (
    exp.DateDiff, exp.DateTrunc, exp.Day, exp.DayOfMonth, exp.DayOfWeek, exp.DayOfYear,
    exp.Extract, exp.LastDay, exp.Month, exp.Quarter, exp.TimestampTrunc, exp.TsOrDsAdd,
    exp.TsOrDsToDate, exp.WeekOfYear, exp.Year,
)  # fmt: skip
"""Functions of dates and times."""
_TRIED = (exp.SafeAdd, exp.SafeDivide, exp.SafeMultiply, exp.SafeSubtract)
_COMPARISONS = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Nullif,
)  # fmt: skip
_LOGIC = (exp.And, exp.Or, exp.Not, exp.Xor)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul)
_CHOICES = (exp.Case, exp.If, exp.Coalesce, exp.Array)
_RANKS = (
    exp.CumeDist, exp.DenseRank, exp.FirstValue, exp.Lag, exp.LastValue, exp.Lead, exp.PercentRank,
    exp.Rank, exp.RowNumber,
)  # fmt: skip
_AGGREGATES = (
    exp.AnyValue, exp.ApproxDistinct, exp.ArrayAgg, exp.ArrayUniqueAgg, exp.Count, exp.CountIf,
    exp.First, exp.Last, exp.LogicalAnd, exp.LogicalOr, exp.Max, exp.Min,
)  # fmt: skip
_OF_NUMBERS = (
    exp.Avg, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Sum, exp.Variance, exp.VariancePop,
)  # fmt: skip
"""Aggregates that fail by their arguments only; a sum that overflows has a rule of its own."""
_SAFE_NAMES = frozenset({"max_by", "min_by", "named_struct", "struct", "typeof", "xxhash64"})
_OF_FIRST = (exp.Max, exp.Min, exp.AnyValue, exp.First, exp.Last, exp.Lag, exp.Lead,
             exp.FirstValue, exp.LastValue, exp.Nullif, exp.Window, exp.Filter, exp.IgnoreNulls,
             exp.Paren, exp.Alias, exp.Neg)  # fmt: skip
"""What gives one of the values that its first argument has."""


@dataclass(frozen=True)
class Failures:
    """Tells which expressions can fail.

    Attributes:
        column: What a column is: the expression that computes it, the Spark type of a table's
            column, or None if neither is known.
        ansi: Whether ANSI mode is on.
    """

    column: Callable[[exp.Column], exp.Expr | str | None]
    ansi: bool
    _known: dict[exp.Column, str | None] = field(default_factory=dict, compare=False, repr=False)

    def any(self, expressions: Iterable[exp.Expr]) -> bool:
        """Whether one of several expressions can fail."""
        return any(self.can_fail(expression) for expression in expressions)

    def can_fail(self, expression: exp.Expr) -> bool:
        """Whether an expression may be an error for some values of its columns."""
        if not self.ansi:
            calls = expression.find_all(exp.Anonymous)
            return any(call.name.lower() in _RAISED for call in calls)
        return any(self._fails(node) for node in expression.walk())

    def _fails(self, node: exp.Expr) -> bool:
        """Whether one part may, whose own parts do not."""
        match node:
            case exp.Cast():
                return not self._is_safe_cast(node)
            case exp.Between():
                return self._mixes([node.this, node.args["low"], node.args["high"]])
            case exp.In():
                return self._mixes([node.this, *node.expressions])
            case exp.Like() | exp.ILike():
                return not isinstance(node.expression, exp.Literal)
            case exp.Div() | exp.IntDiv() | exp.Mod():
                return not self._divides(node)
            case exp.Substring():
                given = (node.args.get("start"), node.args.get("length"))
                return not all(v is None or _is_number(self.family(v)) for v in given)
            case exp.Anonymous():
                return node.name.lower() not in _SAFE_NAMES
        if isinstance(node, _COMPARISONS):
            return self._mixes([node.this, node.expression])
        if isinstance(node, _LOGIC):
            return not all(self.family(o) in (BOOLEAN, NULL) for o in node.iter_expressions())
        if isinstance(node, _ARITHMETIC):
            return not self._is_safe_sum(node)
        if isinstance(node, _CHOICES):
            return not self._is_of_one_family(_choices(node)) or self._chooses_by_text(node)
        if isinstance(node, _TIMES):
            return not all(self._is_time(value) for value in _values(node))
        if isinstance(node, _OF_NUMBERS):
            return not _is_number(self._of_argument(node.this))
        return not isinstance(node, (*_CONSTANT, *_FORM, *_TEXTS, *_TRIED, *_RANKS, *_AGGREGATES))

    # -- families ----------------------------------------------------------------------------

    def family(self, node: exp.Expr) -> str | None:
        """The family of an expression's type; None if it is not known."""
        match node:
            case exp.Column():
                if node not in self._known:
                    self._known[node] = None  # a recursion's column is defined by itself
                    self._known[node] = self._of_column(node)
                return self._known[node]
            case exp.Literal():
                return TEXT if node.is_string else WHOLE if node.is_int else NUMBER
            case exp.Null():
                return NULL
            case exp.Cast():
                return of_type(node.to.sql(dialect="spark"))
            case exp.Count() | exp.CountIf() | exp.ApproxDistinct() | exp.RowNumber() | exp.Rank():
                return COUNT
            case exp.DenseRank():
                return COUNT
            case exp.Sum() | exp.Avg():
                own = self._of_argument(node.this)
                average = FLOATING if isinstance(node, exp.Avg) and own in (WHOLE, COUNT) else own
                return average if average != COUNT else WHOLE
        if isinstance(node, _OF_FIRST):
            return self._of_argument(node.this)
        if isinstance(node, (*_LOGIC, exp.Boolean, exp.Predicate, exp.LogicalAnd, exp.LogicalOr)):
            return BOOLEAN
        if isinstance(node, _CHOICES) and not isinstance(node, exp.Array):
            families = {self.family(value) for value in _choices(node)} - {NULL}
            return families.pop() if len(families) == 1 else _number_of(families)
        if isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod)):
            return self._of_arithmetic(node)
        if isinstance(node, (exp.Length, exp.DateDiff, exp.Extract, exp.Day, exp.Month, exp.Year)):
            return WHOLE
        if isinstance(node, (exp.Substring, *_TEXTS)):
            return TEXT
        return TIME if isinstance(node, _TIMES) else None

    def _of_column(self, column: exp.Column) -> str | None:
        found = self.column(column)
        if found is None:
            return None
        return of_type(found) if isinstance(found, str) else self.family(found)

    def _of_argument(self, argument: exp.Expr) -> str | None:
        inner = argument.expressions[0] if isinstance(argument, exp.Distinct) else argument
        return self.family(inner)

    def _of_arithmetic(self, node: exp.Expr) -> str | None:
        sides = {self.family(node.this), self.family(node.expression)} - {NULL}
        if sides <= _NUMBERS:
            if FLOATING in sides or (isinstance(node, exp.Div) and sides <= {WHOLE, COUNT}):
                return FLOATING
            return WHOLE if sides <= {WHOLE, COUNT} else NUMBER
        moved = isinstance(node, (exp.Add, exp.Sub)) and isinstance(node.expression, exp.Interval)
        return TIME if moved and self.family(node.this) == TIME else None

    # -- what is safe ------------------------------------------------------------------------

    def _mixes(self, compared: list[exp.Expr]) -> bool:
        """Whether a comparison may have to read a column's text as a value of another type."""
        texts = [part for part in compared if isinstance(part, exp.Literal) and part.is_string]
        others = [part for part in compared if part not in texts]
        if len(others) == 1:
            return False  # a literal that is no such value fails at the first row, and ever after
        return not self._is_of_one_family(others)

    def _is_of_one_family(self, values: Iterable[exp.Expr]) -> bool:
        families = {self.family(value) for value in values} - {NULL}
        return None not in families and (len(families) < 2 or families <= _NUMBERS)

    def _chooses_by_text(self, node: exp.Expr) -> bool:
        """Whether CASE compares a value with those of other types."""
        value = node.this if isinstance(node, exp.Case) else None
        return value is not None and self._mixes([value, *(i.this for i in node.args["ifs"])])

    def _is_safe_cast(self, node: exp.Cast) -> bool:
        wanted = of_type(node.to.sql(dialect="spark"))
        if wanted == TEXT or isinstance(node.this.unnest(), (exp.Literal, exp.Null)):
            return True
        own = self.family(node.this)
        if wanted == FLOATING:
            return _is_number(own)
        if wanted == WHOLE:
            return own in (WHOLE, COUNT) and node.to.is_type("bigint")
        return own is not None and own == wanted and wanted in (BOOLEAN, TIME)

    def _is_safe_sum(self, node: exp.Expr) -> bool:
        """Whether a sum or product stays in its type: a floating one does, and one of counts.

        And a date that is moved, as the years are far away from which on it does not.
        """
        if self.family(node) in (FLOATING, TIME):
            return True
        small = isinstance(node, (exp.Add, exp.Sub))
        return small and all(self._is_small(o) for o in (node.this, node.expression))

    def _is_small(self, value: exp.Expr) -> bool:
        literal = isinstance(value, exp.Literal) and value.is_int and len(value.name) < 10
        return literal or self.family(value) == COUNT

    def _divides(self, node: exp.Expr) -> bool:
        """Whether the divisor is a number that is not 0, and the quotient stays in its type."""
        by = node.expression
        nonzero = isinstance(by, exp.Literal) and by.is_number and float(by.name) != 0
        return nonzero and self.family(node) in (FLOATING, WHOLE)

    def _is_time(self, value: exp.Expr) -> bool:
        constant = isinstance(value, (*_CONSTANT, exp.Var))
        return constant or self.family(value) in (TIME, WHOLE, COUNT)


def of_type(kind: str) -> str:
    """The family of a Spark type, or its own name."""
    lowered = kind.strip().lower()
    if lowered.startswith(("string", "char(", "varchar(")):
        return TEXT
    return NUMBER if lowered.startswith("decimal") else _OF_TYPES.get(lowered, lowered)


def _is_number(family: str | None) -> bool:
    return family in _NUMBERS


def _number_of(families: set[str | None]) -> str | None:
    return NUMBER if families and families <= _NUMBERS else None


def _choices(node: exp.Expr) -> list[exp.Expr]:
    """The values of which one is the result."""
    match node:
        case exp.Case():
            default = node.args.get("default")
            values = [branch.args["true"] for branch in node.args["ifs"]]
            return [*values, default] if default is not None else values
        case exp.If():
            return [v for v in (node.args["true"], node.args.get("false")) if v is not None]
        case exp.Coalesce():
            return [node.this, *node.expressions]
    return list(node.expressions)


def _values(node: exp.Expr) -> list[exp.Expr]:
    return [value for value in node.iter_expressions() if isinstance(value, exp.Expr)]
