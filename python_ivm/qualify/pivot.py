"""PIVOT and UNPIVOT, written out before names are resolved.

PIVOT is a GROUP BY of the columns that it does not name, with one filtered aggregate for each
value; UNPIVOT is a LATERAL VIEW of one struct for each column. What the results are called, and
where a count without rows is NULL rather than 0, follows Spark's analyzer (rules ResolvePivot and
ResolveUnpivot).
"""

from __future__ import annotations

from sqlglot import exp

from python_ivm.errors import InvalidModel, NotYetImplemented
from python_ivm.parse.parser import DIALECT
from python_ivm.parse.trees import position, quoted_column
from python_ivm.qualify.relations import Relations

_COUNTS = (exp.Count, exp.CountIf, exp.ApproxDistinct)
"""Aggregates that are 0 over no rows; the others that may be pivoted are NULL."""

_TYPED_BY_ARGUMENT = (exp.Sum, exp.Avg, exp.Min, exp.Max)
_NUMBERS = (
    exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop, exp.Corr,
    exp.CovarPop, exp.CovarSamp, exp.LogicalAnd, exp.LogicalOr,
)  # fmt: skip
_NAMED_BY_SPARK = (exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Count)


def without_pivots(select: exp.Select, known: Relations) -> None:
    """Write out the PIVOTs and UNPIVOTs of a SELECT's FROM, in place.

    Raises:
        NotYetImplemented: Where Spark's result is not certain.
    """
    for join in select.args.get("joins") or []:
        found = (join.args.get("pivots") or join.this.args.get("pivots") or [None])[0]
        if found is not None:
            name = "UNPIVOT" if found.args.get("unpivot") else "PIVOT"
            raise NotYetImplemented(
                f"{name} behind a join",
                operator=name,
                hint="Put what is pivoted into a derived table.",
                **position(found),
            )
    from_ = select.args.get("from_")
    if from_ is None:
        return
    for pivot in from_.this.args.get("pivots") or []:
        source = from_.this.copy()
        source.set("pivots", None)
        if not source.alias_or_name:
            source.set("alias", exp.TableAlias(this=exp.to_identifier("pivoted")))
        alias = pivot.alias or source.alias_or_name
        probe = exp.Select().from_(source)
        probe.set("with_", select.args["with_"].copy() if select.args.get("with_") else None)
        probe.parent = select.parent  # the CTEs around are visible
        rows = (_unpivoted if pivot.args.get("unpivot") else _pivoted)(probe, source, pivot, known)
        from_.set("this", rows.subquery(exp.to_identifier(alias, quoted=True)))


# -- PIVOT ---------------------------------------------------------------------------------------


def _pivoted(probe: exp.Select, source: exp.Expr, pivot: exp.Pivot, known: Relations) -> exp.Select:
    (field,) = pivot.args["fields"]
    by = _members(field.this)
    kinds = [known.type_of(probe, column) for column in by]
    if any(kind.this is exp.DType.UNKNOWN for kind in kinds):
        raise _not_yet("PIVOT by a column of unknown type", field)
    aggregates = list(pivot.expressions)
    zero = _zero_over_no_rows(probe, [a.unalias() for a in aggregates], known, pivot)
    used = {_column(c, source) for e in (*by, *aggregates) for c in e.find_all(exp.Column)}
    kept = [name for name in known.columns(probe) if name not in used]
    keys = [_of(source, name) for name in kept]
    items: list[exp.Expr] = [exp.alias_(k, n, quoted=True) for k, n in zip(keys, kept, strict=True)]
    for value in field.expressions:
        chosen = value.this if isinstance(value, exp.PivotAlias) else value
        parts = _members(chosen)
        if len(parts) != len(by):
            raise InvalidModel(
                f"PIVOT compares {len(by)} columns with {len(parts)} values", **position(field)
            )
        condition = exp.and_(
            *(
                exp.NullSafeEQ(this=column.copy(), expression=_value(part, kind))
                for column, part, kind in zip(by, parts, kinds, strict=True)
            )
        )
        shown = value.alias if isinstance(value, exp.PivotAlias) else _value_name(chosen)
        for aggregate in aggregates:
            name = shown if len(aggregates) == 1 else f"{shown}_{_aggregate_name(aggregate)}"
            call = _filtered(aggregate.unalias(), condition, zero)
            items.append(exp.alias_(call, name, quoted=True))
    rows = exp.Select().select(*items).from_(source)
    return rows.group_by(*(key.copy() for key in keys)) if keys else rows


def _zero_over_no_rows(
    probe: exp.Select, calls: list[exp.Expr], known: Relations, pivot: exp.Pivot
) -> bool:
    """Whether a count is 0 where a value has no rows; else it is NULL.

    Spark groups by the value first where all results are numbers or booleans, so that there is
    no group to count; else each aggregate runs over all rows, of which it sees the value's.
    """
    numbers = True
    certain = True
    for call in calls:
        if not isinstance(call, (*_COUNTS, *_NUMBERS, *_TYPED_BY_ARGUMENT)):
            raise _not_yet(f"PIVOT with {call.sql(dialect='spark').split('(')[0].lower()}()", pivot)
        if isinstance(call, _TYPED_BY_ARGUMENT):
            kind = known.type_of(probe, call.this)
            certain = certain and kind.this is not exp.DType.UNKNOWN
            added = isinstance(call, (exp.Sum, exp.Avg))  # of texts they are doubles
            texts = exp.DataType.TEXT_TYPES if added else ()
            known_numbers = (*exp.DataType.NUMERIC_TYPES, exp.DType.BOOLEAN, *texts)
            numbers = numbers and kind.this in known_numbers
    if not certain and any(isinstance(call, _COUNTS) for call in calls):
        raise _not_yet("PIVOT with a count beside an aggregate of unknown type", pivot)
    return not numbers


def _filtered(call: exp.Expr, condition: exp.Expr, zero: bool) -> exp.Expr:
    def among(aggregate: exp.Expr) -> exp.Filter:
        return exp.Filter(this=aggregate.copy(), expression=exp.Where(this=condition.copy()))

    if zero or not isinstance(call, _COUNTS):
        return among(call)
    some = exp.GT(this=among(exp.Count(this=exp.Star())), expression=exp.Literal.number(0))
    return exp.Case().when(some, among(call))


def _value(value: exp.Expr, kind: exp.DataType) -> exp.Expr:
    """A value as Spark compares it: in the column's type."""
    number = isinstance(value.this if isinstance(value, exp.Neg) else value, exp.Literal)
    text = isinstance(value, exp.Literal) and value.is_string
    if text and kind.this in exp.DataType.TEXT_TYPES:
        return value.copy()
    if number and not text and value.is_int and kind.this in exp.DataType.NUMERIC_TYPES:
        return value.copy()
    if number and not text and kind.this is exp.DType.DECIMAL and not _has_places(kind, value):
        raise _not_yet("PIVOT by a column of unknown type", value)
    return exp.cast(value.copy(), kind.copy())


def _has_places(kind: exp.DataType, value: exp.Expr) -> bool:
    """Whether a decimal type has all places of a number: sqlglot gives computed ones too few."""
    places = value.sql(dialect=DIALECT).partition(".")[2]
    scale = kind.expressions[1].name if len(kind.expressions) > 1 else "0"
    return places.isdigit() and len(places) <= int(scale)


def _value_name(value: exp.Expr) -> str:
    """The name that Spark gives to a value's column: the value as text."""
    if isinstance(value, exp.Tuple):
        return "{" + ", ".join(_value_name(part) for part in value.expressions) + "}"
    if isinstance(value, exp.Literal) and (value.is_string or value.is_int):
        return value.name
    if isinstance(value, exp.Neg) and value.this.is_int:
        return f"-{value.this.name}"
    if isinstance(value, exp.Boolean):
        return str(value.this).lower()
    raise NotYetImplemented(
        "PIVOT by a value without a name", operator="PIVOT", hint="Name it by AS.",
        **position(value),
    )  # fmt: skip


def _aggregate_name(aggregate: exp.Expr) -> str:
    if aggregate.alias:
        return aggregate.alias
    argument = aggregate.this
    if isinstance(aggregate, exp.Count) and isinstance(argument, exp.Star):
        return "count(1)"
    if type(aggregate) in _NAMED_BY_SPARK and isinstance(argument, exp.Column):
        return f"{aggregate.key}({argument.name})"
    raise NotYetImplemented(
        "PIVOT with several aggregates, one without a name", operator="PIVOT",
        hint="Name it by AS.", **position(aggregate),
    )  # fmt: skip


# -- UNPIVOT -------------------------------------------------------------------------------------


def _unpivoted(
    probe: exp.Select, source: exp.Expr, pivot: exp.Pivot, known: Relations
) -> exp.Select:
    (field,) = pivot.args["fields"]
    (made,) = pivot.expressions
    values = [value.name for value in _members(made)]
    name = field.this.name
    cells = []
    used: set[str] = set()
    for item in field.expressions:
        chosen = item.this if isinstance(item, exp.PivotAlias) else item
        columns = _members(chosen)
        if len(columns) != len(values):
            raise InvalidModel(
                f"UNPIVOT puts {len(columns)} columns into {len(values)}", **position(field)
            )
        used |= {_column(column, source) for column in columns}
        label = "_".join(column.name for column in columns)
        if isinstance(item, exp.PivotAlias):
            label = item.args["alias"].name
        parts = [exp.alias_(exp.Literal.string(label), name, quoted=True)]
        parts += [
            exp.alias_(column.copy(), v, quoted=True)
            for column, v in zip(columns, values, strict=True)
        ]
        cells.append(exp.func("struct", *parts, dialect="spark"))
    relation = "unpivoted"
    view = exp.Lateral(
        this=exp.Inline(this=exp.func("array", *cells, dialect="spark")),
        view=True,
        alias=exp.TableAlias(
            this=exp.to_identifier(relation),
            columns=[exp.to_identifier(n, quoted=True) for n in (name, *values)],
        ),
    )
    kept = [_of(source, n) for n in known.columns(probe) if n not in used]
    shown = [quoted_column(n, relation) for n in (name, *values)]
    rows = exp.Select().select(*kept, *shown).from_(source)
    rows.append("laterals", view)
    if pivot.args.get("include_nulls"):
        return rows
    present = [exp.Not(this=exp.Is(this=v.copy(), expression=exp.null())) for v in shown[1:]]
    return rows.where(exp.or_(*present))


# -- both ----------------------------------------------------------------------------------------


def _members(expression: exp.Expr) -> list[exp.Expr]:
    """What stands in parentheses, or the one expression without them."""
    return list(expression.expressions) if isinstance(expression, exp.Tuple) else [expression]


def _column(column: exp.Expr, source: exp.Expr) -> str:
    """The source's column that an expression names, or whose field it names."""
    if not isinstance(column, exp.Column):
        raise _not_yet("UNPIVOT of expressions", column)
    parts = [part.name.lower() for part in column.parts]
    qualified = len(parts) > 1 and parts[0] == source.alias_or_name.lower()
    return parts[1 if qualified else 0]


def _of(source: exp.Expr, name: str) -> exp.Column:
    return quoted_column(name, source.alias_or_name)


def _not_yet(what: str, node: exp.Expr) -> NotYetImplemented:
    return NotYetImplemented(what, operator=what.split(" ")[0], **position(node))
