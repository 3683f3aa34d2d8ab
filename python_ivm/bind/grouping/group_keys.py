"""The keys of GROUP BY, and its grouping sets over them."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from python_ivm.algebra.columns import Named
from python_ivm.bind.grouping.canonical import same
from python_ivm.bind.grouping.grouping_sets import GroupingSets, expand, keys_in_order
from python_ivm.errors import NotYetImplemented
from python_ivm.functions.aggregates import has_aggregate, refuse_aggregates
from python_ivm.parse.trees import has_grouping_sets, position


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
    if group.args.get("all"):
        expressions = [e for _, e in selects if not has_aggregate(e)]
    elif any(isinstance(e, exp.Tuple) and not e.expressions for e in group.expressions):
        raise _not_yet("GROUP BY ()", group)
    elif has_grouping_sets(group):
        expressions = [bound(e) for e in keys_in_order(group)]
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
    if not any(sets):  # of no rows Spark 4.2 makes one row, older versions none
        raise _not_yet("Grouping sets without keys", group)
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
