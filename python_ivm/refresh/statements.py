"""From a layout and a delta to Spark SQL text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra.columns import Named
from python_ivm.algebra.nodes import COUNT, Aggregate, At, Node, Project
from python_ivm.algebra.term import Changes, Term
from python_ivm.optimize.irrelevant_updates import Question
from python_ivm.parse.parser import DIALECT, quoted_name, table_key
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement import Execution, Kind, Statement
from python_ivm.refresh.versions import CHANGE_FEED
from python_ivm.render.renderer import Renderer, SourceRelations, bare, stored_as, union_all
from python_ivm.sources.clock import Clock, with_literals
from python_ivm.sources.history import SourceChange
from python_ivm.state.bookmark import encoded
from python_ivm.state.layout import STATE, Layout
from python_ivm.state.merge import Bound, merge, unbounded
from python_ivm.state.recompute import merge_anew
from python_ivm.state.tables import build_query, view_query

_SEEN = "seen"
QUERY = "ivm.query"
"""The state's table property that holds the model's own SQL, as JSON text."""
DELETION_VECTORS = "delta.enableDeletionVectors"


def table(parts: tuple[str, ...], version: int | None = None) -> exp.Table:
    """A table by its name's parts, at a version if one is given."""
    *spaces, name = (exp.to_identifier(part, quoted=True) for part in parts)
    result = exp.Table(
        this=name,
        db=spaces[-1] if spaces else None,
        catalog=spaces[-2] if len(spaces) > 1 else None,
    )
    if version is not None:
        at = exp.Literal.number(version)
        result.set("version", exp.Version(this="VERSION", kind="AS OF", expression=at))
    return result


def text(query: exp.Expr) -> str:
    """Spark SQL, one clause a line."""
    return str(bare(query).sql(dialect=DIALECT, pretty=True, copy=False))


def relation_name(parts: tuple[str, ...]) -> str:
    """A relation's name as SQL."""
    return str(bare(table(parts)).sql(dialect=DIALECT, copy=False))


def source_relations(
    sources: Mapping[str, SourceChange],
    clock: Clock | None,
    state: exp.Table | None = None,
) -> SourceRelations:
    """Reads each source at its old or new version, and its change feed in between."""
    stored = {key: found.stored for key, found in sources.items() if found.stored}

    def read(source: str, at: At) -> exp.Table:
        if source == STATE and state is not None:
            return state.copy()
        found = sources[source]
        return table(found.parts, (found.pre if at is At.PRE else found.post).version)

    def changed(source: str, columns: tuple[str, ...]) -> exp.Select:
        found = sources[source]
        kind = exp.column("_change_type")
        came = exp.In(
            this=kind,
            expressions=[exp.Literal.string(t) for t in ("insert", "update_postimage")],
        )
        sign = exp.Case().when(came, exp.Literal.number(1)).else_(exp.Literal.number(-1))
        items = [stored_as(name, found.stored) for name in columns]
        return change_feed(found).select(*items, exp.alias_(sign, COUNT))

    return SourceRelations(read, changed, stored, clock.literals() if clock else {})


def change_feed(source: SourceChange) -> exp.Select:
    """A SELECT of nothing yet from a source's change feed."""
    feed = exp.func(
        "table_changes",
        exp.Literal.string(quoted_name(source.parts)),
        exp.Literal.number(source.pre.version + 1),
        exp.Literal.number(source.post.version),
    )
    return exp.Select().from_(exp.Table(this=feed))


def keys_query(questions: Sequence[Question], most: int, renderer: Renderer) -> str:
    """A query that answers several questions.

    Args:
        questions: What is asked.
        most: How many rows of each are wanted; those that the model's query sees come first.
        renderer: Renders the questions.

    Returns:
        A query of these columns, all texts: the question's number, its keys in order, as many as
        the question with most of them has, and ``true`` if the model's query sees such rows.
    """
    width = max(len(question.keys) for question in questions)
    selects: list[exp.Query] = []
    for number, question in enumerate(questions):
        texts: list[exp.Expr] = [exp.cast(key.expression(), "string") for key in question.keys]
        texts += [exp.null() for _ in range(width - len(texts))]
        keys = [Named(f"v{place}", value) for place, value in enumerate(texts, 1)]
        if question.seen is None:
            seen, measures = [Named(_SEEN, _text("true"))], []
        else:
            told = exp.cast(exp.Max(this=question.seen), "string")
            seen, measures = [], [Named(_SEEN, told)]
        which = Named("which", _text(str(number)))
        found = Aggregate(question.rows, "found", (which, *keys, *seen), tuple(measures))
        query = renderer.query(found)
        if measures:
            query = query.order_by(exp.Ordered(this=exp.column(_SEEN), desc=True), copy=False)
        selects.append(query)
    return text(renderer.with_ctes(_some(selects, most)))


def range_query(changes: Sequence[tuple[SourceChange, Sequence[str]]]) -> str:
    """A query of one row for each change: which change's, each column's lowest and highest text.

    Args:
        changes: Changes, each with columns that are asked about.
    """
    values = [
        [
            exp.cast(value, "string")
            for name in names
            for value in (exp.Min(this=_stored(source, name)), exp.Max(this=_stored(source, name)))
        ]
        for source, names in changes
    ]
    width = max(map(len, values))
    selects: list[exp.Query] = []
    for number, ((source, _), own) in enumerate(zip(changes, values, strict=True)):
        padded = [*own, *(exp.null() for _ in range(width - len(own)))]
        named = [exp.alias_(value, f"v{place}") for place, value in enumerate(padded, 1)]
        selects.append(change_feed(source).select(exp.alias_(_text(str(number)), "which"), *named))
    return text(union_all(selects))


def _stored(source: SourceChange, column: str) -> exp.Expr:
    return stored_as(column, source.stored).unalias()


def _some(queries: Sequence[exp.Query], most: int) -> exp.Query:
    """At most so many rows of each of several queries."""
    found = [query.limit(most).subquery("found") for query in queries]
    return union_all([exp.Select().select("*").from_(rows) for rows in found])


def _text(value: str) -> exp.Expr:
    return exp.Literal.string(value)


def probe_query(rows: Node, arguments: tuple[Named, ...], renderer: Renderer) -> str:
    """A query whose column types are those of expressions over a plan's rows."""
    node: Node = Project(Changes({}).post(rows), "probe", arguments)
    return text(renderer.with_ctes(renderer.query(node)))


def string(value: str) -> str:
    """A text as a literal of Spark SQL."""
    return str(exp.Literal.string(value).sql(dialect=DIALECT))


def create_view(request: Request, query: exp.Expr | str) -> Statement:
    """The statement that defines the public view."""
    body = query if isinstance(query, str) else text(query)
    return Statement(
        Kind.CREATE_VIEW, f"CREATE OR REPLACE VIEW {relation_name(request.view)} AS\n{body}"
    )


def create_state(
    request: Request, sql: str, body: str, bookmark: str | None, number: int
) -> Statement:
    """The statement that writes a whole state.

    Delta replaces the table's contents, schema and properties in the one commit that carries the
    bookmark; readers see the old table until then.
    """
    clauses = [f"CREATE OR REPLACE TABLE {relation_name(request.state)}", "USING delta"]
    if request.location:
        clauses.append(f"LOCATION {string(request.location)}")
    properties = {CHANGE_FEED: "true", **request.properties, QUERY: encoded(sql)}
    pairs = ", ".join(f"{string(k)} = {string(v)}" for k, v in sorted(properties.items()))
    clauses += [f"TBLPROPERTIES ({pairs})", "AS", body]
    fenced = fence(request, number) if bookmark is not None else None
    return Statement(Kind.BUILD, "\n".join(clauses), bookmark, fenced)


def fence(request: Request, number: int) -> tuple[str, int]:
    """The pair that Delta commits at most once: the state's name and the refresh's number."""
    return f"dbt-sparkivm:{table_key(request.state)}", number


def state_query(layout: Layout, sources: Mapping[str, SourceChange], clock: Clock | None) -> str:
    """The query that computes a state anew."""
    return text(build_query(layout, Renderer(source_relations(sources, clock))))


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
    view = view_query(layout, table(request.state))
    view = with_literals(view, clock.literals()) if clock is not None else view
    least = ">= 0" if layout.is_global else "> 0"
    checked = {"delta.constraints.ivm_count": f"{COUNT} {least}", **request.properties}
    return [
        create_state(replace(request, properties=checked), sql, body, bookmark, number),
        *drop_table(request),
        create_view(request, view),
    ]


def plain_statements(
    request: Request,
    sql: str,
    pinned: str,
    columns: list[str],
    bookmark: str | None,
    number: int,
) -> list[Statement]:
    """The statements that rebuild a query for which there are no rules: the user's own text."""
    stored = [exp.to_identifier(f"__ivm_col_{n}__") for n in range(1, len(columns) + 1)]
    names = ", ".join(c.sql(dialect=DIALECT) for c in stored)
    body = f"SELECT * FROM (\n{pinned}\n) AS ivm_view({names})"
    shown = [
        exp.alias_(exp.column(s.name), exp.to_identifier(c, quoted=True))
        for s, c in zip(stored, columns, strict=True)
    ]
    view = exp.Select().from_(table(request.state)).select(*shown)
    return [
        create_state(request, sql, body, bookmark, number),
        *drop_table(request),
        create_view(request, view),
    ]


def drop_table(request: Request) -> list[Statement]:
    """Removes a table under the view's name: the model was materialized otherwise before."""
    if not request.table_in_the_way:
        return []
    return [Statement(Kind.DROP_TABLE, f"DROP TABLE {relation_name(request.view)}")]


def keep_view(request: Request, query: str) -> Statement:
    """The old view over the state's present version, while the state is replaced."""
    return replace(create_view(request, query), kind=Kind.KEEP_VIEW)


def merge_statement(
    request: Request,
    layout: Layout,
    terms: list[Term],
    changes: Changes,
    sources: Mapping[str, SourceChange],
    clock: Clock | None,
    bound: Bound = unbounded,
    version: int | None = None,
) -> tuple[Statement, Node]:
    """The statement that applies a delta to the state; what it reads of it is at a version.

    Bookmark and fence are still missing.

    Returns:
        The statement, and the plan of what it merges.
    """
    before = table(request.state, version)
    renderer = Renderer(source_relations(sources, clock, before))
    tree, source = merge(layout, terms, changes, table(request.state), renderer, bound)
    return Statement(Kind.MERGE, text(tree)), source


def anew_statement(
    request: Request,
    layout: Layout,
    differing: Node,
    sources: Mapping[str, SourceChange],
    clock: Clock | None,
    version: int | None = None,
) -> Statement:
    """The statement that writes the rows in which the state differs from what the query gives.

    Bookmark and fence are still missing.
    """
    before = table(request.state, version)
    renderer = Renderer(source_relations(sources, clock, before))
    return Statement(
        Kind.MERGE, text(merge_anew(layout, differing, table(request.state), renderer))
    )


def keep_bookmark(request: Request) -> Statement:
    """A statement that changes no row: its commit has a new bookmark. Both are still missing."""
    nothing = "(SELECT 1 AS one WHERE FALSE) AS change"
    sql = f"MERGE INTO {relation_name(request.state)} AS stored USING {nothing} ON FALSE"
    sql += "\nWHEN MATCHED THEN DELETE"
    return Statement(Kind.MERGE, sql, execution=Execution.PLANNED_ONCE)


def mark_rows_as_deleted(request: Request) -> Statement:
    """Lets a MERGE mark the rows of a file as deleted, where it would write the others anew."""
    name = relation_name(request.state)
    return Statement(Kind.TUNE, f"ALTER TABLE {name} SET TBLPROPERTIES ({DELETION_VECTORS} = true)")
