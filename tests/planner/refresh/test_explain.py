"""What `ivm_explain` tells of a model."""

from __future__ import annotations

import pytest

from python_ivm.explain.explain import explain
from python_ivm.sources.history import DataFile
from tests.planner.lake import Lake

TABLES = {"r": {"a": "int", "v": "int"}, "s": {"a": "int", "w": "int"}}
JOIN = (
    "select r.a, min(r.v) low, count(distinct s.w) n, sum(s.w) t "
    "from s.r left join s.s on r.a = s.a group by r.a"
)


def told(lake: Lake, sql: str) -> str:
    return explain(lake.request("m", sql), lake)


def test_a_maintained_model_is_explained(lake: Lake) -> None:
    for name, columns in TABLES.items():
        lake.create(name, columns, [(1, 1)])
    before = told(lake, JOIN)
    assert "Not built yet." in before
    lake.run("m", JOIN)
    lake.change("r", insert=[(2, 2)])
    text = told(lake, JOIN)
    assert "Shows s.r@0, s.s@0 (refresh 1)." in text
    assert "LeftJoin on r.a = s.a" in text
    graph = text.split("Normal form, join graph and maintenance graph")[1].split("Stored")[0]
    assert "{r, s} ⊎ {r}" in graph
    assert "  {r} → {r, s}\n" in graph
    assert [line.split() for line in graph.rstrip().splitlines()[-2:]] == [
        ["{r,", "s}", "D", "D"], ["{r}", "D", "I"],
    ]  # fmt: skip
    assert "  low = MIN(r.v)\n" in text
    assert "  low: in groups that lost the row" in text
    assert "  n: in every changed group, as COUNT(DISTINCT s.w) does not follow" in text
    assert text.count("MERGE INTO s.m__ivm_state") == 3
    lake.refresh_and_check("m", JOIN)


def test_the_terms_of_an_outer_joins_primary_and_secondary_delta_are_told(lake: Lake) -> None:
    for name, columns in TABLES.items():
        lake.create(name, columns, [(1, 1)])
    for kind in ("left", "full"):
        text = told(lake, f"select r.v, s.w from s.r {kind} join s.s on r.a = s.a")
        change = text.split("When s.s changes")[1]
        primary, secondary = change.split("MERGE INTO")[0].split("Secondary delta:\n")
        assert "Primary delta:\n  Δs" in primary
        secondary = secondary.split("\n\n")[0].strip()
        assert secondary and secondary in change.split("MERGE INTO")[1]
        assert "Δ" not in secondary
    assert "Secondary delta" not in told(lake, "select r.v from s.r join s.s on r.a = s.a")


def test_what_is_merged_where_a_change_is_not_followed_is_told(lake: Lake) -> None:
    for name, columns in TABLES.items():
        lake.create(name, columns, [(1, 1)])
    section = told(lake, JOIN).split("When a change is more expensive to follow than to recompute")[
        1
    ]
    assert "FULL JOIN" in section.split("Build and view")[0]


LAYOUTS = "Layouts that help"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        # x is looked up by changed keys of y, y by those of x, and the view by those of x
        ("select x.k, y.d from s.x join s.y on y.k = x.k",
         ["s.m__ivm_state: d or k", "s.x: k", "s.y: k"]),
        ("select x.k from s.x where not exists (select 1 from s.y where y.t = x.t)",
         ["s.m__ivm_state: k"]),
        ("select y.d, sum(x.v) n from s.x join s.y on y.k = x.v where y.t <> '' group by y.d",
         ["s.m__ivm_state: d", "s.x: v", "s.y: k"]),
        ("select x.k + 1 as k1 from s.x", []),
    ],
)  # fmt: skip
def test_columns_are_named_by_which_tables_should_be_laid_out(
    lake: Lake, sql: str, expected: list[str]
) -> None:
    for name in ("x", "y"):
        columns = {"k": "int", "v": "bigint", "t": "string", "d": "date"}
        lake.create(name, columns, [(1, 1, "a", "2024-01-01")])
    text = told(lake, sql)
    found = text.split(LAYOUTS)[1].split("\n\n")[0].splitlines() if LAYOUTS in text else []
    assert [line.strip() for line in found if line.startswith("  ")] == expected


def test_what_clustering_would_spare_is_told_by_the_files_statistics(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of x come by k, so that each v may be in any file; y is small."""
    for name in ("x", "y"):
        lake.create(name, {"k": "int", "v": "bigint"}, [(1, 1)])
    files = [
        DataFile(100_000, {"k": 100 * n, "v": 0}, {"k": 100 * n + 99, "v": 999}) for n in range(10)
    ]
    monkeypatch.setattr(lake, "files", lambda parts: files if parts[-1] == "x" else None)
    lake.size_of = {"x": 200 * 2**20, "y": 2**20}.get
    by_v = told(lake, "select x.k, y.v as w from s.x join s.y on y.k = x.v").split(LAYOUTS)[1]
    assert (
        "  s.x: v\n"
        "    A value of v lies in 10 of its 10 files: 200 MiB.\n"
        "    If it were clustered by v, a value would lie in about one file of 16 MiB:\n"
        "      ALTER TABLE s.x CLUSTER BY (`v`); "
        "SET spark.databricks.delta.optimize.maxFileSize = 16777216; OPTIMIZE s.x FULL; "
        "RESET spark.databricks.delta.optimize.maxFileSize\n"
        "  s.y: k\n"
        "    It has 1.0 MiB: too little for its layout to matter.\n"
    ) in by_v
    by_both = "select x.k from s.x join s.y on y.k = x.k join s.y as z on z.k = x.v"
    assert (
        "  s.x: k or v\n"
        "    A value of k lies in 1 of its 10 files: 20 MiB.\n"
        "    A value of v lies in 10 of its 10 files: 200 MiB.\n"
        "    So it is laid out by one of them; to cluster it by another one would lose that.\n"
    ) in told(lake, by_both)


@pytest.mark.parametrize(("gib", "file"), [(1, 16), (100, 102), (5_000, 1_024)])
def test_a_large_source_is_clustered_in_about_a_thousand_files(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, gib: int, file: int
) -> None:
    """By Delta's own setting one of less than a GiB would have one file, and nothing be skipped."""
    for name in ("x", "y"):
        lake.create(name, {"k": "int", "v": "bigint"}, [(1, 1)])
    files = [DataFile(100_000, {"v": 0}, {"v": 999})] * 4
    monkeypatch.setattr(lake, "files", lambda parts: files if parts[-1] == "x" else None)
    lake.size_of = {"x": gib * 2**30}.get
    text = told(lake, "select x.k, y.v as w from s.x join s.y on y.k = x.v").split(LAYOUTS)[1]
    assert f"would lie in about one file of {file:,} MiB:\n" in text
    assert f"optimize.maxFileSize = {file * 2**20};" in text


@pytest.mark.parametrize(
    ("sql", "advice"),
    [
        (
            "select k as shown, sum(v) as n from s.x group by k",
            "liquid_clustered_by: shown (config",
        ),
        ("select sum(v) as n from s.x group by k", None),
    ],
)
def test_a_state_is_clustered_by_what_its_view_shows(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, sql: str, advice: str | None
) -> None:
    lake.create("x", {"k": "int", "v": "bigint"}, [(1, 1)])
    lake.run("m", sql)
    names = ("k", "shown", "__ivm_key_1__")
    files = [DataFile(100_000, dict.fromkeys(names, 0), dict.fromkeys(names, 999))] * 4
    monkeypatch.setattr(lake, "files", lambda parts: files)
    lake.size_of = {"m__ivm_state": 100 * 2**20}.get
    text = told(lake, sql).split(LAYOUTS)[1]
    assert "lies in 4 of its 4 files: 100 MiB.\n" in text
    assert (advice in text) if advice else ("clustered_by" not in text)


def test_the_state_of_another_model_is_clustered_by_that_ones_config(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.create("x", {"k": "int", "v": "bigint"}, [(1, 1)])
    lake.run("m1", "select k, sum(v) as n from s.x group by k")
    files = [DataFile(100_000, {"k": 0, "n": 0}, {"k": 999, "n": 9})] * 4
    monkeypatch.setattr(lake, "files", lambda parts: files)
    lake.size_of = {"m1__ivm_state": 100 * 2**20}.get
    text = told(lake, "select m1.k, x.v from s.m1 join s.x on x.k = m1.k").split(LAYOUTS)[1]
    advice = "liquid_clustered_by: k (config of its model); dbt run; dbt-sparkivm maintain --force"
    gain = "If it were clustered by k, a value would lie in about one file of 16 MiB:"
    assert f"    {gain}\n      {advice}\n" in text


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select a, count(*) n, sum(v) t from s.r group by a", []),
        ("select r.a from s.r where exists (select 1 from s.s where s.a = r.a)", []),
        ("select a, row_number() over (partition by a order by v) n from s.r",
         ["windowed: the changed partitions by r.a, now and before"]),
        ("select a, sum(v) over () n from s.r", ["windowed: all rows (no PARTITION BY)"]),
        ("select t.a from (select a from s.r order by a limit 3) t join s.s on s.a = t.a",
         ["r: the sorted rows"]),
        ("select n, count(*) c from (select a, count(*) n from s.r group by a) q group by n",
         ["q: the changed groups of a, now and before"]),
        ("select stddev(v) d from s.r", ["d: in every changed group, as STDDEV(r.v)"]),
    ],
)  # fmt: skip
def test_every_recomputation_is_told_with_its_reason(
    lake: Lake, sql: str, expected: list[str]
) -> None:
    for name, columns in TABLES.items():
        lake.create(name, columns, [(1, 1)])
    section = told(lake, sql).partition("Recomputed where a change touches it\n")[2]
    found = [line.strip() for line in section.split("\n\n")[0].splitlines()[1:]]
    assert len(found) == len(expected)
    for line, start in zip(found, expected, strict=True):
        assert line.startswith(start)


def test_a_source_that_is_not_deltas_is_told(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.create("r", TABLES["r"], [(1, 1)])
    monkeypatch.setattr(lake, "history", lambda parts, limit: None)
    assert "(SOURCE_NOT_DELTA): s.r is not a Delta table" in told(lake, "select a from s.r")


def test_a_model_that_is_rebuilt_says_why(lake: Lake) -> None:
    lake.create("r", TABLES["r"], [(1, 1)])
    text = told(lake, "select to_json(struct(*)) as j from s.r")
    assert "Every change rebuilds the view in full (NOT_YET_IMPLEMENTED): * here" in text


def test_a_recursion_below_an_aggregate_is_told_to_want_a_model_of_its_own(lake: Lake) -> None:
    lake.create("r", TABLES["r"], [(1, 1)])
    text = told(
        lake,
        "with recursive n as (select a, count(*) as i from s.r group by a union all "
        "select a, i + 1 from n where i < 3) select i, count(*) as c from n group by i",
    )
    assert "Recursion n (a, i)" in text
    assert "WorkingTable of n as n_2" in text
    section = text.split("Recomputed where a change touches it")[1].split("\n\n")[0]
    assert section.splitlines()[2:] == [
        "  n: all rounds before, as the state does not hold their rows; as a model of its own it "
        "follows what changed"
    ]
