"""Models that are wrong, and names that are odd: what the user is told, and what stays."""

from __future__ import annotations

import re

import pytest

from python_ivm.errors import IvmError
from tests.conftest import MakeProject
from tests.helpers.dbt_project import DbtProject
from tests.spark.workbench import FEED, Bench, View

IVM = "{{ config(materialized='incremental_ivm') }}\n"


@pytest.fixture
def lake(make_project: MakeProject) -> DbtProject:
    project = make_project()
    project.sql(f"create table x (i int, v int) using delta {FEED}")
    project.sql(f"create table y (i int, w int) using delta {FEED}")
    project.sql("insert into x values (1, 10)")
    return project


# The model's text behind the config line; where the error is; what it says; what to do.
WRONG = {
    "parse": ("select i frm {s}.x whre", "line 2", "does not parse", "compiled SQL"),
    "quote": ("select i, 'x from {s}.x", "line 2, column 11", "never closed", "Close the quote"),
    "column": ("select i,\n  nope from {s}.x", "line 3, column 3", "Column nope does not exist",
               "Check the spelling"),
    "ambiguous": ("select i from {s}.x join {s}.y on x.i = y.i", "line 2, column 8", "ambiguous",
                  "Qualify the column"),
    "twice": ("select i, v as I from {s}.x", "line 2", "Two output columns are named I", "with AS"),
    "table": ("select *\nfrom {s}.missing", "line 3, column 6", "missing does not exist",
              "run the model that builds it"),
    "itself": ("select * from {s}.itself", "line 2, column 15", "columns are not known",
               "List all of the model's columns"),
    "state": ("select i from {s}.state__ivm_state", "line 2", "reads itself", "{{ this }}"),
    "random": ("select i, rand() as r from {s}.x", "line 2, column 11", "rand()", "source table"),
    "uuids": ("select uuid() as r from {s}.x", "line 2, column 8", "uuid()", "'table'"),
    "clock": ("select i from {s}.x where current_time() > time '12:00:00'", "line 2",
              "current_time()", "current_timestamp() in a condition"),
    "today": ("select i from {s}.x where date 'today' > '2024-01-01'", "line 2", "today",
              "current_date()"),
    "sample": ("select i from {s}.x tablesample (10 percent)", "line 2", "TABLESAMPLE", "a hash"),
    "statements": ("select 1 as x; select 2 as x", "", "2 statements", "exactly one SELECT"),
    "grouping": ("select i, v, count(*) as n from {s}.x group by i", "line 2, column 11",
                 "neither grouped", "Add it to GROUP BY"),
    "function": ("select nofunc(i) as z from {s}.x", "", "nofunc", ""),
    "types": ("select i + array(1) as z from {s}.x", "", "i + array(1)", ""),
}  # fmt: skip


def test_wrong_models_say_where_and_what_to_do(lake: DbtProject) -> None:
    lake.models(**{name: IVM + sql.format(s=lake.schema) for name, (sql, *_) in WRONG.items()})
    result = lake.dbt("run")
    for name, (_, place, what, hint) in WRONG.items():
        told = result.message(name)
        assert result.statuses[name] == "error", name
        for part in (name, place, what, hint):
            assert part in told, told
        assert "Traceback" not in told and "org.apache" not in told, told
    tables = {row["tableName"] for row in lake.sql(f"show tables in {lake.schema}")}
    assert tables <= {"x", "y"}, "something half-written stays"


def test_a_wrong_edit_leaves_the_last_good_view(lake: DbtProject) -> None:
    lake.models(m=IVM + f"select i, v from {lake.schema}.x")
    lake.run()
    for wrong in ("select i, nope from {s}.x", "select i frm", "select i, i as i from {s}.x"):
        lake.models(m=IVM + wrong.format(s=lake.schema))
        assert not lake.dbt("run").success
        assert lake.sql("select * from m") == [(1, 10)]
    lake.models(m=IVM + f"select i, v from {lake.schema}.x")
    lake.sql("insert into x values (2, 20)")
    assert lake.run().response("m")["strategy"] == "incremental"


ODD_NAMES = (
    "Capital", "two words", "q\"uote'd", "back`tick", "semi;colon", "dot.ted", "Zürich 🚲", "a,b",
    "select", "1st", "x=y", "(paren)", "tab\there", "copy",
    "copies", "stored", "change", "n", "_Commit_Version", "_change_type", "_commit_timestamp",
    "__is_cdc", "_file_name_", "_row_dropped_", "_source_row_present_", "_metadata",
)  # fmt: skip


def test_output_columns_keep_their_names(bench: Bench) -> None:
    bench.table("r", "k int, v int", "(1, 10)", "(1, 10)", "(2, 20)")
    quoted = ["`" + name.replace("`", "``") + "`" for name in ODD_NAMES]
    rows = ", ".join(f"v + {n} as {q}" for n, q in enumerate(quoted))
    keys = ", ".join(f"k + {n} as {q}" for n, q in enumerate(quoted))
    bench.view(f"select {keys}, count(*) as total from r group by all")
    bench.view(f"select distinct {rows} from r order by `Capital`, `two words`")
    bench.sql("insert into r values (1, 10), (3, 30)", "delete from r where k = 2")
    bench.refresh()


def test_a_source_with_a_column_of_a_change_feed(bench: Bench) -> None:
    bench.table("r", "k int, `_Change_Type` string", "(1, 'a')", "(1, 'a')", feed=False)
    view = bench.view("select k, _change_type from r", ivm_enable_change_feed=True)
    bench.sql("insert into r values (2, 'b')")
    outcome = view.refresh(None)
    assert "has a column named _Change_Type" in outcome.refresh.explanation
    bench.refresh("noop")


@pytest.mark.thorough
def test_names_of_the_planners_own_are_right_but_rebuilt(bench: Bench) -> None:
    bench.table("r", "k int, __ivm_count__ int", "(1, 10)", "(1, 10)")
    view = View(bench, "m", "select k, __ivm_count__, k as __ivm_hash__ from r")
    outcome = view.refresh("full")
    assert "does not begin with __ivm_" in outcome.refresh.explanation
    bench.sql("insert into r values (1, 11)")
    view.refresh("full")


def test_source_columns_with_odd_names(bench: Bench) -> None:
    names = ("Capital", "two words", "q\"uote'd", "x=y", "dot.ted", "Zürich 🚲")
    columns = ", ".join(f"`{name}` int" for name in names)
    bench.sql(
        f"create table Odd_1 ({columns}) using delta tblproperties "
        "(delta.enableChangeDataFeed = true, 'delta.columnMapping.mode' = 'name')",
        "insert into odd_1 values (1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 5, 6)",
    )
    bench.view("select * from odd_1")
    bench.view("select capital, `TWO words` as w, sum(`x=y`) as s from ODD_1 group by 1, 2")
    bench.view("select t.`dot.ted`, `zürich 🚲` + 1 as z from odd_1 as t")
    bench.sql("insert into odd_1 values (2, 2, 2, 2, 2, 2)", "update odd_1 set capital = 7")
    bench.refresh()


def test_a_table_under_another_format(bench: Bench) -> None:
    bench.sql("create table p (k int) using parquet", "insert into p values (1)")
    bench.table("r", "k int, v int", "(1, 10)")
    view = View(bench, "m", "select r.k, r.v from r join p on r.k = p.k")
    outcome = view.refresh("full")
    assert outcome.refresh.reason == "SOURCE_NOT_DELTA"
    assert "p is not a Delta table" in outcome.response._message
    assert "store it as one" in (outcome.refresh.warning or "")
    bench.sql("insert into p values (1), (2)")
    assert view.refresh("full").refresh.reason == "SOURCE_NOT_DELTA"


@pytest.mark.parametrize(
    "sql",
    [
        "select * from r version as of 1",
        pytest.param(
            "select a.k from r a join r version as of 1 b on a.k = b.k",
            marks=pytest.mark.thorough,
        ),
        "select * from identifier('r')",
        "select k, v, _change_type as what from table_changes('r', 1, 3)",
        pytest.param(
            "select k from r where v in (select v from r version as of 1)",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_time_travel_in_a_model_is_refused_or_right(bench: Bench, sql: str) -> None:
    bench.table("r", "k int, v int", "(1, 10)", "(2, 20)")
    view = View(bench, "m", sql)
    try:
        view.refresh(None)
    except IvmError as error:
        assert re.search("can read tables whose changes are not seen", str(error)), error
        return
    bench.sql("insert into r values (1, 11)")
    view.refresh(None)


@pytest.mark.thorough
def test_functions_and_values_as_sources(bench: Bench) -> None:
    bench.table("r", "k int, v int", "(1, 10)", "(2, 20)")
    views = [
        View(bench, f"f{number}", sql)
        for number, sql in enumerate(
            (
                "select id from range(3)",
                "select r.k, t.a from r join (values (1), (2)) as t(a) on r.k = t.a",
                "select 1 as x",
                "select k, id from r cross join range(2)",
                f"select k from delta.`{bench.query('describe detail r')[0]['location']}`",
            )
        )
    ]
    for view in views:
        view.refresh("full")
    bench.sql("insert into r values (1, 11)")
    for view in views:
        view.refresh(None)
