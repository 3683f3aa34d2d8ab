"""Aggregates of the row engine, beside what Spark gives for the same rows."""

from __future__ import annotations

import pytest
import sqlglot

from python_ivm.errors import NotYetImplemented
from python_ivm.parse.parser import DIALECT
from python_ivm.rows.aggregates import aggregate
from python_ivm.rows.expressions import Compiler
from python_ivm.rows.kinds import ValueType

ROWS = {(1, 5): 1, (2, None): 2, (None, 7): 3, (None, None): 4, (3, 5): 2}
COLUMNS = {("x", "a"): (0, ValueType("int")), ("x", "b"): (1, ValueType("int"))}


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("count(*)", 12),
        ("count(x.a)", 5),
        ("count(x.a, x.b)", 3),
        ("count(x.b, x.a)", 3),
        ("count(1, x.a, x.b)", 3),
        ("count(x.a, x.b) filter (where x.a > 1)", 2),
        ("count(x.a, null)", 0),
        ("count(distinct x.b)", 2),
        ("sum(x.b)", 36),
        ("max(x.a)", 3),
    ],
)
def test_an_aggregate(call: str, value: int) -> None:
    """`count(a, b)` counted each row with an `a`."""
    _, of = aggregate(Compiler(COLUMNS, ansi=True), sqlglot.parse_one(call, dialect=DIALECT))
    assert of(ROWS) == value


@pytest.mark.parametrize(
    "call", ["count(distinct x.a, x.b)", "max(x.a, x.b)", "sum(distinct x.a, x.b)"]
)
def test_what_it_does_not_know_is_said(call: str) -> None:
    with pytest.raises(NotYetImplemented):
        aggregate(Compiler(COLUMNS, ansi=True), sqlglot.parse_one(call, dialect=DIALECT))
