"""What is joined to changed rows is bounded by their keys, where that changes no result."""

from __future__ import annotations

import datetime as dt

import pytest

from python_ivm.optimize.analysis.bounds import Range
from python_ivm.optimize.cost import Cost
from python_ivm.refresh import changed_keys
from python_ivm.refresh.metadata.table_statistics import TableStatistics
from python_ivm.refresh.statement import StatementKind
from tests.planner.lake import Lake
from tests.planner.optimize.bounds import is_bounded, one_of, only_one_of

ROWS = {
    "a": {"k": "int", "d": "date", "t": "string", "v": "int"},
    "b": {"k": "bigint", "d": "date", "t": "string", "w": "int"},
}


@pytest.fixture
def lake() -> Lake:
    return eight_rows()


def eight_rows() -> Lake:
    """A lake of two tables with the keys 1 to 8, and one row of NULLs in each."""
    made = Lake()
    for name, columns in ROWS.items():
        rows = [(k, f"2024-01-0{k}", f"t{k}", 10 * k) for k in range(1, 9)]
        made.create(name, columns, [*rows, (None, None, None, 0)])
    return made


def merged(lake: Lake, sql: str) -> str:
    """The MERGE of a refresh after rows 3 and 5 of a were updated and doubled; on one line."""
    lake.run("m", sql)
    gone = [(k, f"2024-01-0{k}", f"t{k}", 10 * k) for k in (3, 5)]
    lake.change("a", delete=gone, insert=2 * [(*row[:3], row[3] + 1) for row in gone])
    lake.run("m", sql)
    lake.check("m")
    statement = lake.executed[-1]
    assert statement.kind is StatementKind.MERGE
    return " ".join(statement.sql.split())


@pytest.mark.parametrize(
    ("sql", "bound"),
    [
        ("select a.v, b.w from s.a a join s.b b on a.k = b.k", only_one_of("b.k", 3, 5)),
        (
            "select a.v, b.w from s.a a join s.b b on a.d = b.d",
            only_one_of("b.d", "CAST('2024-01-03' AS DATE)", "CAST('2024-01-05' AS DATE)"),
        ),
        (
            "select a.v, b.w from s.a a join s.b b on a.k <=> b.k",
            only_one_of("b.k", 3, 5, or_null=True),
        ),
        ("select a.v, b.w from s.a a left join s.b b on a.k = b.k", one_of("b.k", 3, 5)),
        ("select b.w, a.v from s.b b left join s.a a on a.k = b.k", only_one_of("b.k", 3, 5)),
        (
            "select v from s.a a where not exists (select 1 from s.b b where b.k = a.k)",
            one_of("subquery.k", 3, 5),
        ),
        (
            "select w from s.b b where not exists (select 1 from s.a a where b.k = a.k)",
            only_one_of("b.k", 3, 5),
        ),
        ("select k, max(v) as m from s.a group by k", only_one_of("a.k", 3, 5)),
        ("select k, v from s.a", one_of("stored.k", 3, 5, or_null=True)),
        ("select k, sum(v) as n from s.a group by k", one_of("stored.k", 3, 5, or_null=True)),
        (
            "select x.n, b.w from (select k, count(*) n from s.a group by k) x, s.b b "
            "where x.k = b.k",
            only_one_of("b.k", 3, 5),
        ),
        (
            "select x.w, a.v, c.w as u from s.b x full join s.a a on a.d = x.d "
            "full join s.b c on c.k = a.k",
            f"WHERE {only_one_of('c.k', 3, 5)}",
        ),
    ],
)
def test_a_key_that_equals_a_changed_one_is_bounded(lake: Lake, sql: str, bound: str) -> None:
    assert bound in merged(lake, sql)


@pytest.mark.parametrize(
    "condition",
    ["a.t = b.t", "a.k + 1 = b.k", "a.k < b.k", "a.k = b.k or a.v = b.w"],
)
def test_other_conditions_bound_nothing(lake: Lake, condition: str) -> None:
    text = merged(lake, f"select a.t, b.t as u from s.a a join s.b b on {condition}")
    assert not is_bounded(text)


def test_a_key_that_the_query_itself_shows_or_not_bounds_what_is_joined(lake: Lake) -> None:
    """A value or NULL: no other one. But nothing reaches a table through the choice."""
    shown = "(select case when v > 30 then k end as k, v from s.{}) {}".format
    sql = f"select a.v, b.w from {shown('a', 'a')} join s.b b on a.k = b.k"
    assert only_one_of("b.k", 3, 5) in merged(lake, sql)
    shown = "(select case when w > 30 then k end as k, w from s.{}) {}".format
    lake.run("n", f"select a.v, b.w from s.a a join {shown('b', 'b')} on a.k = b.k")
    lake.change("a", insert=[(7, None, None, 1)])
    lake.run("n", f"select a.v, b.w from s.a a join {shown('b', 'b')} on a.k = b.k")
    lake.check("n")
    assert "k = 7" not in lake.executed[-1].sql


@pytest.mark.parametrize("end", ["else 5 end", "when v < 0 then 5 end"])
def test_a_key_that_may_be_another_value_bounds_nothing(lake: Lake, end: str) -> None:
    sql = (
        f"select a.v, b.w from (select case when v > 30 then k {end} as k, v from s.a) a "
        "join s.b b on a.k = b.k"
    )
    assert not is_bounded(merged(lake, sql), "b.k")


@pytest.mark.parametrize(
    "sql",
    [
        "select t, sum(v) as n from s.a group by t",
        "select k % 2 as p, sum(v) as n from s.a group by k % 2",
    ],
)
def test_nothing_is_asked_where_nothing_can_be_bounded(
    lake: Lake, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake, "texts", lambda sql, execution: pytest.fail(f"asked: {sql}"))
    merged(lake, sql)


def test_small_tables_are_not_bounded_nor_asked_about(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TableStatistics, "size", lambda tables, source: 2**20)
    monkeypatch.setattr(Cost, "is_more_expensive", lambda *plans: False)
    monkeypatch.setattr(lake, "texts", lambda sql, execution: pytest.fail(f"asked: {sql}"))
    sql = "select a.k, max(a.v) as v, max(b.w) as w from s.a a join s.b b on a.k = b.k group by a.k"
    assert not is_bounded(merged(lake, sql))


def test_a_large_table_beside_a_small_one_is_bounded(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        TableStatistics, "size", lambda tables, source: 2**30 if source == "s.b" else 2**20
    )
    text = merged(lake, "select b.w, c.v from s.a a, s.b b, s.a c where a.k = b.k and b.k = c.k")
    assert only_one_of("b.k", 3, 5) in text
    assert not is_bounded(text, "c.k") and not is_bounded(text, "a.k")


def test_the_state_gets_few_bounds(lake: Lake) -> None:
    text = merged(lake, "select k, v, d, k as k2, v as v2 from s.a")
    assert text.count("IS NULL )") == 3


def test_keys_that_are_all_null_bound_nothing(lake: Lake) -> None:
    sql = "select a.v, b.w from s.a a join s.b b on a.k <=> b.k"
    lake.run("m", sql)
    lake.change("a", insert=[(None, None, None, 1)])
    lake.run("m", sql)
    lake.check("m")
    assert not is_bounded(lake.executed[-1].sql, "b.k")


def test_the_ranges_of_several_changes_are_one(lake: Lake) -> None:
    sql = "select k, count(*) as n from (select k from s.a union all select k from s.b) group by k"
    lake.run("m", sql)
    lake.change("a", insert=[(7, None, None, 1)])
    lake.change("b", insert=[(-2, None, None, 1)])
    lake.run("m", sql)
    lake.check("m")
    assert one_of("stored.k", -2, 7, or_null=True) in " ".join(lake.executed[-1].sql.split())


def test_a_change_of_which_no_range_is_known_leaves_none_of_several(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = "select k, count(*) as n from (select k from s.a union all select k from s.b) group by k"
    lake.run("m", sql)
    lake.change("a", insert=[(7, None, None, 1)])
    lake.change("b", insert=[(2, None, None, 1)])
    every = lake.texts
    monkeypatch.setattr(lake, "texts", lambda sql, execution: every("?" if "`b`" in sql else sql))
    lake.run("m", sql)
    lake.check("m")
    assert not is_bounded(lake.executed[-1].sql)


def test_one_value_is_an_equality(lake: Lake) -> None:
    sql = "select a.v, b.w from s.a a join s.b b on a.k = b.k"
    lake.run("m", sql)
    lake.change("a", insert=[(4, None, None, 1)])
    lake.run("m", sql)
    lake.check("m")
    assert "b.k = 4" in lake.executed[-1].sql


def test_what_has_no_literal_is_no_range() -> None:
    assert Range.of("int", [None], True) is None
    assert Range.of("int", [], True) is None
    assert Range.of("string", ["a", "b"], True) is None
    assert Range.of("date", ["2024-01-01", "+10000-01-01"], True) is None
    for unknown in ("0000-12-31", "2023-02-29"):  # Python has no such day
        assert Range.of("date", [unknown, "2024-01-01"], True) is None
    assert Range.of(None, ["1", "2"], True) is None


def test_few_keys_beside_many_are_a_range() -> None:
    few, many = Range.of("int", ["3"], True), Range.of("int", ["1", "9"], False)
    assert few is not None and many is not None
    assert few | many == many | few == Range("int", 1, 9)


def test_many_keys_are_a_range_and_few_are_listed(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = "select a.v, b.w from s.a a join s.b b on a.k = b.k"
    text = merged(lake, sql)
    assert only_one_of("b.k", 3, 5) in text
    monkeypatch.setattr(changed_keys, "_MOST_LISTED", 2)
    lake.change("a", insert=[(k, None, None, 1) for k in (2, 4, 8)])
    lake.run("m", sql)
    lake.check("m")
    text = " ".join(lake.executed[-1].sql.split())
    assert "b.k BETWEEN 2 AND 8" in text
    assert "b.k IN" not in text


def test_keys_without_gaps_are_not_listed(lake: Lake) -> None:
    sql = "select a.v, b.w from s.a a join s.b b on a.k = b.k"
    lake.run("m", sql)
    lake.change("a", insert=[(k, None, None, 1) for k in (3, 4, 5)])
    lake.run("m", sql)
    lake.check("m")
    assert "b.k BETWEEN 3 AND 5" in lake.executed[-1].sql
    assert "b.k IN" not in lake.executed[-1].sql


def test_a_change_feed_that_cannot_be_read_bounds_nothing(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The MERGE then fails itself, and its error says that the feed has a gap."""

    def gone(sql: str) -> list[list[str]]:
        raise RuntimeError("the files of the change feed are gone")

    monkeypatch.setattr(lake, "texts", gone)
    text = merged(lake, "select a.v, b.w from s.a a join s.b b on a.k = b.k")
    assert not is_bounded(text)


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("select a.v, b.w from s.a a join s.b b on a.k = b.k", "b.k IN (1, 3, 5,"),
        (
            "select a.v, b.w from s.a a join s.b b on a.d = b.d",
            "b.d IN (CAST('2024-01-01' AS DATE), CAST('2024-01-03' AS DATE),",
        ),
    ],
)
def test_of_many_listed_keys_each_is_there(lake: Lake, sql: str, values: str) -> None:
    days = [dt.date(2024, 1, 1) + dt.timedelta(k) for k in range(200)]
    lake.run("m", sql)
    rows = [(k + 1, str(day), f"t{k}", k) for k, day in enumerate(days)]
    lake.change("b", insert=rows)
    lake.run("m", sql)
    lake.change("a", insert=rows[::2])
    lake.run("m", sql)
    lake.check("m")
    text = " ".join(lake.executed[-1].sql.split()).replace("( ", "(")
    assert values in text
    assert text.split(f" AND {values[:3]} IN (")[1].split(" GROUP")[0].count(",") == 99
