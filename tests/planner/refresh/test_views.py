"""What a model reads: views at any depth, and one table under several names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest

from python_ivm.errors import InvalidModel, Unsupported
from python_ivm.parse.views import View as SourceView
from python_ivm.refresh.consistency import consistency_query
from python_ivm.refresh.metadata.redefined import is_still, said
from python_ivm.refresh.options import Options, Policy
from python_ivm.refresh.plan import Strategy
from python_ivm.refresh.statement import StatementKind
from python_ivm.refresh.strategy import plan_refresh
from python_ivm.state.bookmark import Bookmark, digest
from tests.planner.lake import Lake
from tests.planner.stories import View

XS = [(1, 1), (1, 2), (2, 5), (None, 7), (2, 5)]


@pytest.fixture
def xy(lake: Lake) -> Lake:
    lake.create("x", {"i": "int", "v": "int"}, XS)
    lake.create("y", {"i": "int", "w": "string"}, [(1, "a"), (2, "b"), (2, None)])
    lake.db.execute("set schema = 's'")
    return lake


def changed(lake: Lake) -> None:
    lake.change("x", delete=[(1, 1), (2, 5)], insert=[(1, 3), (3, None)])
    lake.change("y", delete=[(2, None)], insert=[(3, "c")])


VIEWS = {
    "plain": ["select i, v from x where v > 1"],
    "named_columns": ["select i, v + 1 from s.x", "a", "b"],
    "same_column_twice": ["select v, v from x", "a", "b"],
    "star": ["select * from x"],
    "with_cte": ["with x2 as (select i, v from s.x) select * from x2 where i is not null"],
    "grouped": ["select i, count(*) as n, sum(v) as t from x group by i"],
    "distinct": ["select distinct i from x"],
    "union": ["select i from x union all select i from y"],
    "comment": ["select i, v from x -- the rest)\n"],
    "in_parentheses": ["(select i, v from x)"],
}


MODELS = [
    "select * from {v}",
    "select {v}.* from s.{v}",
    "select count(*) as c from {v} as z",
    "with x as (select distinct w from s.y) select z.* from {v} z cross join x",
    "select y.w, z.* from s.y left join {v} z on true",
    "select count(*) as c from y left join ({v} z cross join x) on x.i = y.i",
    "select y.w from y where exists (select 1 from {v})",
]


@pytest.mark.parametrize(("name", "sql"), list(product(VIEWS, MODELS))[::3])
def test_a_view_is_maintained_by_the_tables_below_it(xy: Lake, name: str, sql: str) -> None:
    xy.define("v", *VIEWS[name])
    view = View(xy, sql.format(v="v"))
    changed(xy)
    view.keep_up()


def test_a_view_over_views_is_maintained(xy: Lake) -> None:
    xy.define("v1", "select i, v from x where v > 1", "k", "v")
    xy.define("v2", "select k, count(*) as n from v1 group by k")
    xy.define("v3", "select v2.k, v2.n, y.w from v2 join s.y on v2.k = y.i")
    view = View(xy, "select w, sum(n) as t from s.V3 group by w")
    bookmark = Bookmark.of(xy.commits["m__ivm_state"][0].user_metadata)
    assert bookmark is not None and sorted(bookmark.sources) == ["s.x", "s.y"]
    for _ in range(2):
        changed(xy)
        view.refresh()
    assert view.refresh(Strategy.NOOP).reason == "UNCHANGED"


def test_a_view_that_was_redefined_rebuilds_the_model(xy: Lake) -> None:
    xy.define("v1", "select i, v from x")
    xy.define("v2", "select i, v from v1")
    view = View(xy, "select i, sum(v) as t from v2 group by i")
    xy.define("v1", "select i, v from x where v > 1")
    refresh = xy.run("m", view.sql)
    assert refresh.strategy is Strategy.FULL
    assert refresh.reason == "VIEW_CHANGED"
    assert "s.v1" in refresh.explanation and "s.v2" not in refresh.explanation
    xy.check("m")
    view.refresh(Strategy.NOOP)


def test_a_view_keeps_its_own_names_against_those_of_the_model(xy: Lake) -> None:
    """The model's CTE named like the table below the view is another relation."""
    xy.define("v", "select i, v from x")
    view = View(
        xy, "with x as (select w as q from s.y), y as (select i from v) select i, q from y, x"
    )
    changed(xy)
    view.refresh()
    assert len(xy.view("m")) > 1


def test_a_columns_new_type_is_cast_to_the_views(xy: Lake) -> None:
    strict = {"settings": {"spark.sql.ansi.enabled": "true"}}
    xy.define("v", "select i, v from x", columns={"i": "bigint", "v": "int"}, **strict)
    answers = xy.describe

    def describe(sql: str) -> Sequence[tuple[str, str]]:
        return [("i", "bigint"), ("v", "int")] if "* FROM `s`.`v`" in sql else answers(sql)

    xy.describe = describe  # type: ignore[method-assign]
    first = xy.run("m", "select * from v", **strict)
    assert "CAST(x.i AS BIGINT) AS i" in first.statements[0].sql
    xy.change("x", insert=[(4, 4)])
    assert xy.run("m", "select * from v", **strict).strategy is Strategy.INCREMENTAL
    xy.check("m")
    lax = xy.run("n", "select * from v")
    assert lax.reason == "SOURCE_NOT_DELTA" and "its column i was bigint" in lax.explanation


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"settings": {"zone": "Mars"}}, "it was made under another zone"),
        ({"settings": None}, "the catalog does not tell under which settings it was made"),
        ({"namespace": ()}, "it is a temporary view"),
        ({"collation": "UTF8_LCASE"}, "its texts have the collation UTF8_LCASE"),
        ({"text": "select i, transform("}, "does not parse"),
        ({"shown": ("i", "gone")}, "its query has other columns than when it was made"),
    ],
)
def test_a_view_that_cannot_be_taken_apart_is_rebuilt_from_every_time(
    xy: Lake, more: dict[str, object], why: str
) -> None:
    xy.define("v", "select i, v from x", **more)
    for _ in range(2):
        refresh = xy.run("m", "select i, v from v", settings={"zone": "UTC"})
        assert (refresh.strategy, refresh.reason) == (Strategy.FULL, "SOURCE_NOT_DELTA")
        assert why in refresh.explanation
        xy.check("m")
        changed(xy)


@pytest.mark.parametrize(
    ("kept", "opaque"), [({}, True), ({"spark.sql.ansi.enabled": "true"}, False)]
)
def test_a_view_that_keeps_no_ansi_is_of_spark_3_which_had_it_off(
    xy: Lake, kept: dict[str, str], opaque: bool
) -> None:
    xy.define("v", "select i, cast(v as string) as v from x", settings=kept)
    refresh = xy.run("m", "select i, v from v", settings={"spark.sql.ansi.enabled": "true"})
    told = "it was made under another spark.sql.ansi.enabled" in refresh.explanation
    assert told is opaque
    xy.check("m")


@pytest.mark.parametrize("made", [{"lib": ["twice"]}, {"other": ["twice"]}])
def test_a_view_of_another_schema_calls_its_own_functions(
    xy: Lake, made: dict[str, list[str]]
) -> None:
    """Its text names them without a schema; in the model's place another one has the name."""
    xy.db.execute("create macro twice(v) as 2 * v")
    xy.functions_of = made
    xy.define("v", "select i, twice(v) as v from s.x", namespace=("spark_catalog", "lib"))
    refresh = xy.run("m", "select i, v from v")
    told = "it calls twice(), a function of spark_catalog.lib" in refresh.explanation
    assert told is ("lib" in made)
    xy.check("m")


def test_a_maintained_models_view_is_followed_though_its_settings_are_not_told(xy: Lake) -> None:
    told = xy.definition

    def definition(parts: tuple[str, ...]) -> SourceView | None:
        view = told(parts)
        return None if view is None else replace(view, settings=None)

    xy.definition = definition  # type: ignore[method-assign]
    models = {"m": "select i, sum(v) as t from s.x group by i", "top": "select t from s.m"}
    for name, sql in models.items():
        xy.run(name, sql)
    changed(xy)
    for name, sql in models.items():
        assert xy.run(name, sql).strategy is Strategy.INCREMENTAL
        xy.check(name)


def test_a_view_of_random_values_is_refused_at_its_name(xy: Lake) -> None:
    xy.define("v", "select i, random() as r from x")
    with pytest.raises(Unsupported, match=r"line 2, column 6: rand.*another value"):
        xy.run("m", "select i\nfrom v")


def test_a_model_that_reads_itself_through_a_view_is_refused(xy: Lake) -> None:
    xy.run("m", "select i from x")
    xy.define("v", "select i from s.m")
    with pytest.raises(InvalidModel, match=r"line 1, column 15: The model reads itself"):
        xy.run("m", "select i from v")


def test_a_query_without_rules_over_a_view_is_rebuilt_at_the_pinned_versions(xy: Lake) -> None:
    xy.define("v", "select i, v from x", "k", "v")
    inner = "select s.v.k, approx_percentile(s.v.v, 0.5) as y from s.v group by s.v.k"
    sql = f"select y, count(*) as n from ({inner}) q group by y"
    for _ in range(2):
        refresh = xy.run("m", sql)
        assert (refresh.strategy, refresh.reason) == (Strategy.FULL, "NOT_YET_IMPLEMENTED")
        assert "VERSION AS OF" in refresh.statements[0].sql
        xy.check("m")
        changed(xy)
    policy = {"options": Options(Policy.STRICT)}
    with pytest.raises(Unsupported, match="percentile_approx"):
        xy.run("m", sql, **policy)


def test_the_consistency_query_pins_the_tables_below_views(xy: Lake) -> None:
    xy.define("v1", "select i, v from x -- all", "k", "v")
    xy.define("v2", "select k, v from v1 where k is not null")
    sql = "select v2.k, count(*) as n from v2 join x on x.i = v2.k group by v2.k"
    view = View(xy, sql)
    build = next(s for s in xy.executed if s.kind is StatementKind.BUILD)
    kept = {"ivm.query": _property(build.sql)}
    xy.properties = lambda parts: kept  # type: ignore[method-assign]
    for _ in range(2):
        query = consistency_query(("s", "m"), xy)
        assert query.count("VERSION AS OF") == 2
        assert xy.db.execute(xy.duck(query)).fetchall() == []
        changed(xy)
    assert xy.db.execute(xy.duck(consistency_query(("s", "m"), xy))).fetchall() == []
    view.refresh()
    assert xy.db.execute(xy.duck(consistency_query(("s", "m"), xy))).fetchall() == []


def _property(sql: str) -> str:
    value = sql.split("'ivm.query' = '", 1)[1].split("')\nAS\n", 1)[0]
    return value.replace("\\\\", "\\").replace("\\'", "'")


# -- names ---------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["x", "S.X", "spark_catalog.s.x", "`s`.`x`", "SPARK_CATALOG.s.X"])
def test_a_table_of_several_names_is_one_source(xy: Lake, other: str) -> None:
    """Each name had a bookmark and a change-feed range of its own: Spark reads the first twice."""
    view = View(xy, f"select a.i, b.v from s.x a join {other} b on a.i = b.i")
    bookmark = Bookmark.of(xy.commits["m__ivm_state"][0].user_metadata)
    assert bookmark is not None and list(bookmark.sources) == ["s.x"]
    xy.change("x", delete=[(1, 1)], insert=[(1, 3)])
    assert view.planned().sql.lower().count("table_changes(") == 1
    view.refresh()


def test_a_table_of_another_catalog_keeps_its_full_name(xy: Lake) -> None:
    xy.namespace = lambda: ("lakehouse", "s")  # type: ignore[method-assign]
    xy.describe = lambda sql: [("i", "int")]  # type: ignore[method-assign]
    sql = "select x.i from x join spark_catalog.s.y on x.i = y.i"
    first = plan_refresh(xy.request("m", sql), xy)
    bookmark = Bookmark.of(first.statements[0].bookmark)
    assert bookmark is not None
    assert sorted(bookmark.sources) == ["lakehouse.s.x", "spark_catalog.s.y"]


def test_the_same_name_in_another_schema_is_another_source(xy: Lake) -> None:
    xy.run("m", "select i from x")
    xy.namespace = lambda: ("spark_catalog", "other")  # type: ignore[method-assign]
    xy.db.execute("create schema other")
    for name in ("x", "x@0"):
        xy.db.execute(f'create table other."{name}" as from s."{name}"')
    moved = plan_refresh(xy.request("m", "select i from x"), xy)
    assert moved.reason == "SOURCE_NEW"
    build = next(s for s in moved.statements if s.kind is StatementKind.BUILD)
    bookmark = Bookmark.of(build.bookmark)
    assert bookmark is not None and list(bookmark.sources) == ["other.x"]


def test_a_column_more_in_a_view_is_no_other_view(xy: Lake) -> None:
    """Models over ``select *`` were rebuilt when a source got a column that they do not read."""
    xy.define("v", "select * from x")
    sums = View(xy, "select i, sum(v) as t from v group by i")
    xy.run("whole", "select * from v")
    xy.types["x"]["more"] = "int"
    for table in ("x", "x@0"):
        xy.db.execute(f'alter table s."{table}" add column more int')
    xy.rows["x"][-1] = [(*row, None) for row in xy.rows["x"][-1]]
    xy.define("v", "select * from x")
    xy.change("x", insert=[(8, 8, 8)])
    assert sums.refresh(Strategy.INCREMENTAL).reason == "CHANGED"
    assert sums.refresh(Strategy.NOOP).reason == "UNCHANGED"
    assert xy.run("whole", "select * from v").strategy is Strategy.FULL
    assert (8, 8, 8) in xy.view("whole")


@pytest.mark.parametrize(
    "columns",
    [{"v": "int", "i": "int"}, {"i": "int"}, {"more": "int", "i": "int", "v": "int"},
     {"i": "int", "v": "bigint", "more": "int"}],
    ids=lambda columns: " ".join(columns),
)  # fmt: skip
def test_columns_that_are_others_make_another_view(xy: Lake, columns: dict[str, str]) -> None:
    view = SourceView(
        "select * from x", ("spark_catalog", "s"), {"i": "int", "v": "int"}, ("i", "v")
    )
    kept = said(view)
    assert is_still(view, kept)
    assert not is_still(replace(view, columns=columns, shown=tuple(columns)), kept)
    assert not is_still(replace(view, text="select * from y"), kept)
    assert not is_still(replace(view, namespace=("spark_catalog", "t")), kept)


def test_what_older_states_keep_of_a_view_is_understood(xy: Lake) -> None:
    xy.define("v", "select i, v from x")
    view = xy.views["v"]
    columns = (*view.shown, *(f"{name} {kind}" for name, kind in view.columns.items()))
    kept = digest("\n".join((view.text, *view.namespace, *columns)))
    assert is_still(view, kept)
    assert not is_still(replace(view, text="select v, i from x"), kept)
    assert not is_still(view, "")
