"""The optimizer as a whole: its table of contents, and that each pass may be left out."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from python_ivm import optimize
from python_ivm.explain.explain import explain
from python_ivm.optimize import PASSES
from tests.planner.cases import Case, cases
from tests.planner.lake import Lake
from tests.planner.stories import View
from tests.planner.test_operators import CHOICES, QUERIES, through_random_rounds
from tests.planner.test_property import check_by_duckdb

NAMES = [*(each.name for each in PASSES), "null_aware_anti_join"]
EACH_AND_ALL = [*(frozenset({name}) for name in NAMES), frozenset(NAMES)]


@pytest.mark.parametrize("name", NAMES)
def test_a_pass_is_a_module_with_a_function_of_its_name(name: str) -> None:
    module = import_module(f"python_ivm.optimize.{name}")
    tree = ast.parse(inspect.getsource(module))
    public = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert name in public
    assert ast.get_docstring(tree)


def test_the_table_of_contents_says_what_each_pass_does() -> None:
    lines = inspect.getsource(optimize).splitlines()
    for each in PASSES:
        (place,) = (n for n, line in enumerate(lines) if line.startswith(f"    Pass({each.name}."))
        assert lines[place - 1].startswith("    # ")


@settings(max_examples=settings().max_examples // 2)
@given(cases(), st.sampled_from(EACH_AND_ALL))
def test_every_view_equals_its_query_whatever_passes_are_left_out(
    case: Case, without: frozenset[str]
) -> None:
    note(case.told())
    note(f"without {', '.join(sorted(without))}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lake, "without_passes", without)
        check_by_duckdb(case)


@pytest.mark.parametrize(
    "without", EACH_AND_ALL, ids=lambda names: min(names) if len(names) == 1 else "all"
)
def test_each_operators_queries_equal_themselves_without_a_pass(
    without: frozenset[str], monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    """Each pass has its share of the queries; without any of them a sixth, with examples all."""
    monkeypatch.setattr(Lake, "without_passes", without)
    every = [*QUERIES, *CHOICES]
    shares = 1 if pytestconfig.getoption("ivm_examples", None) else 6
    first = EACH_AND_ALL.index(without)
    for name in every[::shares] if len(without) > 1 else every[first :: len(NAMES)]:
        through_random_rounds(name, 1)


def test_explain_names_the_passes_that_changed_the_plan(lake: Lake) -> None:
    lake.create("a", {"k": "int", "v": "int"}, [(1, 2)])
    lake.create("b", {"k": "int", "w": "int"}, [(1, 5)])
    counted = "select k, count(*) as n from s.b group by k"
    plain = "Passes that changed the plan: none"
    told = "Passes that changed the plan: affected_keys, semijoin_reduction"
    assert plain in explain(lake.request("m", "select k, sum(v) as s from s.a group by k"), lake)
    assert told in explain(
        lake.request("m", f"select v, n from s.a join ({counted}) using (k)"), lake
    )


def test_without_reduction_all_groups_are_computed(lake: Lake) -> None:
    lake.create("b", {"k": "int", "w": "int"}, [(1, 5), (2, 6)])
    view = View(
        lake,
        "select n, count(*) as m from (select k, count(*) as n from s.b group by k) group by n",
    )
    lake.change("b", insert=[(1, 7)])
    reduced = view.planned().sql
    lake.without_passes = frozenset({"semijoin_reduction"})
    whole = view.planned().sql
    assert "SEMI JOIN" in reduced
    assert "SEMI JOIN" not in whole
    view.refresh()
    view.shows((1, 1), (2, 1))
