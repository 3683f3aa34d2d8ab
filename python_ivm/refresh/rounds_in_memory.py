"""Which recursions of a change go round in memory, and which in Spark.

Each round of a recursion is two jobs to Spark, however few its rows are. Where few rows changed,
and the tables that the step reads are small, the rounds are no statements.
"""

from __future__ import annotations

from collections.abc import Mapping

from python_ivm.algebra.nodes import Node, Recursion, Scan
from python_ivm.algebra.walks import OncePerNode, bottom_up
from python_ivm.delta.recursion import COPIES
from python_ivm.errors import NotYetImplemented
from python_ivm.loops.given import given_query
from python_ivm.loops.run import OnLimit
from python_ivm.loops.signed_rounds import SignedRounds, loop_of_recursion
from python_ivm.optimize.cost import SMALL, Cost, Reading
from python_ivm.parse.loops import NOW
from python_ivm.refresh.model import Model
from python_ivm.render.sources import table
from python_ivm.rows.circuit import Limits
from python_ivm.rows.kinds import Kind
from python_ivm.sources.clock import Clock
from python_ivm.sources.history import SourceChange

NAME = "rounds_in_memory"
"""What leaves it out, as the name of a pass does."""
MOST_READ = 5_000_000
"""So many rows of the step's tables are fetched; more are left to Spark's rounds."""
_LIMITS = Limits(rounds=10_000, rows=300_000)
"""A change that goes on for longer is not followed: the query is recomputed."""


def taken_out(
    plan: Node,
    model: Model,
    sources: Mapping[str, SourceChange],
    clock: Clock | None,
    cost: Cost,
) -> tuple[Node, list[SignedRounds]]:
    """The plan with the rows of its recursions as tables, and what computes these.

    Args:
        plan: What a MERGE merges.
        model: The model.
        sources: What happened to each of its sources.
        clock: The clock if the query asks it.
        cost: What plans cost.
    """
    found: list[SignedRounds] = []
    if NAME in model.request.without_passes:
        return plan, found

    def rule(node: Node) -> Node:
        if not isinstance(node, Recursion) or node.names[-1] != COPIES:
            return node
        run = _rounds(node, model, sources, clock, cost)
        if run is None:
            return node
        found.append(run)
        return Scan(f"{NOW}.{node.relation}", node.relation, node.names)

    return bottom_up(plan, rule), found


def _rounds(
    node: Recursion,
    model: Model,
    sources: Mapping[str, SourceChange],
    clock: Clock | None,
    cost: Cost,
) -> SignedRounds | None:
    """What computes a recursion's change; None if it is left to Spark."""
    little = cost.changed_little(node) and _is_little(cost.reading(node.step))
    if not little or _reads_rounds(node):
        return None
    state = table(model.request.state, model.found.version)
    once = OncePerNode()

    def query(given: Node) -> str:
        return once("query", given, lambda: given_query(given, sources, clock, state))

    def kinds(given: Node) -> tuple[Kind, ...]:
        return tuple(Kind.of(kind) for _, kind in model.warehouse.describe(query(given)))

    try:
        loop = loop_of_recursion(node, kinds, model.ansi)
    except NotYetImplemented:
        return None
    first, *others = loop.givens
    own = model.request.options.limits
    limits = Limits(min(own.rounds, _LIMITS.rounds), min(own.rows, _LIMITS.rows))
    return SignedRounds(
        model.request.model,
        loop,
        (f"{query(first)}\nLIMIT {limits.rows + 1}", *map(query, others)),
        tuple(map(kinds, loop.givens)),
        (node.relation,),
        limits,
        OnLimit.ERROR,
    )


def _is_little(reading: Reading) -> bool:
    """Whether tables are small enough to be fetched; their bytes tell where their rows are not."""
    if reading.rows is not None:
        return reading.rows <= MOST_READ
    return reading.bytes is not None and reading.bytes <= SMALL


def _reads_rounds(node: Recursion) -> bool:
    """Whether a recursion reads the rows of another one, whose types Spark does not know yet."""
    return any(isinstance(n, Scan) and n.source.startswith(f"{NOW}.") for n in node.walk())
