"""The picture of the planner's folders is that of the code."""

from __future__ import annotations

from scripts.docs import write_architecture_page as architecture


def test_the_picture_is_current() -> None:
    text = architecture.PAGE.read_text()
    assert architecture.page(text) == text, "run `make docs`"


def test_arrows_that_a_longer_way_says_are_left_out() -> None:
    graph = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert architecture.reduced(graph) == {"a": {"b"}, "b": {"c"}, "c": set()}
