"""The statements that a refresh runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra.nodes import COUNT
from python_ivm.loops.run import Rounds
from python_ivm.optimize.cost import Execution
from python_ivm.parse.parser import DIALECT, quoted_name, table_key
from python_ivm.refresh.metadata.versions import CHANGE_FEED
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement import Statement, StatementKind
from python_ivm.render.merge import merge
from python_ivm.render.renderer import Renderer
from python_ivm.render.sources import relation_name, source_relations, string, table, text
from python_ivm.render.tables import build_query, is_divided, view_query
from python_ivm.sources.clock import Clock, with_literals
from python_ivm.sources.cloned import RECORD, Cloned
from python_ivm.sources.history import SourceChange
from python_ivm.state.bookmark import encoded
from python_ivm.state.layout import HASH, Layout
from python_ivm.state.merge import Merge
from python_ivm.state.storage import CHECKED, columns_clause

QUERY = "ivm.query"
"""The state's table property that holds the model's SQL over the tables below its views, as JSON
text."""
STAND_IN = "ivm.stand_in"
"""The table property of a state that ``--empty`` or ``--sample`` wrote."""
MODEL = "ivm.model"
"""The one that holds the SQL as the user wrote it, where that is another one."""
VIEW = "ivm.view"
"""The one that holds the text of the public view, of a model that reads its own rows."""
DELETION_VECTORS = "delta.enableDeletionVectors"
PLAIN_COLUMN = "__ivm_col_{}__"
"""The names of columns, by their places, where a state is a query's plain result."""


def create_schema(request: Request) -> list[Statement]:
    """The statement that makes the state's schema, where that is not the view's."""
    if request.state[:-1] == request.view[:-1]:
        return []
    schema = relation_name(request.state[:-1])
    return [Statement(StatementKind.CREATE_SCHEMA, f"CREATE SCHEMA IF NOT EXISTS {schema}")]


def create_view(request: Request, query: str) -> Statement:
    """The statement that defines the public view."""
    return Statement(
        StatementKind.CREATE_VIEW,
        f"CREATE OR REPLACE VIEW {relation_name(request.view)} AS\n{query}",
    )


def create_state(
    request: Request,
    sql: str,
    body: str,
    bookmark: str | None,
    number: int,
    layout: Layout | None = None,
) -> Statement:
    """The statement that writes a whole state.

    Delta replaces the table's contents, schema and properties in the one commit that carries the
    bookmark; readers see the old table until then.

    Args:
        request: The model, whose storage is in the state's names.
        sql: Its text over the tables below its views.
        body: The query of the state's rows.
        bookmark: What the commit tells; None if it is no refresh.
        number: The refresh's.
        layout: What the state stores; None if it is the query's plain result.
    """
    body, execution = _laid_out(body, request, layout)
    clauses = [f"CREATE OR REPLACE TABLE {relation_name(request.state)}", "USING delta"]
    storage = request.storage
    if storage.partition_by:
        clauses.append(f"PARTITIONED BY {columns_clause(storage.partition_by)}")
    if storage.cluster_by:
        clauses.append(f"CLUSTER BY {columns_clause(storage.cluster_by)}")
    if request.location:
        clauses.append(f"LOCATION {string(request.location)}")
    checks = {CHECKED + name: condition for name, condition in storage.checks.items()}
    properties = {CHANGE_FEED: "true", **checks, **request.properties, QUERY: encoded(sql)}
    if request.sql != sql:
        properties[MODEL] = encoded(request.sql)
    pairs = ", ".join(f"{string(k)} = {string(v)}" for k, v in sorted(properties.items()))
    clauses += [f"TBLPROPERTIES ({pairs})", "AS", body]
    fenced = fence(request, number) if bookmark is not None else None
    return Statement(StatementKind.BUILD, "\n".join(clauses), bookmark, fenced, execution)


def clone_state(
    request: Request, other: tuple[str, ...], version: int, bookmark: str | None
) -> Statement:
    """The statement that makes the state a clone of another one."""
    # Only where the rows of a table at the location went before, there is something to replace.
    verb = "CREATE OR REPLACE" if request.location else "CREATE"
    sql = f"{verb} TABLE {relation_name(request.state)} SHALLOW CLONE {_at(other, version)}"
    if request.location:
        sql += f" LOCATION {string(request.location)}"
    return Statement(StatementKind.CLONE, sql, bookmark)


def clone_table(parts: tuple[str, ...], other: tuple[str, ...], cloned: Cloned) -> Statement:
    """The statement that makes a table a clone of another one, and tells so in its commit."""
    told = encoded({RECORD: cloned.value()})
    source = _at(other, cloned.version.version)
    sql = f"CREATE TABLE {relation_name(parts)} SHALLOW CLONE {source}"
    return Statement(StatementKind.CLONE, sql, told)


def _at(parts: tuple[str, ...], version: int) -> str:
    return f"{relation_name(parts)} VERSION AS OF {version}"


def keep_text(request: Request, sql: str) -> Statement:
    """The statement that keeps the model's SQL beside a state that was built in another schema."""
    texts = {MODEL: request.sql, QUERY: sql}
    pairs = ", ".join(f"{string(k)} = {string(encoded(v))}" for k, v in texts.items())
    name = relation_name(request.state)
    return Statement(StatementKind.ALTER, f"ALTER TABLE {name} SET TBLPROPERTIES ({pairs})")


def fence(request: Request, number: int) -> tuple[str, int]:
    """The pair that Delta commits at most once: the state's name and the refresh's number."""
    return f"dbt-sparkivm:{table_key(request.state)}", number


def state_query(layout: Layout, sources: Mapping[str, SourceChange], clock: Clock | None) -> str:
    """The query that computes a state anew."""
    return text(build_query(layout, Renderer(source_relations(sources, clock))))


def public_view(request: Request, layout: Layout, clock: Clock | None) -> str:
    """The text of the public view of a maintained state."""
    view = view_query(layout, table(request.state))
    return text(with_literals(view, clock.literals()) if clock is not None else view)


def plain_view(request: Request, columns: Sequence[str]) -> str:
    """The text of the public view of a state that is the plain result of a query."""
    shown = [
        exp.alias_(exp.column(stored.name), exp.to_identifier(name, quoted=True))
        for stored, name in zip(_stored(len(columns)), columns, strict=True)
    ]
    return text(exp.Select().from_(table(request.state)).select(*shown))


def _stored(number: int) -> list[exp.Identifier]:
    """The columns of such a state."""
    return [exp.to_identifier(PLAIN_COLUMN.format(n)) for n in range(1, number + 1)]


def build_statements(
    request: Request,
    sql: str,
    layout: Layout,
    sources: Mapping[str, SourceChange],
    clock: Clock | None,
    bookmark: str,
    number: int,
) -> list[Statement]:
    """The statements that build a state and its view; the text is kept beside the state."""
    body = state_query(layout, sources, clock)
    return [
        create_state(checked(request, layout), sql, body, bookmark, number, layout),
        *drop_table(request),
        create_view(request, public_view(request, layout, clock)),
    ]


def _laid_out(body: str, request: Request, layout: Layout | None) -> tuple[str, Execution]:
    """The query of a state's rows, and how to write them.

    The files of a clustered state get a range of its columns each. Delta itself lays rows out when
    they are optimized, not when they are written. Hints of the model win that divide its rows.
    """
    columns = request.storage.cluster_by
    if layout is None or is_divided(layout) or not columns:
        return body, Execution.USUAL
    names = [quoted_name((name,)) for name in columns]
    # Rows of one range go to one task: the hash divides those of equal columns, too.
    ranges = ", ".join([*names, HASH] if layout.is_hashed else names)
    hint = f"/*+ REPARTITION_BY_RANGE({ranges}) */"
    ordered = f"SELECT {hint} *\nFROM (\n{body}\n) AS state\nSORT BY {', '.join(names)}"
    return ordered, Execution.LAID_OUT


def checked(request: Request, layout: Layout) -> Request:
    """The request with the constraint that no row is there less than once."""
    least = ">= 0" if layout.is_global else "> 0"
    properties = {"delta.constraints.ivm_count": f"{COUNT} {least}", **request.properties}
    return replace(request, properties=properties)


def empty_state(
    request: Request,
    sql: str,
    layout: Layout,
    sources: Mapping[str, SourceChange],
    clock: Clock | None,
    bookmark: str,
    number: int,
) -> Statement:
    """The statement that makes a state without rows, beside which its view's text is kept."""
    body = f"SELECT * FROM (\n{state_query(layout, sources, clock)}\n) AS nothing WHERE FALSE"
    kept = {**request.properties, VIEW: encoded(public_view(request, layout, clock))}
    request = checked(replace(request, properties=kept), layout)
    return create_state(request, sql, body, bookmark, number)


def write_rows(
    kind: StatementKind,
    request: Request,
    layout: Layout,
    sources: Mapping[str, SourceChange],
    clock: Clock | None,
) -> Statement:
    """The statement that writes what the query gives into a state that stands.

    Bookmark and fence are still missing.

    Args:
        kind: INSERT into one that has no rows, or REWRITE of those that it has.
        request: The model; for an INSERT its storage is in the state's names.
        layout: What the state stores.
        sources: The sources at the versions to read.
        clock: The clock if the query asks it.
    """
    body, name = state_query(layout, sources, clock), relation_name(request.state)
    if kind is StatementKind.REWRITE:  # of a small state
        return Statement(kind, f"INSERT OVERWRITE {name} BY NAME\n{body}")
    body, execution = _laid_out(body, request, layout)
    return Statement(kind, f"INSERT INTO {name} BY NAME\n{body}", execution=execution)


def plain_statements(
    request: Request,
    sql: str,
    pinned: str,
    columns: list[str],
    bookmark: str | None,
    number: int,
) -> list[Statement]:
    """The statements that rebuild a query for which there are no rules: the user's own text."""
    names = ", ".join(c.sql(dialect=DIALECT) for c in _stored(len(columns)))
    body = f"SELECT * FROM (\n{pinned}\n) AS ivm_view({names})"
    return [
        create_state(request, sql, body, bookmark, number),
        *drop_table(request),
        create_view(request, plain_view(request, columns)),
    ]


def drop_table(request: Request) -> list[Statement]:
    """Removes a table under the view's name: the model was materialized otherwise before."""
    if not request.table_in_the_way:
        return []
    return [Statement(StatementKind.DROP_TABLE, f"DROP TABLE {relation_name(request.view)}")]


def keep_view(request: Request, query: str) -> Statement:
    """The old view over the state's present version, while the state is replaced."""
    return replace(create_view(request, query), kind=StatementKind.KEEP_VIEW)


def merge_statement(
    request: Request,
    planned: Merge,
    sources: Mapping[str, SourceChange],
    clock: Clock | None,
    version: int | None = None,
) -> Statement:
    """The statement of a MERGE into the state; what it reads of the state is at a version.

    Bookmark and fence are still missing.
    """
    before = table(request.state, version)
    renderer = Renderer(source_relations(sources, clock, before))
    return Statement(StatementKind.MERGE, text(merge(planned, table(request.state), renderer)))


def run_loop(run: Rounds) -> Statement:
    """The statement that runs a loop; its text is what Spark is asked before."""
    return Statement(StatementKind.LOOP, ";\n".join(run.queries), loop=run)


def keep_bookmark(request: Request) -> Statement:
    """A statement that changes no row: its commit has a new bookmark. Both are still missing."""
    nothing = "(SELECT 1 AS one WHERE FALSE) AS change"
    sql = f"MERGE INTO {relation_name(request.state)} AS stored USING {nothing} ON FALSE"
    sql += "\nWHEN MATCHED THEN DELETE"
    return Statement(StatementKind.MERGE, sql, execution=Execution.PLANNED_ONCE)


def mark_rows_as_deleted(request: Request) -> Statement:
    """Lets a MERGE mark the rows of a file as deleted, where it would write the others anew."""
    name = relation_name(request.state)
    return Statement(
        StatementKind.TUNE, f"ALTER TABLE {name} SET TBLPROPERTIES ({DELETION_VECTORS} = true)"
    )
