"""Expressions over a row, with Spark's types, NULLs and overflows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from sqlglot import exp

from python_ivm.errors import NotYetImplemented
from python_ivm.parse.trees import position, spelled
from python_ivm.rows.kinds import (
    BIGINT,
    BOOLEAN,
    INT,
    STRING,
    VOID,
    Overflow,
    ValueType,
    common,
    exactly,
    fit,
)

Row = tuple[Any, ...]
Function = Callable[[Row], Any]
Column = tuple[str, str]
"""A relation's and a column's name."""

_COMPARED: Mapping[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.EQ: lambda a, b: bool(a == b),
    exp.NEQ: lambda a, b: bool(a != b),
    exp.LT: lambda a, b: bool(a < b),
    exp.LTE: lambda a, b: bool(a <= b),
    exp.GT: lambda a, b: bool(a > b),
    exp.GTE: lambda a, b: bool(a >= b),
}
_SIGNS: Mapping[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}


@dataclass(frozen=True)
class Typed:
    """An expression that can be evaluated.

    Attributes:
        kind: Its type.
        of: Its value for a row; None is NULL.
    """

    kind: ValueType
    of: Function


@dataclass(frozen=True)
class Compiler:
    """Compiles expressions over the columns of a row.

    Attributes:
        columns: The place in the row and the type of each column.
        ansi: Whether ANSI mode is on.
        special: Expressions of which the row holds the value, by their identity.
    """

    columns: Mapping[Column, tuple[int, ValueType]]
    ansi: bool
    special: Mapping[int, tuple[int, ValueType]] | None = None

    def condition(self, conditions: Sequence[exp.Expr]) -> Callable[[Row], bool]:
        """Whether all conditions are true of a row."""
        tests = [self.compile(condition).of for condition in conditions]
        if len(tests) == 1:
            only = tests[0]
            return lambda row: only(row) is True
        return lambda row: all(test(row) is True for test in tests)

    def compile(self, tree: exp.Expr) -> Typed:
        """An expression.

        Raises:
            NotYetImplemented: If the row engine does not know a function in it, or its type.
        """
        if self.special is not None and id(tree) in self.special:
            place, kind = self.special[id(tree)]
            return Typed(kind, lambda row: row[place])
        if isinstance(tree, exp.Column):
            return self._column(tree)
        if type(tree) in _COMPARED:
            return self._comparison(tree)
        if type(tree) in _SIGNS:
            return self._arithmetic(tree)
        rule = _RULES.get(type(tree))
        if rule is None:
            raise unknown(tree)
        return rule(self, tree)

    def _column(self, tree: exp.Column) -> Typed:
        place, kind = self.columns[(tree.table, tree.name)]
        return Typed(kind, lambda row: row[place])

    def pair(self, tree: exp.Expr) -> tuple[Function, Function, ValueType]:
        """The two sides of an expression, brought to one type."""
        left, right = self.compile(tree.this), self.compile(tree.expression)
        kind = compared_as(left.kind, right.kind)
        return self.cast(left, kind), self.cast(right, kind), kind

    def cast(self, typed: Typed, kind: ValueType) -> Function:
        """The value brought to another type of numbers; what does not fit is an error."""
        same = typed.kind == kind or (typed.kind.is_whole and common((typed.kind, kind)) == kind)
        if VOID in (typed.kind, kind) or not typed.kind.is_number or (same and kind.is_whole):
            return typed.of
        if typed.kind == kind:
            return typed.of
        of, made = typed.of, fit(kind, True)

        def value(row: Row) -> Any:
            found = of(row)
            return None if found is None else made(found)

        return value

    def all_of_one_kind(self, trees: Sequence[exp.Expr]) -> tuple[list[Function], ValueType]:
        """Expressions brought to one type."""
        typed = [self.compile(tree) for tree in trees]
        kind = common(one.kind for one in typed)
        return [self.cast(one, kind) for one in typed], kind

    def _comparison(self, tree: exp.Expr) -> Typed:
        left, right, _ = self.pair(tree)
        holds = _COMPARED[type(tree)]

        def value(row: Row) -> bool | None:
            a = left(row)
            if a is None:
                return None
            b = right(row)
            return None if b is None else holds(a, b)

        return Typed(BOOLEAN, value)

    def _arithmetic(self, tree: exp.Expr) -> Typed:
        sign = _SIGNS[type(tree)]
        left, right = self.compile(tree.this), self.compile(tree.expression)
        kind = _of_arithmetic(left.kind, right.kind, sign, tree)
        made = fit(kind, self.ansi)
        exact = _WHOLE[sign] if kind.is_whole else (lambda a, b: exactly(a, b, sign))
        return Typed(kind, _strict(lambda a, b: made(exact(a, b)), left.of, right.of))


_WHOLE: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


def _strict(function: Callable[[Any, Any], Any], left: Function, right: Function) -> Function:
    """A function of two values that is NULL where one of them is."""

    def value(row: Row) -> Any:
        a = left(row)
        if a is None:
            return None
        b = right(row)
        return None if b is None else function(a, b)

    return value


def _of_arithmetic(left: ValueType, right: ValueType, sign: str, tree: exp.Expr) -> ValueType:
    """Spark's type of a sum, difference or product."""
    if VOID in (left, right):
        left = right = left if right == VOID else right
        left = right = INT if left == VOID else left
    if not (left.is_number and right.is_number):
        raise unknown(tree, f"{left} {sign} {right}")
    if left.is_whole and right.is_whole:
        return common((left, right))
    a, b = _literal(tree.this, left), _literal(tree.expression, right)
    scale = a.scale + b.scale if sign == "*" else max(a.scale, b.scale)
    if sign == "*":
        precision = a.precision + b.precision + 1
    else:
        precision = max(a.precision - a.scale, b.precision - b.scale) + scale + 1
    if precision > 38:
        raise NotYetImplemented(
            f"In a loop, a result of {precision} digits, of {left} {sign} {right},",
            hint="Cast the arguments to decimals of fewer digits.",
            **position(tree),
        )
    return ValueType("decimal", precision, scale)


def _literal(tree: exp.Expr, kind: ValueType) -> ValueType:
    """The decimal type of a number; of a whole number in the text it has as many digits."""
    if isinstance(tree, exp.Literal) and kind.is_whole:
        return ValueType("decimal", len(tree.name), 0)
    return kind.as_decimal


def compared_as(left: ValueType, right: ValueType) -> ValueType:
    """The type as which values of two types are compared."""
    if left.is_number and right.is_number and "decimal" in (left.name, right.name):
        return ValueType("decimal", 76, 38)
    return common((left, right))


# -- one rule for each construct -------------------------------------------------------------------


def _number(compiler: Compiler, tree: exp.Expr) -> Typed:
    text = tree.name
    if tree.args.get("is_string"):
        return Typed(STRING, lambda row: text)
    if text.isdigit():
        whole = int(text)
        kind = INT if whole < 2**31 else BIGINT
        if whole >= 2**63:
            raise unknown(tree, text)
        return Typed(kind, lambda row: whole)
    if "e" in text.lower():
        raise unknown(tree, text)
    exact = Decimal(text)
    digits, scale = len(exact.as_tuple().digits), -int(exact.as_tuple().exponent)
    return Typed(ValueType("decimal", max(digits, scale), scale), lambda row: exact)


def _connective(decides: bool) -> Callable[[Compiler, exp.Expr], Typed]:
    """AND, which one FALSE decides, or OR, which one TRUE does, in SQL's logic of three values."""

    def compiled(compiler: Compiler, tree: exp.Expr) -> Typed:
        left, right = (compiler.compile(side).of for side in (tree.this, tree.expression))

        def value(row: Row) -> bool | None:
            a = left(row)
            if a is decides:
                return decides
            b = right(row)
            return decides if b is decides else None if a is None or b is None else not decides

        return Typed(BOOLEAN, value)

    return compiled


def _not(compiler: Compiler, tree: exp.Expr) -> Typed:
    of = compiler.compile(tree.this).of

    def value(row: Row) -> bool | None:
        found = of(row)
        return None if found is None else not found

    return Typed(BOOLEAN, value)


def _is(compiler: Compiler, tree: exp.Expr) -> Typed:
    of = compiler.compile(tree.this).of
    wanted = tree.expression
    if isinstance(wanted, exp.Null):
        return Typed(BOOLEAN, lambda row: of(row) is None)
    if isinstance(wanted, exp.Boolean):
        boolean = bool(wanted.this)
        return Typed(BOOLEAN, lambda row: of(row) is boolean)
    raise unknown(tree)


def _same(compiler: Compiler, tree: exp.Expr) -> Typed:
    left, right, _ = compiler.pair(tree)
    return Typed(BOOLEAN, lambda row: bool(left(row) == right(row)))


def _differ(compiler: Compiler, tree: exp.Expr) -> Typed:
    left, right, _ = compiler.pair(tree)
    return Typed(BOOLEAN, lambda row: bool(left(row) != right(row)))


def _in(compiler: Compiler, tree: exp.Expr) -> Typed:
    listed = tree.expressions
    if not listed:
        raise unknown(tree)
    parts = [exp.EQ(this=tree.this, expression=one) for one in listed]
    result: exp.Expr = parts[0]
    for part in parts[1:]:
        result = exp.Or(this=result, expression=part)
    return compiler.compile(result)


def _between(compiler: Compiler, tree: exp.Expr) -> Typed:
    low = exp.GTE(this=tree.this, expression=tree.args["low"])
    high = exp.LTE(this=tree.this, expression=tree.args["high"])
    return compiler.compile(exp.And(this=low, expression=high))


def _negative(compiler: Compiler, tree: exp.Expr) -> Typed:
    typed = compiler.compile(tree.this)
    kind = INT if typed.kind == VOID else typed.kind
    if not kind.is_number:
        raise unknown(tree, f"- {kind}")
    of, made = typed.of, fit(kind, compiler.ansi)

    def value(row: Row) -> Any:
        found = of(row)
        return None if found is None else made(-found)

    return Typed(kind, value)


def _divided(compiler: Compiler, tree: exp.Expr) -> Typed:
    left, right, kind = compiler.pair(tree)
    if not (kind.is_whole or kind == VOID):
        raise unknown(tree, f"div of {kind}")
    made, ansi = fit(BIGINT, compiler.ansi), compiler.ansi

    def whole(a: int, b: int) -> Any:
        if _is_zero(b, ansi):
            return None
        found = abs(a) // abs(b)
        return made(found if (a < 0) == (b < 0) else -found)

    return Typed(BIGINT, _strict(whole, left, right))


def _modulo(compiler: Compiler, tree: exp.Expr) -> Typed:
    left, right, kind = compiler.pair(tree)
    if not (kind.is_whole or kind == VOID):
        raise unknown(tree, f"% of {kind}")
    ansi = compiler.ansi

    def rest(a: int, b: int) -> int | None:
        if _is_zero(b, ansi):
            return None
        found = abs(a) % abs(b)
        return found if a >= 0 else -found

    return Typed(INT if kind == VOID else kind, _strict(rest, left, right))


def _is_zero(divisor: int, ansi: bool) -> bool:
    if divisor == 0 and ansi:
        raise Overflow("division by zero")
    return divisor == 0


def _boolean(compiler: Compiler, tree: exp.Expr) -> Typed:
    value = bool(tree.this)
    return Typed(BOOLEAN, lambda row: value)


def _case(compiler: Compiler, tree: exp.Expr) -> Typed:
    branches = tree.args["ifs"]
    asked = tree.args.get("this")
    whens = [
        compiler.compile(b.this if asked is None else exp.EQ(this=asked, expression=b.this)).of
        for b in branches
    ]
    otherwise = tree.args.get("default") or exp.null()
    thens, kind = compiler.all_of_one_kind([*(b.args["true"] for b in branches), otherwise])
    return _chosen(whens, thens, kind)


def _if(compiler: Compiler, tree: exp.Expr) -> Typed:
    otherwise = tree.args.get("false") or exp.null()
    thens, kind = compiler.all_of_one_kind([tree.args["true"], otherwise])
    return _chosen([compiler.compile(tree.this).of], thens, kind)


def _chosen(whens: list[Function], thens: list[Function], kind: ValueType) -> Typed:
    *thens, otherwise = thens
    pairs = list(zip(whens, thens, strict=True))

    def value(row: Row) -> Any:
        for when, then in pairs:
            if when(row) is True:
                return then(row)
        return otherwise(row)

    return Typed(kind, value)


def _coalesce(compiler: Compiler, tree: exp.Expr) -> Typed:
    parts, kind = compiler.all_of_one_kind([tree.this, *tree.expressions])

    def value(row: Row) -> Any:
        return next((found for part in parts if (found := part(row)) is not None), None)

    return Typed(kind, value)


def _extreme(choose: Callable[..., Any]) -> Callable[[Compiler, exp.Expr], Typed]:
    def rule(compiler: Compiler, tree: exp.Expr) -> Typed:
        parts, kind = compiler.all_of_one_kind([tree.this, *tree.expressions])

        def value(row: Row) -> Any:
            found = [v for part in parts if (v := part(row)) is not None]
            return choose(found) if found else None

        return Typed(kind, value)

    return rule


def _absolute(compiler: Compiler, tree: exp.Expr) -> Typed:
    below = exp.LT(this=tree.this, expression=exp.Literal.number(0))
    branch = exp.If(this=below, true=exp.Neg(this=tree.this))
    return compiler.compile(exp.Case(ifs=[branch], default=tree.this))


def _concat(compiler: Compiler, tree: exp.Expr) -> Typed:
    trees = tree.expressions or [tree.this, tree.expression]
    parts = [_as_text(compiler.compile(part), tree) for part in trees]

    def value(row: Row) -> str | None:
        found = [part(row) for part in parts]
        return None if None in found else "".join(found)

    return Typed(STRING, value)


def _as_text(typed: Typed, tree: exp.Expr) -> Function:
    if typed.kind in (STRING, VOID):
        return typed.of
    if not typed.kind.is_whole:
        raise unknown(tree, f"{typed.kind} as a text")
    of = typed.of

    def value(row: Row) -> str | None:
        found = of(row)
        return None if found is None else str(found)

    return value


def _cast(compiler: Compiler, tree: exp.Expr) -> Typed:
    kind = ValueType.of(tree.args["to"].sql(dialect="spark"))
    typed = compiler.compile(tree.this)
    if typed.kind == VOID:
        return Typed(kind, lambda row: None)
    if typed.kind == kind:
        return typed
    if kind == STRING:
        return Typed(STRING, _as_text(typed, tree))
    if kind == ValueType("date") and isinstance(tree.this, exp.Literal):
        day = date.fromisoformat(tree.this.name)
        return Typed(kind, lambda row: day)
    whole = typed.kind.is_whole and kind.is_number
    if not (whole or (typed.kind.name == kind.name == "decimal")):
        raise unknown(tree, f"a cast from {typed.kind} to {kind}")
    safe = bool(tree.args.get("safe"))  # TRY_CAST, which is NULL instead of an error
    of, made = typed.of, fit(kind, compiler.ansi or safe)

    def value(row: Row) -> Any:
        found = of(row)
        try:
            return None if found is None else made(found)
        except Overflow:
            if safe:
                return None
            raise

    return Typed(kind, value)


_RULES: Mapping[type[exp.Expr], Callable[[Compiler, exp.Expr], Typed]] = {
    exp.Literal: _number,
    exp.Boolean: _boolean,
    exp.Null: lambda compiler, tree: Typed(VOID, lambda row: None),
    exp.Paren: lambda compiler, tree: compiler.compile(tree.this),
    exp.And: _connective(False),
    exp.Or: _connective(True),
    exp.Not: _not,
    exp.Is: _is,
    exp.NullSafeEQ: _same,
    exp.NullSafeNEQ: _differ,
    exp.In: _in,
    exp.Between: _between,
    exp.Neg: _negative,
    exp.IntDiv: _divided,
    exp.Mod: _modulo,
    exp.Case: _case,
    exp.If: _if,
    exp.Coalesce: _coalesce,
    exp.Greatest: _extreme(max),
    exp.Least: _extreme(min),
    exp.Abs: _absolute,
    exp.Concat: _concat,
    exp.DPipe: _concat,
    exp.Cast: _cast,
    exp.TryCast: _cast,
}  # fmt: skip


def unknown(tree: exp.Expr, what: str = "") -> NotYetImplemented:
    """The error of an expression that the row engine cannot compute.

    Args:
        tree: The expression.
        what: What it is, if not a function.
    """
    return NotYetImplemented(
        f"{what or spelled(tree).upper()} within a loop",
        operator=spelled(tree),
        hint="Compute it in a CTE that is outside of the loop, which Spark evaluates.",
        **position(tree),
    )
