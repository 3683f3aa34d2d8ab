"""Passes that check, after each, what must be true of a MERGE."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps

import pytest
from sqlglot import exp

from python_ivm import optimize
from python_ivm.algebra.invariants import check
from python_ivm.algebra.nodes import COUNT, AffectedKeys, Aggregate, Node, Reduction
from python_ivm.optimize import Pass, affected_keys, semijoin_reduction
from python_ivm.optimize.context import Context
from python_ivm.refresh import incremental
from python_ivm.state.merge import Merge

Rewrite = Callable[[Merge, Context], Merge]


def check_after_each_pass(patch: pytest.MonkeyPatch) -> None:
    """Let every pass be checked."""
    logical = tuple(map(_checked_pass, optimize.LOGICAL))
    cost_based = tuple(map(_checked_pass, optimize.COST_BASED))
    patch.setattr(optimize, "LOGICAL", logical)
    patch.setattr(optimize, "COST_BASED", cost_based)
    patch.setattr(incremental, "COST_BASED", cost_based)


def _checked_pass(each: Pass) -> Pass:
    otherwise = each.otherwise
    return replace(
        each,
        rewrite=checked(each.rewrite),
        otherwise=None if otherwise is None else checked(otherwise),
    )


def checked(rewrite: Rewrite) -> Rewrite:
    """A rewrite whose result is checked against what it got."""

    @wraps(rewrite)
    def rewritten(merge: Merge, context: Context) -> Merge:
        after = rewrite(merge, context)
        check_invariants(merge, after)
        if rewrite is affected_keys.affected_keys or rewrite is affected_keys.keys_of_deltas:
            assert not any(isinstance(node, AffectedKeys) for node in after.rows.walk())
            refuse_netted_keys(merge.rows, after.rows)
        if rewrite in (semijoin_reduction.semijoin_reduction, semijoin_reduction.all_rows):
            assert not any(isinstance(node, Reduction) for node in after.rows.walk())
        return after

    return rewritten


def check_invariants(before: Merge, after: Merge) -> None:
    """The same columns, which all resolve, the keys among them; and it follows nothing more."""
    check(after.rows)
    if after.changes is not None and after.follows == before.follows:
        # To compute the query anew has columns of its own, and to follow less may need fewer.
        assert after.rows.schema == before.rows.schema
    assert set(after.keys) <= set(after.rows.schema)
    assert after.follows <= before.follows


def refuse_netted_keys(before: Node, after: Node) -> None:
    """Affected keys are told without counts: a row too many with -1 would hide one of them."""
    relations = {node.relation for node in before.walk() if isinstance(node, AffectedKeys)}
    for node in after.walk():
        if getattr(node, "relation", None) in relations:
            assert not list(_nettings(node))


def _nettings(keys: Node) -> Iterator[Aggregate]:
    for node in keys.walk():
        if isinstance(node, Aggregate):
            sums = [m for m in node.measures if m.expression.find(exp.Sum) and m.name == COUNT]
            yield from [node] if sums else []
