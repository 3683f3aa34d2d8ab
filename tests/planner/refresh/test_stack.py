"""Maintained models that read maintained models: each one's state is a source like any other."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from python_ivm.refresh.plan import Strategy
from tests.planner.lake import Lake
from tests.planner.test_operators import some

BASES = {
    "bag": "select i, v from s.x",
    "filtered_bag": "select i, v + 1 as v from s.x where v > 1",
    "sorted_bag": "select i, v from s.x order by v, i",
    "join": "select x.i, y.w as v from s.x join s.y on x.i = y.i",
    "distinct": "select distinct i, v from s.x",
    "grouped": "select i, sum(v) as v from s.x group by i",
    "having": "select i, count(*) as v from s.x group by i having count(*) > 1",
    "average": "select i, avg(v) as v from s.x group by i",
    "extreme": "select v as i, max(i) as v from s.x group by v",
    "global": "select count(*) as i, sum(v) as v from s.x",
    "expressions": "select i, sum(v) * 2 - count(*) as v from s.x group by i order by i",
    "limited": "select i, v from s.x order by i, v limit 3",
    "grouped_limited": "select i, count(*) as v from s.x group by i order by v desc, i limit 2",
    "hidden_key": "select sum(v) as i, count(*) as v from s.x group by i",
}
ABOVE = {
    "all": "select * from {m}",
    "count": "select count(*) as i, sum(v) as v from {m}",
    "grouped": "select v as i, count(*) as v from {m} group by v",
    "joined": "select m.i, y.w as v from {m} m left join s.y on m.i = y.i",
    "self": "select a.i, b.v from {m} a join {m} b on a.i = b.i",
    "exists": "select y.i, y.w as v from s.y "
    "where not exists (select 1 from {m} m where m.i = y.i)",
    "window": "select i, rank() over (partition by v order by i) as v from {m}",
    "union": "select i, v from {m} union all select v, i from {m}",
    "state_columns": "select i as ivm_count, v as count from {m}",
}


@pytest.fixture
def xy(lake: Lake) -> Lake:
    rng = random.Random(7)
    for name, columns in {"x": ("i", "v"), "y": ("i", "w")}.items():
        lake.create(name, dict.fromkeys(columns, "int"), [some(rng) for _ in range(6)])
    return lake


def change(lake: Lake, rng: random.Random) -> None:
    for table in rng.sample(["x", "y"], rng.choice([1, 1, 2])):
        present = lake.rows[table][-1]
        gone = rng.sample(present, min(len(present), rng.choice([0, 1, 2, 9])))
        lake.change(table, delete=gone, insert=[some(rng) for _ in range(rng.choice([1, 2, 3]))])


def refresh(lake: Lake, models: dict[str, str], allowed: set[Strategy]) -> None:
    for name, sql in models.items():
        done = lake.run(name, sql)
        assert done.strategy in allowed, f"{name}: {done.reason}: {done.explanation}"
        lake.check(name)


NOT_FULL = {Strategy.INCREMENTAL, Strategy.NOOP}


@pytest.mark.parametrize(("base", "above"), list(product(BASES, ABOVE))[::5])
def test_a_model_over_a_model_is_maintained(xy: Lake, base: str, above: str) -> None:
    models = {"m1": BASES[base], "m2": ABOVE[above].format(m="s.m1")}
    refresh(xy, models, {Strategy.FULL})
    rng = random.Random(f"{base}-{above}")
    for _ in range(3):
        change(xy, rng)
        refresh(xy, models, NOT_FULL)


@pytest.mark.parametrize("seed", range(6))
def test_a_stack_of_models_is_maintained(xy: Lake, seed: int) -> None:
    rng = random.Random(seed)
    models = {"m1": BASES[rng.choice(list(BASES))]}
    above = [name for name in ABOVE if name != "state_columns"]
    for n in range(2, 5):
        below = rng.randint(max(1, n - 2), n - 1)
        models[f"m{n}"] = ABOVE[rng.choice(above)].format(m=f"s.m{below}")
    refresh(xy, models, {Strategy.FULL})
    for _ in range(3):
        change(xy, rng)
        refresh(xy, models, NOT_FULL)


def test_a_view_between_models_is_taken_apart(xy: Lake) -> None:
    xy.run("m1", BASES["grouped"])
    xy.define("v", "select i + 1, v from s.m1 where v is not null", "j", "v")
    models = {"m1": BASES["grouped"], "m2": "select j, count(*) as n from s.v group by j"}
    refresh(xy, models, {Strategy.FULL, Strategy.NOOP})
    xy.change("x", insert=[(1, 2), (4, 4)])
    refresh(xy, models, {Strategy.INCREMENTAL})


def test_of_a_table_below_a_view_not_the_whole_history_is_asked(
    xy: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A staging view over a source looks like a model's public view over its state."""
    asked: dict[str, list[int | None]] = {}
    ask = Lake.history

    def history(lake: Lake, parts: tuple[str, ...], limit: int | None) -> Any:
        asked.setdefault(parts[-1], []).append(limit)
        return ask(lake, parts, limit)

    monkeypatch.setattr(Lake, "history", history)
    for number in range(40):
        xy.change("x", insert=[(number, number)])
    xy.define("stg_x", "select i, v from s.x")
    sql = "select i, v from s.stg_x where v > 0"
    xy.run("m", sql)
    xy.change("x", insert=[(1, 1)])
    xy.refresh_and_check("m", sql, Strategy.INCREMENTAL)
    assert set(asked["x"]) == {2}


def test_what_changes_hidden_columns_alone_changes_nothing_above(xy: Lake) -> None:
    xy.create("z", {"i": "int", "v": "int"}, [(1, 5), (1, 3), (2, 1)])
    models = {"m1": "select i, max(v) as v from s.z group by i", "m2": "select i, v from s.m1"}
    refresh(xy, models, {Strategy.FULL})
    xy.change("z", insert=[(1, 4)])
    xy.run("m1", models["m1"])
    before = xy.db.execute("from s.m2__ivm_state").fetchall()
    refresh(xy, models, NOT_FULL)
    assert xy.db.execute("from s.m2__ivm_state").fetchall() == before


def test_a_rebuilt_model_rebuilds_those_above(xy: Lake) -> None:
    models = {"m1": BASES["bag"], "m2": ABOVE["grouped"].format(m="s.m1")}
    refresh(xy, models, {Strategy.FULL})
    xy.run("m1", models["m1"], full_refresh=True)
    above = xy.run("m2", models["m2"])
    assert (above.strategy, above.reason) == (Strategy.FULL, "SOURCE_REPLACED")
    assert "s.m1__ivm_state was replaced" in above.explanation
    refresh(xy, models, {Strategy.NOOP})
    models["m1"] = BASES["having"]
    xy.run("m1", models["m1"])
    above = xy.run("m2", models["m2"])
    assert (above.strategy, above.reason) == (Strategy.FULL, "VIEW_CHANGED")
    xy.check("m2")


def test_a_model_over_a_rebuilt_one_keeps_its_state_if_sizes_are_known(xy: Lake) -> None:
    """So the models over it follow rows again."""
    xy.size_of = lambda name: 9
    models = {
        "m1": BASES["bag"],
        "m2": ABOVE["grouped"].format(m="s.m1"),
        "m3": "select count(*) as n from s.m2",
    }
    refresh(xy, models, {Strategy.FULL})
    xy.change("x", insert=[(1, 1)])
    xy.run("m1", models["m1"], full_refresh=True)
    assert xy.run("m2", models["m2"]).strategy is Strategy.RECOMPUTE
    xy.check("m2")
    assert xy.refresh_and_check("m3", models["m3"]).strategy is not Strategy.FULL


def test_a_model_over_one_that_is_rebuilt_in_full_follows_it(xy: Lake) -> None:
    models: dict[str, Any] = {
        "m1": "select y as i, count(*) as n from (select i, approx_percentile(v, 0.5) as y "
        "from s.x group by i) q group by y",
        "m2": "select i, count(*) as n from s.m1 group by i",
    }
    refresh(xy, models, {Strategy.FULL})
    refresh(xy, models, {Strategy.NOOP})
    xy.change("x", insert=[(8, 8)])
    refresh(xy, models, {Strategy.FULL})
