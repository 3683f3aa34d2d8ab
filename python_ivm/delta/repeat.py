"""Repeat: linear; a row's number of copies multiplies its count."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra.nodes import Filter, Repeat
from python_ivm.algebra.term import Changes, Inner, Term


def delta(node: Repeat, changes: Changes, inner: Inner) -> list[Term]:
    """Each term of the input's delta, its count multiplied."""
    terms = []
    for term in inner(node.input, changes):
        times = term.over(node.times)
        some = exp.GT(this=exp.paren(times.copy()), expression=exp.Literal.number(0))
        count = exp.Mul(this=exp.paren(term.count.copy()), expression=exp.paren(times.copy()))
        terms.append(replace(term, plan=Filter(term.plan, some), count=count))
    return terms
