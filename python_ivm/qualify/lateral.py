"""Names inside LATERAL subqueries, which sqlglot takes for ambiguous."""

from __future__ import annotations

from sqlglot import exp

from python_ivm.qualify.relations import Relations


def qualify_inner_names(select: exp.Select, known: Relations) -> None:
    """Let a LATERAL subquery's own columns hide those of the same name around it, in place.

    sqlglot takes such a name for ambiguous; only subqueries of one relation are helped.
    """
    for join in select.args.get("joins") or []:
        inner = join.this.this if isinstance(join.this, exp.Lateral) else None
        query = inner.unnest() if isinstance(inner, exp.Subquery) else None
        if not isinstance(query, exp.Select) or query.args.get("joins"):
            continue
        from_ = query.args.get("from_")
        if from_ is None or not from_.this.alias_or_name or query.args.get("laterals"):
            continue
        rows = from_.this.this if isinstance(from_.this, exp.Subquery) else None
        if isinstance(rows, exp.Query) and not rows.is_star:  # it may name a relation around, too
            own = {name.lower() for name in rows.named_selects}
        else:
            own = set(known.columns(query))
        shown = {s.alias.lower() for s in query.selects if s.alias}
        for column in query.find_all(exp.Column):
            if column.parent_select is not query:
                continue
            clause = column.find_ancestor(exp.Select, exp.Order, exp.Group, exp.Having)
            named_by_output = clause is not query and column.name.lower() in shown
            if len(column.parts) == 1 and column.name.lower() in own and not named_by_output:
                column.set("table", exp.to_identifier(from_.this.alias_or_name))
