"""The proof that a view equals its query: both as bags, at the versions that the view shows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from python_ivm.algebra.normalize import limits_at_top, without_top_order
from python_ivm.bind.binder import bind
from python_ivm.bind.ties import known_kinds
from python_ivm.bind.union_types import Types, known
from python_ivm.errors import InvalidModel
from python_ivm.loops.run import LoopRun
from python_ivm.parse import clock_calls as clock
from python_ivm.parse.modifiers import without_limit
from python_ivm.parse.parser import (
    parse,
    pin_versions,
    quoted_name,
    table_key,
    table_references,
)
from python_ivm.refresh.delays.replay import refuse_forgotten, told_runs, told_steps
from python_ivm.refresh.metadata.cached_warehouse import CachedWarehouse
from python_ivm.refresh.metadata.versions import state_history
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.model import Model
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement_builders import QUERY, VIEW
from python_ivm.render.bag_comparison import Sampled, comparison
from python_ivm.render.renderer import Renderer
from python_ivm.render.sources import relation_name, source_relations, text
from python_ivm.render.time_points import seen as seen_until
from python_ivm.sources.clock import Clock, Instant
from python_ivm.sources.history import SourceChange, SourceVersion
from python_ivm.state.bookmark import Bookmark
from python_ivm.state.layout import STEP


def consistency_query(
    view: tuple[str, ...],
    warehouse: Warehouse,
    runs: int | None = None,
    sample: Sampled | None = None,
) -> str:
    """A query of the rows in which a view differs from its own SQL.

    The SQL is the user's text as of the state's build, its views replaced by their queries,
    pinned to the source versions and the time of the bookmark; it shares nothing with the
    planner's rendering. Only where Spark may give several results for the text (ties in a window's
    order, ``first()``) it is the planner's form of it, which gives the one of them that the view
    shows. ORDER BY and LIMIT at the top are left out on both sides: which rows a LIMIT keeps among
    equals is Spark's choice. A view that is rebuilt in full is compared with its whole text: its
    state holds what that gave.

    Args:
        view: The public view's name.
        warehouse: Answers questions about tables.
        runs: Of a model that reads its own rows, how many of its last runs are replayed; None
            replays all since its build; of a log likewise. Each is computed from the rows that the
            one before left, so that all together show that the view follows from its sources'
            history.
        sample: Which rows are compared; None means all.

    Returns:
        A query of the view's columns, ``expected_rows`` and ``actual_rows``: how many times the
        query and the view have the row. Floating columns are compared up to
        ``bag_comparison.TOLERANCE``, within groups of rows that agree in all others. No row means
        that they are equal.

    Raises:
        InvalidModel: If the view is not maintained, or was never built.
    """
    body, columns, bookmark, sql = _built(view, warehouse)
    state = _state_of(view, body)
    if VIEW in warehouse.properties(state):
        return _replay(sql, body, state, columns, warehouse, runs, sample)
    if bookmark.log:
        return _replayed_log(sql, body, state, columns, warehouse, runs, sample)
    if not bookmark.maintained:
        return difference(sql, bookmark, body, columns, warehouse, sample)
    shown = without_limit(body)
    assert shown is not None, "the planner wrote it"
    model = _model(sql, warehouse)
    if model.program is not None:
        behind = _behind_loop(model, bookmark)
        return comparison(without_limit(behind) or behind, shown, columns, sample)
    return difference(sql, bookmark, shown, columns, warehouse, sample)


def loop_to_run(view: tuple[str, ...], warehouse: Warehouse) -> LoopRun | None:
    """The loop that has to be run before the query that :func:`consistency_query` gives.

    It is run from nothing, over the sources as the view's bookmark has them.

    Raises:
        InvalidModel: If the view is not maintained, was never built, or holds what a limit left of
            its loop.
    """
    _, _, bookmark, sql = _built(view, warehouse)
    if bookmark.cut_off:
        raise InvalidModel(
            f"{relation_name(view)} shows a loop that a limit cut off",
            hint="It is not what its query says; let the loop end, or do without this test.",
        )
    model = _model(sql, warehouse)
    return model.loop_run(_at(model, bookmark.sources)) if model.program is not None else None


def difference(
    sql: str,
    bookmark: Bookmark,
    shown: str,
    columns: Mapping[str, str],
    warehouse: Warehouse,
    sample: Sampled | None = None,
) -> str:
    """A query of the rows in which any rows differ from a query at the versions of a bookmark.

    Args:
        sql: The query over the tables below its views.
        bookmark: The versions and the time, and what is known of types.
        shown: The SQL of the rows, with the query's columns in their order.
        columns: The query's columns and their types.
        warehouse: Answers questions about tables.
        sample: Which rows are compared; None means all.

    Returns:
        As :func:`consistency_query`.
    """
    if not bookmark.maintained:
        return comparison(_pinned(sql, bookmark), shown, columns, sample)
    return comparison(_expected(sql, bookmark, warehouse), shown, columns, sample)


def _built(
    view: tuple[str, ...], warehouse: Warehouse
) -> tuple[str, Mapping[str, str], Bookmark, str]:
    """A view's text, its columns, its bookmark, and the text that its state was built from."""
    found = warehouse.definition(view)
    columns = warehouse.columns(view)
    if found is None or columns is None:
        raise InvalidModel(
            f"{relation_name(view)} is no view", hint="Run the model before its tests."
        )
    body = found.text
    state = _state_of(view, body)
    bookmark = state_history(warehouse, state).bookmark
    query = warehouse.properties(state).get(QUERY)
    if bookmark is None and query is not None:
        raise InvalidModel(
            f"{relation_name(view)} was built by --empty or --sample",
            hint="Run the model, which builds it from all rows.",
        )
    if bookmark is None or query is None:
        raise InvalidModel(
            f"{relation_name(view)} is not maintained",
            hint="Set materialized='incremental_ivm' on the model and run it.",
        )
    try:
        sql = json.loads(query)
    except ValueError:
        raise InvalidModel(
            f"The text that {relation_name(view)} was built from cannot be read: {query}",
            hint="Build it anew by --full-refresh. If Spark shows the property ivm.query as "
            "redacted, look at spark.sql.redaction.options.regex and spark.redaction.regex.",
        ) from None
    return body, columns, bookmark, sql


def _model(sql: str, warehouse: Warehouse) -> Model:
    return Model(Request("", sql, ("", ""), ("", "")), CachedWarehouse(warehouse))


def _at(model: Model, versions: Mapping[str, SourceVersion]) -> dict[str, SourceChange]:
    """A model's sources at some versions."""
    return {
        key: replace(source, pre=versions[key], post=versions[key])
        for key, source in model.sources.current_versions().items()
    }


def _behind_loop(model: Model, bookmark: Bookmark) -> str:
    """What stands behind a loop, over its rows, at the versions of a bookmark."""
    query = bind(model.tree, model.schemas(), known(bookmark.types), known_kinds(bookmark.types))
    then = Clock(bookmark.instant, bookmark.instant) if bookmark.instant is not None else None
    renderer = Renderer(source_relations(_at(model, bookmark.sources), then))
    return text(renderer.with_ctes(renderer.query(query.plan)))


def _pinned(sql: str, bookmark: Bookmark) -> str:
    """A query's text at the versions and the time of a bookmark."""
    seen = {
        key: text(seen_until(v.until))
        for key, v in bookmark.sources.items()
        if v.until is not None and not v.is_before_all
    }
    pinned = pin_versions(sql, {key: v.version for key, v in bookmark.sources.items()}, seen)
    return clock.at(pinned, bookmark.instant) if bookmark.instant is not None else pinned


def _expected(sql: str, bookmark: Bookmark, warehouse: Warehouse) -> str:
    """A query of the rows that the planner gives at the versions and the time of a bookmark."""
    chosen = one_of_several(sql, bookmark.sources, warehouse, bookmark.instant, bookmark.types)
    pinned = _pinned(sql, bookmark)
    return chosen or without_limit(pinned) or pinned


def _of_refresh(number: int, differing: str) -> str:
    """The rows in which a refresh differs, beside its number."""
    return f"SELECT {number} AS refresh, * FROM (\n{differing}\n) AS differing"


def _replay(
    sql: str,
    body: str,
    state: tuple[str, ...],
    columns: Mapping[str, str],
    warehouse: Warehouse,
    runs: int | None,
    sample: Sampled | None,
) -> str:
    """The rows in which some run's view differs from the query over the rows before that run."""
    found = told_runs(warehouse, state)
    chosen = found if runs is None else found[:runs]
    refuse_forgotten(chosen, warehouse)
    parts = []
    for run in chosen:
        shown = pin_versions(body, {table_key(state): run.version})
        expected = _expected(sql, run.bookmark, warehouse)
        differing = comparison(expected, without_limit(shown) or shown, columns, sample)
        parts.append(_of_refresh(run.bookmark.refresh, differing))
    return "\nUNION ALL\n".join(parts)


def _replayed_log(
    sql: str,
    body: str,
    state: tuple[str, ...],
    columns: Mapping[str, str],
    warehouse: Warehouse,
    runs: int | None,
    sample: Sampled | None,
) -> str:
    """The rows in which what a log has of a step differs from what came into the query at it."""
    told = told_steps(warehouse, state, runs)
    refuse_forgotten(told, warehouse)
    shown = {name: kind for name, kind in columns.items() if name != STEP}
    names = ", ".join(quoted_name((name,)) for name in shown)
    parts = []
    for number, run in enumerate(told):
        before = told[number + 1] if number + 1 < len(told) else None
        if before is None and runs is not None and len(told) > runs:
            continue
        expected = f"SELECT * FROM (\n{_expected(sql, run.bookmark, warehouse)}\n) AS now"
        if before is not None:
            query = _expected(sql, before.bookmark, warehouse)
            expected += f"\nEXCEPT ALL\nSELECT * FROM (\n{query}\n) AS before"
        step = run.bookmark.refresh
        actual = f"SELECT {names} FROM (\n{body}\n) AS log WHERE {STEP} = {step}"
        differing = comparison(expected, actual, shown, sample)
        parts.append(_of_refresh(step, differing))
    if runs is None:  # steps that were none have no rows
        numbers = ", ".join(str(run.bookmark.refresh) for run in told)
        every = f"SELECT {names} FROM (\n{body}\n) AS log WHERE"
        others = comparison(f"{every} FALSE", f"{every} {STEP} NOT IN ({numbers})", shown, sample)
        parts.append(_of_refresh(0, others))
    return "\nUNION ALL\n".join(parts)


def one_of_several(
    sql: str,
    versions: Mapping[str, SourceVersion],
    warehouse: Warehouse,
    instant: Instant | None = None,
    types: Types | None = None,
) -> str | None:
    """The planner's form of a query for which Spark may give several results.

    So is it of a query whose LIMIT the planner has at the top, and the text has not at its end.

    Args:
        sql: The model's compiled SQL.
        versions: At which version to read each source.
        warehouse: Answers questions about tables.
        instant: The time of the query; None takes the present one.
        types: What its build found out about types.

    Returns:
        A query without ORDER BY and LIMIT at the top; None if the text itself has one result.
    """
    model = _model(sql, warehouse)
    found = types or {}
    query = bind(model.reading.tree, model.schemas(), known(found), known_kinds(found))
    hidden = limits_at_top(query.plan) and without_limit(sql) in (None, sql)
    if not query.chooses and not hidden:
        return None
    read = _at(model, versions)
    then = Clock(instant, instant) if instant is not None else model.clock(None)
    renderer = Renderer(source_relations(read, then))
    return text(renderer.with_ctes(renderer.query(without_top_order(query.plan))))


def _state_of(view: tuple[str, ...], body: str) -> tuple[str, ...]:
    tables = table_references(parse(body))
    if not tables:
        raise InvalidModel(f"{relation_name(view)} reads no table")
    return tables[0].parts
