"""The join-disjunctive normal form of outer joins, and which of its terms a change affects.

A tree of inner and outer joins is the outer union of terms; each term joins a set of relations,
and its rows have NULLs for all others. Sources: Galindo-Legaria, "Outerjoins as Disjunctions",
SIGMOD 1994 (normal form); Larson and Zhou, "Efficient Maintenance of Materialized Outer-Join
Views", ICDE 2007, and Nagata et al., §3 (subsumption and maintenance graphs).

This is for people: the rules of `delta/` reach the same rows operator by operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef
from python_ivm.algebra.conditions import conjuncts, null_rejected
from python_ivm.algebra.nodes import (
    Filter,
    FullJoin,
    Join,
    LeftJoin,
    Node,
    Recursion,
    Scan,
    SemiJoin,
)

Term = frozenset[str]
"""The relations that a term joins."""

_JOINS = (Join, LeftJoin, FullJoin, Filter, SemiJoin)


@dataclass(frozen=True)
class NormalForm:
    """The normal form of one tree of joins.

    Attributes:
        relations: The joined relations, from left to right.
        sources: The source that each relation scans; a subquery's relation has none.
        terms: The terms, those of most relations first.
    """

    relations: tuple[str, ...]
    sources: Mapping[str, str]
    terms: tuple[Term, ...]

    def parents(self, term: Term) -> tuple[Term, ...]:
        """The minimal supersets of a term: the edges of the subsumption graph."""
        above = [other for other in self.terms if other > term]
        return tuple(t for t in above if not any(term < other < t for other in above))

    def effect(self, term: Term, relation: str) -> str:
        """What a change of a relation does to a term.

        Returns:
            ``D`` where the term joins the relation: its rows come and go with the relation's.
            ``I`` where only a parent does: its dangling rows go where a parent's row came, and the
            other way round. Empty where nothing happens.
        """
        if relation in term:
            return "D"
        return "I" if any(relation in parent for parent in self.parents(term)) else ""


def normal_forms(plan: Node) -> Iterator[NormalForm]:
    """The normal form of each tree of joins in a plan that has an outer join, from the top.

    The parts of a recursion are left out: no change is followed through them.
    """
    if isinstance(plan, Recursion):
        return
    joins = list(_joins(plan))
    leaves = list(_leaves(plan)) if joins else list(plan.inputs)
    if any(isinstance(node, (LeftJoin, FullJoin)) for node in joins):
        owner = {column: _name(leaf) for leaf in leaves for column in leaf.schema}
        terms = sorted(set(_terms(plan, owner)), key=lambda t: (-len(t), sorted(t)))
        sources = {_name(leaf): leaf.source for leaf in leaves if isinstance(leaf, Scan)}
        yield NormalForm(tuple(_name(leaf) for leaf in leaves), sources, tuple(terms))
    for other in [*leaves, *(node.right for node in joins if isinstance(node, SemiJoin))]:
        yield from normal_forms(other)


def _joins(node: Node) -> Iterator[Node]:
    """The operators of a tree of joins."""
    if isinstance(node, _JOINS):
        yield node
        for child in _sides(node):
            yield from _joins(child)


def _leaves(node: Node) -> Iterator[Node]:
    """The relations that a tree of joins joins."""
    if isinstance(node, _JOINS):
        for child in _sides(node):
            yield from _leaves(child)
    else:
        yield node


def _sides(node: Node) -> tuple[Node, ...]:
    return node.inputs[:1] if isinstance(node, SemiJoin) else node.inputs


def _name(leaf: Node) -> str:
    return leaf.schema[0].relation


def _terms(node: Node, owner: Mapping[ColumnRef, str]) -> list[Term]:
    """The terms of a tree; those that a condition refuses for their NULLs are left out."""
    if isinstance(node, Filter):
        return _accepted(_terms(node.input, owner), (node.condition,), owner)
    if isinstance(node, SemiJoin):
        below = _terms(node.left, owner)
        return below if node.anti else _accepted(below, node.conditions, owner)
    if isinstance(node, Join):
        pairs: list[Term] = [frozenset()]
        for part in node.parts:
            pairs = [one | other for one in pairs for other in _terms(part, owner)]
        return _accepted(pairs, node.conditions, owner)
    if isinstance(node, (LeftJoin, FullJoin)):
        left, right = _terms(node.left, owner), _terms(node.right, owner)
        matched = _accepted([a | b for a in left for b in right], node.conditions, owner)
        return [*matched, *left, *(right if isinstance(node, FullJoin) else [])]
    return [frozenset({_name(node)})]


def _accepted(
    terms: Iterable[Term], conditions: tuple[exp.Expr, ...], owner: Mapping[ColumnRef, str]
) -> list[Term]:
    needed = {
        owner[column]
        for condition in conditions
        for conjunct in conjuncts(condition)
        for column in null_rejected(conjunct)
        if column in owner
    }
    return [term for term in terms if needed <= term]
