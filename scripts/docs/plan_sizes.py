"""How the emitted `MERGE` grows with the depth of a query, as the pages' tables show it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import sqlglot
from sqlglot import exp

from python_ivm.refresh.statement import StatementKind
from scripts.docs.examples import UPDATE, Example, statement

OPERATORS = (exp.Select, exp.SetOperation, exp.Join, exp.Table)


def growth() -> str:
    """How the MERGE grows with the number of nested aggregates."""
    lines = [
        "| aggregates, one above the other | length of the MERGE (characters) | CTEs "
        "| tables read, with every CTE inlined | SELECTs, with every CTE inlined |",
        "|---|---|---|---|---|",
    ]
    for depth in range(1, 9):
        query = nested_aggregates(depth)
        merge = statement(Example(query, {"orders": UPDATE}).refreshes()[1], StatementKind.MERGE)
        ctes, reads = _inlined(merge, exp.Table)
        selects = _inlined(merge, exp.Select)[1]
        lines.append(f"| {depth} | {len(merge)} | {ctes} | {reads} | {selects} |")
    return "\n".join(lines)


def join_growth() -> str:
    """How the MERGE grows with the number of joined tables, of which one or all change."""
    lines = [
        "| joined inputs | one changed: length | one changed: tables read "
        "| all changed: length | all changed: tables read |",
        "|---|---|---|---|---|",
    ]
    for number in (2, 4, 8):
        joined = " join ".join(
            f"shop.orders o{n}" + (f" on o{n}.id = o{n - 1}.id" if n else "") for n in range(number)
        )
        rest = joined.replace("shop.orders o0", "shop.returns o0").replace("o0.id", "o0.order_id")
        row = [str(number)]
        for query in (f"select o1.id from {rest}", f"select o1.id from {joined}"):
            changed = "returns" if query.endswith(rest) else "orders"
            merge = statement(Example(query, {changed: UPDATE}).refreshes()[1], StatementKind.MERGE)
            row += [str(len(merge)), str(_inlined(merge, exp.Table)[1])]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def chain(kind: str, number: int) -> tuple[str, list[str]]:
    """A query that joins ``number + 1`` tables to one another, and the tables."""
    tables = [f"t{n}" for n in range(number + 1)]
    columns = ", ".join(f"{name}.v as v_{name}" for name in tables)
    joins = "".join(
        f" {kind} join shop.{name} on {former}.k = {name}.k" for former, name in pairwise(tables)
    )
    return f"select {columns} from shop.{tables[0]}{joins}", tables


def nested_aggregates(depth: int) -> str:
    """A query of aggregates one above the other."""
    query = "select customer_id as k, count(*) as n from shop.orders group by customer_id"
    for _ in range(depth - 1):
        query = f"select n % 7 as k, count(*) as n from ({query}) q group by n % 7"
    return query


def plan_size(query: str, changed: Sequence[str]) -> tuple[int, int]:
    """The MERGE's characters, and its operators with every CTE inlined, for changed tables."""
    merge = statement(
        Example(query, dict.fromkeys(changed, UPDATE)).refreshes()[1], StatementKind.MERGE
    )
    return len(merge), _inlined(merge, OPERATORS)[1]


def plan_sizes() -> str:
    """How the MERGE grows with chains of joins, and with nested aggregates."""
    lines = [
        "| query | first changed: length | first changed: operators | last changed: length "
        "| last changed: operators | all changed: length | all changed: operators |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in ("inner", "left", "full"):
        for number in (2, 4, 8, 16):
            query, tables = chain(kind, number)
            row = [f"{number} {kind} joins"]
            for changed in ([tables[0]], [tables[-1]], tables):
                row += [str(n) for n in plan_size(query, changed)]
            lines.append(f"| {' | '.join(row)} |")
    for depth in (2, 4, 8):
        sizes = [str(n) for n in plan_size(nested_aggregates(depth), ["orders"])]
        lines.append(f"| {depth} nested aggregates | {' | '.join(sizes * 3)} |")
    return "\n".join(lines)


def _inlined(merge: str, counted: type[exp.Expr] | tuple[type[exp.Expr], ...]) -> tuple[int, int]:
    """The number of CTEs, and of nodes of a type were each CTE inlined wherever it is named."""
    using = sqlglot.parse_one(merge, read="spark").args["using"].this
    ctes = {cte.alias: cte.this for cte in using.find_all(exp.CTE)}
    kinds = counted if isinstance(counted, tuple) else (counted,)
    for cte in list(using.find_all(exp.With)):
        cte.pop()

    @cache
    def count(name: str) -> int:
        query = ctes[name] if name else using
        named = [t.name for t in query.find_all(exp.Table) if t.name in ctes and not t.db]
        own = len(list(query.find_all(*kinds)))
        return own - (len(named) if exp.Table in kinds else 0) + sum(count(n) for n in named)

    return len(ctes), count("")
