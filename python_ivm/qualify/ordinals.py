"""Ordinals of output columns, where sqlglot leaves them: in grouping sets, and ORDER BY ALL."""

from __future__ import annotations

from sqlglot import exp

from python_ivm.parse.trees import GROUPING_SETS, has_grouping_sets


def resolve_ordinals(select: exp.Select) -> None:
    """Write ordinals in grouping sets as the columns that they mean, in place."""
    group = select.args.get("group")
    if group is None or not has_grouping_sets(group):
        return
    inside = (*GROUPING_SETS, exp.Tuple, exp.Paren, exp.Group)
    for node in list(group.walk(prune=lambda n: not isinstance(n, inside))):
        if isinstance(node, exp.Literal) and node.is_int:
            number = int(node.name)
            if 0 < number <= len(select.selects):
                node.replace(select.selects[number - 1].unalias().copy())


def write_out_all(query: exp.Query) -> None:
    """``ORDER BY ALL`` as the ordinals of all output columns, in place."""
    order = query.args.get("order")
    if order is None or len(order.expressions) != 1:
        return
    (key,) = order.expressions
    names = query.named_selects
    if not isinstance(key.this, exp.Var) or key.name.lower() != "all":
        return
    if "all" in names:  # a column comes first
        key.set("this", exp.column("all", quoted=True))
        return
    keys = []
    for number in range(1, len(names) + 1):
        copied = key.copy()
        copied.set("this", exp.Literal.number(number))
        keys.append(copied)
    order.set("expressions", keys)
