"""From a MERGE's plan and clauses to the statement."""

from __future__ import annotations

from sqlglot import exp

from python_ivm.algebra.invariants import check
from python_ivm.render.renderer import Renderer
from python_ivm.state.counters import CHANGE, STORED
from python_ivm.state.merge import Merge


def merge(planned: Merge, state: exp.Table, renderer: Renderer) -> exp.Merge:
    """The MERGE statement: the planned rows, named ``CHANGE``, into the state, named ``STORED``.

    Args:
        planned: The plan and the clauses.
        state: The state table.
        renderer: Renders the parts of this statement; reads the state as source ``STATE``.
    """
    query = renderer.with_ctes(renderer.query(check(planned.rows)))
    target = state.copy()
    target.set("alias", exp.TableAlias(this=exp.to_identifier(STORED)))
    return exp.Merge(
        this=target,
        using=exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(CHANGE))),
        on=exp.and_(*planned.on) if planned.on else exp.true(),
        whens=exp.Whens(expressions=list(planned.clauses)),
    )
