"""Bounds stand before conditions that are dear to compute, and are handed down to them."""

from __future__ import annotations

import pytest

from tests.planner.lake import Lake
from tests.planner.optimize.bounds import is_bounded, one_of
from tests.planner.optimize.test_data_skipping import eight_rows, merged


@pytest.fixture
def lake() -> Lake:
    return eight_rows()


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        (
            "select b.w, a.v from s.b b join s.a a on a.k = b.k where b.w > 3 and b.t like '%t%'",
            f"WHERE b.w > 3 AND {one_of('b.k', 3, 5)} AND b.t LIKE '%t%'",
        ),
        (
            "select a.v, b.w from s.a a left join s.b b on a.k = b.k and lower(b.t) <> 'r'",
            f"ON a.k = b.k AND {one_of('b.k', 3, 5)} AND LOWER(b.t) <> 'r'",
        ),
        (
            "select k, w from s.b b "
            "where not exists (select 1 from s.a a where a.k = b.k) and lower(b.t) <> 'r'",
            f"WHERE {one_of('b.k', 3, 5)} AND LOWER(b.t) <> 'r'",
        ),
    ],
    ids=["of a join", "of a left join", "above what a semijoin keeps"],
)
def test_a_bound_stands_before_a_dear_condition(lake: Lake, sql: str, text: str) -> None:
    assert text in merged(lake, sql)


@pytest.mark.parametrize(
    ("sql", "bound", "dear", "times"),
    [
        (
            "select n, count(*) as c from (select b.k, count(a.v) as n from s.b b "
            "left join s.a a on a.k = b.k and a.t not like 't%3' group by b.k) group by n",
            one_of("a.k", 3, 5, or_null=True),
            "a.t NOT LIKE 't%3'",
            2,
        ),
        (
            "select n, count(*) as c from (select b.k, count(x.v) as n from s.b b "
            "join (select * from s.a where t not like 't%3') x on x.k <=> b.k group by b.k) "
            "group by n",
            one_of("a.k", 3, 5, or_null=True),
            "a.t NOT LIKE 't%3'",
            2,
        ),
        (
            "select b.k, b.w from s.b b where not exists "
            "(select 1 from s.a a where a.k = b.k and upper(a.t) like 'T%')",
            one_of("a.k", 3, 5),
            "UPPER(a.t) LIKE 'T%'",
            2,
        ),
        (
            "select a.v, x.m from s.a a join "
            "(select k, max(w) as m from s.b where t not like 't%3' group by k) x on a.k = x.k",
            one_of("b.k", 3, 5),
            "b.t NOT LIKE 't%3'",
            1,
        ),
        (
            "select * from (select k, v, rank() over (partition by k order by v) as r from "
            "(select k, v from s.a where t not like 't%3' union all select w, w from s.b))",
            one_of("a.k", 3, 5, or_null=True),
            "a.t NOT LIKE 't%3'",
            2,
        ),
    ],
    ids=["left join", "subquery", "antijoin", "group", "window over a union"],
)
def test_a_bound_is_handed_down_to_a_dear_condition(
    lake: Lake, sql: str, bound: str, dear: str, times: int
) -> None:
    text = merged(lake, sql)
    assert text.count(f"{bound} AND {dear}") == times, text


def test_without_a_dear_condition_bounds_are_left_to_spark(lake: Lake) -> None:
    cheap = (
        "select n, count(*) as c from (select b.k, count(a.v) as n from s.b b "
        "left join s.a a on a.k = b.k and a.v > cast(b.w as int) and a.d is not null group by b.k) "
        "group by n"
    )
    text = merged(lake, cheap)
    assert not is_bounded(text, "a.k")
    assert "ON b.k = a.k" in text or "ON a.k = b.k" in text


def test_rows_that_two_operators_read_are_not_bounded_for_one_of_them(lake: Lake) -> None:
    """Each branch would lack the other one's rows."""
    sql = (
        "with x as (select k, v from s.a where t not like 't%3') "
        "select b.w, x.v, y.m from s.b b join x on x.k = b.k "
        "left join (select v, max(k) as m from x group by v) y on y.v = x.v"
    )
    merged(lake, sql)


def test_a_bound_of_a_null_extended_side_stays_above_the_join(lake: Lake) -> None:
    """Below it, rows that lost their only match would come with NULLs."""
    sql = (
        "select n, count(*) as c from (select q.k, count(*) as n from "
        "(select a.k, b.w from s.b b left join s.a a on a.k = b.k and a.t not like 't%3') q "
        "group by q.k) group by n"
    )
    assert merged(lake, sql).count("AND a.t NOT LIKE 't%3'") == 2


def test_conditions_of_the_query_keep_their_order(lake: Lake) -> None:
    """One may guard the next: a text without a digit is no number."""
    sql = (
        "select b.w, a.v from s.b b join s.a a on a.k = b.k "
        "where b.w > 3 and b.t rlike '^t[0-9]$' and cast(substr(b.t, 2) as int) < 9 and b.w < 99"
    )
    guarded = f"WHERE b.w > 3 AND {one_of('b.k', 3, 5)} AND b.t RLIKE '^t[0-9]$' AND CAST(SUBSTR"
    text = merged(lake, sql)
    assert guarded in text.replace("SUBSTRING", "SUBSTR"), text
    assert "AS INT) < 9 AND b.w < 99" in text


def test_a_bound_is_not_handed_to_a_text(lake: Lake) -> None:
    """It is compared as a number, which its own condition may guard."""
    sql = (
        "select n, count(*) as c from (select b.k, count(a.v) as n from s.b b "
        "left join s.a a on a.k = b.k left join s.b z on z.t = b.k and z.t rlike '^[0-9]+$' "
        "group by b.k) group by n"
    )
    text = merged(lake, sql)
    assert "RLIKE" in text and not is_bounded(text, "z.t")
