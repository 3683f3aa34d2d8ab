import pytest

from python_ivm.refresh.statements import Strategy
from tests.planner.lake import Lake


@pytest.fixture
def lake():
    l = Lake()
    l.create("x", {"i": "int", "v": "int"}, [(3, 3), (3, 1), (None, 4), (5, None)])
    l.create("y", {"i": "int", "w": "string"}, [(3, "a"), (3, "a"), (None, "b"), (5, "c")])
    return l


Q = [
    "select a.v, count(*) n from s.x a join s.x b on a.i=b.i group by a.v",
    "select * from s.x",
    "select x.v, y.w from s.x join s.y using (i)",
    "select distinct v from s.x where v > 1",
    "select i, min(v) lo, max(v) hi, sum(v) t, avg(v) m, count(v) c from s.x group by i",
    "select count(*) c, min(v) lo, sum(v) s from s.x where v > 2",
    "select w, n from (select i, count(*) n from s.x group by i) g join s.y on g.i = y.i",
    "with c as (select i, sum(v) t from s.x group by i) select a.t, count(*) k from c a, c b where a.t <= b.t group by a.t",
    "select i from s.x union all select i from s.y",
    "select max(n) m from (select i, count(*) n from s.x group by i) g",
    "select count(distinct v) d, i from s.x group by i",
    "select i, sum(v) t from s.x group by i having sum(v) > 3 order by t desc, i limit 2",
    "select n, count(*) c from (select i, count(*) n from (select distinct i, v from s.x) q group by i) g group by n",
]


@pytest.mark.parametrize("q", Q)
def test_q(lake, q):
    lake.refresh_and_check("m", q, Strategy.FULL)
    lake.refresh_and_check("m", q, Strategy.NOOP)
    for ch in [
        dict(x=dict(delete=[(3, 3)], insert=[(3, 9), (7, 1)])),
        dict(y=dict(delete=[(3, "a")])),
        dict(x=dict(insert=[(3, 1), (None, None)]), y=dict(insert=[(7, "z"), (None, "b")])),
        dict(
            x=dict(delete=[(3, 9), (None, 4), (5, None)]),
            y=dict(delete=[(3, "a")], insert=[(5, "d")]),
        ),
    ]:
        for t, c in ch.items():
            lake.change(t, **c)
        r = lake.refresh_and_check("m", q)
        assert r.strategy is not Strategy.FULL, r
