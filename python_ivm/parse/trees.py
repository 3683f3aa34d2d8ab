"""Helpers for syntax trees: positions in the text, walks, and the contents of clauses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from sqlglot import exp

E = TypeVar("E", bound=exp.Expr)

SUBQUERIES = (exp.Subquery, exp.Select, exp.SetOperation)
"""What a subquery is in a tree."""

GROUPING_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
"""The constructs of GROUP BY that make several groupings of one."""


# -- the text ------------------------------------------------------------------------------------


def position(node: exp.Expr) -> dict[str, Any]:
    """Where in the text an expression stands, as keyword arguments for an error."""
    for part in node.walk():
        line, column = part.meta.get("line"), part.meta.get("col")
        if line is not None and column is not None:
            start, end = part.meta.get("start", 0), part.meta.get("end", 0)
            return {"line": line, "column": max(1, column - (end - start))}
    return {}


def place(node: exp.Expr) -> dict[str, Any]:
    """As :func:`position`; where sqlglot notes none for a node, that of the nearest node around."""
    around: exp.Expr | None = node
    while around is not None:
        found = position(around)
        if found:
            return found
        around = around.parent
    return {}


def spelled(node: exp.Expr) -> str:
    """A function's name as it is written in SQL, such as ``row_number``."""
    if isinstance(node, (exp.Anonymous, exp.AnonymousAggFunc)):
        return node.name.lower()
    return str(node.sql_name() if isinstance(node, exp.Func) else node.key).lower()


# -- walks ---------------------------------------------------------------------------------------


def own_nodes(expression: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression; of a subquery in it only the topmost one."""
    yield from expression.walk(prune=lambda node: isinstance(node, exp.Query))


def nodes_in(select: exp.Select, kind: type[E], *clauses: str) -> Iterator[E]:
    """The nodes of a kind in some of a SELECT's clauses, without those of its subqueries."""
    for clause in clauses:
        written = select.args.get(clause) or []
        for part in written if isinstance(written, list) else [written]:
            yield from (node for node in part.find_all(kind) if node.parent_select is select)


def variables(trees: Iterable[exp.Expr]) -> set[str]:
    """The variables of lambda functions in trees, in lower case."""
    functions = (function for tree in trees for function in tree.find_all(exp.Lambda))
    return {variable.name.lower() for function in functions for variable in function.expressions}


# -- clauses -------------------------------------------------------------------------------------


def from_items(select: exp.Select) -> list[exp.Expr]:
    """The items of a SELECT's FROM and of its joins."""
    from_ = select.args.get("from_")
    items = [from_.this] if from_ is not None else []
    return items + [join.this for join in select.args.get("joins") or []]


def relation_names(tree: exp.Expr) -> set[str]:
    """The names of all relations in a tree, its CTEs among them, in lower case."""
    kinds = (exp.Table, exp.Subquery, exp.Lateral, exp.Values, exp.CTE)
    return {relation.alias_or_name.lower() for relation in tree.find_all(*kinds)}


def names_in_from(select: exp.Select) -> set[str]:
    """The names of a SELECT's relations, also inside joins in parentheses, in lower case."""
    names: set[str] = set()
    items = from_items(select) + (select.args.get("laterals") or [])
    while items:
        item = items.pop()
        names.add(item.alias_or_name.lower())
        items += [join.this for join in item.args.get("joins") or []]
        if isinstance(item, exp.Subquery) and not isinstance(item.this, exp.Query):
            items.append(item.this)
    return names


def has_grouping_sets(group: exp.Group) -> bool:
    """Whether a GROUP BY has ROLLUP, CUBE or GROUPING SETS."""
    if any(group.args.get(name) for name in ("rollup", "cube", "grouping_sets")):
        return True
    return any(isinstance(key, GROUPING_SETS) for key in group.expressions)


def quoted_column(name: str, relation: str) -> exp.Column:
    """A relation's column, its name to the letter."""
    return exp.column(name, table=relation, quoted=True)


def spark_call(name: str, *given: exp.Expr) -> exp.Anonymous:
    """A call as Spark has it; sqlglot's own nodes drop arguments of some functions."""
    return exp.Anonymous(this=name, expressions=[g.copy() for g in given])
