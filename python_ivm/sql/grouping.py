"""GROUP BY: the keys, and the expressions above an aggregate over what it puts out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from python_ivm.algebra.nodes import ColumnRef, Named
from python_ivm.errors import InvalidModel, IvmError, NotYetImplemented
from python_ivm.sql.grouping_sets import SET, GroupingSets, expand
from python_ivm.sql.parse import position

_AGGREGATE_NAMES = frozenset(
    {
        "any", "count_min_sketch", "every", "histogram_numeric", "hll_sketch_agg", "hll_union_agg",
        "kll_sketch_agg_bigint", "kll_sketch_agg_double", "kll_sketch_agg_float", "mean", "some",
        "std", "theta_intersection_agg", "theta_sketch_agg", "theta_union_agg", "try_avg",
        "try_sum", "vector_avg", "vector_sum", "grouping_id",
    }
)  # fmt: skip
"""Spark's aggregates that sqlglot does not know as such."""

HOLE = "__ivm_subquery__"
"""The relation of columns that stand for subqueries which are not in the plan yet."""

_WRAPPERS = (exp.IgnoreNulls, exp.RespectNulls)


@dataclass
class AfterGrouping:
    """Rewrites an expression of a grouped query over the aggregate's output."""

    relation: str
    keys: list[Named]
    sets: GroupingSets | None = None
    measures: list[Named] = field(default_factory=list)

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
                name = self.measure(node, wanted if node is top else None)
                return ColumnRef(self.relation, name).expression()
            return node

        top = expression.copy()
        result = top.transform(replacement, copy=False)
        for column in result.find_all(exp.Column):
            if column.table not in (self.relation, HOLE):
                raise self._ungrouped(column)
        return result

    def _ungrouped(self, column: exp.Column) -> IvmError:
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

    def measure(self, call: exp.Expr, wanted: str | None) -> str:
        """The measure that holds an aggregate call; equal calls share one."""
        for measure in self.measures:
            if measure.expression == call:
                return measure.name
        inner = call.this if isinstance(call, exp.Filter) else call
        if any(is_aggregate_call(node) for node in inner.walk() if node is not inner):
            raise InvalidModel(
                "An aggregate inside an aggregate",
                operator=inner.key,
                hint="Compute the inner one in a derived table or a CTE.",
                **position(call),
            )
        names = {item.name for item in (*self.keys, *self.measures)}
        function = call.this.key if isinstance(call, exp.Filter) else call.key
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
        expressions = [bound(e) for members in sets for e in members]
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
    """Whether two expressions differ by parentheses only."""
    if isinstance(one, exp.Paren) or isinstance(other, exp.Paren):
        return same(one.unnest(), other.unnest())
    if type(one) is not type(other):
        return False
    return one == other or _unwrapped(one) == _unwrapped(other)


def _unwrapped(expression: exp.Expr) -> exp.Expr:
    copied = expression.copy()
    for paren in list(copied.find_all(exp.Paren)):
        paren.replace(paren.this)
    return copied


def is_aggregate_call(node: exp.Expr) -> bool:
    """Whether a node is a whole aggregate call, with its FILTER where it has one.

    A window function is none.
    """
    if isinstance(node, exp.Filter):
        if node.arg_key == "this" and isinstance(node.parent, exp.Window):
            return False
        return isinstance(node.this, (exp.AggFunc, exp.Anonymous, exp.AnonymousAggFunc))
    if node.arg_key == "this" and isinstance(node.parent, (exp.Filter, exp.Window, *_WRAPPERS)):
        return False
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _AGGREGATE_NAMES
    return isinstance(node, exp.AggFunc) or (
        isinstance(node, exp.Any) and not isinstance(node.parent, exp.Binary)
    )


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
            operator=call.key,
            hint="Aggregates are known after grouping: use HAVING, or a derived table.",
            **position(call),
        )
    return expression
