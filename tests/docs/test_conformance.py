"""The page on dbt's own tests of adapters tells of each of their classes."""

from __future__ import annotations

import pytest

from docs import conformance
from tests.conformance.left_out import LEFT_OUT


def test_the_page_is_what_the_tests_are() -> None:
    assert conformance.PAGE.read_text() == conformance.page(), "run `make docs`"


def test_every_class_is_run_or_left_out_for_a_reason() -> None:
    run = {base for ours in conformance.our_classes() for base in ours.__mro__}
    for suite_class in conformance.suite_classes():
        reason = conformance.reason_left_out(suite_class)
        is_run = suite_class in run
        assert is_run != (reason is not None), suite_class


@pytest.mark.parametrize("ours", conformance.our_classes(), ids=lambda ours: ours.__name__)
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
