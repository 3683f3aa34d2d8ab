"""Lookahead of join keys: what a change is joined with first bounds the large table after it.

A nation that changed has no key of an order line; its suppliers have. The keys are found by joining
the change with a small table. That join runs twice: once to ask for the keys, once in the MERGE.
And of a thousand changed lines few may have a part that the query asks for. Decision 0036.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, columns_of
from python_ivm.algebra.nodes import (
    At,
    Filter,
    Join,
    LeftJoin,
    Node,
    Project,
    SemiJoin,
    WorkingTable,
)
from python_ivm.algebra.walks import rewritten
from python_ivm.optimize.analysis.bounds import Bound, Range, is_bound, with_conditions
from python_ivm.optimize.analysis.provenance import Key, Kinds, Provenance, equalities, family
from python_ivm.optimize.analysis.reads import Read, bounds_of_pairs, changes_in, matches_nothing
from python_ivm.optimize.context import Context, Lookahead
from python_ivm.state.merge import Merge

Pays = Callable[[Node, Read, str], bool]
"""Whether it pays to ask what a plan gives, in order to read less of a table by a column."""


def join_key_lookahead(merge: Merge, context: Context) -> Merge:
    """Bound what is read of tables that are joined to what a change was joined with.

    As in data skipping the conditions are implied by equalities, and change no result.

    Args:
        merge: A MERGE with the bounds that the keys of changes give.
        context: Is asked for the keys, for all joins at once, where that pays.
    """
    plan = merge.rows
    looks = _Looks(context.kinds, context.cost.pays_to_ask)
    chosen = {id(node): look for node in plan.walk() if (look := looks.best(node))}
    if not chosen or context.answers.known_unseen & changes_in(plan):
        return merge  # nothing to ask, or another plan comes in its place
    ranges = context.answers.of_lookaheads(plan, list(chosen.values()))
    found = {
        place: (look, range_)
        for (place, look), range_ in zip(chosen.items(), ranges, strict=True)
        if range_ is not None and _is_news(range_, look.known)
    }

    def implied(node: Node) -> Iterator[tuple[Range, ColumnRef, bool]]:
        if id(node) in found:
            look, range_ = found[id(node)]
            yield range_, look.far, look.or_null
        for below in _joined(node):
            if id(below) in found:
                look, range_ = found[id(below)]
                yield from ((range_, *also) for also in looks.also(node, look))

    def rule(node: Node, before: Node) -> Node:
        for range_, column, or_null in implied(before):
            held = range_.holds(column.expression(), or_null, of_change=False)
            node = with_conditions(node, held, stays_left=column in before.inputs[0].schema)
        return node

    return replace(merge, rows=rewritten(plan, rule))


def _is_news(found: Range, known: Bound | None) -> bool:
    return known is None or found.bound(of_change=False).values < known.values


def _joined(node: Node) -> Iterator[Node]:
    """The joins of which a join's left side consists: their columns are its own."""
    if not isinstance(node, (LeftJoin, SemiJoin)):
        return
    left = node.left
    while isinstance(left, (Filter, LeftJoin, SemiJoin)):
        yield left
        left = left.inputs[0]
    yield left


class _Looks:
    def __init__(self, kinds: Kinds, pays: Pays) -> None:
        self._kinds = kinds
        self._pays = pays
        self._provenance = Provenance(kinds)

    def best(self, node: Node) -> Lookahead | None:
        """A join's look ahead; at a table of which nothing is bounded yet rather than at others."""
        looks = list(self._of(node))
        return min(looks, key=lambda look: look.known is not None, default=None)

    def _of(self, node: Node) -> Iterator[Lookahead]:
        """A join's looks ahead that pay, from the change outwards."""
        if not isinstance(node, (Join, LeftJoin, SemiJoin)) or matches_nothing(node):
            return
        few = {column: bound for column, bound in bounds_of_pairs(node).items() if bound.is_few}
        for near, far in _places(node):
            if _reads_change(near):
                own = {column: bound for column, bound in few.items() if column in far.schema}
                yield from self._between(node, near, far, own)

    def also(self, node: Node, look: Lookahead) -> Iterator[tuple[ColumnRef, bool]]:
        """Columns of a join's right side that equal those of a look in its left one.

        Spark finds them by itself where all joins are inner ones.

        Yields:
            Each, and whether NULL equals NULL.
        """
        left, right = node.inputs
        for one, column, or_null in equalities(node):
            known = one in (look.key, look.far) and one in left.schema
            if known and column in right.schema and self._looks_up(right, column, look.kind):
                yield column, or_null

    def _between(
        self, node: Node, near: Node, far: Node, few: Mapping[ColumnRef, Bound]
    ) -> Iterator[Lookahead]:
        """The looks ahead at a part of a join, of which few values of some columns are asked."""
        if few and not _drops_rows_of_changes(near):
            return
        for key, column, or_null in equalities(node):
            if key not in near.schema or column not in far.schema:
                continue
            kind = self._kind(near, key)
            if kind is None:
                continue
            if few and column not in few:
                continue
            if not few and self._provenance.keys(near, key):  # the change's own, which are known
                continue
            found = self._looks_up(far, column, kind)
            if found is None:
                continue
            if self._pays(near, self._read(far, found.source, few), found.column):
                yield Lookahead(near, key, kind, column, or_null, few.get(column))

    def _kind(self, node: Node, column: ColumnRef) -> str | None:
        """The Spark type of a key that a table has; None of others."""
        found = self._provenance.kinds(node, column)
        kind = next(iter(found)) if len(found) == 1 else None
        return kind if family(kind) is not None else None

    def _looks_up(self, node: Node, column: ColumnRef, kind: str) -> Key | None:
        """What a column reads of the states of one table, if its values are like those of a key."""
        if family(self._kind(node, column)) != family(kind):
            return None
        read = self._provenance.read(node, column)
        return min(read) if len({key.source for key in read}) == 1 else None

    def _read(self, node: Node, source: str, few: Mapping[ColumnRef, Bound]) -> Read:
        """How a table is read of whose columns few values are asked."""
        found = {
            key.column: bound
            for column, bound in few.items()
            for key in self._provenance.read(node, column)
            if key.source == source
        }
        return Read(source, At.POST, found)


def _places(node: Join | LeftJoin | SemiJoin) -> Iterator[tuple[Node, Node]]:
    """What is joined so far and what comes next, from the first input on."""
    if not isinstance(node, Join):
        yield node.inputs[0], node.inputs[1]
        if isinstance(node, SemiJoin) and not node.anti:
            yield node.inputs[1], node.inputs[0]
        return
    for index in range(1, len(node.parts)):
        near = node.parts[:index]
        placed = {column for part in near for column in part.schema}
        conditions = tuple(c for c in node.conditions if columns_of(c) <= placed)
        yield Join(near, conditions), node.parts[index]


def _reads_change(node: Node) -> bool:
    """Whether what a plan gives is of a change, and can be asked for by itself."""
    return bool(changes_in(node)) and not any(isinstance(n, WorkingTable) for n in node.walk())


def _drops_rows_of_changes(node: Node) -> bool:
    """Whether a condition on a table leaves out rows of the change that is joined to it."""
    match node:
        case SemiJoin():
            return True
        case Filter() | Project() | LeftJoin():
            return _drops_rows_of_changes(node.inputs[0])
        case Join():
            changed = [part for part in node.parts if changes_in(part)]
            of_change = {column.relation for part in changed for column in part.schema}
            return any(map(_drops_rows_of_changes, changed)) or any(
                _is_of_one_table(condition, of_change) for condition in node.conditions
            )
    return False


def _is_of_one_table(condition: exp.Expr, of_change: Collection[str]) -> bool:
    relations = {column.relation for column in columns_of(condition)}
    return len(relations) == 1 and relations.isdisjoint(of_change) and not is_bound(condition)
