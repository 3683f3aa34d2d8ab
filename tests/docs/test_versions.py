"""The page on Spark's versions tells what the matrix did."""

from __future__ import annotations

from scripts.docs import write_s3_page as s3
from scripts.docs import write_versions_page as versions
from tests.matrix import outcomes
from tests.matrix.suite import QUICK, SPARKS, SUITE


def test_the_page_is_what_the_matrix_did() -> None:
    text = versions.PAGE.read_text()
    assert versions.page(text) == text, "run `make docs`"


def test_the_page_on_object_stores_is_what_was_counted() -> None:
    text = s3.PAGE.read_text()
    assert s3.page(text) == text, "run `make docs`"


def test_each_release_ran_by_its_newest_version() -> None:
    found = outcomes.recorded()
    assert found.keys() >= {"3.5", "4.0", "4.1"}  # all other tests run on 4.2
    for release, of in found.items():
        assert of["versions"]["spark"] == SPARKS[release]
        assert set(QUICK) <= of["outcomes"].keys() <= SUITE.keys()


def test_a_failed_test_is_named() -> None:
    failing = {"outcomes": {"tests/a.py": {"test_b": "failed", "test_c": "passed"}}}
    assert versions._failed(failing) == ["tests/a.py::test_b"]
    assert versions._told(failing["outcomes"]["tests/a.py"]) == "1 pass, 1 fail"
    assert versions._told({}) == "not run"
