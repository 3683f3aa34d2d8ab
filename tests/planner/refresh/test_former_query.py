"""A query that changed while ``on_configuration_change: continue`` keeps the former one."""

from __future__ import annotations

from typing import Any

import pytest

from python_ivm.errors import InvalidModel
from python_ivm.explain.explain import explain
from python_ivm.refresh.consistency import consistency_query
from python_ivm.refresh.options import OnConfigurationChange, Options, Policy
from python_ivm.refresh.plan import Refresh, Strategy
from python_ivm.refresh.statement import StatementKind
from python_ivm.sources.history import Commit
from tests.planner.lake import Lake, instant

FORMER = "select k, sum(v) as t from s.x group by k"
EDITED = "select k, max(v) as hi, count(*) as n from s.x group by k"


@pytest.fixture
def xs(lake: Lake) -> Lake:
    lake.create("x", {"k": "int", "v": "int"}, [(1, 1), (1, 2), (2, 5)])
    return lake


def go_on(policy: Policy = Policy.AUTO, **more: Any) -> dict[str, Any]:
    change = OnConfigurationChange.CONTINUE
    return {"options": Options(policy, on_configuration_change=change), **more}


def run(lake: Lake, edited: str = EDITED, former: str = FORMER, **more: Any) -> Refresh:
    """Run the edited model; its view equals the former query."""
    refresh = lake.run("m", edited, **go_on(**more))
    lake.models["m"] = former
    lake.check("m")
    assert refresh.warning is not None
    assert refresh.warning.startswith("m: the query changed; the view follows the former query")
    assert "--full-refresh" in refresh.warning
    assert "the view follows the former query" in refresh.explanation
    return refresh


def test_the_view_goes_on_following_its_sources(xs: Lake) -> None:
    """It stood still for ever."""
    xs.run("m", FORMER)
    idle = run(xs)
    assert (idle.strategy, idle.reason, idle.statements) == (Strategy.NOOP, "QUERY_CHANGED", ())
    for v in (7, 8):
        xs.change("x", insert=[(3, v)])
        moved = run(xs)
        assert (moved.strategy, moved.reason) == (Strategy.INCREMENTAL, "CHANGED")
        assert moved.summary().startswith("incremental: from x@")
        assert "former query" in moved.summary()
    xs.optimize("x")
    assert run(xs).strategy is Strategy.NOOP


def test_when_it_is_applied_the_new_query_is_built(xs: Lake) -> None:
    xs.run("m", FORMER)
    xs.change("x", insert=[(3, 7)])
    run(xs)
    assert xs.run("m", EDITED, **go_on(full_refresh=True)).reason == "FULL_REFRESH"
    xs.check("m")
    xs.change("x", insert=[(3, 8)])
    followed = xs.run("m", EDITED, **go_on())
    assert (followed.strategy, followed.warning) == (Strategy.INCREMENTAL, None)
    xs.check("m")


def test_the_former_query_comes_back(xs: Lake) -> None:
    xs.run("m", FORMER)
    run(xs)
    xs.change("x", insert=[(3, 7)])
    assert xs.refresh_and_check("m", FORMER, Strategy.INCREMENTAL).warning is None


@pytest.mark.parametrize("policy", [Policy.FULL, Policy.AUTO])
def test_what_needs_a_rebuild_is_rebuilt_from_the_former_query(xs: Lake, policy: Policy) -> None:
    xs.run("m", FORMER)
    xs.change("x", insert=[(3, 7)])
    xs.commits["m__ivm_state"].insert(0, Commit(1, "m-1", "DELETE"))
    rebuilt = run(xs, policy=policy)
    assert rebuilt.strategy is Strategy.FULL
    assert rebuilt.reason == ("POLICY_FULL" if policy is Policy.FULL else "STATE_MODIFIED")
    xs.change("x", insert=[(3, 8)])
    run(xs, policy=policy)


def test_a_former_query_over_views_and_models(xs: Lake) -> None:
    """With the state is kept what its user wrote, and not only the text over the tables below."""
    xs.define("small", "select k, v from s.x where v < 6")
    xs.run("below", "select k, count(*) as n from s.x group by k")
    former = "select a.k, a.v, b.n from s.small a join s.below b on a.k = b.k"
    xs.run("m", former)
    xs.change("x", insert=[(2, 3), (2, 9)])
    xs.run("below", "select k, count(*) as n from s.x group by k")
    assert run(xs, former=former).strategy is Strategy.INCREMENTAL
    xs.define("small", "select k, v from s.x where v < 4")
    redefined = run(xs, former=former)
    assert (redefined.strategy, redefined.reason) == (Strategy.FULL, "VIEW_CHANGED")
    xs.change("x", insert=[(1, 3)])
    xs.run("below", "select k, count(*) as n from s.x group by k")
    assert run(xs, former=former).strategy is Strategy.INCREMENTAL


def test_a_former_query_that_asks_the_clock(xs: Lake) -> None:
    xs.create("days", {"d": "date", "v": "int"}, [("2024-05-01", 1), ("2024-05-03", 2)])
    former = "select d, v from s.days where d <= current_date()"
    xs.run("m", former)
    xs.now = instant("2024-05-03 12:00:00")
    moved = run(xs, edited="select d, v, 1 as one from s.days", former=former)
    assert (moved.strategy, moved.reason) == (Strategy.INCREMENTAL, "CHANGED")
    assert sum(xs.view("m").values()) == 2


def test_a_former_query_without_rules(xs: Lake) -> None:
    groups = "select k, approx_percentile(v, 0.5) as y from s.x group by k"
    former = f"select y, count(*) as n from ({groups}) q group by y"
    xs.run("m", former)
    assert run(xs, former=former).strategy is Strategy.NOOP
    xs.change("x", insert=[(3, 7)])
    assert run(xs, former=former).strategy is Strategy.FULL


def test_a_state_of_other_settings_is_not_followed(xs: Lake) -> None:
    """Its rows and those of a change would be of two meanings."""
    xs.run("m", FORMER, settings={"timeZone": "UTC"})
    xs.change("x", insert=[(3, 7)])
    for edited in (FORMER, EDITED):
        kept = xs.run("m", edited, **go_on(settings={"timeZone": "Europe/Berlin"}))
        assert (kept.strategy, kept.reason) == (Strategy.NOOP, "QUERY_CHANGED")
        assert kept.statements == ()
        assert kept.warning is not None and "a session setting" in kept.warning
        assert "--full-refresh builds it anew" in kept.warning
    back = xs.run("m", FORMER, **go_on(settings={"timeZone": "UTC"}))
    assert back.strategy is Strategy.INCREMENTAL
    xs.check("m")


def test_a_state_whose_text_is_lost_is_left_as_it_is(xs: Lake) -> None:
    xs.run("m", FORMER)
    for lost in ({}, {"ivm.query": "*********(redacted)"}):
        xs.kept["m__ivm_state"] = lost
        kept = xs.run("m", EDITED, **go_on())
        assert (kept.strategy, kept.reason) == (Strategy.NOOP, "QUERY_CHANGED")
        assert "was not kept" in kept.explanation


def test_an_error_of_the_former_query_says_whose_it_is(xs: Lake) -> None:
    xs.create("y", {"k": "int"}, [(1,)])
    xs.run("m", "select k from s.y")
    for kept in (xs.commits, xs.types):
        del kept["y"]
    with pytest.raises(InvalidModel, match=r"s\.y does not exist.*about the former query"):
        xs.run("m", EDITED, **go_on())


def test_explanation_and_proof_are_about_the_former_query(xs: Lake) -> None:
    xs.run("m", FORMER)
    xs.change("x", insert=[(3, 7)])
    run(xs)
    text = explain(xs.request("m", EDITED, **go_on()), xs)
    assert "The query changed. This is the former one" in text
    assert "SUM(x.v)" in text and "MAX(x.v)" not in text
    applied = explain(xs.request("m", EDITED), xs)
    assert "MAX(x.v)" in applied and "former" not in applied
    proof = consistency_query(("s", "m"), xs)
    assert "sum(v) as t" in proof and "VERSION AS OF 1" in proof


def test_a_view_that_was_dropped_meanwhile_is_made_again(xs: Lake) -> None:
    xs.run("m", FORMER)
    built = xs.views.pop("m")
    xs.db.execute("drop view s.m")
    again = run(xs, view_exists=False)
    assert [s.kind for s in again.statements] == [StatementKind.CREATE_VIEW]
    assert xs.views["m"] == built
