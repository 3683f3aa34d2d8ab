"""``window()`` and ``session_window()``, which DuckDB has not."""

from __future__ import annotations

from itertools import chain

import pytest

from tests.spark.workbench import FEED, Bench, View

TEN = "window(t, '10 minutes')"
SLIDING = "window(t, '10 minutes', '5 minutes')"
OVER_DEVICES = "from pings p join devices d on p.k = d.k"

MAINTAINED = {
    "linear": f"select {TEN} as w, count(*) as n, sum(v) as s from pings group by w",
    "named by spark": f"select k, window.start, window.end, count(*) as n, max(v) as hi "
    f"from pings group by k, {TEN} having window.start > '2000-01-01'",
    "without a name": f"select {TEN}, count(distinct v) as n from pings group by 1",
    "only grouped by": f"select count(*) as n from pings group by {TEN}",
    "overlapping": f"select {SLIDING} as w, percentile(v, 0.5) as m, sum(v) as s "
    "from pings group by w",
    "late start": "select window(t, '10 minutes', '10 minutes', '3 minutes').start as s, "
    "stddev(v) as d from pings group by 1",
    "rows": f"select *, {SLIDING} as w from pings where v > 1",
    "distinct": f"select distinct {SLIDING} as w from pings",
    "by date": "select window(day, '1 day') as w, collect_list(v) as vs from pings group by w",
    "without time zone": "select window(local, '1 hour').end as e, max(v) as hi from pings "
    "group by 1",
    "rollup": f"select window.start as s, k, sum(v) as t from pings group by rollup({TEN}, k)",
    "over a join": f"select d.name, window.start as s, min(p.v) as lo {OVER_DEVICES} "
    "group by d.name, window(p.t, '5 minutes')",
    "over an outer join": "select window(p.t, '5 minutes') as w, count(d.k) as n, max(d.name) as x "
    "from pings p full join devices d on p.k = d.k group by 1",
    "ranked": f"select w.start as s, v, rank() over (partition by w order by v) as r "
    f"from (select {SLIDING} as w, v from pings) q",
    "of windows": "select window(window_time(w), '1 hour') as h, sum(n) as n from "
    f"(select {TEN} as w, count(*) as n from pings group by w) q group by h",
    "a column of that name": "select q.window as x, window(q.t, '10 minutes') as w, max(q.v) as hi "
    "from (select t, v, k as window from pings) q group by 1, 2",
    "below exists": f"select k from devices d where exists (select 1 from pings p where p.k = d.k "
    f"group by {TEN} having count(*) > 1)",
    "session": "select k, session_window(t, '4 minutes') as s, count(*) as n, sum(v) as total "
    "from pings group by k, s",
    "one session of all": "select session_window.start, session_window.end, max(v) as hi "
    "from pings group by session_window(t, '3 minutes')",
    "session by gap": "select session_window(t, case when v > 2 then '8 minutes' "
    "when v = 0 then '-1 minutes' else '2 minutes' end) as s, count(distinct v) as n from pings "
    "group by 1 having count(*) > 1",
    "session without time zone": "select k, session_window(local, '90 minutes') as s, avg(v) as a "
    "from pings group by k, s",
    "session of days": "select session_window(day, '36 hours') as s, count(*) as n from pings "
    "group by s",
    "session over a join": f"select d.name, session_window(p.t, '6 minutes') as s, count(*) as n "
    f"{OVER_DEVICES} group by all",
    "where before time": "select window(cast(text as timestamp), '10 minutes') as w, count(*) as n "
    "from pings where text like '2%' group by w",
    "field of an alias": f"select k, {TEN} as w, count(*) as n from pings group by k, w "
    "having w.start > '2000-01-01' order by w.end limit 100",
    "beside a subquery": "select p.k, session_window(date_trunc('minute', p.t), '4 minutes') as s, "
    "max(p.v) as hi from pings p where p.k in (select k from devices) group by p.k, s "
    "having exists (select 1 from devices d where d.k = p.k)",
    "of sessions": "select k, count(*) as visits, max(n) as longest from (select k, count(*) as n "
    "from pings group by k, session_window(t, '4 minutes')) q group by k",
}  # fmt: skip

QUICK = (
    "named by spark", "overlapping", "over an outer join", "session by gap", "beside a subquery",
)  # fmt: skip
"""What the default run takes of them."""

REBUILT = {
    "merged again": "select s, sum(n) as n from (select k, session_window(t, '4 minutes') as s, "
    "count(*) as n from pings group by k, s) q group by s",
    "of a table": "select s, n from sessions",
    "elsewhere": f"select v from pings where {SLIDING}.start > '2000-01-01'",
    "session of a row": "select v, session_window(t, '4 minutes') as s from pings",
    "distinct sessions": "select distinct session_window(t, '4 minutes') as s from pings",
    "sets of sessions": "select session_window(t, '4 minutes') as s, k, count(*) as n from pings "
    "group by session_window(t, '4 minutes'), rollup(k)",
}

ROUNDS = (
    (
        "delete from pings where v = 3",
        "delete from sessions where k = 1",
        "insert into pings values (1, 4, timestamp'2024-01-01 00:13:30', null, null, '2')",
    ),
    (
        "update pings set v = v + 1 where k = 1",
        "update pings set t = t + interval 2 minutes, local = null where k = 2",
        "delete from devices where k = 1",
    ),
    (
        "update pings set t = null, day = null where v < 2",
        "insert into devices values (1, 'z'), (2, null)",
    ),
    (
        "insert into pings select k, v, t + interval 4 minutes, day, local, text from pings",
        "delete from pings where k = 0",
    ),
)


def _ping(n: int) -> str:
    time = f"timestamp'2024-01-01 00:00:00' + make_interval(0, 0, 0, 0, 0, {n * 3}, 0)"
    local = f"timestamp_ntz'2024-01-01 00:00:00' + make_interval(0, 0, 0, 0, {n})"
    text = f"'{'x' if n % 4 else '2024-01-01 00:00:59'}'"
    return f"({n % 3}, {n % 5}, {time}, date_add(date'2024-01-01', {n % 4}), {local}, {text})"


def _fill(bench: Bench) -> None:
    pings = [_ping(n) for n in range(12)]
    columns = "k int, v int, t timestamp, day date, local timestamp_ntz, text string"
    bench.table("pings", columns, *pings, pings[4], "(1, 2, null, null, null, null)")
    bench.sql(
        f"create table sessions using delta {FEED} as select session_window(t, '4 minutes') as s, "
        "k, count(*) as n from pings group by 1, 2"
    )
    bench.table("devices", "k int, name string", "(0, 'a')", "(1, 'b')", "(1, 'b')", "(7, null)")


@pytest.mark.thorough
def test_time_windows_follow_changes(bench: Bench, rounds: int) -> None:
    _fill(bench)
    every = rounds > 1
    for name in MAINTAINED if every else QUICK:
        bench.view(MAINTAINED[name])
    for steps in ROUNDS if every else [tuple(chain(*ROUNDS))]:
        bench.sql(*steps)
        bench.refresh()


@pytest.mark.thorough
def test_what_has_no_rule_is_rebuilt(bench: Bench) -> None:
    _fill(bench)
    views = [View(bench, f"m{n}", sql) for n, sql in enumerate(REBUILT.values(), 1)]
    for steps in ((), ROUNDS[0]):
        bench.sql(*steps)
        for view in views:
            assert view.refresh("full").refresh.reason == "NOT_YET_IMPLEMENTED"
