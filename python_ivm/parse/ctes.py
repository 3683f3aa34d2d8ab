"""Names of CTEs among those of tables and aliases."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from python_ivm.algebra.columns import first_free
from python_ivm.parse.loops import is_delayed, is_loop

_RELATIONS = (exp.Table, exp.Subquery, exp.Lateral, exp.Values)


def cte_of(table: exp.Table) -> exp.CTE | None:
    """The CTE that a name in FROM means; None if it means a table."""
    if len(table.parts) > 1 and not is_delayed(table):
        return None
    name = table.name.lower()
    seen = (cte for ctes in visible_ctes(table) for cte in ctes)
    return next((cte for cte in seen if cte.alias.lower() == name), None)


def visible_ctes(node: exp.Expr) -> Iterator[list[exp.CTE]]:
    """The CTEs that a part of a query sees: of each WITH around it, from the nearest one outwards.

    A CTE sees those before it in its own WITH, and a recursive one itself, too; in a loop program
    all.
    """
    around: exp.Expr | None = node
    within: exp.Expr | None = None
    while around is not None:
        if isinstance(around, exp.CTE):
            within = around
        with_ = around.args.get("with_")
        if isinstance(with_, exp.With):
            ctes = list(with_.expressions)
            own = next((i for i, cte in enumerate(ctes) if cte is within), None)
            if own is not None and with_.recursive:
                own += 1
            yield ctes if is_loop(with_) else ctes[:own]
        around = around.parent


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
