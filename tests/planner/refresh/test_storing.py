"""How a state is stored: partitions, clustering, the checks of a contract; what changes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from python_ivm.errors import InvalidModel
from python_ivm.optimize.cost import Execution
from python_ivm.refresh.options import OnConfigurationChange, Options
from python_ivm.refresh.plan import Refresh, Strategy
from python_ivm.refresh.statement import Statement, StatementKind
from python_ivm.refresh.strategy import plan_refresh
from python_ivm.state.bookmark import Bookmark
from python_ivm.state.storage import Storage
from tests.planner.lake import Lake

BAG = "select k, v, w from s.x"
GROUPED = "select w, avg(v) as mean, count(*) as n from s.x group by w"
PLAIN = (
    "select y, count(*) n from (select w, approx_percentile(v, 0.5) y from s.x group by w) q "
    "group by y"
)


class Clustered(Lake):
    """A lake whose states Delta knows as clustered."""

    def properties(self, parts: tuple[str, ...]) -> Mapping[str, str]:
        return {**super().properties(parts), "delta.feature.clustering": "supported"}


@pytest.fixture
def lake() -> Lake:
    return filled(Lake())


def filled(lake: Lake) -> Lake:
    columns = {"k": "int", "v": "int", "w": "string"}
    lake.create("x", columns, [(1, 1, "a"), (2, 5, "b")])
    return lake


def of(**config: Any) -> Storage:
    return Storage.of(config)


def build(refresh: Refresh) -> str:
    (statement,) = (s for s in refresh.statements if s.kind is StatementKind.BUILD)
    return statement.sql


def written(refresh: Refresh) -> list[Statement]:
    return [s for s in refresh.statements if s.writes_data]


def altered(refresh: Refresh) -> list[str]:
    found = [s.sql for s in refresh.statements if s.kind is StatementKind.ALTER]
    assert all(sql.startswith("ALTER TABLE s.m__ivm_state ") for sql in found)
    return [sql.removeprefix("ALTER TABLE s.m__ivm_state ") for sql in found]


# -- builds --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "storage", "clause"),
    [
        (BAG, of(partition_by="k"), "PARTITIONED BY (`k`)"),
        (BAG, of(partition_by=["K", "v"]), "PARTITIONED BY (`k`, `v`)"),
        (BAG, of(liquid_clustered_by=["w", "v"]), "CLUSTER BY (`w`, `v`)"),
        (GROUPED, of(liquid_clustered_by="w"), "CLUSTER BY (`w`)"),
        (GROUPED, of(liquid_clustered_by="n"), "CLUSTER BY (`__ivm_count__`)"),
        ("select k as `a b` from s.x", of(partition_by="A B"), "PARTITIONED BY (`__ivm_col_1__`)"),
        (PLAIN, of(liquid_clustered_by="n"), "CLUSTER BY (`__ivm_col_2__`)"),
    ],
)
def test_a_state_is_stored_as_the_config_says(
    lake: Lake, sql: str, storage: Storage, clause: str
) -> None:
    assert f"USING delta\n{clause}\nTBLPROPERTIES" in build(lake.run("m", sql, storage=storage))
    assert lake.run("m", sql, storage=storage).statements == ()


@pytest.mark.parametrize(
    ("sql", "columns", "order"),
    [
        (BAG, ["w", "v"], "`w`, `v`"),
        (GROUPED, ["n"], "`__ivm_count__`"),
        ("select /*+ BROADCAST(x) */ w as `a b` from s.x", ["a b"], "`__ivm_col_1__`"),
        (GROUPED.replace("select", "select /*+ REPARTITION(mean) */"), ["w"], "`w`"),
    ],
)
def test_each_file_of_a_clustered_state_gets_a_range(
    lake: Lake, sql: str, columns: list[str], order: str
) -> None:
    (built,) = written(lake.run("m", sql, storage=of(liquid_clustered_by=columns)))
    _, _, body = built.sql.partition("\nAS\n")
    ranges = order if "group by" in sql else f"{order}, __ivm_hash__"
    assert body.startswith(f"SELECT /*+ REPARTITION_BY_RANGE({ranges}) */ *\nFROM (\n")
    assert body.endswith(f"\n) AS state\nSORT BY {order}")
    assert built.execution is Execution.LAID_OUT


@pytest.mark.parametrize(
    ("sql", "storage"),
    [
        (BAG, of()),
        (BAG, of(partition_by="k")),
        ("select /*+ COALESCE(1) */ k, v, w from s.x", of(liquid_clustered_by="k")),
        (PLAIN, of(liquid_clustered_by="n")),
    ],
)
def test_other_states_are_written_as_they_are_computed(
    lake: Lake, sql: str, storage: Storage
) -> None:
    (built,) = written(lake.run("m", sql, storage=storage))
    assert "BY_RANGE" not in built.sql and "SORT BY" not in built.sql
    assert built.execution is Execution.USUAL


def test_the_first_rows_of_a_model_that_reads_its_own_get_ranges(lake: Lake) -> None:
    sql = "select k, v from s.x union select k, v from s.m"
    lake.run("m", sql, storage=of(liquid_clustered_by=["V"]))
    built, rows = (s for s in lake.executed if s.writes_data)
    assert "BY_RANGE" not in built.sql, "it has no rows yet"
    assert rows.kind is StatementKind.INSERT and rows.sql.endswith("SORT BY `v`")
    assert rows.execution is Execution.LAID_OUT


@pytest.mark.parametrize(
    ("sql", "storage", "message"),
    [
        (GROUPED, of(partition_by="v"), "partition_by names v.*Possible are n, w"),
        (GROUPED, of(liquid_clustered_by="mean"), "liquid_clustered_by names mean"),
        ("select v / 2D as h from s.x", of(partition_by="h"), "h, which is of type double"),
        ("select array(v) as l from s.x", of(partition_by="l"), "of type array"),
    ],
)
def test_columns_that_a_state_cannot_be_stored_by(
    lake: Lake, sql: str, storage: Storage, message: str
) -> None:
    with pytest.raises(InvalidModel, match=message):
        lake.run("m", sql, storage=storage)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"clustered_by": "k", "buckets": 4}, "bucketed table, and Delta has none"),
        ({"partition_by": "k", "liquid_clustered_by": "v"}, "exclude each other"),
        ({"partition_by": {"field": "k"}}, "partition_by is a column's name"),
        ({"liquid_clustered_by": [1]}, "liquid_clustered_by is a column's name"),
    ],
)
def test_configs_that_ask_for_what_delta_does_not_have(
    config: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidModel, match=message):
        Storage.of(config)


def test_clustered_by_without_buckets_asks_for_nothing() -> None:
    assert Storage.of({"clustered_by": "k"}) == Storage()


def test_partitions_by_texts_take_no_value_that_delta_would_store_as_null(lake: Lake) -> None:
    sql = build(lake.run("m", BAG, storage=of(partition_by=["k", "w"])))
    assert "'delta.constraints.ivm_partition_2' = '`w` IS NOT NULL AND " in sql
    assert "ivm_partition_1" not in sql


def test_a_clustered_table_is_dropped_before_it_is_partitioned() -> None:
    lake = filled(Clustered())
    lake.run("m", BAG, storage=of(liquid_clustered_by="k"))
    refresh = lake.run("m", BAG, storage=of(partition_by="k"))
    assert refresh.reason == "STORAGE_CHANGED"
    assert [s.kind for s in refresh.statements] == [
        StatementKind.DROP_STATE,
        StatementKind.BUILD,
        StatementKind.CREATE_VIEW,
    ]


def test_a_build_by_empty_is_stored_without_them(lake: Lake) -> None:
    assert "CLUSTER" not in build(lake.run("m", BAG, partial=True, storage=of(partition_by="k")))


# -- checks --------------------------------------------------------------------------------


def checked(**checks: str) -> Storage:
    return Storage(checks=checks)


@pytest.mark.parametrize(
    ("sql", "condition", "stored"),
    [
        (BAG, "v > 0", "v > 0"),
        (GROUPED, "n > 0 and N < 9 -- n", "`__ivm_count__` > 0 and `__ivm_count__` < 9 -- n"),
        ("select k as `a b` from s.x", "`a b` is not null", "`__ivm_col_1__` is not null"),
        (PLAIN, "y + n > 0", "`__ivm_col_1__` + `__ivm_col_2__` > 0"),
        ("select w, v from s.x order by v", "v > 0", "v > 0"),
    ],
)
def test_a_check_of_a_views_rows_is_one_of_the_states(
    lake: Lake, sql: str, condition: str, stored: str
) -> None:
    refresh = lake.run("m", sql, storage=checked(c=condition))
    assert f"'delta.constraints.c' = '{stored}'" in build(refresh)
    assert refresh.warning is None


@pytest.mark.parametrize(
    ("sql", "condition", "why"),
    [
        (f"{GROUPED} having count(*) > 1", "n > 1", "rows that the view leaves out"),
        (f"{BAG} order by v limit 1", "v > 0", "rows that the view leaves out"),
        (f"{BAG} order by v offset 1", "v > 0", "rows that the view leaves out"),
        (GROUPED, "mean > 0", "the state has no column mean"),
        (BAG, "v > (select 1)", "about more than one row"),
        (BAG, "v > sum(v)", "about more than one row"),
        (BAG, "v > (", "the planner cannot read it"),
    ],
)
def test_a_check_that_the_state_cannot_make_is_told(
    lake: Lake, sql: str, condition: str, why: str
) -> None:
    refresh = lake.run("m", sql, storage=checked(c=condition))
    assert "delta.constraints.c" not in build(refresh)
    assert refresh.warning is not None
    assert "m: these constraints of the contract are not enforced: c (" in refresh.warning
    assert why in refresh.warning
    again = lake.run("m", sql, storage=checked(c=condition))
    assert again.warning is None and again.statements == ()


# -- changes -------------------------------------------------------------------------------


def test_another_clustering_is_altered(lake: Lake) -> None:
    lake.run("m", BAG)
    first = lake.run("m", BAG, storage=of(liquid_clustered_by="k"))
    assert (first.strategy.value, altered(first)) == ("noop", ["CLUSTER BY (`k`)"])
    assert [s.kind for s in first.statements] == [StatementKind.ALTER, StatementKind.MERGE]
    assert lake.run("m", BAG, storage=of(liquid_clustered_by="k")).statements == ()
    lake.change("x", insert=[(3, 3, "c")])
    second = lake.run("m", BAG)
    assert (second.strategy.value, altered(second)) == ("incremental", ["CLUSTER BY NONE"])
    lake.check("m")


def test_other_checks_are_altered(lake: Lake) -> None:
    lake.run("m", GROUPED, storage=checked(a="n > 0", b="w <> ''"))
    refresh = lake.run("m", GROUPED, storage=checked(b="w <> ' '", c="n < 9", d="mean > 0"))
    assert altered(refresh) == [
        "DROP CONSTRAINT IF EXISTS `a`",
        "DROP CONSTRAINT IF EXISTS `b`",
        "ADD CONSTRAINT `b` CHECK (w <> ' ')",
        "DROP CONSTRAINT IF EXISTS `c`",
        "ADD CONSTRAINT `c` CHECK (`__ivm_count__` < 9)",
        "DROP CONSTRAINT IF EXISTS `d`",
    ]
    assert refresh.warning is not None and "d (the state has no column mean)" in refresh.warning


def test_other_partitions_are_a_rebuild(lake: Lake) -> None:
    lake.run("m", BAG, storage=of(partition_by="k"))
    refresh = lake.run("m", BAG)
    assert (refresh.strategy.value, refresh.reason) == ("full", "STORAGE_CHANGED")
    assert "PARTITIONED" not in build(refresh)


@pytest.mark.parametrize("storage", [of(partition_by="k"), of(liquid_clustered_by="k")])
def test_what_on_configuration_change_says(lake: Lake, storage: Storage) -> None:
    lake.run("m", BAG)
    fail = Options(on_configuration_change=OnConfigurationChange.FAIL)
    with pytest.raises(InvalidModel, match="on_configuration_change: fail forbids to apply it"):
        lake.run("m", BAG, storage=storage, options=fail)
    kept = Options(on_configuration_change=OnConfigurationChange.CONTINUE)
    lake.change("x", insert=[(3, 3, "c")])
    refresh = lake.run("m", BAG, storage=storage, options=kept)
    assert refresh.strategy.value == "incremental" and not altered(refresh)
    assert refresh.warning is not None and "the state stays as it is" in refresh.warning
    bookmark = Bookmark.of(lake.commits["m__ivm_state"][0].user_metadata)
    assert bookmark is not None and bookmark.storage == {}


def test_full_refresh_false_forbids_other_partitions_alone(lake: Lake) -> None:
    lake.run("m", BAG)
    with pytest.raises(InvalidModel, match=r"forbids to apply it.*full_refresh: false out of"):
        lake.run("m", BAG, storage=of(partition_by="k"), full_refresh=False)
    assert altered(lake.run("m", BAG, storage=of(liquid_clustered_by="k"), full_refresh=False))


# -- a schema of its own -------------------------------------------------------------------


# -- table properties ----------------------------------------------------------------------


def test_table_properties_of_a_standing_state_are_altered(lake: Lake) -> None:
    """Until something rebuilt the state they had no effect, and nothing told so."""
    kept, feed = {"delta.logRetentionDuration": "interval 90 days"}, "delta.enableChangeDataFeed"
    lake.run("m", BAG)
    first = lake.run("m", BAG, properties=kept)
    assert altered(first) == [
        "SET TBLPROPERTIES ('delta.logRetentionDuration' = 'interval 90 days')"
    ]
    assert lake.run("m", BAG, properties=kept).statements == ()
    lake.change("x", insert=[(3, 3, "c")])
    other = lake.run("m", BAG, properties={feed: "false"})
    assert altered(other) == [
        f"SET TBLPROPERTIES ('{feed}' = 'false')",
        "UNSET TBLPROPERTIES IF EXISTS ('delta.logRetentionDuration')",
    ]
    assert other.strategy is Strategy.INCREMENTAL
    assert altered(lake.run("m", BAG)) == [f"SET TBLPROPERTIES ('{feed}' = 'true')"]
    assert lake.run("m", BAG).statements == ()


@pytest.mark.parametrize("choice", list(OnConfigurationChange))
def test_a_bookmark_that_tells_of_no_properties(lake: Lake, choice: OnConfigurationChange) -> None:
    """Of an older version: what the state has already is no change, under any configuration."""
    options = {"options": Options(on_configuration_change=choice), "properties": {"a": "b"}}
    lake.run("m", BAG, **options)
    (commit,) = lake.commits["m__ivm_state"]
    bookmark = Bookmark.of(commit.user_metadata)
    assert bookmark is not None and bookmark.storage.get("properties") == {"a": "b"}
    older = replace(bookmark, storage={}).text()
    lake.commits["m__ivm_state"] = [replace(commit, user_metadata=older)]
    same = lake.run("m", BAG, **options)
    assert (same.statements, same.warning) == ((), None)


@pytest.mark.parametrize("name", ["delta.constraints.mine", "delta.columnMapping.mode"])
def test_properties_that_only_a_build_can_set_rebuild_the_state(lake: Lake, name: str) -> None:
    lake.run("m", BAG)
    for properties in ({name: "name"}, {}):
        assert lake.run("m", BAG, properties=properties).reason == "STORAGE_CHANGED"
    with pytest.raises(InvalidModel, match="full_refresh: false forbids"):
        lake.run("m", BAG, properties={name: "name"}, full_refresh=False)


def test_table_properties_of_a_build_are_not_altered_afterwards(lake: Lake) -> None:
    assert "'a' = 'b'" in build(lake.run("m", BAG, properties={"a": "b"}))
    assert lake.run("m", BAG, properties={"a": "b"}).statements == ()


@pytest.mark.parametrize("partial", [True, False])
def test_a_state_may_have_a_schema_of_its_own(lake: Lake, partial: bool) -> None:
    request = lake.request("m", BAG, state=("own", "m__ivm_state"), partial=partial)
    first, second, *_ = plan_refresh(request, lake).statements
    assert first.kind is StatementKind.CREATE_SCHEMA
    assert first.sql == "CREATE SCHEMA IF NOT EXISTS own"
    assert "own.m__ivm_state" in second.sql
