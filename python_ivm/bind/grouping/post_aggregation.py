"""GROUP BY: the keys, and the expressions above an aggregate over what it puts out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named
from python_ivm.functions.aggregates import (core, is_aggregate_call)
from python_ivm.functions.deterministic_choice import (RowOrder, determined)
from python_ivm.bind.grouping.grouping_sets import SET, GroupingSets, expand
from python_ivm.errors import InvalidModel, IvmError, NotYetImplemented
from python_ivm.parse.parser import position, spelled
from python_ivm.qualify.struct_fields import (same_but_for_case)

HOLE = "__ivm_subquery__"
"""The relation of columns that stand for subqueries which are not in the plan yet."""


_COMMUTATIVE = (
    exp.Add, exp.Mul, exp.And, exp.Or, exp.EQ, exp.NullSafeEQ, exp.BitwiseAnd, exp.BitwiseOr,
    exp.BitwiseXor,
)  # fmt: skip
_MIRRORED = ({exp.LT, exp.GT}, {exp.LTE, exp.GTE})


@dataclass
class AfterGrouping:
    """Rewrites an expression of a grouped query over the aggregate's output."""

    relation: str
    keys: list[Named]
    sets: GroupingSets | None = None
    measures: list[Named] = field(default_factory=list)
    order: RowOrder = field(default_factory=RowOrder)

    @property
    def grouped_by(self) -> tuple[Named, ...]:
        """The aggregate's keys."""
        return tuple(self.keys if self.sets is None else self.sets.keys(self.keys))

    def apply(self, expression: exp.Expr, wanted: str | None = None) -> exp.Expr:
        """Replace keys and aggregate calls by columns; collect the calls as measures."""

        def replacement(node: exp.Expr) -> exp.Expr:
            for key in self.keys:
                if same(node, key.expression):
                    return ColumnRef(self.relation, key.name).expression()
            if self.sets is not None and isinstance(node, (exp.Grouping, exp.GroupingId)):
                number = ColumnRef(self.relation, SET).expression()
                return self.sets.grouping(node, self.keys, number, same)
            if is_aggregate_call(node):
                self._refuse_nested(node)
                call = determined(node, self.order)
                name = self.measure(call, wanted if node is top else None)
                return ColumnRef(self.relation, name).expression()
            return node

        top = expression.copy()
        result = top.transform(replacement, copy=False)
        for column in result.find_all(exp.Column):
            if column.table not in (self.relation, HOLE):
                raise self._ungrouped(column)
        return result

    def _ungrouped(self, column: exp.Column) -> IvmError:
        dot = column.find_ancestor(exp.Dot)
        while dot is not None and isinstance(dot.parent, exp.Dot):
            dot = dot.parent
        if dot is not None and any(same_but_for_case(dot, k.expression) for k in self.keys):
            return NotYetImplemented(
                "A field in another spelling than in GROUP BY, which might be a map's key",
                operator="GROUP BY",
                hint="Spell it as in GROUP BY.",
                **position(column),
            )
        function = column.find_ancestor(exp.Anonymous)
        if function is not None:
            return NotYetImplemented(
                f"The function {function.name.lower()}() in a grouped query",
                operator=f"{function.name.lower()}()",
                **position(column),
            )
        return InvalidModel(
            f"Column {column.name} is neither grouped nor inside an aggregate",
            hint="Add it to GROUP BY, or wrap it in any_value(), min() or max().",
            **position(column),
        )

    @staticmethod
    def _refuse_nested(call: exp.Expr) -> None:
        inner = core(call)
        if any(is_aggregate_call(node) for node in inner.walk() if node is not inner):
            raise InvalidModel(
                "An aggregate inside an aggregate",
                operator=spelled(inner),
                hint="Compute the inner one in a derived table or a CTE.",
                **position(call),
            )

    def measure(self, call: exp.Expr, wanted: str | None) -> str:
        """The measure that holds an aggregate call; equal calls share one."""
        for measure in self.measures:
            if measure.expression == call:
                return measure.name
        names = {item.name for item in (*self.keys, *self.measures)}
        function = core(call).key
        candidates = itertools.chain(
            [wanted] if wanted else [], (f"{function}_{n}" for n in itertools.count(1))
        )
        name = next(c for c in candidates if c not in names)
        self.measures.append(Named(name, call.copy()))
        return name


def group_keys(
    group: exp.Group,
    selects: list[tuple[str, exp.Expr]],
    bound: Callable[[exp.Expr], exp.Expr],
) -> list[Named]:
    """The keys of a GROUP BY, each named like the output column that shows it if there is one.

    Args:
        group: The clause.
        selects: The bound output columns.
        bound: Binds an expression.

    Raises:
        NotYetImplemented: For GROUP BY ().
    """
    if group.args.get("totals"):
        raise _not_yet("WITH TOTALS", group)
    sets = expand(group)
    if group.args.get("all"):
        expressions = [e for _, e in selects if not has_aggregate(e)]
    elif any(isinstance(e, exp.Tuple) and not e.expressions for e in group.expressions):
        raise _not_yet("GROUP BY ()", group)
    elif sets is not None:
        listed = group.expressions if group.args.get("grouping_sets") else []
        expressions = [bound(e) for members in (listed, *sets) for e in members]
    elif group.expressions:
        expressions = [bound(e) for e in group.expressions]
    else:
        raise _not_yet("GROUP BY ()", group)
    keys: list[Named] = []
    for number, expression in enumerate(expressions, 1):
        refuse_aggregates(expression, "GROUP BY")
        if any(same(expression, key.expression) for key in keys):
            continue
        taken = {k.name for k in keys}
        shown = next((n for n, e in selects if same(e, expression)), None)
        if shown is None or shown in taken:
            shown = expression.name if isinstance(expression, exp.Column) else f"key_{number}"
        keys.append(Named(shown if shown not in taken else f"key_{number}", expression))
    return keys


def grouping_sets(
    group: exp.Group, keys: list[Named], bound: Callable[[exp.Expr], exp.Expr], relation: str
) -> GroupingSets | None:
    """The grouping sets over bound keys; None if the GROUP BY has plain keys only."""
    sets = expand(group)
    if sets is None:
        return None
    members = tuple(
        frozenset(
            index
            for index, key in enumerate(keys)
            if any(same(bound(e), key.expression) for e in expressions)
        )
        for expressions in sets
    )
    return GroupingSets(relation, members)


def _not_yet(construct: str, group: exp.Group) -> NotYetImplemented:
    return NotYetImplemented(construct, operator=construct, **position(group))


def same(one: exp.Expr, other: exp.Expr) -> bool:
    """Whether two expressions differ by parentheses, and by the order of operands, only."""
    one, other = one.unnest(), other.unnest()
    kinds = {type(one), type(other)}
    if len(kinds) > 1 and kinds not in _MIRRORED:
        return False
    if one == other or isinstance(one, exp.Column):
        return one == other
    return _canonical(one) == _canonical(other)


def _canonical(expression: exp.Expr) -> exp.Expr:
    """The expression as Spark compares it: ``1 + i`` as ``i + 1``, ``2 > i`` as ``i < 2``."""
    if isinstance(expression, exp.Paren):
        return _canonical(expression.this)
    if isinstance(expression, _COMMUTATIVE):
        operands = sorted(_operands(expression, type(expression)), key=repr)
        return exp.Tuple(expressions=[exp.Var(this=expression.key), *operands])
    copied = expression.copy()
    for child in list(copied.iter_expressions()):
        child.replace(_canonical(child))
    if isinstance(copied, (exp.GT, exp.GTE)):
        kind = exp.LT if isinstance(copied, exp.GT) else exp.LTE
        return kind(this=copied.expression, expression=copied.this)
    return copied


def _operands(expression: exp.Expr, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    """The canonical operands of a chain of one operator."""
    for side in (expression.this, expression.expression):
        inner = side.unnest()
        if type(inner) is kind and kind not in (exp.EQ, exp.NullSafeEQ):
            yield from _operands(inner, kind)
        else:
            yield _canonical(inner)


def has_aggregate(expression: exp.Expr) -> bool:
    """Whether an expression calls an aggregate."""
    return any(is_aggregate_call(node) for node in _outside_subqueries(expression))


def _outside_subqueries(expression: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression that belong to its own query."""
    yield from expression.walk(prune=lambda node: isinstance(node, exp.Query))


def refuse_aggregates(expression: exp.Expr, clause: str) -> exp.Expr:
    """The expression itself.

    Raises:
        InvalidModel: If it calls an aggregate, which its clause cannot know yet.
    """
    call = next((n for n in _outside_subqueries(expression) if is_aggregate_call(n)), None)
    if call is not None:
        raise InvalidModel(
            f"An aggregate in {clause}",
            operator=spelled(call),
            hint="Aggregates are known after grouping: use HAVING, or a derived table.",
            **position(call),
        )
    return expression
