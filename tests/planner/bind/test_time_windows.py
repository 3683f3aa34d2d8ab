"""What is refused of time windows, and what their names mean; Spark's tests compare results."""

from __future__ import annotations

import pytest

from python_ivm.algebra.nodes import Generate, Node, Sort, Window
from python_ivm.bind.binder import bind
from python_ivm.errors import NotYetImplemented
from python_ivm.parse.parser import parse
from python_ivm.qualify.schema import TableSchema

PINGS = TableSchema(
    ("s", "pings"),
    {"k": "int", "t": "timestamp", "n": "timestamp_ntz", "day": "date"},
)
NAMED = TableSchema(("s", "named"), {"t": "timestamp", "window": "struct<start:int>"})


SESSIONS = "(select session_window(t, '1 hour') as s, k, count(*) as n from s.pings group by s, k)"


def nodes(sql: str, kind: type[Node]) -> list[Node]:
    tables = {table.key: table for table in (PINGS, NAMED)}
    return [node for node in bind(parse(sql), tables).plan.walk() if isinstance(node, kind)]


@pytest.mark.parametrize(
    "sql",
    [
        "select window.start, count(*) as n from s.pings group by window(t, '1 hour')",
        "select WINDOW, count(*) as n from s.pings group by Window(t, '1 hour'), window.start",
        "select count(*) as n from s.pings p group by window(p.t, '1 hour'), window(t, "
        "'1 hour').end having window.start > '2024-01-01' order by window.end limit 3",
        "select *, window(t, '1 hour') from s.pings window w as (order by t)",
        "select max(window(t, '1 hour').end) as last from s.pings",
        "select window(t, '1 hour') as w, count(*) as n from s.pings group by w, w.start "
        "having w.start > '2024' order by w.end",
        "select window(T, '1 hour') as w, hash(*) as h from s.pings p group by all",
        "select window(T, '1 hour') as w from s.pings p group by window(p.t, '1 hour')",
        "select count(*) over w as n from s.pings window w as (partition by window(t, '1 hour'))",
    ],
)
def test_a_query_has_one_generator_for_its_window(sql: str) -> None:
    assert len(nodes(sql, Generate)) == 1


def test_a_column_named_window_hides_the_window() -> None:
    sql = "select window.start as s, count(*) as n from s.named group by window(t, '1 hour'), s"
    (generated,) = nodes(sql, Generate)
    assert isinstance(generated, Generate)
    assert "WINDOW(`named`.`t`" in generated.function.sql("spark")
    assert nodes("select window.start as s from s.named", Generate) == []


@pytest.mark.parametrize("time", ["t", "n", "day", "'2024-01-01'"])
def test_sessions_are_window_functions(time: str) -> None:
    sql = (
        f"select session_window({time}, '1 hour') as w, k, count(*) as n from s.pings group by 1, 2"
    )
    assert len(nodes(sql, Window)) == 3


def test_a_result_of_that_name_comes_first_in_order_by() -> None:
    sql = "select k as window, count(*) as n from s.pings group by k, window(t, '1 hour') order by "
    for wanted in ("window", "window.end"):
        (sort,) = nodes(f"{sql}{wanted} limit 3", Sort)
        assert isinstance(sort, Sort)
        assert "generated" not in sort.order[0].sql("spark")


def test_bounds_of_sessions_may_be_grouped_again() -> None:
    assert nodes(f"select s.start as b, sum(n) as n from {SESSIONS} q group by s.start", Window)


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("select k from s.pings where window(t, '1 hour').start > day", r"outside of SELECT"),
        ("select k from s.pings order by window(t, '1 hour')", r"window\(\) outside of SELECT"),
        ("select count(*) as n from s.pings group by k having max(session_window(t, '1 hour')) > 1",
         r"session_window\(\) outside of SELECT"),
        ("select window(t, '1 hour'), window(n, '1 hour') as v from s.pings", r"More than one"),
        ("select session_window(t, '1 hour') as w from s.pings", r"without GROUP BY"),
        ("select distinct session_window(t, '1 hour') as w from s.pings", r"without GROUP BY"),
        ("select max(session_window(t, '1 hour').end) as w from s.pings", r"without GROUP BY"),
        ("select k, count(*) as n from s.pings group by rollup (session_window(t, '1 hour'), k)",
         r"without GROUP BY"),
        ("select count(*) as n from s.pings group by session_window(t, '1 hour'), k, "
         "session_window.start", r"without GROUP BY"),
        (f"select s, sum(n) as n from {SESSIONS} q group by s", r"Groups of a session"),
        (f"select distinct x from (select s as x, n from {SESSIONS} q where n > 1) z", "Groups of"),
        (f"select s from {SESSIONS} q union select s from {SESSIONS} r", r"Groups of a session"),
        (f"select s from (select named_struct('start', t, 'end', t) as s from s.pings union all "
         f"select s from {SESSIONS} q) r group by s", r"Groups of a session"),
        (f"select count(distinct s) as n from {SESSIONS} q", r"Groups of a session"),
        (f"with q as (select * from {SESSIONS} q) select q.s, count(*) as n from q join s.named on "
         "q.k = 1 group by all", r"Groups of a session"),
        ("select window(w, '1 day') as d, count(*) as n from (select window(t, '1 hour') as w, "
         "count(*) as n from s.pings group by w) q group by d", r"of another window"),
    ],
)  # fmt: skip
def test_what_has_no_rule_is_named(sql: str, told: str) -> None:
    with pytest.raises(NotYetImplemented, match=told):
        nodes(sql, Window)
