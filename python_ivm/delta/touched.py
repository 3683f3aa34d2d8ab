"""Where a change may have an effect: columns of all rows that a delta has, and perhaps of others.

Affected groups, partitions and rows are looked up anew, now and before, so that one too many does
no harm: it cancels out. To name them takes less than the delta itself. No row is looked up to see
whether its match in an outer join or a subquery came or went; of an aggregate whose keys alone are
asked for no value is computed; and a table that is joined, but neither filters nor gives a column,
is not read.

Rows are told without counts, and nothing on the way may net them: a row too many with the count -1
would hide one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, beside, columns_of, substitute, under
from python_ivm.algebra.nodes import (
    Aggregate,
    ClockFilter,
    Filter,
    FullJoin,
    Generate,
    Join,
    LeftJoin,
    Mark,
    Node,
    Project,
    Repeat,
    Scan,
    SemiJoin,
    Sort,
    UnionAll,
    Values,
    Window,
)
from python_ivm.delta import clock, filter, generate, repeat, union_all
from python_ivm.delta.join import connected_order
from python_ivm.delta.term import Changes, Inner, Term

Columns = Collection[ColumnRef]


def touched(
    relation: str, node: Node, keys: Sequence[Named], changes: Changes, inner: Inner
) -> Node:
    """Keys of all rows that a change lets come or go (with duplicates, and perhaps of others).

    Args:
        relation: The result's name.
        node: An operator that the change touches.
        keys: Expressions over its columns; they name the result's columns.
        changes: Which sources changed.
        inner: Gives the delta of an operator.
    """
    keys = tuple(keys) or (_ONE,)
    wanted = _columns(key.expression for key in keys)
    terms = _Touched(changes, inner).rows(node, wanted)
    if len(terms) == 1:
        return Project(terms[0].plan, relation, terms[0].named(keys))
    parts = tuple(Project(term.plan, relation, term.named(keys), term.title) for term in terms)
    return UnionAll(parts, relation, tuple(key.name for key in keys))


def touched_columns(
    relation: str, node: Node, columns: Iterable[ColumnRef], changes: Changes, inner: Inner
) -> tuple[Node, dict[ColumnRef, exp.Expr]]:
    """Columns of all rows that a change lets come or go, and what each column is there.

    Args:
        relation: The result's name.
        node: An operator that the change touches.
        columns: Some of its columns.
        changes: Which sources changed.
        inner: Gives the delta of an operator.
    """
    shown, mapping = under(relation, columns)
    return touched(relation, node, shown, changes, inner), mapping


_ONE = Named("one", exp.Literal.number(1))


@dataclass(frozen=True)
class _Touched:
    """Finds rows by which operator they come from.

    Each rule gives terms whose plans have the wanted columns, of all rows that the operator's delta
    has. An operator without a rule gives its delta.
    """

    changes: Changes
    inner: Inner

    def rows(self, node: Node, wanted: Columns) -> list[Term]:
        """Terms that have the wanted columns of an operator's touched rows."""
        if not self.changes.touches(node):
            return []
        match node:
            case Filter() if not _is_spared(node, wanted):
                return filter.delta(node, self.changes, self._below(wanted, node))
            case ClockFilter():
                return clock.delta(node, self.changes, self._below(wanted, node))
            case Repeat():
                return repeat.delta(node, self.changes, self._below(wanted, node))
            case Generate():
                return generate.delta(node, self.changes, self._below(wanted, node))
            case Filter() | Sort(limit=None, offset=None):
                return self.rows(node.input, wanted)
            case Project():
                return self._shown(node, node.items, wanted)
            case UnionAll():
                return self._united(node, wanted)
            case Join():
                return self._joined(node, wanted)
            case LeftJoin():
                return self._left_joined(node, wanted)
            case FullJoin():
                return self._full_joined(node, wanted)
            case SemiJoin():
                return self._semi_joined(node, wanted)
            case Mark() if ColumnRef(node.relation, node.mark) not in wanted:
                return self._shown(node, node.items, wanted)
            case Aggregate() if _are_of(node, node.keys, wanted):
                return self._shown(node, node.keys, wanted)
            case Window() if _are_of(node, _partition(node), wanted):
                return self._shown(node, _partition(node), wanted)
        return self.inner(node, self.changes)

    def _below(self, wanted: Columns, node: Node) -> Inner:
        """What gives an input's rows to the rule of a linear operator."""
        needed = {*wanted, *_columns(node.expressions)}
        return lambda child, changes: self.rows(child, needed.intersection(child.schema))

    def _shown(
        self, node: Project | Mark | Aggregate | Window, items: Iterable[Named], wanted: Columns
    ) -> list[Term]:
        """Wanted items over the input's rows."""
        kept = [item for item in items if ColumnRef(node.relation, item.name) in wanted] or [_ONE]
        needed = _columns(item.expression for item in kept)
        if isinstance(node, Mark):
            terms = [*self.rows(node.left, needed), *self._matching(node, needed)]
        else:
            terms = self.rows(node.input, needed)
        return [_term(Project(t.plan, node.relation, t.named(kept)), t.title) for t in terms]

    def _united(self, node: UnionAll, wanted: Columns) -> list[Term]:
        parts = (union_all.renamed(part, node) for part in node.parts)
        return [term for part in parts for term in self.rows(part, wanted)]

    def _joined(self, node: Join, wanted: Columns) -> list[Term]:
        terms: list[Term] = []
        for index, part in enumerate(node.parts):
            earlier = [self.changes.post(p) for p in node.parts[:index]]
            later = [self.changes.pre(p) for p in node.parts[index + 1 :]]
            terms += self._with(part, [*earlier, *later], node.conditions, index, wanted)
        return terms

    def _with(
        self, part: Node, others: list[Node], conditions: Sequence[exp.Expr], place: int,
        wanted: Columns,
    ) -> list[Term]:  # fmt: skip
        """Touched rows of one input joined to those of the others that are needed."""
        conditions = _spared(part, conditions, wanted)
        kept, conditions = _needed(others, conditions, wanted, part)
        before = sum(any(other is k for k in kept) for other in others[:place])
        needed = {*wanted, *_columns(conditions)}
        terms = []
        for term in self.rows(part, needed.intersection(part.schema)):
            if not kept:
                terms.append(term)
                continue
            own = tuple(term.over(c) for c in conditions)
            ordered = connected_order(term.plan, kept, own, before)
            terms.append(replace(term, plan=Join((term.plan, *ordered), own)))
        return terms

    def _left_joined(self, node: LeftJoin, wanted: Columns) -> list[Term]:
        if not set(wanted).intersection(node.right.schema):
            return [*self.rows(node.left, wanted), *self._matching(node, wanted)]
        needed = {*wanted, *_columns(node.conditions)}
        terms = [
            replace(
                term,
                plan=LeftJoin(
                    term.plan,
                    self.changes.post(node.right),
                    tuple(term.over(c) for c in node.conditions),
                    node.label,
                ),
            )
            for term in self.rows(node.left, needed.intersection(node.left.schema))
        ]
        left = self.changes.pre(node.left)
        parts = list(left.parts) if isinstance(left, Join) else [left]
        own = left.conditions if isinstance(left, Join) else ()
        every = (*node.conditions, *own)
        matched = self._with(node.right, parts, every, len(parts), wanted)
        return [*terms, *(_or_null(t, node.label, node.right, wanted) for t in matched)]

    def _full_joined(self, node: FullJoin, wanted: Columns) -> list[Term]:
        terms: list[Term] = []
        for side, other, partner in (
            (node.left, node.right, self.changes.post),
            (node.right, node.left, self.changes.pre),
        ):
            joined = bool(set(wanted).intersection(other.schema))
            needed = {*wanted, *(_columns(node.conditions) if joined else ())}
            for term in self.rows(side, needed.intersection(side.schema)):
                if joined:
                    conditions = tuple(term.over(c) for c in node.conditions)
                    plan = LeftJoin(term.plan, partner(other), conditions, node.label)
                    term = replace(term, plan=plan)
                terms.append(_or_null(term, node.label, side, wanted))
        return terms

    def _semi_joined(self, node: SemiJoin, wanted: Columns) -> list[Term]:
        """The left side's rows that match (or do not), and those that match a touched right row."""
        right = self.changes.post(node.right)
        needed = {*wanted, *_columns(node.conditions)}
        terms = [
            replace(
                term,
                plan=replace(
                    node,
                    left=term.plan,
                    right=right,
                    conditions=tuple(term.over(c) for c in node.conditions),
                ),
            )
            for term in self.rows(node.left, needed.intersection(node.left.schema))
        ]
        return [*terms, *self._matching(node, wanted)]

    def _matching(self, node: LeftJoin | SemiJoin | Mark, wanted: Columns) -> list[Term]:
        """The left side's rows before that match a touched right row."""
        if not self.changes.touches(node.right):
            return []
        asked = [c for c in node.right.schema if c in _columns(node.conditions)]
        left = self.changes.pre(node.left)
        if isinstance(left, Join):
            needed = {*wanted, *_columns(node.conditions)}
            parts, own = _needed(list(left.parts), left.conditions, needed)
            left = Join(tuple(parts), tuple(own)) if len(parts) > 1 else parts[0]
        label = node.relation if isinstance(node, Mark) else node.label
        changed, columns = touched_columns(
            beside(label, "changed"), node.right, asked, self.changes, self.inner
        )
        conditions = tuple(substitute(c, columns) for c in node.conditions)
        return [_term(SemiJoin(left, changed, conditions), f"rows that match {label}")]


def _term(plan: Node, title: str) -> Term:
    """Rows without a count."""
    return Term(plan, exp.Literal.number(1), False, title)


def _columns(expressions: Iterable[exp.Expr]) -> set[ColumnRef]:
    return {column for expression in expressions for column in columns_of(expression)}


def _or_null(term: Term, label: str, side: Node, wanted: Columns) -> Term:
    """An outer join's rows, once as they are and once with NULLs in the columns of one side."""
    shown = [column for column in side.schema if column in wanted]
    if not shown:
        return term
    tags = Values(
        beside(label, "tags"), ("tag",), ((exp.Literal.number(1),), (exp.Literal.number(-1),))
    )
    matched = exp.EQ(
        this=ColumnRef(tags.relation, "tag").expression(), expression=exp.Literal.number(1)
    )
    columns = {c: exp.Case().when(matched.copy(), term.over(c.expression())) for c in shown}
    return replace(term, plan=Join((term.plan, tags)), columns={**term.columns, **columns})


def _partition(node: Window) -> list[Named]:
    """The columns of a window's rows that all rows of a partition have in common."""
    return [item for item in node.items if item.expression in node.partition]


def _are_of(node: Aggregate | Window, items: Iterable[Named], wanted: Columns) -> bool:
    return {ColumnRef(node.relation, item.name) for item in items}.issuperset(wanted)


def _computed(node: Node) -> set[ColumnRef]:
    """The columns that take the values of whole groups, of partitions or of another table."""
    match node:
        case Filter() | Sort(limit=None, offset=None):
            return _computed(node.input)
        case Project():
            below = _computed(node.input)
            plain: Iterable[Named] = [
                i for i in node.items if below.isdisjoint(columns_of(i.expression))
            ]
        case Aggregate():
            plain = node.keys
        case Window():
            plain = _partition(node)
        case Mark():
            plain = node.items
        case _:
            return set()
    return set(node.schema).difference(ColumnRef(node.relation, item.name) for item in plain)


def _is_spared(node: Filter, wanted: Columns) -> bool:
    """Whether a condition alone would need values that are not asked for (HAVING, say)."""
    computed = _computed(node.input)
    return bool(computed & columns_of(node.condition)) and computed.isdisjoint(wanted)


def _spared(part: Node, conditions: Sequence[exp.Expr], wanted: Columns) -> Sequence[exp.Expr]:
    """A join's conditions but those that alone would need such values of an input.

    All of them, where the others do not link the input by an equality.
    """
    computed = _computed(part)
    own = set(part.schema)
    others = [c for c in conditions if computed.isdisjoint(columns_of(c))]
    linked = any(_is_equality(c) and own & columns_of(c) and columns_of(c) - own for c in others)
    return others if linked and computed.isdisjoint(wanted) else conditions


def _is_equality(condition: exp.Expr) -> bool:
    return isinstance(condition, (exp.EQ, exp.NullSafeEQ))


def _needed(
    parts: list[Node], conditions: Sequence[exp.Expr], wanted: Columns, first: Node | None = None
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
    part: Node, parts: Sequence[Node], conditions: Sequence[exp.Expr], wanted: Columns
) -> bool:
    """Whether an input is a plain table at the end of a join's chain of which nothing is wanted."""
    own = set(part.schema)
    if not own.isdisjoint(wanted) or not all(isinstance(n, (Scan, Project)) for n in part.walk()):
        return False
    linking = [c for c in conditions if own & columns_of(c)]
    linked = [p for p in parts if p is not part and _columns(linking).intersection(p.schema)]
    return len(linked) <= 1 and all(_is_equality(c) and columns_of(c) - own for c in linking)
