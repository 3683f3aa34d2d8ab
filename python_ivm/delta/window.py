"""Window functions: the affected partitions, new minus old.

Rows of both states are tagged and restricted to the partitions that the delta names; the tag is
one more partition key. Rows of an affected partition that stay as they are cancel out before the
MERGE, so that they are not rewritten. Without PARTITION BY all rows are one partition.

Where one window stands above another, and each of its partitions lies within one of the lower's,
the lower one's delta has all rows that it asks for: both are computed one after the other.
"""

from __future__ import annotations

from sqlglot import exp

from python_ivm.algebra.affected import affected_keys
from python_ivm.algebra.columns import ColumnRef, Named, beside, columns_of, substitute, under
from python_ivm.algebra.nodes import COUNT, Filter, Node, Project, Reduction, UnionAll, Window
from python_ivm.algebra.term import Changes, Inner, Term


def delta(node: Window, changes: Changes, inner: Inner) -> list[Term]:
    """One term: the rows of affected partitions with their new and their old values."""
    if _lies_within(node):
        (below,) = inner(node.input, changes)
        return [_windowed(node, below)]
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
        rows = _affected_partitions(node, rows, columns)
    tag = ColumnRef(relation, COUNT).expression()
    return [_windowed(node, Term(rows, tag, False, "", columns))]


def _windowed(node: Window, rows: Term) -> Term:
    """The functions over the rows of affected partitions, each of which is new or old."""
    plan = Window(
        rows.plan,
        node.relation,
        (*rows.named(node.items), Named(COUNT, rows.count)),
        (*(rows.over(p) for p in node.partition), rows.count),
        tuple(Named(f.name, _within(rows.over(f.expression), rows.count)) for f in node.functions),
    )
    count = ColumnRef(node.relation, COUNT).expression()
    return Term(plan, count, False, f"partitions of {node.relation} that changed, new minus old")


def _lies_within(node: Window) -> bool:
    """Whether a window below has all rows of each partition in one of its own."""
    around = _partition(node.input)
    return around is not None and around <= set(node.partition)


def _partition(node: Node) -> set[exp.Expr] | None:
    """What the rows of a window's delta are all rows of, in a node above it.

    None where no window is there, or its PARTITION BY is not among the columns.
    """
    around: set[exp.Expr] | None
    match node:
        case Filter():
            return _partition(node.input)
        case Window():
            own, below = set(node.partition), _partition(node.input)
            around = own if below is None or not below <= own else below
        case Project():
            around = _partition(node.input)
        case _:
            return None
    if around is None:
        return None
    names = {i.expression: ColumnRef(node.relation, i.name).expression() for i in node.items}
    return {names[e] for e in around} if around <= names.keys() else None


def _affected_partitions(
    node: Window,
    rows: Node,
    columns: dict[ColumnRef, exp.Expr],
) -> Reduction:
    relation = beside(node.relation, "keys")
    keys = tuple(Named(f"key_{n}", key) for n, key in enumerate(node.partition, 1))
    changed = affected_keys(relation, node.input, keys)
    same = tuple(
        exp.NullSafeEQ(
            this=substitute(key.expression, columns),
            expression=ColumnRef(relation, key.name).expression(),
        )
        for key in keys
    )
    return Reduction(rows, changed, same)


def _within(function: exp.Expr, tag: exp.Expr) -> exp.Expr:
    """A window function among the rows of one tag."""
    copied = function.copy()
    for window in [copied] if isinstance(copied, exp.Window) else copied.find_all(exp.Window):
        window.set("partition_by", [*window.args.get("partition_by", []), tag.copy()])
    return copied
