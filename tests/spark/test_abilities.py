"""What not every Spark can do: a model that needs it is maintained, or gets Spark's own error."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from dbt_common.exceptions import DbtRuntimeError

from python_ivm.errors import IvmError
from tests.spark.workbench import FEED, Bench, View

Record = Callable[[str, object], None]

QUERIES = {
    "`QUALIFY`": "select k, v from r qualify row_number() over (partition by k order by v) = 1",
    "pipe syntax": "from r |> where v > 1 |> select k, v",
    "recursive CTEs": "with recursive c(n) as (select k from r union all select n + 1 from c "
    "where n < 4) select n from c",
    "`LISTAGG`": "select k, listagg(cast(v as string), ',') within group (order by v) as l "
    "from r group by k",
    "`VARIANT`": "select k, variant_get(parse_json(cast(v as string)), '$', 'int') as j from r",
    "collations": "select cast(k as string) collate utf8_lcase as c, sum(v) as s from r group by 1",
    "lateral column aliases": "select v + 1 as w, w + 1 as x from r",
    "`GROUP BY ALL`": "select k, sum(v) as s from r group by all",
}
PROPERTIES = {
    "deletion vectors": "delta.enableDeletionVectors",
    "type widening": "delta.enableTypeWidening",
    "row tracking": "delta.enableRowTracking",
}
MERGE = (
    "merge into r using (with q as (select 1 as k, 9 as v) select * from q) as c on r.k = c.k "
    "and false when not matched then insert (k, v) values (c.k, c.v)"
)


@pytest.fixture
def lake(bench: Bench) -> Bench:
    bench.table("r", "k int, v int", "(1, 10)", "(1, 2)", "(2, 5)", "(null, 1)")
    return bench


@pytest.mark.parametrize("ability", QUERIES)
def test_a_query_is_maintained_or_refused_as_spark_does(
    lake: Bench, ability: str, record_property: Record
) -> None:
    sql = QUERIES[ability]
    try:
        lake.query(f"create table probe using delta as {sql}")
    except DbtRuntimeError as error:
        record_property(ability, False)
        with pytest.raises((DbtRuntimeError, IvmError)) as told:
            View(lake, "m", sql).run()
        condition = re.search(r"\[[A-Z_.]+\]", str(error))
        assert condition is None or condition[0] in str(told.value), "Spark's own error"
        assert {row["tableName"] for row in lake.query("show tables")} == {"r"}
        return
    record_property(ability, True)
    lake.view(sql)
    lake.sql("insert into r values (2, 1), (3, 3)", "delete from r where v = 10")
    lake.refresh(None)


@pytest.mark.parametrize("ability", PROPERTIES)
def test_sources_with_a_feature_of_delta_are_followed(
    bench: Bench, ability: str, record_property: Record
) -> None:
    properties = f"{FEED[:-1]}, {PROPERTIES[ability]} = true)"
    try:
        bench.sql(f"create table r (k int, v int) using delta {properties}")
    except Exception as error:
        assert "DELTA" in str(error)
        record_property(ability, False)
        return
    record_property(ability, True)
    bench.sql("insert into r values (1, 10), (1, 2), (2, 5)")
    bench.view("select k, sum(v) as s from r group by k", ivm_policy="strict")
    bench.sql("delete from r where v = 10", "update r set v = 6 where k = 2")
    bench.refresh()


def test_ctes_within_a_merge(lake: Bench, record_property: Record) -> None:
    """Each refresh of more than a filter is such a statement."""
    lake.query(MERGE)
    record_property("`WITH` inside of `MERGE`", True)


def test_a_doubled_quote_means_what_this_spark_makes_of_it(lake: Bench) -> None:
    """Before Spark 4.0 `'it''s'` is `its`; the view had `it's`."""
    (meant,) = lake.query("select 'it''s' as t")
    view = View(lake, "m", "select k, 'it''s' as t from r where k = 1 or 'a''b' = 'ab'")
    view.refresh("full")
    lake.sql("insert into r values (1, 4)")
    view.refresh(None)
    assert {text for _, text in view.rows()} == {meant["t"]}


def test_views_told_in_json(lake: Bench, record_property: Record) -> None:
    """Without it the catalog is asked otherwise, for the same answers."""
    lake.sql("create view seen as select k, v as `a, b` from r where v > 1")
    try:
        lake.query("describe table extended seen as json")
    except DbtRuntimeError:
        record_property("`DESCRIBE … AS JSON`", False)
    else:
        record_property("`DESCRIBE … AS JSON`", True)
    lake.view("select k, sum(`a, b`) as s from seen group by k")
    lake.sql("insert into r values (1, 1), (1, 7)")
    lake.refresh()
