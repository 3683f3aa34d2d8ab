"""What a query reads of its sources, and changes of which it sees nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from python_ivm.bind.binder import bind
from python_ivm.bind.union_types import known
from python_ivm.optimize.cost import Cost, Execution
from python_ivm.optimize.irrelevant_updates import comparable, relevant
from python_ivm.parse.parser import DIALECT, parse
from python_ivm.qualify.schema import TableSchema, kind_of
from python_ivm.refresh import changed_keys
from python_ivm.refresh.plan import Strategy
from tests.planner.lake import Lake, Row
from tests.planner.stories import View

COLUMNS = {"k": "int", "v": "int", "t": "string", "x": "double"}
SCHEMAS = {f"s.{name}": TableSchema(("s", name), COLUMNS) for name in "ab"}


@pytest.fixture
def lake(monkeypatch: pytest.MonkeyPatch) -> Lake:
    """Two tables that are so large that it is asked what the query sees of a change."""
    monkeypatch.setattr(Cost, "is_worth_a_question", lambda *arguments: True)
    made = Lake()
    for name in "ab":
        columns = {column: kind for column, kind in COLUMNS.items() if column != "x"}
        made.create(name, columns, [(k, 10 * k, f"t{k}") for k in range(1, 6)])
    return made


def read(sql: str) -> dict[str, str | None]:
    """The condition on each source's rows, as SQL."""
    plan = bind(parse(sql), SCHEMAS, known({})).plan
    found = relevant(plan, partial(kind_of, SCHEMAS))
    return {
        source: None if reads.condition is None else reads.condition.sql(dialect=DIALECT)
        for source, reads in found.items()
    }


@pytest.mark.parametrize(
    ("sql", "of_a", "of_b"),
    [
        ("select v from s.a where t = 'x'", "t = 'x'", ""),
        ("select v from s.a", None, ""),
        ("select a.v from s.a, s.b where a.k = b.k and b.t = 'x' and a.v > b.v", None, "t = 'x'"),
        # Rows of the left side come whatever ON says of them.
        ("select b.v from s.a left join s.b on a.k = b.k and a.v > 1 and b.v > 2", None, "v > 2"),
        ("select b.v from s.a left join s.b on a.k = b.k where a.v > 1", "v > 1", None),
        ("select b.v from s.a left join s.b on a.k = b.k where b.v is null", None, None),
        ("select b.v from s.a full join s.b on a.k = b.k and b.v > 2", None, None),
        ("select v from s.a where exists (select 1 from s.b where b.k = a.k and b.t = 'x' "
         "and a.v > 3)", "v > 3", "t = 'x'"),
        ("select v from s.a where not exists (select 1 from s.b where b.k = a.k and b.t = 'x' "
         "and a.v > 3)", None, "t = 'x'"),
        ("select v, exists (select 1 from s.b where b.k = a.k and b.v > 1) as e from s.a "
         "where t = 'x'", "t = 'x'", "v > 1"),
        ("select x.v from s.a x, s.a y where x.k = y.v and x.t = 'x' and y.t = 'y'",
         "t = 'x' OR t = 'y'", ""),
        ("select x.v from s.a x, s.a y where x.k = y.v and x.t = 'x'", None, ""),
        ("select v from s.a where t = 'x' union all select v from s.a where t = 'x' and k > 1",
         "t = 'x' OR (t = 'x' AND k > 1)", ""),
        ("select u from (select upper(t) as u, v from s.a) where u = 'X' and v > 1",
         "UPPER(t) = 'X' AND v > 1", ""),
        ("select w from (select v as w from s.a union all select k from s.b) where w > 1",
         "v > 1", "k > 1"),
        # What stands below comes first: it may guard what stands above.
        ("select q.k from (select k, t from s.a where t like '%1') q join s.b on q.k = b.k "
         "where cast(q.t as int) > 1", "t LIKE '%1' AND CAST(t AS INT) > 1", None),
        # A group is seen by its key, a partition by its own; not by what is computed for it.
        ("select k, sum(v) as n from s.a group by k having k > 1 and sum(v) > 2", "k > 1", ""),
        ("select * from (select k, v, rank() over (partition by k order by v) as r from s.a) "
         "where k > 1 and r < 3 and v > 4", "k > 1", ""),
        # 0.0 and -0.0 are one group; of a computed key it is not known what it is.
        ("select x, sum(v) as n from s.a group by x having x > 1", None, ""),
        ("select * from (select x, rank() over (partition by x order by v) as r from s.a) "
         "where x > 1", None, ""),
        ("select u, sum(v) as n from (select k + 1 as u, v from s.a) group by u having u > 1",
         None, ""),
        ("select * from (select k, v from s.a order by v limit 3) where k > 1", None, ""),
        ("with c as (select k, v from s.a where v > 0) select x.k from c x, c y "
         "where x.k = 1 and y.k = 2", "v > 0", ""),
        ("select e from s.a lateral view explode(sequence(1, v)) q as e where k > 1 and e > 2",
         "k > 1", ""),
    ],
)  # fmt: skip
def test_conditions_on_a_sources_rows(sql: str, of_a: str | None, of_b: str | None) -> None:
    found = read(sql)
    plain = {s: c and c.replace("`", "").replace("changed.", "") for s, c in found.items()}
    assert plain == {"s.a": of_a} | ({"s.b": of_b} if of_b != "" else {})


SQL = "select a.k, sum(b.v) as n from s.a join s.b on a.k = b.k where a.t <> 't3' group by a.k"


@pytest.mark.parametrize(
    ("gone", "came"),
    [
        ([(3, 30, "t3")], [(3, 31, "t3"), (9, 9, "t3"), (1, 1, None)]),
        ([(1, 10, "t1"), (2, 20, "t2")], [(1, 11, "t1"), (2, None, "t2")]),
        ([(1, 10, "t1"), (2, 20, "t2")], [(1, 20, "t1"), (2, 10, "t2")]),
    ],
    ids=["rows", "columns", "columns exchanged"],
)
def test_a_change_that_the_query_does_not_see_moves_the_bookmark_alone(
    lake: Lake, gone: list[Row], came: list[Row]
) -> None:
    view = View(lake, SQL)
    lake.change("a", delete=gone, insert=came)
    refresh = view.refresh(Strategy.NOOP)
    (moved,) = refresh.statements
    assert "WHEN MATCHED THEN DELETE" in moved.sql and moved.bookmark is not None
    assert "s.a" not in moved.sql
    assert view.refresh(Strategy.NOOP).statements == ()


@pytest.mark.parametrize(
    ("gone", "came"),
    [
        ([(1, 10, "t1")], [(1, 10, "t1"), (1, 11, "t1")]),
        ([(3, 30, "t3")], [(3, 30, "t")]),
        ([(1, 10, "t1")], [(1, 10, "t3")]),
        ([(1, 10, "t1"), (2, 20, "t2")], [(2, 10, "t1")] * 2),
        ([(1, 10, "t1")], [(1, 10, None)]),
    ],
    ids=["once more", "into the filter", "out of it", "another key", "to NULL"],
)
def test_a_change_that_it_sees_is_followed(lake: Lake, gone: list[Row], came: list[Row]) -> None:
    view = View(lake, SQL)
    lake.change("a", delete=gone, insert=came)
    view.refresh()


def test_of_several_changes_those_are_followed_that_it_sees(lake: Lake) -> None:
    view = View(lake, SQL)
    lake.change("a", delete=[(1, 10, "t1")], insert=[(1, 11, "t1")])
    lake.change("b", delete=[(2, 20, "t2")], insert=[(2, 21, "t2")])
    refresh = view.refresh()
    assert refresh.ranges == ("b@0→1",)
    (merge,) = refresh.statements
    assert "delta_a" not in merge.sql and "delta_b" in merge.sql
    assert len(lake.asked) == 1
    view.refresh(Strategy.NOOP)
    lake.change("a", insert=[(2, 0, "new")])
    view.refresh()


def test_rows_that_came_and_went_in_several_commits_are_not_seen(lake: Lake) -> None:
    view = View(lake, SQL)
    lake.change("a", insert=[(1, 1, "x"), (2, 2, "y")])
    lake.change("a", delete=[(1, 1, "x")], insert=[(1, 5, "x")])
    lake.change("a", delete=[(1, 5, "x"), (2, 2, "y")])
    view.refresh(Strategy.NOOP)


def test_added_rows_are_only_asked_for_the_condition(lake: Lake) -> None:
    view = View(lake, SQL)
    lake.change("a", insert=[(1, 1, "t3")])
    view.refresh(Strategy.NOOP)
    lake.change("a", insert=[(1, 1, "t4")])
    view.refresh()
    assert all("SUM(" not in asked for asked in lake.asked)


def test_many_keys_are_not_asked_for_if_the_query_sees_none_of_them(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_keys, "_MOST_LISTED", 1)
    view = View(lake, SQL)
    change = {"delete": [(k, 10 * k, f"t{k}") for k in (1, 2, 4)]}
    lake.change("a", **change, insert=[(k, 7, f"t{k}") for k in (1, 2, 4)])
    view.refresh(Strategy.NOOP)
    assert len(lake.asked) == 1
    lake.change("a", insert=[(1, 1, "t3"), (2, 2, "t3"), (4, 4, "t")])
    view.refresh()


def test_of_many_changed_rows_it_is_not_found_out_which_stayed_the_same(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_keys, "_MOST_NETTED", 1)
    view = View(lake, SQL)
    gone = [(1, 10, "t1"), (2, 20, "t2")]
    lake.change("a", delete=gone, insert=[(k, v + 1, t) for k, v, t in gone])
    view.refresh()
    lake.change("a", delete=[(3, 30, "t3")], insert=[(6, 1, "t3"), (7, 1, "t3")])
    view.refresh(Strategy.NOOP)


def test_a_change_that_cannot_be_asked_about_is_followed(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(sql: str) -> list[list[str | None]]:
        raise RuntimeError("no")

    monkeypatch.setattr(lake, "texts", failing)
    view = View(lake, SQL)
    lake.change("a", delete=[(1, 10, "t1")], insert=[(1, 11, "t1")])
    view.refresh()


def test_a_count_of_all_rows_sees_their_number(lake: Lake) -> None:
    view = View(lake, "select count(*) as n from s.a")
    lake.change("a", delete=[(1, 10, "t1")], insert=[(7, 7, "t7")])
    view.refresh(Strategy.NOOP)
    lake.change("a", delete=[(2, 20, "t2")])
    view.refresh()


def test_the_sign_of_zero_is_seen(lake: Lake) -> None:
    lake.create("f", {"k": "int", "x": "double"}, [(1, 0.0), (2, float("nan")), (3, 1.5)])
    view = View(lake, "select k, cast(x as string) as t from s.f where x <> 1.5")
    lake.change("f", delete=[(2, float("nan")), (3, 1.5)], insert=[(2, float("nan")), (4, 1.5)])
    view.refresh(Strategy.NOOP)
    lake.change("f", delete=[(1, 0.0)], insert=[(1, -0.0)])
    view.refresh()
    view.shows((1, "-0.0"), (2, "nan"))


@pytest.mark.parametrize(
    "sql",
    [
        "select s, n from (select cast(x as string) as s, count(*) over (partition by x) as n "
        "from s.f) w where s = '0.0'",
        "select distinct x from s.f where exists (select 1 from s.f g where g.x = f.x and g.k = 9)",
    ],
    ids=["partition", "subquery"],
)
def test_a_row_that_the_condition_leaves_out_counts_among_equal_ones(lake: Lake, sql: str) -> None:
    lake.create("f", {"k": "int", "x": "double"}, [(1, 0.0), (2, 1.5)])
    view = View(lake, sql)
    lake.change("f", insert=[(9, -0.0)])
    view.refresh()


def test_a_model_above_sees_what_it_reads_of_the_one_below(lake: Lake) -> None:
    below = View(lake, "select k, count(*) as c, sum(v) as n from s.a group by k")
    sql = "select k, c from s.m where k > 1"
    lake.run("top", sql)
    lake.change("a", delete=[(1, 10, "t1"), (2, 20, "t2")], insert=[(2, 21, "t2")])
    below.refresh()
    assert lake.run("top", sql).strategy is Strategy.NOOP
    lake.check("top")
    lake.change("a", delete=[(3, 30, "t3")], insert=[(2, 1, "new")])
    below.refresh()
    assert lake.run("top", sql).strategy is Strategy.INCREMENTAL
    lake.check("top")


@pytest.mark.parametrize(
    "kind",
    [
        "string collate UTF8_LCASE",
        "map<int,int>",
        "array<double>",
        "struct<a:int>",
        "variant",
        None,
    ],
)
def test_values_that_may_be_equal_and_not_the_same(kind: str | None) -> None:
    assert comparable(["int", "DECIMAL(12,2)", "timestamp_ntz", "varchar(3)"]) is not None
    assert comparable(["int", kind]) is None


def test_where_a_condition_fails_keys_are_asked_for_all_the_same(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = lake.texts

    def failing(sql: str, execution: Execution) -> Sequence[Sequence[str | None]]:
        if "LIKE" in sql:
            raise RuntimeError("no number")
        return texts(sql, execution)

    monkeypatch.setattr(lake, "texts", failing)
    view = View(lake, "select a.k, b.v from s.a join s.b on a.k = b.k where a.t like 't%'")
    lake.change("a", insert=[(3, 3, "x")])
    assert "b.k = 3" in view.planned().sql
    view.refresh()
