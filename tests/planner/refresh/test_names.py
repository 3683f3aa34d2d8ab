"""Names that Spark's own catalog refuses, refused before anything runs."""

from __future__ import annotations

import pytest

from python_ivm.errors import InvalidModel, NotYetImplemented
from python_ivm.refresh.lifecycle.names import MOST_OF_RELATION, MOST_OF_SCHEMA, refuse_name
from tests.planner.lake import Lake


@pytest.mark.parametrize("name", ["m", "M_1", "1st", "_x", "select", "x" * MOST_OF_SCHEMA])
def test_what_is_allowed(name: str) -> None:
    refuse_name("alias", name, MOST_OF_SCHEMA, "")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("odd name; drop", "The alias 'odd name; drop' has characters.*: ' ', ';'"),
        ("a-b", "'-'"),
        ("a.b", "'.'"),
        ("a`b", "'`'"),
        ("Zürich", "'ü'"),
        ("a\nb", r"'\\n'"),
        ("", "it is empty"),
        ("x" * (MOST_OF_RELATION + 1), "has 256 characters"),
    ],
)
def test_what_is_refused(name: str, told: str) -> None:
    with pytest.raises(InvalidModel, match=f"(?s){told}.*Choose another one"):
        refuse_name("alias", name, MOST_OF_RELATION, "Choose another one.")


def test_two_paths_that_differ_by_case_alone_are_refused(lake: Lake) -> None:
    """Both were read as the first one."""
    lake.create("/lake/raw", {"k": "int"}, [(1,)])
    both = "select a.k from delta.`/lake/{}` a join delta.`/lake/raw` b on a.k <> b.k"
    with pytest.raises(NotYetImplemented, match=r"/lake/Raw and /lake/raw"):
        lake.run("m", both.format("Raw"))
