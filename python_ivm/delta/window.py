"""Window functions: the affected partitions, new minus old.

Rows of both states are tagged and restricted to the partitions that the delta names; the tag is
one more partition key. Rows of an affected partition that stay as they are cancel out before the
MERGE, so that they are not rewritten. Without PARTITION BY all rows are one partition.
"""

from __future__ import annotations

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, beside, columns_of, substitute, under
from python_ivm.algebra.nodes import COUNT, Node, Project, SemiJoin, UnionAll, Window
from python_ivm.delta.affected import Inner
from python_ivm.delta.term import Changes, Term


def delta(node: Window, changes: Changes, inner: Inner) -> list[Term]:
    """One term: the rows of affected partitions with their new and their old values."""
    relation = beside(node.relation, "rows")
    used = {c for e in node.expressions for c in columns_of(e)}
    items, columns = under(relation, sorted(used, key=lambda c: (c.relation, c.name)))
    rows: Node = UnionAll(
        tuple(
            Project(part, relation, (*items, Named(COUNT, exp.Literal.number(sign))))
            for part, sign in ((changes.post(node.input), 1), (changes.pre(node.input), -1))
        ),
        relation,
        (*(item.name for item in items), COUNT),
    )
    if node.partition:
        rows = _affected_partitions(node, rows, columns, inner(node.input, changes))
    tag = ColumnRef(relation, COUNT).expression()
    plan = Window(
        rows,
        node.relation,
        (
            *(Named(i.name, substitute(i.expression, columns)) for i in node.items),
            Named(COUNT, tag),
        ),
        (*(substitute(p, columns) for p in node.partition), tag),
        tuple(Named(f.name, _within(substitute(f.expression, columns), tag))
              for f in node.functions),
    )  # fmt: skip
    count = ColumnRef(node.relation, COUNT).expression()
    return [Term(plan, count, False, f"partitions of {node.relation} that changed, new minus old")]


def _affected_partitions(
    node: Window, rows: Node, columns: dict[ColumnRef, exp.Expr], terms: list[Term]
) -> SemiJoin:
    relation = beside(node.relation, "keys")
    keys = tuple(Named(f"key_{n}", key) for n, key in enumerate(node.partition, 1))
    parts = tuple(Project(term.plan, relation, term.named(keys)) for term in terms)
    changed = parts[0] if len(parts) == 1 else UnionAll(
        parts, relation, tuple(key.name for key in keys)
    )  # fmt: skip
    same = tuple(
        exp.NullSafeEQ(
            this=substitute(key.expression, columns),
            expression=ColumnRef(relation, key.name).expression(),
        )
        for key in keys
    )
    return SemiJoin(rows, changed, same)


def _within(function: exp.Expr, tag: exp.Expr) -> exp.Expr:
    """A window function among the rows of one tag."""
    copied = function.copy()
    for window in [copied] if isinstance(copied, exp.Window) else copied.find_all(exp.Window):
        window.set("partition_by", [*window.args.get("partition_by", []), tag.copy()])
    return copied
