"""Which WITH RECURSIVE is a loop program, and which of its names mean the round before."""

from __future__ import annotations

from sqlglot import exp

DELAY = "ivm_delay"
"""What stands before the name of a binding, like a schema, where its rows as of the round before
are meant: the macro of this name writes ``ivm_delay.f``."""

NOW = "ivm_loop"
"""The schema under which the planner knows a binding's rows as of this round, as :data:`DELAY` is
that of the rows as of the round before."""
LOOP_VIEW = "ivm_loop_{}"
"""The temporary view that shows a binding's rows to what stands behind the loop."""
_LOOP = "ivm_loop"
_AROUND = ("distinct", "by_name", "order", "limit", "offset", "with_")


def is_delayed(table: exp.Table) -> bool:
    """Whether a name in FROM means a binding as of the round before."""
    return len(table.parts) == 2 and table.db.lower() == DELAY


def is_loop(with_: exp.With) -> bool:
    """Whether a WITH RECURSIVE is a loop program, whose bindings see each other in any order."""
    return bool(with_.meta.get(_LOOP))


def mark_loop(query: exp.Query) -> None:
    """Note at a query's WITH RECURSIVE whether it is a loop program, in place.

    It is one if a name is delayed, if a binding names a later one, or if one names itself otherwise
    than Spark's own recursion does: as the UNION ALL of an anchor and a step.
    """
    with_ = query.args.get("with_")
    if not isinstance(with_, exp.With) or not with_.recursive:
        return
    names = {cte.alias.lower() for cte in with_.expressions}
    reads = {
        cte.alias.lower(): {name for name in _names(cte.this) if name in names}
        for cte in with_.expressions
    }
    delayed = any(map(is_delayed, with_.find_all(exp.Table)))
    own = (cte for cte in with_.expressions if cte.alias.lower() in reads[cte.alias.lower()])
    if delayed or _names_later(reads) or not all(map(_is_plain, own)):
        with_.meta[_LOOP] = True


def _names(tree: exp.Expr) -> set[str]:
    tables = tree.find_all(exp.Table)
    return {table.name.lower() for table in tables if len(table.parts) == 1 or is_delayed(table)}


def _names_later(reads: dict[str, set[str]]) -> bool:
    """Whether a binding names a later one."""
    names = list(reads)
    return any(reads[name] & set(names[place + 1 :]) for place, name in enumerate(names))


def _is_plain(cte: exp.CTE) -> bool:
    """Whether a CTE that names itself is one that Spark may know: an anchor and a step."""
    tree = cte.this
    if not isinstance(tree, exp.Union) or any(tree.args.get(key) for key in _AROUND):
        return False
    return cte.alias.lower() not in _names(tree.left)
