"""Aliases of relations and of their columns, written out where sqlglot passes them over."""

from __future__ import annotations

from sqlglot import exp

from python_ivm.algebra.columns import first_free
from python_ivm.parse.trees import relation_names


def name_relations(tree: exp.Query) -> None:
    """Write out names that Spark gives, and those that sqlglot does not see, in place."""
    _derive_renamed_tables(tree)
    _name_values(tree)
    _name_laterals(tree)
    _order_inside_of_column_lists(tree)


def _derive_renamed_tables(tree: exp.Query) -> None:
    """Write tables whose columns get other names as derived tables.

    sqlglot passes the names of ``t AS u(a, b)`` over.
    """
    for table in list(tree.find_all(exp.Table)):
        if not table.alias_column_names or not isinstance(table.this, exp.Identifier):
            continue
        joins, alias = table.args.get("joins"), table.args["alias"]
        inner = table.copy()
        inner.set("joins", None)
        inner.set("alias", None)
        rows = exp.Subquery(this=exp.select("*").from_(inner, copy=False), alias=alias.copy())
        rows.set("joins", joins)
        table.replace(rows)


def _name_values(tree: exp.Query) -> None:
    """``VALUES (1, 2)`` has the columns ``col1`` and ``col2``."""
    for values in tree.find_all(exp.Values):
        if values.alias_column_names or not values.expressions:
            continue
        row = values.expressions[0]
        width = len(row.expressions) if isinstance(row, exp.Tuple) else 1
        columns = [exp.to_identifier(f"col{n}") for n in range(1, width + 1)]
        name = values.alias or _free_name(tree, "values_rows")
        values.set("alias", exp.TableAlias(this=exp.to_identifier(name), columns=columns))


def _name_laterals(tree: exp.Query) -> None:
    """Two LATERAL subqueries without a name are not one to sqlglot."""
    for lateral in tree.find_all(exp.Lateral):
        if isinstance(lateral.this, exp.Subquery) and not lateral.alias:
            columns = (lateral.args.get("alias") or exp.TableAlias()).args.get("columns")
            name = exp.to_identifier(_free_name(tree, "lateral_rows"))
            lateral.set("alias", exp.TableAlias(this=name, columns=columns))


def _order_inside_of_column_lists(tree: exp.Query) -> None:
    """In ``(select a from t order by a limit 1) as q(x)`` ORDER BY names ``a``, not ``x``."""
    for relation in [*tree.find_all(exp.Subquery, exp.CTE)]:
        inner = relation.this
        if not relation.alias_column_names or not isinstance(inner, exp.Query):
            continue
        if not inner.args.get("limit") and not inner.args.get("offset"):
            inner.set("order", None)
        elif inner.args.get("order"):
            with_ = inner.args.get("with_")
            inner.set("with_", None)
            rows = exp.Subquery(
                this=inner.copy(),
                alias=exp.TableAlias(this=exp.to_identifier(_free_name(tree, "ordered_rows"))),
            )
            outer = exp.select("*").from_(rows, copy=False)
            outer.set("with_", with_)
            relation.set("this", outer)


def _free_name(tree: exp.Query, wanted: str) -> str:
    taken = relation_names(tree)
    return first_free(wanted, lambda name: name not in taken)
