"""Random loop programs: one to four bindings of two whole numbers, monotone and not."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

Reader = Callable[[], str]

MONOTONE = (
    "select (b + 1) % 4 as a, a as b from {r} x",
    "select a, b from {r} x where a < 3 or b is null",
    "select x.a, t.b from {r} x join s.t t on x.b = t.a",
    "select x.a, y.b from {r} x join {q} y on x.b = y.a and x.a < 3",
    "select a, b from {r} x where exists (select 1 from s.u u where u.a = x.b)",
    "select t.a, t.b from s.t t where t.a in (select b from {r} x where b is not null)",
    "select case when a > b then b else coalesce(a, 0) end as a, b from {r} x where b < 3",
    "select u.b as a, x.a as b from s.u u join {r} x on u.a <=> x.b",
    "select distinct b as a, a as b from {r} x",
)
OTHER = (
    "select t.a, t.b from s.t t where not exists (select 1 from {r} x where x.a = t.b)",
    "select a, cast(count(*) % 5 as int) as b from {r} x group by a",
    "select a, max(b) as b from {r} x group by a",
    "select cast(coalesce(sum(a), 0) % 4 as int) as a, min(b) as b from {r} x",
    "select a, b from s.t except select a, b from {r} x",
    "select a, b from {r} x except all select a, b from {q} y",
    "select t.a, x.b from s.t t left join {r} x on x.a = t.b",
    "select coalesce(x.a, u.a) as a, u.b from {r} x full join s.u u on x.b = u.b",
    "select a, b from (select a, b, row_number() over (partition by a order by b nulls first) as n "
    "from {r} x) y where n = 1",
    "select a, b from {r} x order by a nulls first, b nulls first limit 2",
    "select a, (select max(u.b) from {r} u where u.a = x.b) as b from s.t x",
    "select a, b from {r} x where b not in (select a from {q} y where a is not null)",
    "select a, b from {r} x intersect select a, b from s.t",
)
ANCHORS = ("select a, b from s.t", "select b as a, a as b from s.u where b < 3",
           "select 0 as a, 1 as b", "select cast(null as int) as a, 2 as b")  # fmt: skip
MAINS = (
    "select * from {f}",
    "select a, count(*) as n from {f} group by a",
    "select f.a, t.b from {f} f join s.t t on f.b = t.a",
    "select f.a, g.b from {f} f left join {g} g on f.b = g.a",
)


def program(random: Random) -> tuple[dict[str, str], str]:
    """Bindings, and what is asked of them; names as ``naive`` reads them."""
    names = ["f", "g", "h", "k"][: random.randint(1, 4)]
    delays = random.random()

    def reference() -> str:
        late = "'" if random.random() < delays else ""
        return "{" + random.choice(names) + late + "}"

    def term() -> str:
        shapes = MONOTONE if random.random() < 0.6 else OTHER
        text = random.choice(shapes)
        return "(" + text.replace("{r}", reference()).replace("{q}", reference()) + ")"

    bindings = {}
    for name in names:
        word = " union all " if random.random() < 0.3 else " union "
        parts = [random.choice(ANCHORS)] + [term() for _ in range(random.randint(1, 2))]
        bindings[name] = word.join(parts) if random.random() < 0.9 else term()
    main = random.choice(MAINS)
    return bindings, main.replace("{f}", "{" + random.choice(names) + "}").replace(
        "{g}", "{" + random.choice(names) + "}"
    )
