"""The one MERGE that brings a state up to date.

Its source is a plan like any other: the delta by group, and, where a deletion can have cost a
group its stored value (a minimum, say), a look at the state and the new values of those groups.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from python_ivm.algebra.nodes import (
    COUNT,
    Aggregate,
    ColumnRef,
    Filter,
    LeftJoin,
    Named,
    Node,
    Project,
    Scan,
    SemiJoin,
    UnionAll,
    check,
    columns_of,
    flat_names,
    substitute,
)
from python_ivm.algebra.normalize import merge_projections, share_deltas
from python_ivm.delta.term import Changes, Term
from python_ivm.sql.render import Renderer, bare
from python_ivm.state.counters import CHANGE, STORED, Counter, change, hidden, stored
from python_ivm.state.layout import HASH, STATE, Layout
from python_ivm.state.tables import row_hash

CHANGED = "changed"
"""The relation of the delta by group."""
LOST = "__ivm_lost__"
"""Marks the groups whose stored values cannot be derived."""


def merge(
    layout: Layout, terms: list[Term], changes: Changes, state: exp.Table, renderer: Renderer
) -> exp.Merge:
    """The MERGE that applies a delta to the state.

    Args:
        layout: The model's layout.
        terms: The delta of the layout's input; at least one.
        changes: Which sources changed.
        state: The state table.
        renderer: Renders the parts of this statement; reads the state as source ``STATE``.

    Returns:
        The statement. Each stored row is matched by at most one row of its source.
    """
    update = _Update(layout, terms, changes)
    query = renderer.with_ctes(
        renderer.query(check(share_deltas(merge_projections(update.source()))))
    )
    target = state.copy()
    target.set("alias", exp.TableAlias(this=exp.to_identifier(STORED)))
    on = [*_same_keys(layout, STORED, CHANGE)]
    if layout.is_bag:
        on.insert(0, exp.EQ(this=stored(HASH), expression=change(HASH)))
    return bare(
        exp.Merge(
            this=target,
            using=exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(CHANGE))),
            on=exp.and_(*on) if on else exp.true(),
            whens=exp.Whens(expressions=update.clauses()),
        )
    )


def _same_keys(layout: Layout, left: str, right: str) -> list[exp.Expr]:
    return [
        exp.NullSafeEQ(
            this=ColumnRef(left, key.name).expression(),
            expression=ColumnRef(right, key.name).expression(),
        )
        for key in layout.keys
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

    def _rows(self) -> tuple[Node, exp.Expr, dict[ColumnRef, exp.Expr]]:
        """The delta's rows, their count, and what the input's columns are called there."""
        consolidate = bool(self.endangered) and not self.inserts_only
        if len(self.terms) == 1 and not consolidate:
            (term,) = self.terms
            return term.plan, term.count, dict(term.columns)
        names = self._flat_names()
        items = tuple(Named(name, column.expression()) for column, name in names.items())
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
        mapping: dict[ColumnRef, exp.Expr] = {
            c: ColumnRef(relation, n).expression() for c, n in names.items()
        }
        return rows, ColumnRef(relation, COUNT).expression(), mapping

    def _flat_names(self) -> dict[ColumnRef, str]:
        """The input's columns that keys and counters read, each with a name of its own."""
        expressions = [k.expression for k in self.layout.keys]
        expressions += [c.build() for c in self.layout.counters]
        used = sorted(
            set().union(*(columns_of(e) for e in expressions)), key=lambda c: (c.relation, c.name)
        )
        return flat_names(used)

    def _changed(self) -> Aggregate:
        """The delta by group: the keys, and what each counter gains."""
        rows, count, columns = self._rows()
        keys = tuple(Named(k.name, substitute(k.expression, columns)) for k in self.layout.keys)
        measures = [
            Named(item.name, substitute(item.expression, columns))
            for counter in self.layout.counters
            for item in counter.contributions(count, self.inserts_only)
        ]
        if self.layout.is_bag:
            measures.append(Named(HASH, row_hash([k.expression for k in keys])))
        return Aggregate(rows, CHANGED, keys, tuple(measures))

    def _without_idle_groups(self, changed: Aggregate) -> Node:
        """Leave out the groups to which nothing is added, so that they are not rewritten."""
        conditions = [counter.moves(CHANGED) for counter in self.layout.counters]
        if not self.inserts_only and not any(c is None for c in conditions):
            return Filter(changed, exp.or_(*(c for c in conditions if c is not None)))
        if self.layout.is_global:
            some_row = ColumnRef(changed.relation, COUNT).expression()
            return Filter(changed, exp.Not(this=exp.Is(this=some_row, expression=exp.Null())))
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
            SemiJoin(self.changes.post(layout.input), lost, same),
            "recomputed",
            layout.keys,
            tuple(Named(_new(c), c.build()) for c in self.endangered),
        )
        joined = LeftJoin(marked, fresh, tuple(_same_keys(layout, CHANGE, "recomputed")))
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
        looked_up = LeftJoin(changed, state, tuple(_same_keys(self.layout, STORED, CHANGED)))
        conditions = [c for c in (counter.lost(CHANGED) for counter in self.endangered) if c]
        flag = exp.func("coalesce", exp.or_(*conditions), exp.false())
        return Project(looked_up, CHANGE, (*kept, Named(LOST, flag)))

    def clauses(self) -> list[exp.When]:
        """The WHEN clauses: groups that vanish, that change, and that are new."""
        layout = self.layout
        clauses = []
        if not self.inserts_only and not layout.is_global:
            left = exp.Add(this=stored(COUNT), expression=change(COUNT))
            empty = exp.EQ(this=left, expression=exp.Literal.number(0))
            clauses.append(exp.When(matched=True, condition=empty, then=exp.var("DELETE")))
        updates = [
            exp.EQ(
                this=exp.column(counter.name, quoted=True),
                expression=self._or_new(counter, counter.merged()),
            )
            for counter in layout.counters
        ]
        clauses.append(exp.When(matched=True, then=exp.Update(expressions=updates)))
        inserted = [(key.name, change(key.name)) for key in layout.keys]
        inserted += [(HASH, change(HASH))] if layout.is_bag else []
        values: list[tuple[str, exp.Expr]] = [
            *inserted,
            *((c.name, self._or_new(c, c.inserted())) for c in layout.counters),
        ]
        some = None if self.inserts_only else _nonzero(change(COUNT))
        insert = exp.Insert(
            this=exp.Tuple(expressions=[exp.column(name, quoted=True) for name, _ in values]),
            expression=exp.Tuple(expressions=[value for _, value in values]),
        )
        clauses.append(exp.When(matched=False, condition=some, then=insert))
        return clauses

    def _or_new(self, counter: Counter, value: exp.Expr) -> exp.Expr:
        """A counter's value, or the recomputed one in a group that lost it."""
        if counter not in self.endangered:
            return value
        if self.always_recomputed:
            return change(_new(counter))
        return exp.Case().when(change(LOST), change(_new(counter))).else_(value)


def _new(counter: Counter) -> str:
    return hidden(counter.name, "new")


def _nonzero(expression: exp.Expr) -> exp.Expr:
    return exp.NEQ(this=expression, expression=exp.Literal.number(0))
