"""Any model, any rows, any changes: the view equals its query after every refresh."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from hypothesis import currently_in_test_context, given, note, reject, settings

from python_ivm.optimize import predicate_ordering
from python_ivm.optimize.cost import Cost
from python_ivm.refresh.plan import Refresh, Strategy
from python_ivm.sources.history import Detail
from python_ivm.state.timings import Expected, Timings
from tests.planner.cases import MODEL, VIEW, Case, Round, apply, cases
from tests.planner.compare import assert_same
from tests.planner.lake import Lake, instant
from tests.planner.test_operators import is_no_bound

LIMITS = {
    "beside a join in parentheses": "beside a join in parentheses",
    "PIVOT by a column of unknown type": "by a column whose type",
    "PLAN_TOO_LARGE": "PLAN_TOO_LARGE",
}
"""Of each rebuild that a random model may meet: part of its reason, and where docs/ tell of it."""

TALLY: Counter[str] = Counter()
"""How many random models were maintained, and by which limit the others were not."""


class NotByDuckDB(Exception):
    """DuckDB has no plan for a query, so that there is nothing to compare with."""


def limit(refresh: Refresh) -> str | None:
    """The documented limit by which a refresh is a rebuild."""
    if refresh.reason != "NOT_YET_IMPLEMENTED":
        return None
    return next((text for text in LIMITS if text in refresh.explanation), None)


class Run:
    """One case while it runs."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.lake = Lake()
        self.day = datetime(2024, 3, 1, 12)
        self.lake.now = instant(str(self.day))
        self.rebuilt: dict[str, str] = {}
        for number, (columns, rows) in enumerate(case.tables, 1):
            self.lake.create(f"t{number}", columns, rows)
        for below in case.below:
            if below.kind == VIEW:
                self.lake.define(below.name, below.sql)
            else:
                self.build(below.name, below.sql)
        self.build("m", case.sql)

    def build(self, model: str, sql: str) -> None:
        """Build a model for the first time."""
        try:
            self.lake.recomputed(sql)
        except duckdb.NotImplementedException as error:  # some correlated subqueries
            raise NotByDuckDB from error
        except duckdb.Error as error:
            if "unordered_map::at" not in str(error):  # its failure with a semi join of arrays
                raise
            raise NotByDuckDB from error
        first = self.lake.run(model, sql)
        assert first.strategy is Strategy.FULL
        reason = limit(first)
        if reason is not None:
            self.rebuilt[model] = reason
        else:
            assert first.reason == "FIRST_BUILD", f"{first.reason}: {first.explanation}"
        assert_same(self.lake, model)

    def refresh(self, model: str, sql: str, strategy: Strategy | None = None) -> None:
        """Refresh a model, and compare it with its query."""
        try:
            refresh = self.lake.run(model, sql)
        except duckdb.NotImplementedException as error:  # some marks over outer joins
            raise NotByDuckDB from error
        if currently_in_test_context():
            note("\n".join(s.sql for s in refresh.statements))
        assert_same(self.lake, model)
        if model in self.rebuilt:
            return
        if refresh.reason == "SOURCE_REPLACED":
            assert self.rebuilt, refresh.explanation
            return
        if refresh.reason == "PLAN_TOO_LARGE":
            self.rebuilt[model] = refresh.reason
            return
        told = f"{refresh.reason}: {refresh.explanation}"
        assert refresh.strategy is not Strategy.FULL, told
        assert strategy in (None, refresh.strategy), told

    def pass_by(self, round_: Round) -> None:
        """Let a round happen, and refresh."""
        for step in round_.steps:
            apply(self.lake, step)
        self.day += timedelta(days=round_.days)
        self.lake.now = instant(str(self.day))
        if not round_.stale:
            for below in self.case.below:
                if below.kind == MODEL:
                    self.refresh(below.name, below.sql)
        self.refresh("m", self.case.sql)


def check(case: Case) -> dict[str, str]:
    """Run a case; the models that are rebuilt in full, each with the limit that says so."""
    run = Run(case)
    for round_ in case.rounds:
        run.pass_by(round_)
    if not run.rebuilt and not any(round_.stale for round_ in case.rounds[-1:]):
        run.refresh("m", case.sql, Strategy.NOOP)
    return run.rebuilt


def check_by_duckdb(case: Case) -> dict[str, str]:
    """The same; another case is tried where DuckDB cannot run one."""
    try:
        return check(case)
    except NotByDuckDB:
        reject()


@given(cases())
def test_every_view_equals_its_query_after_every_round_of_changes(case: Case) -> None:
    note(case.told())
    rebuilt = check_by_duckdb(case)
    TALLY[rebuilt.get("m", "maintained")] += 1


@settings(max_examples=settings().max_examples // 3)
@given(cases())
def test_every_view_that_is_recomputed_equals_its_query(case: Case) -> None:
    note(case.told())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cost, "is_more_expensive", lambda *plans: True)
        patch.setattr(Cost, "keeps_state", lambda *plans: True)
        check_by_duckdb(case)


@settings(max_examples=settings().max_examples // 3)
@given(cases())
def test_every_view_is_right_whose_rows_are_written_anew_at_some_refreshes(case: Case) -> None:
    note(case.told())
    with pytest.MonkeyPatch.context() as patch:
        odd = lambda _, rows, n, *more: Expected(1, 2) if n % 2 else None  # noqa: E731
        patch.setattr(Timings, "faster_anew", odd)
        patch.setattr(Lake, "detail", lambda *parts: Detail("", 1_000))
        check_by_duckdb(case)


@settings(max_examples=settings().max_examples // 3)
@given(cases())
def test_every_view_whose_keys_are_looked_up_ahead_and_handed_down_equals_its_query(
    case: Case,
) -> None:
    note(case.told())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cost, "pays_to_ask", lambda *arguments: True)
        patch.setattr(Cost, "is_worth_a_question", lambda *arguments: True)
        patch.setattr(predicate_ordering, "is_expensive", is_no_bound)
        check_by_duckdb(case)


def test_most_random_models_are_maintained() -> None:
    """Runs after the tests above."""
    whole = sum(TALLY.values())
    assert whole
    assert TALLY["maintained"] >= 0.9 * whole, TALLY


def test_every_limit_that_a_random_model_may_meet_is_documented() -> None:
    docs = Path(__file__).parents[2] / "docs"
    text = "".join(page.read_text() for page in [docs / "limits.md", *docs.glob("operators/*.md")])
    plain = " ".join(text.split())
    for where in LIMITS.values():
        assert where in plain
