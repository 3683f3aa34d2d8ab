"""States that no model keeps up any more: whose they are, and whether they may go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from python_ivm.errors import InvalidModel
from python_ivm.parse.views import View
from python_ivm.refresh.lifecycle.orphans import Built, Orphan, former_state, orphan, reads_state
from python_ivm.refresh.options import Options
from python_ivm.refresh.plan import Strategy
from python_ivm.refresh.request import Request
from python_ivm.refresh.strategy import plan_refresh
from python_ivm.sources.history import Commit
from tests.planner.lake import Lake

SQL = "select k, sum(v) as t from s.x group by k"
STATE = ("s", "m__ivm_state")
VIEW = ("s", "m")
KEPT = {"s.m": Built("incremental_ivm", STATE)}
OTHER_SUFFIX = {"s.m": Built("incremental_ivm", ("s", "m_kept"))}
AS_TABLE = {"s.m": Built("table")}


@pytest.fixture
def xs(lake: Lake) -> Lake:
    lake.create("x", {"k": "int", "v": "int"}, [(1, 1), (1, 2), (2, 5)])
    lake.run("m", SQL, project="shop")
    return lake


def found(lake: Lake, built: dict[str, Built], project: str = "shop") -> Orphan:
    orphan_ = orphan(lake, STATE, project, built)
    assert orphan_ is not None
    return orphan_


def without_view(lake: Lake) -> None:
    del lake.views["m"]


def shows(lake: Lake, text: str) -> None:
    lake.views["m"] = View(text, ("spark_catalog", "s"), {})


def of_no_project(lake: Lake) -> None:
    newest, *others = lake.commits["m__ivm_state"]
    told = (newest.user_metadata or "").replace('"project":"shop"', '"project":""')
    lake.commits["m__ivm_state"] = [replace(newest, user_metadata=told), *others]


def test_a_state_that_a_model_keeps_up_is_none(xs: Lake) -> None:
    assert orphan(xs, STATE, "shop", KEPT) is None
    assert (
        orphan(xs, STATE, "shop", {"s.m": Built("incremental_ivm", ("S", "M__ivm_state"))}) is None
    )


@pytest.mark.parametrize("table", ["x", "nowhere"])
def test_a_table_without_a_bookmark_is_none(xs: Lake, table: str) -> None:
    assert orphan(xs, ("s", table), "shop", {}) is None


def test_of_a_model_that_left_the_project_view_and_state_go(xs: Lake) -> None:
    left = found(xs, {})
    assert (left.keep, left.view) == ("", VIEW)
    assert left.told() == (
        "s.m__ivm_state: state of s.m; no model of this target has this name: it was deleted, "
        "renamed or disabled"
    )
    without_view(xs)
    assert (found(xs, {}).keep, found(xs, {}).view) == ("", None)


def test_a_view_that_somebody_made_over_the_state_keeps_it(xs: Lake) -> None:
    shows(xs, "select k from s.m__ivm_state")
    kept = found(xs, {})
    assert kept.view is None
    assert "s.m still reads it" in kept.keep
    shows(xs, "select 1 as one")
    assert (found(xs, {}).keep, found(xs, {}).view) == ("", None)


@pytest.mark.parametrize(
    ("built", "why"),
    [
        (OTHER_SUFFIX, "the model keeps its state in s.m_kept now"),
        (AS_TABLE, "the model is materialized as table now"),
    ],
)
def test_a_model_that_has_another_state_or_none(
    xs: Lake, built: dict[str, Built], why: str
) -> None:
    """Until it is built the view reads the old one."""
    before = found(xs, built)
    assert why in before.told()
    assert before.keep == "s.m reads it until its next run"
    shows(xs, "select k, t from s.m_kept")
    assert (found(xs, built).keep, found(xs, built).view) == ("", None)
    of_no_project(xs)
    assert found(xs, built).keep == ""


def test_a_model_whose_state_lies_in_another_schema_now(xs: Lake) -> None:
    """The name of the table is the same."""
    elsewhere = {"s.m": Built("incremental_ivm", ("states", "m__ivm_state"))}
    assert found(xs, elsewhere).keep == "s.m reads it until its next run"
    shows(xs, "select k, t from states.m__ivm_state")
    assert found(xs, elsewhere).keep == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select k from s.m__ivm_state", True),
        ("select k from `S`.`M__ivm_state` version as of 3", True),
        ("select k from m__ivm_state", True),
        ("select k from spark_catalog.s.m__ivm_state join s.x using (k)", True),
        ("select k from states.m__ivm_state", False),
        ("select 's.m__ivm_state' as m__ivm_state from s.x", False),
        ("no query at all of m__ivm_state (", True),  # in doubt it is kept
    ],
)
def test_whether_a_view_reads_a_state(text: str, expected: bool) -> None:
    assert reads_state(text, STATE) is expected


def test_a_state_of_another_project_is_left_alone(xs: Lake) -> None:
    without_view(xs)
    for built in ({}, OTHER_SUFFIX, AS_TABLE):
        other = found(xs, built, project="bank")
        assert other.keep == "it is left alone"
        assert "of the project shop" in other.told()


def test_a_state_that_does_not_say_whose_it_is_is_left_alone(xs: Lake) -> None:
    without_view(xs)
    of_no_project(xs)
    assert "left alone" in found(xs, {}).keep


def test_a_copy_of_another_schemas_state_is_left_alone_and_so_is_that_schemas_view(
    xs: Lake,
) -> None:
    copy = orphan(xs, ("dev", "m__ivm_state"), "shop", {})
    assert copy is not None
    assert (copy.keep, copy.view) == ("it is left alone", None)


def test_refreshes_tell_the_project_of_a_state_that_did_not(xs: Lake) -> None:
    of_no_project(xs)
    xs.change("x", insert=[(3, 3)])
    xs.run("m", SQL, project="shop")
    assert found(xs, {}).keep == ""
    xs.change("x", insert=[(3, 3)])
    xs.run("m", SQL)  # asked by something that knows no project
    assert found(xs, {}).keep == ""


@pytest.mark.parametrize(
    ("state", "view", "project", "current", "former"),
    [
        (STATE, VIEW, "shop", None, True),
        (STATE, VIEW, "shop", ("s", "m_kept"), True),
        (STATE, ("S", "M"), "shop", None, True),
        (STATE, VIEW, "shop", STATE, False),
        (STATE, VIEW, "bank", None, False),
        (STATE, ("s", "other"), "shop", None, False),
        (("s", "x"), VIEW, "shop", None, False),
    ],
)
def test_what_a_model_leaves_behind_when_it_is_built(
    xs: Lake,
    state: tuple[str, str],
    view: tuple[str, str],
    project: str,
    current: tuple[str, str] | None,
    former: bool,
) -> None:
    assert former_state(xs, state, view, project, current) is former


def test_a_state_in_a_schema_of_its_own_is_no_copy(lake: Lake) -> None:
    """A copy of a table's files has the bookmark, too, which names the state that it is of."""
    lake.create("x", {"k": "int", "v": "int"}, [(1, 1)])
    lake.db.execute("create schema own")
    request = lake.request("m", SQL, state=("own", "m__ivm_state"), project="shop")
    (commit,) = (s for s in plan_refresh(request, lake).statements if s.bookmark is not None)
    lake.commits["m__ivm_state"] = [Commit(0, "1", "CREATE", user_metadata=commit.bookmark)]
    apart = orphan(lake, ("own", "m__ivm_state"), "shop", {})
    assert apart is not None and apart.keep == ""
    beside = orphan(lake, STATE, "shop", {})
    assert beside is not None and "copy of a state" in beside.why and beside.keep


OTHER = ("s", "m__other")
LOG = Options.of({"ivm_output": "inserted"})
LASTING = {
    "a log": ("select k, v from s.x", LOG),
    "own rows": ("select k, v from s.x union all select k, v + 1 from s.m where v < 3", Options()),
}


@pytest.mark.parametrize("kept", LASTING)
def test_rows_that_no_query_gives_again_are_not_left_behind(lake: Lake, kept: str) -> None:
    """Another suffix or schema of the state began anew, and dropped the former one."""
    sql, options = LASTING[kept]
    lake.create("x", {"k": "int", "v": "int"}, [(1, 1)])
    lake.run("m", sql, options=options)
    text = lake.views["m"].text
    assert not former_state(lake, STATE, VIEW, "", OTHER)

    def asked(**more: Any) -> Request:
        return lake.request("m", sql, options=options, state=OTHER, view_text=text, **more)

    for full_refresh in (None, False):
        with pytest.raises(InvalidModel, match=r"s\.m__ivm_state, and cannot be computed again"):
            plan_refresh(asked(full_refresh=full_refresh), lake)
    assert plan_refresh(asked(full_refresh=True), lake).strategy is Strategy.FULL


def test_rows_that_the_query_gives_again_are(xs: Lake) -> None:
    asked = xs.request("m", SQL, state=OTHER, view_text=xs.views["m"].text)
    assert plan_refresh(asked, xs).reason == "FIRST_BUILD"
