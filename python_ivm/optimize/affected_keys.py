"""Affected keys: where a change may have an effect, found with less work than the change itself.

A delta looks up affected groups, partitions and rows in the pre-state and in the post-state. One
too many does no harm: it cancels out. So a superset of the keys is enough, and a superset takes
less work than the delta. It does not look up whether a row's match in an outer join or a subquery
came or went. It computes no value of an aggregate of which only the keys are asked for. It does
not read a table that is joined, but neither filters nor gives a column.

The keys have no counts, and nothing on the way may net them: one row too many with the count -1
would hide an affected row.

Equal values may differ: 0.0 and -0.0 are one group and two texts. A group's row knows the group's
key up to equality only, and so does a partition's row. Decision 0034.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from python_ivm.algebra import nodes
from python_ivm.algebra.affected import ONE, keys_asked_by
from python_ivm.algebra.columns import ColumnRef, Named, beside, columns_of
from python_ivm.algebra.nodes import Node
from python_ivm.algebra.term import Changes, Inner, Term
from python_ivm.algebra.walks import OncePerNode, over
from python_ivm.delta import (
    clock_filter,
    delta,
    filter,
    generate,
    left_join,
    repeat,
    semi_join,
    union_all,
)
from python_ivm.delta.join import connected_order
from python_ivm.optimize.context import Context
from python_ivm.state.merge import Merge


def affected_keys(merge: Merge, context: Context) -> Merge:
    """Find affected keys without computing the delta of the operator that has them.

    Args:
        merge: A MERGE that follows changes.
        context: Not asked.
    """
    assert merge.changes is not None
    changes = merge.changes

    def superset(node: nodes.AffectedKeys) -> list[Term]:
        return _Affected(changes, delta).rows(node.of, _Wanted.by(node.asked).within(node.of))

    return replace(merge, rows=_written(merge.rows, superset))


def keys_of_deltas(merge: Merge, context: Context) -> Merge:
    """Take the affected keys from the delta of the operator that has them."""
    assert merge.changes is not None
    changes = merge.changes
    return replace(merge, rows=_written(merge.rows, lambda node: delta(node.of, changes)))


def _written(plan: Node, rows: Callable[[nodes.AffectedKeys], Sequence[Term]]) -> Node:
    """A plan in which affected keys are found, also those that are asked for to find others."""
    once = OncePerNode()

    def visit(node: Node) -> Node:
        return once("written", node, lambda: found(node))

    def found(node: Node) -> Node:
        if isinstance(node, nodes.AffectedKeys):
            return visit(_named(node.relation, rows(node), node.keys))
        return over(node, tuple(map(visit, node.inputs)))

    return visit(plan)


def _named(relation: str, terms: Sequence[Term], items: Sequence[Named]) -> Node:
    """All terms' rows as one relation."""
    parts = tuple(
        nodes.Project(term.plan, relation, term.named(items), term.title) for term in terms
    )
    if len(parts) == 1:
        return replace(parts[0], title="")
    return nodes.UnionAll(parts, relation, tuple(item.name for item in items))


@dataclass(frozen=True)
class _Wanted:
    """What is asked of an operator's rows.

    Attributes:
        columns: Some of its columns.
        exact: Those that more is asked of than what they are equal to, less or greater than.
    """

    columns: frozenset[ColumnRef]
    exact: frozenset[ColumnRef] = frozenset()

    @classmethod
    def by(cls, expressions: Iterable[exp.Expr]) -> _Wanted:
        """What expressions ask."""
        every = list(expressions)
        return cls(frozenset(_columns(every)), frozenset().union(*map(_exact, every)))

    def and_by(self, expressions: Iterable[exp.Expr]) -> _Wanted:
        """The same, and what expressions ask."""
        more = _Wanted.by(expressions)
        return _Wanted(self.columns | more.columns, self.exact | more.exact)

    def within(self, node: Node) -> _Wanted:
        """What is asked of one of several operators."""
        return _Wanted(self.columns.intersection(node.schema), self.exact)


@dataclass(frozen=True)
class _Affected:
    """Finds rows by which operator they come from.

    Each rule gives terms whose plans have the wanted columns, of all rows that the operator's delta
    has. An operator without a rule gives its delta.
    """

    changes: Changes
    inner: Inner

    def rows(self, node: Node, wanted: _Wanted) -> list[Term]:
        """Terms that have the wanted columns of an operator's affected rows."""
        if not self.changes.touches(node):
            return []
        match node:
            case nodes.Filter() if not _is_spared(node, wanted):
                return filter.delta(node, self.changes, self._below(wanted, node))
            case nodes.ClockFilter():
                return clock_filter.delta(node, self.changes, self._below(wanted, node))
            case nodes.Repeat():
                return repeat.delta(node, self.changes, self._below(wanted, node))
            case nodes.Generate():
                return generate.delta(node, self.changes, self._below(wanted, node))
            case nodes.Filter() | nodes.Sort(limit=None, offset=None):
                return self.rows(node.input, wanted)
            case nodes.Project():
                return self._shown(node, node.items, wanted)
            case nodes.UnionAll():
                return self._united(node, wanted)
            case nodes.Join():
                return self._joined(node, wanted)
            case nodes.LeftJoin():
                return self._left_joined(node, wanted)
            case nodes.FullJoin():
                return self._full_joined(node, wanted)
            case nodes.SemiJoin():
                return self._semi_joined(node, wanted)
            case nodes.Mark() if ColumnRef(node.relation, node.mark) not in wanted.columns:
                return self._shown(node, node.items, wanted)
            case nodes.Aggregate() if _tell(node, node.keys, wanted):
                return self._shown(node, node.keys, wanted)
            case nodes.Window() if _tell(node, _partition(node), wanted):
                return self._shown(node, _partition(node), wanted)
        return self.inner(node, self.changes)

    def _below(self, wanted: _Wanted, node: Node) -> Inner:
        """What gives an input's rows to the rule of a linear operator."""
        needed = wanted.and_by(node.expressions)
        return lambda child, changes: self.rows(child, needed.within(child))

    def _shown(
        self,
        node: nodes.Project | nodes.Mark | nodes.Aggregate | nodes.Window,
        items: Iterable[Named],
        wanted: _Wanted,
    ) -> list[Term]:
        """Wanted items over the input's rows."""
        shown = {ColumnRef(node.relation, item.name): item for item in items}
        kept = [item for column, item in shown.items() if column in wanted.columns] or [ONE]
        exact = _columns(shown[c].expression for c in wanted.exact if c in shown)
        needed = _Wanted.by(item.expression for item in kept)
        needed = replace(needed, exact=needed.exact | exact)
        if isinstance(node, nodes.Mark):
            terms = [*self.rows(node.left, needed), *self._matching(node, needed)]
        else:
            terms = self.rows(node.input, needed)
        return [_term(nodes.Project(t.plan, node.relation, t.named(kept)), t.title) for t in terms]

    def _united(self, node: nodes.UnionAll, wanted: _Wanted) -> list[Term]:
        parts = (union_all.renamed(part, node) for part in node.parts)
        return [term for part in parts for term in self.rows(part, wanted)]

    def _joined(self, node: nodes.Join, wanted: _Wanted) -> list[Term]:
        terms: list[Term] = []
        for index, part in enumerate(node.parts):
            earlier = [self.changes.post(p) for p in node.parts[:index]]
            later = [self.changes.pre(p) for p in node.parts[index + 1 :]]
            terms += self._with(part, [*earlier, *later], node.conditions, index, wanted)
        return terms

    def _with(
        self, part: Node, others: list[Node], conditions: Sequence[exp.Expr], place: int,
        wanted: _Wanted,
    ) -> list[Term]:  # fmt: skip
        """Affected rows of one input, joined to those of the other inputs that are needed."""
        conditions = _spared(part, conditions, wanted)
        kept, conditions = _needed(others, conditions, wanted, part)
        before = sum(any(other is k for k in kept) for other in others[:place])
        terms = []
        for term in self.rows(part, wanted.and_by(conditions).within(part)):
            if not kept:
                terms.append(term)
                continue
            own = tuple(term.over(c) for c in conditions)
            ordered = connected_order(term.plan, kept, own, before)
            terms.append(replace(term, plan=nodes.Join((term.plan, *ordered), own)))
        return terms

    def _left_joined(self, node: nodes.LeftJoin, wanted: _Wanted) -> list[Term]:
        if wanted.columns.isdisjoint(node.right.schema):
            return [*self.rows(node.left, wanted), *self._matching(node, wanted)]
        needed = wanted.and_by(node.conditions)
        terms = [
            replace(term, plan=left_join.with_matches(node, term, self.changes))
            for term in self.rows(node.left, needed.within(node.left))
        ]
        left = self.changes.pre(node.left)
        parts = list(left.parts) if isinstance(left, nodes.Join) else [left]
        own = left.conditions if isinstance(left, nodes.Join) else ()
        every = (*node.conditions, *own)
        matched = self._with(node.right, parts, every, len(parts), wanted)
        return [*terms, *(_or_null(t, node.label, node.right, wanted) for t in matched)]

    def _full_joined(self, node: nodes.FullJoin, wanted: _Wanted) -> list[Term]:
        terms: list[Term] = []
        for side, other, partner in (
            (node.left, node.right, self.changes.post),
            (node.right, node.left, self.changes.pre),
        ):
            joined = not wanted.columns.isdisjoint(other.schema)
            needed = wanted.and_by(node.conditions if joined else ())
            for term in self.rows(side, needed.within(side)):
                if joined:
                    conditions = tuple(term.over(c) for c in node.conditions)
                    plan = nodes.LeftJoin(term.plan, partner(other), conditions, node.label)
                    term = replace(term, plan=plan)
                terms.append(_or_null(term, node.label, side, wanted))
        return terms

    def _semi_joined(self, node: nodes.SemiJoin, wanted: _Wanted) -> list[Term]:
        """The left side's rows that match (or do not), and those that match an affected row."""
        needed = wanted.and_by(node.conditions)
        terms = [
            replace(term, plan=semi_join.filtered(node, term, self.changes))
            for term in self.rows(node.left, needed.within(node.left))
        ]
        return [*terms, *self._matching(node, wanted)]

    def _matching(
        self, node: nodes.LeftJoin | nodes.SemiJoin | nodes.Mark, wanted: _Wanted
    ) -> list[Term]:
        """The left side's rows before that match an affected right row."""
        if not self.changes.touches(node.right):
            return []
        left = self.changes.pre(node.left)
        if isinstance(left, nodes.Join):
            parts, own = _needed(list(left.parts), left.conditions, wanted.and_by(node.conditions))
            left = nodes.Join(tuple(parts), tuple(own)) if len(parts) > 1 else parts[0]
        label = node.relation if isinstance(node, nodes.Mark) else node.label
        changed, conditions = keys_asked_by(beside(label, "changed"), node.right, node.conditions)
        return [_term(nodes.SemiJoin(left, changed, conditions), f"rows that match {label}")]


def _term(plan: Node, title: str) -> Term:
    """Rows without a count."""
    return Term(plan, exp.Literal.number(1), False, title)


def _columns(expressions: Iterable[exp.Expr]) -> set[ColumnRef]:
    return {column for expression in expressions for column in columns_of(expression)}


def _exact(expression: exp.Expr) -> set[ColumnRef]:
    """The columns that an expression does more with than to show them or to compare them."""
    match expression:
        case exp.Column():
            return set()
        case exp.Paren() | exp.Not() | exp.Is():
            return _exact(expression.this)
    if isinstance(expression, _COMPARING):
        return _exact(expression.this) | _exact(expression.expression)
    return columns_of(expression)


_COMPARING = (
    exp.And, exp.Or, exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.GT, exp.GTE, exp.LT,
    exp.LTE,
)  # fmt: skip


def _or_null(term: Term, label: str, side: Node, wanted: _Wanted) -> Term:
    """An outer join's rows, once as they are and once with NULLs in the columns of one side."""
    shown = [column for column in side.schema if column in wanted.columns]
    if not shown:
        return term
    tags = nodes.Values(
        beside(label, "tags"), ("tag",), ((exp.Literal.number(1),), (exp.Literal.number(-1),))
    )
    matched = exp.EQ(
        this=ColumnRef(tags.relation, "tag").expression(), expression=exp.Literal.number(1)
    )
    columns = {c: exp.Case().when(matched.copy(), term.over(c.expression())) for c in shown}
    return replace(term, plan=nodes.Join((term.plan, tags)), columns={**term.columns, **columns})


def _partition(node: nodes.Window) -> list[Named]:
    """The columns of a window's rows that all rows of a partition have in common."""
    return [item for item in node.items if item.expression in node.partition]


def _tell(node: nodes.Aggregate | nodes.Window, items: Iterable[Named], wanted: _Wanted) -> bool:
    """Whether what is wanted are columns in which all rows of a group or partition are equal."""
    equal = {ColumnRef(node.relation, item.name) for item in items}
    return equal.issuperset(wanted.columns) and equal.isdisjoint(wanted.exact)


def _computed(node: Node) -> set[ColumnRef]:
    """The columns that take the values of whole groups, of partitions or of another table."""
    match node:
        case nodes.Filter() | nodes.Sort(limit=None, offset=None):
            return _computed(node.input)
        case nodes.Project():
            below = _computed(node.input)
            plain: Iterable[Named] = [
                i for i in node.items if below.isdisjoint(columns_of(i.expression))
            ]
        case nodes.Aggregate():
            plain = node.keys
        case nodes.Window():
            plain = _partition(node)
        case nodes.Mark():
            plain = node.items
        case _:
            return set()
    return set(node.schema).difference(ColumnRef(node.relation, item.name) for item in plain)


def _is_spared(node: nodes.Filter, wanted: _Wanted) -> bool:
    """Whether a condition alone would need values that are not asked for (HAVING, say)."""
    computed = _computed(node.input)
    return bool(computed & columns_of(node.condition)) and computed.isdisjoint(wanted.columns)


def _spared(part: Node, conditions: Sequence[exp.Expr], wanted: _Wanted) -> Sequence[exp.Expr]:
    """A join's conditions but those that alone would need such values of an input.

    All of them, where the others do not link the input by an equality.
    """
    computed = _computed(part)
    own = set(part.schema)
    others = [c for c in conditions if computed.isdisjoint(columns_of(c))]
    linked = any(_is_equality(c) and own & columns_of(c) and columns_of(c) - own for c in others)
    return others if linked and computed.isdisjoint(wanted.columns) else conditions


def _is_equality(condition: exp.Expr) -> bool:
    return isinstance(condition, (exp.EQ, exp.NullSafeEQ))


def _needed(
    parts: list[Node], conditions: Sequence[exp.Expr], wanted: _Wanted, first: Node | None = None
) -> tuple[list[Node], Sequence[exp.Expr]]:
    """The inputs of a join that filter, give a wanted column or link others, and its conditions.

    Args:
        parts: The inputs.
        conditions: The join's.
        wanted: The columns that are wanted.
        first: One more input, which is needed anyway.
    """
    kept = list(parts)
    while True:
        every = [*kept, first] if first is not None else kept
        spare = next((p for p in kept if _is_spare(p, every, conditions, wanted)), None)
        if spare is None or len(every) == 1:
            return kept, conditions
        kept = [part for part in kept if part is not spare]
        conditions = [c for c in conditions if columns_of(c).isdisjoint(spare.schema)]


def _is_spare(
    part: Node, parts: Sequence[Node], conditions: Sequence[exp.Expr], wanted: _Wanted
) -> bool:
    """Whether an input is a plain table at the end of a join's chain of which nothing is wanted."""
    own = set(part.schema)
    if not own.isdisjoint(wanted.columns) or not all(
        isinstance(n, (nodes.Scan, nodes.Project)) for n in part.walk()
    ):
        return False
    linking = [c for c in conditions if own & columns_of(c)]
    linked = [p for p in parts if p is not part and _columns(linking).intersection(p.schema)]
    return len(linked) <= 1 and all(_is_equality(c) and columns_of(c) - own for c in linking)
