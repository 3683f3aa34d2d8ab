"""Irrelevant updates: changes in rows or columns that the query does not read are not followed.

Whatever the tables hold, such a change leaves the query's result as it is. Source: Blakeley, Coburn
and Larson, "Updating Derived Relations: Detecting Irrelevant and Autonomously Computable Updates",
ACM TODS 14, 1989, section 3. Decision 0037.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from python_ivm.algebra import nodes
from python_ivm.algebra.columns import ColumnRef, Named, columns_of, substitute
from python_ivm.algebra.conditions import conjuncts
from python_ivm.algebra.nodes import COUNT, At, Node
from python_ivm.algebra.term import Changes
from python_ivm.algebra.walks import readers
from python_ivm.optimize.analysis.provenance import Kinds, Provenance
from python_ivm.optimize.context import Context, Question
from python_ivm.state.merge import Merge

ROWS = "changed"
"""The relation of a source's changed rows in a condition on them."""
_NET = "net"
_SHOWN = "__ivm_shown__"
_COMPARABLE = re.compile(
    r"tinyint|smallint|int|bigint|boolean|date|timestamp(_ntz)?|string|binary|float|double"
    r"|(decimal|char|varchar)\([\d, ]+\)",
    re.IGNORECASE,
)
"""Types whose values are one group only if they are the same, but for the zeros of floats."""
FLOATS = ("float", "double")

Conditions = Sequence[exp.Expr]


@dataclass(frozen=True)
class Relevant:
    """What a query reads of a source.

    Attributes:
        columns: The columns.
        condition: Holds for all rows that it asks for, a condition on columns of :data:`ROWS`; None
            if it asks for all.
    """

    columns: tuple[str, ...]
    condition: exp.Expr | None


def irrelevant_updates(merge: Merge, context: Context) -> Merge:
    """Follow only the sources of whose change the query sees something.

    Args:
        merge: A MERGE that follows changes.
        context: Is asked what the query sees, in the questions of the passes before as a rule.

    Returns:
        A MERGE that follows less, from the first pass on; one that follows nothing if the query
        sees none of the changes.
    """
    unseen = context.answers.unseen(merge.rows)
    if not unseen or context.follow is None:
        return merge
    if merge.follows <= unseen:
        return replace(merge, changes=Changes({}))
    return context.follow(unseen)


def relevant(plan: Node, kinds: Kinds) -> dict[str, Relevant]:
    """What a query reads of each of its sources.

    Args:
        plan: The query's plan.
        kinds: The types of the sources' columns.
    """
    found = _Found(plan, kinds)
    found.visit(plan, ())
    return {source: found.relevant(source) for source in found.scans}


def question(
    source: str, reads: Relevant, keys: Sequence[str], kinds: Sequence[str] | None
) -> Question:
    """What to ask a change for its keys, and whether the query sees it.

    Args:
        source: The source.
        reads: What the query reads of it.
        keys: Those of the columns whose values are asked for.
        kinds: The types of the query's columns, as :func:`comparable` gives them, to leave out rows
            that came and went with the same values; None keeps them.
    """
    changed: Node = nodes.Scan(source, ROWS, reads.columns, At.DELTA)
    if kinds is None:
        seen = None if reads.condition is None else _is_true(reads.condition)
        return Question(changed, tuple(ColumnRef(ROWS, key) for key in keys), seen)
    values = [Named(c, ColumnRef(ROWS, c).expression()) for c in reads.columns]
    texts = [
        Named(f"{value.name}__text__", exp.cast(value.expression, "string"))
        for value, kind in zip(values, kinds, strict=True)
        if kind in FLOATS
    ]
    shown = [] if reads.condition is None else [Named(_SHOWN, _is_true(reads.condition))]
    net = Named(COUNT, exp.Sum(this=ColumnRef(ROWS, COUNT).expression()))
    rows = nodes.Aggregate(changed, _NET, (*values, *texts, *shown), (net,))
    left = exp.NEQ(this=ColumnRef(_NET, COUNT).expression(), expression=exp.convert(0))
    seen = exp.and_(*(ColumnRef(_NET, item.name).expression() for item in shown), left)
    return Question(rows, tuple(ColumnRef(_NET, key) for key in keys), seen)


def comparable(kinds: Sequence[str | None]) -> list[str] | None:
    """Spark types if equal values of them are the same; None if of one they need not be.

    So it is with texts under a collation, and with maps; and with the zeros in an array of floats.
    """
    known = [kind.lower() for kind in kinds if kind is not None and _COMPARABLE.fullmatch(kind)]
    return known if len(known) == len(kinds) else None


def _is_true(condition: exp.Expr) -> exp.Expr:
    return exp.func("coalesce", condition, exp.false())


class _Found:
    """The scans of a plan, each with the conditions that its rows must meet."""

    def __init__(self, plan: Node, kinds: Kinds) -> None:
        self._provenance = Provenance(kinds)
        self.scans: dict[str, list[tuple[nodes.Scan, Conditions]]] = {}
        self._readers = readers(plan)
        self._done: set[int] = set()

    def relevant(self, source: str) -> Relevant:
        """What the scans of a source read together."""
        scans = self.scans[source]
        columns = tuple(dict.fromkeys(c for scan, _ in scans for c in scan.columns))
        if not all(conditions for _, conditions in scans):
            return Relevant(columns, None)
        each = [
            exp.and_(*(_of_rows(condition, scan) for condition in conditions))
            for scan, conditions in scans
        ]
        return Relevant(columns, exp.or_(*dict.fromkeys(each)))

    def visit(self, node: Node, conditions: Conditions) -> None:
        """A node of whose rows those matter that meet conditions."""
        if id(node) in self._done:
            return
        self._done.add(id(node))
        mine = () if self._readers[id(node)] > 1 else conditions
        if isinstance(node, nodes.Scan):
            self.scans.setdefault(node.source, []).append((node, mine))
        for child, below in zip(node.inputs, self._below(node, mine), strict=True):
            self.visit(child, _of(below, child))

    def _below(self, node: Node, conditions: Conditions) -> list[Conditions]:
        """For each input what its rows must meet, and perhaps conditions on other columns.

        What stands below comes first, as it may guard what stands above.
        """
        match node:
            case nodes.Filter():
                return [[*conjuncts(node.condition), *conditions]]
            case nodes.Project():
                return [_shown(conditions, node, node.items)]
            case nodes.Bindings():
                return [()]
            case nodes.Aggregate():
                return [_shown(conditions, node, self._alike(node, node.keys))]
            case nodes.Window():
                items = [item for item in node.items if item.expression in node.partition]
                return [_shown(conditions, node, self._alike(node, items))]
            case nodes.UnionAll():
                return [
                    _in_terms_of(conditions, dict(zip(node.schema, _columns(part), strict=True)))
                    for part in node.parts
                ]
            case nodes.Join():
                return [[*node.conditions, *conditions]] * len(node.parts)
            case nodes.Mark():
                return [_shown(conditions, node, node.items), node.conditions]
            case nodes.SemiJoin(anti=False):
                return [[*node.conditions, *conditions], node.conditions]
            case nodes.LeftJoin() | nodes.SemiJoin():
                return [conditions, node.conditions]
            case (
                nodes.ClockFilter()
                | nodes.Generate()
                | nodes.Repeat()
                | nodes.Sort(limit=None, offset=None)
            ):
                return [conditions]
        return [()] * len(node.inputs)

    def _alike(self, node: Node, keys: Iterable[Named]) -> list[Named]:
        """Those keys whose equal values are the same: what holds for one row holds for its group.

        Rows with 0.0 and -0.0 are in one group.
        """
        found = []
        for key in keys:
            if isinstance(key.expression, exp.Column):
                column = ColumnRef(key.expression.table, key.expression.name)
                below = self._provenance.input_with(node, column)
                kinds = self._provenance.kinds(below, column) if below is not None else frozenset()
                known = comparable([*kinds])
                if known and not any(kind in FLOATS for kind in known):
                    found.append(key)
        return found


def _columns(node: Node) -> list[exp.Expr]:
    return [column.expression() for column in node.schema]


def _shown(conditions: Conditions, node: Node, items: Iterable[Named]) -> list[exp.Expr]:
    """Conditions on a relation's columns as those on what its items show."""
    relation = node.schema[0].relation if node.schema else ""
    return _in_terms_of(conditions, {ColumnRef(relation, i.name): i.expression for i in items})


def _in_terms_of(conditions: Conditions, shown: Mapping[ColumnRef, exp.Expr]) -> list[exp.Expr]:
    """Those conditions whose columns are all shown, in terms of what is shown."""
    return [substitute(c, shown) for c in conditions if columns_of(c) <= shown.keys()]


def _of(conditions: Conditions, node: Node) -> list[exp.Expr]:
    """The conditions on a node's columns alone."""
    schema = set(node.schema)
    return [condition for condition in conditions if columns_of(condition) <= schema]


def _of_rows(condition: exp.Expr, scan: nodes.Scan) -> exp.Expr:
    return substitute(condition, {c: ColumnRef(ROWS, c.name).expression() for c in scan.schema})
