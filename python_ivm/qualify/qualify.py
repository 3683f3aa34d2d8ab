"""Name resolution: every column gets its relation, stars and USING are written out."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp
from sqlglot.errors import OptimizeError, SqlglotError
from sqlglot.optimizer.qualify import qualify as sqlglot_qualify

from python_ivm.errors import InvalidModel, NotYetImplemented
from python_ivm.parse.ctes import cte_of, rename_hidden
from python_ivm.parse.parser import DIALECT, table_key, table_references
from python_ivm.parse.trees import from_items, place, position, relation_names
from python_ivm.qualify.generators import as_lateral_views
from python_ivm.qualify.lateral import qualify_inner_names
from python_ivm.qualify.ordinals import resolve_ordinals, write_out_all
from python_ivm.qualify.pivot import without_pivots
from python_ivm.qualify.relations import Relations, refuse_unnamed_join
from python_ivm.qualify.schema import Schemas
from python_ivm.qualify.stars import expand_stars
from python_ivm.qualify.struct_fields import name_fields, name_fields_of_outputs, restore_fields
from python_ivm.qualify.table_aliases import name_relations
from python_ivm.qualify.time_windows import name_time_windows
from python_ivm.qualify.type_coercion import annotate
from python_ivm.qualify.using import merge_columns, note_merges, note_written

_POSITION = re.compile(r"\s*Line: (\d+), Col: (\d+)")


def qualify(query: exp.Query, schemas: Schemas) -> exp.Query:
    """Resolve all names of a query as Spark does.

    Args:
        query: A parsed query; left as it is.
        schemas: The tables that it reads.

    Returns:
        A new tree in lower case, but for fields and keys, in which each table is one identifier
        (its planner key) with an alias, each column is ``alias.column``, stars, USING and NATURAL
        are expanded, and GROUP BY and HAVING name expressions rather than ordinals or aliases.

    Raises:
        InvalidModel: For an unknown table or column, or an ambiguous one, with its position.
        NotYetImplemented: For some joins in and beside parentheses, stars inside structs, and the
            type time.
    """
    tree = query.copy()
    _refuse_unknown_tables(query, schemas)
    name_relations(tree)
    _mend_types(tree)
    name_fields(tree)
    rename_hidden(tree)
    _collapse_table_names(tree, schemas)
    mapping = {
        key: {name.lower(): kind.lower() for name, kind in table.columns.items()}
        for key, table in schemas.items()
    }
    known = Relations(mapping)
    _write_out(tree, known)
    try:
        qualified = sqlglot_qualify(tree, schema=known.schema, dialect=DIALECT)
    except OptimizeError as error:
        refuse_unnamed_join(error)
        raise _unresolved(query, mapping, str(error)) from error
    except SqlglotError as error:
        raise InvalidModel(str(error)) from error
    for select in qualified.find_all(exp.Select):
        resolve_ordinals(select)
    for part in qualified.find_all(exp.Query):
        write_out_all(part)
    restore_fields(qualified, known)
    merge_columns(qualified, known)
    annotate(qualified, known)
    return qualified


def _write_out(tree: exp.Query, known: Relations) -> None:
    """Write out in place what sqlglot does not resolve, or resolves otherwise than Spark."""
    for select in tree.find_all(exp.Select):
        _refuse_two_of_one_name(select)
        _forget_partitions(select)
    note_merges(tree)
    for select in reversed(list(tree.find_all(exp.Select))):
        without_pivots(select, known)
        expand_stars(select, known)
        name_time_windows(select, known)
        as_lateral_views(select, known)
        name_fields_of_outputs(select, known)
        qualify_inner_names(select, known)
    note_written(tree)


def _refuse_unknown_tables(query: exp.Query, schemas: Schemas) -> None:
    for reference in table_references(query):
        if reference.key not in schemas:
            raise InvalidModel(
                f"Table {'.'.join(reference.parts)} does not exist",
                line=reference.line,
                column=reference.column,
                hint="Check the name, or run the model that builds it first.",
            )


def _mend_types(tree: exp.Query) -> None:
    """Write collations, which sqlglot takes for columns, as words, in place.

    Raises:
        NotYetImplemented: For the type time, which sqlglot writes as timestamp.
    """
    for kind in tree.find_all(exp.DataType):
        if kind.this is exp.DType.TIME:
            raise NotYetImplemented("The type time", operator="time", **place(kind))
        collation = kind.args.get("collate")
        if isinstance(collation, exp.Column):
            kind.set("collate", exp.Var(this=collation.name))


def _forget_partitions(select: exp.Select) -> None:
    """Drop what says only which of Spark's tasks has a row, and in which order, in place.

    With LIMIT it may choose the rows, and stays.
    """
    if not select.args.get("limit") and not select.args.get("offset"):
        for clause in ("sort", "cluster", "distribute"):
            select.set(clause, None)


def _refuse_two_of_one_name(select: exp.Select) -> None:
    """Two relations of one name would have columns of one name."""
    seen: set[str] = set()
    for item in from_items(select) + (select.args.get("laterals") or []):
        name = item.alias_or_name.lower()
        if name and name in seen:
            raise InvalidModel(
                f"Two relations in FROM are named {name}",
                hint="Give one of them another name with AS.",
                **position(item),
            )
        seen.add(name)


def _unresolved(query: exp.Query, mapping: dict[str, dict[str, str]], text: str) -> InvalidModel:
    """The error for a column that no relation, or more than one, has."""
    found = re.search(r"Column '?([^'\n]*?)'? could not|Unknown column: (.*?)\.?$", text)
    name = (found.group(1) or found.group(2) or "").split(".")[-1].strip('`"') if found else ""
    where: dict[str, Any] = {}
    table = ""
    at = _POSITION.search(text)
    for column in query.find_all(exp.Column):
        if column.name.lower() != name.lower():
            continue
        here = position(column.this)
        if at is None or here.get("line") == int(at.group(1)):
            where, table = here, column.table
            break
    if not name:
        return InvalidModel(_POSITION.sub("", text).rstrip("."), **where)
    known = relation_names(query).union(*mapping.values())  # a struct's fields are named alike
    if table and table.lower() not in known:
        return InvalidModel(
            f"Column {table}.{name} does not exist: nothing in FROM is named {table}",
            hint="Check the spelling. A table that has an alias is named by that alone.",
            **where,
        )
    if sum(name.lower() in columns for columns in mapping.values()) and at is not None:
        return InvalidModel(
            f"Column {name} is ambiguous, or not visible here",
            hint="Qualify the column with its table.",
            **where,
        )
    return InvalidModel(
        f"Column {name} does not exist",
        hint="Check the spelling and the table that it should come from.",
        **where,
    )


def _collapse_table_names(tree: exp.Query, schemas: Schemas) -> None:
    """Make each source table one identifier, and drop schema names before columns."""
    for table in list(tree.find_all(exp.Table)):
        parts = [p for p in table.parts if isinstance(p, exp.Identifier)]
        key = table_key(tuple(p.name for p in parts))
        if not parts or key not in schemas or cte_of(table) is not None:
            continue
        if not table.alias:
            table.set("alias", exp.TableAlias(this=parts[-1].copy()))
        table.set("this", exp.to_identifier(key, quoted=True))
        table.set("db", None)
        table.set("catalog", None)
    for column in tree.find_all(exp.Column):
        owner = table_key(tuple(p.name for p in column.parts[:-1]))
        if any(f".{key}".endswith(f".{owner}") for key in schemas):  # else a field of a struct
            column.set("db", None)
            column.set("catalog", None)
