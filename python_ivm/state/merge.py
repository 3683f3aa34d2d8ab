"""The one MERGE that brings a state up to date, as a plan and clauses.

The plan of what it merges is one like any other: the delta by group, and, where a deletion can have
cost a group its stored value (a minimum, say), a look at the state and the new values of those
groups. The optimizer rewrites it, and ``render`` writes the statement.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, columns_of, flat_names, substitute
from python_ivm.algebra.nodes import (
    COUNT,
    Aggregate,
    Filter,
    LeftJoin,
    Node,
    Project,
    Reduction,
    Scan,
    UnionAll,
)
from python_ivm.algebra.term import Changes, Term
from python_ivm.state.counters import CHANGE, STORED, Counter, added, change, hidden, stored
from python_ivm.state.layout import CHECK, HASH, STATE, STEP, Layout
from python_ivm.state.rows import row_hash, unless_equal

CHANGED = "changed"
"""The relation of the delta by group."""
LOST = "__ivm_lost__"
"""Marks the groups whose stored values cannot be derived."""


@dataclass(frozen=True)
class Merge:
    """A MERGE into a state, before it is written.

    Attributes:
        rows: The plan of what is merged. Each stored row is matched by at most one of its rows;
            rows of a bag that have one hash stop the statement.
        keys: Those of its columns that are the state's keys.
        on: When a stored row, named ``STORED``, is the one that a merged row, named ``CHANGE``,
            belongs to.
        clauses: The WHEN clauses.
        changes: Whose changes it follows; None where it recomputes the query.
    """

    rows: Node
    keys: tuple[ColumnRef, ...]
    on: tuple[exp.Expr, ...]
    clauses: tuple[exp.When, ...]
    changes: Changes | None = None

    @property
    def follows(self) -> frozenset[str]:
        """The sources, and maybe the clock, whose changes it follows."""
        return frozenset(self.changes.inserts_only if self.changes is not None else ())


def following(layout: Layout, terms: list[Term], changes: Changes) -> Merge:
    """The MERGE that applies a delta to a state.

    Args:
        layout: The model's layout.
        terms: The delta of the layout's input; at least one.
        changes: Which sources changed.
    """
    update = _Update(layout, terms, changes)
    rows = update.source()
    columns = {column.name: column for column in rows.schema}
    return Merge(
        rows,
        () if layout.is_log else tuple(columns[key.name] for key in layout.keys),
        tuple(found_by(layout)),
        tuple(update.clauses()),
        changes,
    )


def found_by(layout: Layout) -> list[exp.Expr]:
    """What finds the stored row that a row of the change belongs to; a log is never looked at."""
    if layout.is_log:
        return [exp.false()]
    if not layout.is_bag:
        return same_keys(layout.keys, STORED, CHANGE)
    same_hash = exp.EQ(this=stored(HASH), expression=change(HASH))
    compared = [key for key in layout.keys if key.name in layout.compared]
    return [same_hash, *same_keys(compared, STORED, CHANGE)]


def unless_collided(layout: Layout) -> list[exp.When]:
    """The clause that stops a MERGE which found another row of a bag than it looked for."""
    found = [k.name for k in layout.keys if k.name not in layout.compared]
    return [unless_equal(found)] if layout.is_bag and found else []


def insertion(
    layout: Layout, values: Iterable[tuple[str, exp.Expr]], condition: exp.Expr | None = None
) -> exp.When:
    """The clause that inserts a row: its keys as they come, and the counters' values."""
    every: list[tuple[str, exp.Expr]] = [(key.name, change(key.name)) for key in layout.keys]
    every += [(HASH, change(HASH))] if layout.is_hashed else []
    every += values
    if layout.step is not None:
        every.append((STEP, exp.Literal.number(layout.step)))
    insert = exp.Insert(
        this=exp.Tuple(expressions=[exp.column(name, quoted=True) for name, _ in every]),
        expression=exp.Tuple(expressions=[value for _, value in every]),
    )
    return exp.When(matched=False, condition=condition, then=insert)


def same_keys(keys: Iterable[Named], left: str, right: str) -> list[exp.Expr]:
    """Conditions that two relations' keys are the same, NULLs among them."""
    return [
        exp.NullSafeEQ(
            this=ColumnRef(left, key.name).expression(),
            expression=ColumnRef(right, key.name).expression(),
        )
        for key in keys
    ]


@dataclass(frozen=True)
class _Update:
    """How one delta updates the state."""

    layout: Layout
    terms: list[Term]
    changes: Changes

    @property
    def inserts_only(self) -> bool:
        """Whether no row left."""
        return all(term.inserts_only for term in self.terms)

    @property
    def endangered(self) -> tuple[Counter, ...]:
        """The counters whose stored value this delta can make useless."""
        if not self.inserts_only:
            return tuple(c for c in self.layout.counters if c.recomputable)
        return tuple(c for c in self.layout.counters if c.lost() == exp.true())

    @property
    def always_recomputed(self) -> bool:
        """Whether every changed group is recomputed."""
        return any(c.lost() == exp.true() for c in self.endangered)

    def source(self) -> Node:
        """One row for each group that changes."""
        changed = self._without_idle_groups(self._changed())
        if not self.endangered:
            return changed
        return self._with_new_values(changed)

    def _rows(self) -> tuple[Node, exp.Expr, Callable[[exp.Expr], exp.Expr]]:
        """The delta's rows, their count, and how to write keys and arguments over them.

        Rows are consolidated by the values that keys and counters take of them. Those that agree
        in their columns may differ in these: Spark groups -0.0 and 0.0, which are two texts.
        """
        consolidate = bool(self.endangered) and not self.inserts_only
        if len(self.terms) == 1 and not consolidate:
            (term,) = self.terms
            return term.plan, term.count, term.over
        names = self._values() if consolidate else self._columns()
        items = tuple(Named(name, self.layout.form(value)) for value, name in names.items())
        relation = "delta"
        rows: Node = UnionAll(
            tuple(
                Project(t.plan, relation, (*t.named(items), Named(COUNT, t.count)), t.title)
                for t in self.terms
            ),
            relation,
            (*names.values(), COUNT),
        )
        if consolidate:
            count = ColumnRef(relation, COUNT).expression()
            keys = tuple(Named(n, ColumnRef(relation, n).expression()) for n in names.values())
            relation = "net_delta"
            net = Aggregate(rows, relation, keys, (Named(COUNT, exp.Sum(this=count)),))
            rows = Filter(net, _nonzero(ColumnRef(relation, COUNT).expression()))
        named = {_known(v): ColumnRef(relation, n).expression() for v, n in names.items()}

        def renamed(part: exp.Expr) -> exp.Expr:
            found = named.get(_known(part))
            return part if found is None else found.copy()

        def over(expression: exp.Expr) -> exp.Expr:
            return expression.copy().transform(renamed)

        return rows, ColumnRef(relation, COUNT).expression(), over

    def _values(self) -> dict[exp.Expr, str]:
        """What keys and counters take of the input's rows, each with a name of its own."""
        values = [k.expression for k in self.layout.keys]
        values += [a for c in self.layout.counters for a in c.values]
        columns = {ColumnRef(v.table, v.name) for v in values if isinstance(v, exp.Column)}
        names = self._named(columns)
        taken, number = set(names.values()), itertools.count(1)
        for value in values:
            if not isinstance(value, exp.Column) and value not in names and columns_of(value):
                names[value] = next(n for n in (f"value_{i}" for i in number) if n not in taken)
        return names

    def _columns(self) -> dict[exp.Expr, str]:
        """The input's columns that keys and counters read, each with a name of its own."""
        expressions = [k.expression for k in self.layout.keys]
        expressions += [c.build() for c in self.layout.counters]
        return self._named(set().union(*(columns_of(e) for e in expressions)))

    @staticmethod
    def _named(columns: set[ColumnRef]) -> dict[exp.Expr, str]:
        names = flat_names(sorted(columns, key=lambda c: (c.relation, c.name)))
        return {column.expression(): name for column, name in names.items()}

    def _changed(self) -> Aggregate:
        """The delta by group: the keys, and what each counter gains."""
        rows, count, over = self._rows()
        keys = tuple(Named(k.name, over(k.expression)) for k in self.layout.keys)
        measures = [
            Named(item.name, over(item.expression))
            for counter in self.layout.counters
            for item in counter.contributions(count, self.inserts_only)
        ]
        if self.layout.is_hashed:
            measures.append(Named(HASH, row_hash([k.expression for k in keys])))
        return Aggregate(rows, CHANGED, keys, tuple(measures))

    def _without_idle_groups(self, changed: Aggregate) -> Node:
        """Leave out the groups to which nothing is added, so that they are not rewritten."""
        if self.layout.is_log:
            came = exp.GT(
                this=ColumnRef(changed.relation, COUNT).expression(),
                expression=exp.Literal.number(0),
            )
            return changed if self.inserts_only else Filter(changed, came)
        moves = [counter.moves(CHANGED) for counter in self.layout.counters]
        conditions: list[exp.Expr] = []
        if self.layout.is_global:  # without rows it has one row of NULLs all the same
            some_row = ColumnRef(changed.relation, COUNT).expression()
            conditions.append(exp.Not(this=exp.Is(this=some_row, expression=exp.Null())))
        if not self.inserts_only and not any(c is None for c in moves):
            conditions.append(exp.or_(*dict.fromkeys(c for c in moves if c is not None)))
        if conditions:
            return Filter(changed, exp.and_(*conditions))
        return changed

    def _with_new_values(self, changed: Node) -> Node:
        """The changed groups, with new values for those whose stored ones are lost."""
        layout = self.layout
        marked = self._marked(changed)
        lost = Project(
            Filter(marked, ColumnRef(CHANGE, LOST).expression()),
            "lost",
            tuple(Named(k.name, ColumnRef(CHANGE, k.name).expression()) for k in layout.keys)
            or (Named(LOST, ColumnRef(CHANGE, LOST).expression()),),
        )
        same = tuple(
            exp.NullSafeEQ(this=k.expression, expression=ColumnRef("lost", k.name).expression())
            for k in layout.keys
        )
        fresh = Aggregate(
            Reduction(self.changes.post(layout.input), lost, same),
            "recomputed",
            layout.keys,
            tuple(Named(_new(c), c.build()) for c in self.endangered),
        )
        joined = LeftJoin(marked, fresh, tuple(same_keys(layout.keys, CHANGE, "recomputed")))
        kept = tuple(Named(c.name, c.expression()) for c in marked.schema)
        new = tuple(
            Named(m.name, ColumnRef("recomputed", m.name).expression()) for m in fresh.measures
        )
        return Project(joined, "source", (*kept, *new))

    def _marked(self, changed: Node) -> Project:
        """The changed groups, each marked whether its stored values are lost."""
        kept = tuple(Named(c.name, c.expression()) for c in changed.schema)
        if self.always_recomputed:
            return Project(changed, CHANGE, (*kept, Named(LOST, exp.true())))
        names = tuple(k.name for k in self.layout.keys)
        state = Scan(STATE, STORED, (*names, *(c.name for c in self.endangered)))
        looked_up = LeftJoin(changed, state, tuple(same_keys(self.layout.keys, STORED, CHANGED)))
        conditions = [c for c in (counter.lost(CHANGED) for counter in self.endangered) if c]
        flag = exp.func("coalesce", exp.or_(*conditions), exp.false())
        return Project(looked_up, CHANGE, (*kept, Named(LOST, flag)))

    def clauses(self) -> list[exp.When]:
        """The WHEN clauses: groups that vanish, that change, and that are new."""
        layout = self.layout
        if layout.is_log:
            return [insertion(layout, [(c.name, c.inserted()) for c in layout.counters])]
        clauses = unless_collided(layout)
        if not self.inserts_only and not layout.is_global:
            empty = exp.EQ(this=added(COUNT), expression=exp.Literal.number(0))
            clauses.append(exp.When(matched=True, condition=empty, then=exp.var("DELETE")))
        merged = [(c.name, self._or_new(c, c.merged())) for c in layout.counters]
        updates = [
            exp.EQ(this=exp.column(name, quoted=True), expression=value)
            for name, value in [*merged, *self._check(merged, stored)]
        ]
        clauses.append(exp.When(matched=True, then=exp.Update(expressions=updates)))
        values = [(c.name, self._or_new(c, c.inserted())) for c in layout.counters]
        values += self._check(values, change)
        some = None if self.inserts_only else _nonzero(change(COUNT))
        return [*clauses, insertion(layout, values, some)]

    def _check(
        self, counters: list[tuple[str, exp.Expr]], key: Callable[[str], exp.Expr]
    ) -> list[tuple[str, exp.Expr]]:
        """The check's column of a group, whose counters have these values."""
        if self.layout.check is None:
            return []
        values = {ColumnRef("", name): value for name, value in counters}
        keys = {ColumnRef("", k.name): key(k.name) for k in self.layout.keys}
        return [(CHECK, substitute(self.layout.check, values | keys))]

    def _or_new(self, counter: Counter, value: exp.Expr) -> exp.Expr:
        """A counter's value, or the recomputed one in a group that lost it."""
        if counter not in self.endangered:
            return value
        if self.always_recomputed:
            return change(_new(counter))
        return exp.Case().when(change(LOST), change(_new(counter))).else_(value)


def _known(part: exp.Expr) -> exp.Expr | ColumnRef:
    """What a part of an expression is found by, a column by its names only."""
    return ColumnRef(part.table, part.name) if isinstance(part, exp.Column) else part


def _new(counter: Counter) -> str:
    return hidden(counter.name, "new")


def _nonzero(expression: exp.Expr) -> exp.Expr:
    return exp.NEQ(this=expression, expression=exp.Literal.number(0))
