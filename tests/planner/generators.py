"""Spark's generators as DuckDB's: every LATERAL VIEW becomes a join to a lateral subquery."""

from __future__ import annotations

import sqlglot
from sqlglot import exp


def as_joins(tree: exp.Expr) -> None:
    """Replace the LATERAL VIEWs and LATERAL functions of a tree, in place."""
    for select in tree.find_all(exp.Select):
        for view in select.args.get("laterals") or []:
            select.append("joins", _join(view, bool(view.args.get("outer"))))
        select.set("laterals", None)
        for join in select.args.get("joins") or []:
            if isinstance(join.this, exp.Lateral) and not isinstance(join.this.this, exp.Subquery):
                join.replace(_join(join.this, join.side == "LEFT", join.args.get("on")))


def _join(view: exp.Lateral, outer: bool, on: exp.Expr | None = None) -> exp.Join:
    call = view.this
    name = call.name.lower() if isinstance(call, exp.Anonymous) else call.sql_name().lower()
    outer = outer or name.endswith("_outer")
    columns = [c.name for c in view.args["alias"].columns]
    columns = columns or (["pos", "col"] if name.startswith("pos") else ["col"])
    rows = _rows(name.removesuffix("_outer"), call, columns)
    alias = exp.TableAlias(
        this=view.args["alias"].this, columns=[exp.to_identifier(c, quoted=True) for c in columns]
    )
    return exp.Join(
        this=exp.Lateral(this=rows.subquery(), alias=alias),
        side="LEFT" if outer else None,
        on=on if on is not None else exp.true(),
    )


def _rows(name: str, call: exp.Expr, columns: list[str]) -> exp.Query:
    """The rows of a generator as a query."""
    if name == "stack":
        values = call.expressions
        width = -(-len(values) // int(call.this.name))
        values = [*values, *(exp.null() for _ in range(-len(values) % width))]
        rows = [values[at : at + width] for at in range(0, len(values), width)]
        parts = [exp.select(*(v.copy() for v in row)) for row in rows]
        result: exp.Query = parts[0]
        for part in parts[1:]:
            result = exp.Union(this=result, expression=part, distinct=False)
        return result
    array = (call.expressions[0] if isinstance(call, exp.Anonymous) else call.this).sql("duckdb")
    if name == "inline":
        text = f"select unnest({array}, max_depth := 2)"
    elif name == "json_tuple":
        paths = [f"({array})::json ->> {p.sql('duckdb')}" for p in call.expressions[1:]]
        text = f"select {', '.join(paths)}"
    elif len(columns) - (name == "posexplode") == 2:
        text = f"select unnest(map_keys({array})), unnest(map_values({array}))"
    elif name == "posexplode":
        text = f"select generate_subscripts({array}, 1) - 1, unnest({array})"
    else:
        text = f"select unnest({array})"
    parsed = sqlglot.parse_one(text, read="duckdb")
    assert isinstance(parsed, exp.Query)
    return parsed
