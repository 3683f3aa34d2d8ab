"""The page on dbt's own tests of adapters tells of each of their classes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from scripts.docs import write_conformance_page as conformance
from tests.conformance import outcomes
from tests.conformance.left_out import LEFT_OUT


def test_the_page_is_what_the_tests_are() -> None:
    text = conformance.PAGE.read_text()
    assert conformance.page(text) == text, "run `make docs`"


def test_every_class_is_run_or_left_out_for_a_reason() -> None:
    run = {base for ours in conformance.our_classes() for base in ours.__mro__}
    for suite_class in conformance.suite_classes():
        reason = conformance.reason_left_out(suite_class)
        is_run = suite_class in run
        assert is_run != (reason is not None), suite_class


@pytest.mark.parametrize("ours", list(conformance.our_classes()), ids=lambda ours: ours.__name__)
def test_what_is_adapted_says_why(ours: type[object]) -> None:
    if conformance.is_adapted(ours):
        assert ours.__doc__ != conformance.taken_from(ours).__doc__
        assert ours.__doc__
    assert not any(mark.name.startswith("skip") for mark in getattr(ours, "pytestmark", ()))


def test_nothing_is_left_out_that_does_not_exist() -> None:
    found = list(conformance.suite_classes())
    names = {f"{conformance.suite_of(each)}.{each.__name__}" for each in found}
    suites = {conformance.suite_of(each) for each in found}
    assert LEFT_OUT.keys() <= names | suites


def test_no_class_failed_when_it_ran_last() -> None:
    _, recorded = outcomes.recorded()
    did = {ours: conformance.result(ours, recorded) for ours in conformance.our_classes()}
    assert not [ours for ours, result in did.items() if result == "fails"]
    existing = {f"{ours.__module__.rsplit('.', 1)[-1]}.{ours.__name__}" for ours in did}
    assert recorded.keys() <= existing, "take what does not exist any more out of outcomes.json"


class OfTwo:
    @pytest.fixture
    def test_data(self) -> None: ...

    def test_a(self) -> None: ...

    def test_b(self) -> None: ...


@pytest.mark.parametrize(
    ("found", "result"),
    [
        ({}, "not run"),
        ({"test_a": "passed"}, "not run"),
        ({"test_a": "passed", "test_b": "skipped"}, "not run"),
        ({"test_a": "passed", "test_b": "failed"}, "fails"),
        ({"test_a": "failed"}, "fails"),
        ({"test_a[1]": "passed", "test_a[2]": "passed", "test_b": "passed"}, "passes adapted"),
    ],
)
def test_a_result_is_what_the_tests_did(found: dict[str, str], result: str) -> None:
    assert conformance.result(OfTwo, {"test_conformance.OfTwo": found}) == result


def test_what_a_run_keeps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(outcomes, "FILE", tmp_path / "outcomes.json")

    def run(*reports: tuple[str, str, str]) -> outcomes.Outcomes:
        recorder = outcomes.Recorder()
        for test, when, outcome in reports:
            nodeid = f"tests/conformance/test_x.py::TestX::{test}"
            recorder.pytest_runtest_logreport(
                SimpleNamespace(nodeid=nodeid, when=when, outcome=outcome)
            )
        return outcomes.recorded()[1]

    first = run(
        ("a", "setup", "passed"), ("a", "call", "passed"), ("a", "teardown", "passed"),
        ("b", "setup", "failed"), ("b", "teardown", "passed"),
    )  # fmt: skip
    assert first == {"test_x.TestX": {"a": "passed", "b": "failed"}}
    # The clean-up counts, too; a test that did not run keeps what it did.
    assert run(("a", "call", "passed"), ("a", "teardown", "failed")) == {
        "test_x.TestX": {"a": "failed", "b": "failed"}
    }
    # A run that is broken off keeps what is done.
    b_alone = (("b", "call", "passed"), ("b", "teardown", "passed"))
    assert run(*b_alone, ("a", "setup", "passed"), ("a", "call", "passed")) == {
        "test_x.TestX": {"a": "failed", "b": "passed"}
    }
    monkeypatch.setattr(outcomes, "version", lambda package: "0")
    assert run(*b_alone) == {"test_x.TestX": {"b": "passed"}}
