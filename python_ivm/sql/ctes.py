"""Names of CTEs among those of tables and aliases."""

from __future__ import annotations

from sqlglot import exp

from python_ivm.algebra.columns import first_free

_RELATIONS = (exp.Table, exp.Subquery, exp.Lateral, exp.Values)


def cte_of(table: exp.Table) -> exp.CTE | None:
    """The CTE that a name in FROM means; None if it means a table."""
    if len(table.parts) > 1:
        return None
    name = table.name.lower()
    around: exp.Expr | None = table
    within: exp.CTE | None = None
    while around is not None:
        if isinstance(around, exp.CTE):
            within = around
        with_ = around.args.get("with_")
        if isinstance(with_, exp.With):
            for cte in with_.expressions:
                if cte is within and not with_.recursive:
                    break  # a CTE sees those before it
                if isinstance(cte, exp.CTE) and cte.alias.lower() == name:
                    return cte
                if cte is within:
                    break  # a recursive one itself, too
        around = around.parent
    return None


def rename_hidden(tree: exp.Query) -> None:
    """Give CTEs that have the name of an alias or of another CTE another one, in place.

    To Spark an alias hides a CTE of its name; sqlglot looks for the alias's columns in the CTE. A
    CTE hides those of its name further out, which a part of the query no longer shows.
    """
    tables = [(table, cte_of(table)) for table in tree.find_all(exp.Table)]
    uses = {id(table) for table, cte in tables if cte is not None and _keeps_its_name(table)}
    aliases = {
        relation.alias.lower()
        for relation in tree.find_all(*_RELATIONS)
        if relation.alias and id(relation) not in uses
    }
    ctes = list(tree.find_all(exp.CTE))
    taken = aliases | {cte.alias.lower() for cte in ctes}
    seen: set[str] = set()
    for cte in ctes:
        name = cte.alias.lower()
        if name not in aliases and name not in seen:
            seen.add(name)
            continue
        new = first_free(name, lambda n: n not in taken)
        taken.add(new)
        for table, meant in tables:
            if meant is cte:
                if not table.alias:
                    table.set("alias", exp.TableAlias(this=table.this.copy()))
                table.this.set("this", new)
        cte.args["alias"].this.set("this", new)


def _keeps_its_name(table: exp.Table) -> bool:
    return table.alias.lower() in ("", table.name.lower())
