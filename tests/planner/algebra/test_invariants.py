"""Invariants of plans: checked at once, so that a wrong rule fails before any SQL is emitted."""

from __future__ import annotations

import pytest
from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, substitute
from python_ivm.algebra.invariants import check
from python_ivm.algebra.nodes import Aggregate, Filter, Join, Node, Project, Scan, Sort, UnionAll
from python_ivm.algebra.normalize import RULES, normalize
from python_ivm.errors import Internal
from python_ivm.render.plan_text import tree

X = Scan("s.x", "x", ("i", "v"))
Y = Scan("s.y", "y", ("i",))


def column(relation: str, name: str) -> exp.Expr:
    return ColumnRef(relation, name).expression()


def equal(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    return exp.EQ(this=a, expression=b)


@pytest.mark.parametrize(
    "broken",
    [
        Filter(X, equal(column("x", "nope"), exp.Literal.number(1))),
        Filter(X, equal(column("y", "i"), exp.Literal.number(1))),
        Project(X, "p", (Named("a", column("x", "i")), Named("a", column("x", "v")))),
        Join((X, X), ()),
        UnionAll((X, Y), "u", ("i", "v")),
        Aggregate(Y, "g", (Named("v", column("x", "v")),), ()),
    ],
    ids=["unknown column", "hidden relation", "name twice", "relation twice", "widths", "key"],
)
def test_a_broken_plan_is_an_internal_error(broken: Node) -> None:
    with pytest.raises(Internal):
        check(broken)


def test_a_sound_plan_is_returned_as_it_is() -> None:
    join = Join((X, Y), (equal(column("x", "i"), column("y", "i")),))
    assert check(join) is join


def test_every_rule_keeps_the_schema_and_the_invariants() -> None:
    join = Join((X, Y), (equal(column("x", "i"), column("y", "i")),))
    plan: Node = Project(
        Filter(
            Sort(Filter(join, equal(column("x", "v"), exp.Literal.number(1))), ()),
            equal(column("x", "i"), exp.Literal.number(2)),
        ),
        "p",
        (Named("v", column("x", "v")),),
    )
    before = plan.schema
    for rule in RULES:
        plan = check(rule(plan))
        assert plan.schema == before, rule.__name__
    assert tree(plan) == tree(normalize(plan)), "the rules have nothing left to do"


def test_a_substituted_expression_binds_as_tightly_as_the_column_did() -> None:
    both = exp.Add(this=column("x", "i"), expression=column("x", "v"))
    double = exp.Mul(this=column("p", "a"), expression=exp.Literal.number(2))
    found = substitute(double, {ColumnRef("p", "a"): both})
    assert found.sql() == '("x"."i" + "x"."v") * 2'


def test_an_equality_in_all_sides_of_an_or_is_a_join_condition() -> None:
    def exceeds(number: int) -> exp.Expr:
        return exp.GT(this=column("x", "v"), expression=exp.Literal.number(number))

    same = equal(column("x", "i"), column("y", "i"))
    both = exp.or_(exp.and_(same, exceeds(1)), exp.and_(exceeds(2), same))
    plan = normalize(Filter(Join((X, Y), ()), both))
    assert isinstance(plan, Join)
    assert plan.conditions == (same, exp.paren(exp.or_(exceeds(1), exceeds(2))))
