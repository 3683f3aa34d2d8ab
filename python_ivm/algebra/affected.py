"""The rows of one side whose relation to the other side may have changed.

Semi-, anti- and outer joins and marks ask of each left row what it matches on the right. Where
the right side changes, only left rows that match one of its changed rows can get another answer:
A_pre ⋉ ΔB. Each of them is looked up in the right side as it is now (tag +1) and as it was (tag
-1), so that the difference of the two answers is one relation that names ΔB once, and the
executed plan does not double at every level (docs/decisions/0004). Rows are matched by the join's
own condition: no key is needed, and a row's multiplicity is that of its copies on the left
(Nagata et al., §3.3 and §4.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from python_ivm.algebra.columns import (
    ColumnRef,
    Named,
    beside,
    columns_of,
    flat_names,
    substitute,
    under,
)
from python_ivm.algebra.nodes import (
    AffectedKeys,
    Join,
    Node,
    Project,
    Reduction,
    SemiJoin,
    UnionAll,
    Values,
)
from python_ivm.algebra.term import Changes


@dataclass(frozen=True)
class Affected:
    """Left rows to be looked up anew.

    Attributes:
        rows: The asking rows that match a changed right row, once for each tag.
        tag: The tag: 1 looks the row up in the right side now, -1 in the right side before.
        right: The right side's rows now and before, each with its tag.
        columns: The right side's columns in :attr:`right`.
        conditions: The join's conditions between :attr:`rows` and :attr:`right`.
    """

    rows: Node
    tag: exp.Expr
    right: Node
    columns: Mapping[ColumnRef, exp.Expr]
    conditions: tuple[exp.Expr, ...]

    @property
    def matched(self) -> SemiJoin:
        """The rows that have a match now (+1), and those that had one before (-1)."""
        return SemiJoin(self.rows, self.right, self.conditions)


ONE = Named("one", exp.Literal.number(1))
"""A column for rows of which only it matters that there are some."""


def affected_keys(relation: str, node: Node, keys: Sequence[Named]) -> AffectedKeys:
    """The keys of the rows of an operator that a change lets come or go.

    Args:
        relation: The keys' relation.
        node: An operator that the change touches.
        keys: Expressions over its columns; none where it only matters that there are rows.
    """
    kept = tuple(keys) or (ONE,)
    return AffectedKeys(relation, kept, node, tuple(key.expression for key in kept))


def keys_asked_by(
    relation: str, node: Node, conditions: Sequence[exp.Expr]
) -> tuple[AffectedKeys, tuple[exp.Expr, ...]]:
    """The columns of such rows that conditions name, and the conditions over them.

    Args:
        relation: The keys' relation.
        node: An operator that the change touches.
        conditions: Conditions over its columns and others.
    """
    asked = {c for condition in conditions for c in columns_of(condition)}
    shown, mapping = under(relation, [c for c in node.schema if c in asked])
    keys = AffectedKeys(relation, shown or (ONE,), node, tuple(conditions))
    return keys, tuple(substitute(condition, mapping) for condition in conditions)


def affected(
    label: str,
    asking: Node,
    right: Node,
    conditions: tuple[exp.Expr, ...],
    changes: Changes,
    *,
    whole_rows: bool = False,
) -> Affected:
    """Find the left rows that a change of the right side affects.

    Args:
        label: A name that no other operator of the plan has.
        asking: The rows that ask, in the state of their sources that the caller wants.
        right: The side that is asked, which changed.
        conditions: When a left and a right row match.
        changes: Which sources changed.
        whole_rows: Whether the caller needs all of the right side's columns rather than those of
            the conditions.
    """
    asked = {c for condition in conditions for c in columns_of(condition)}
    kept = [c for c in right.schema if whole_rows or c in asked]
    names = flat_names(kept, taken=("tag",))
    changed, matching = keys_asked_by(beside(label, "changed"), right, conditions)
    tags = Values(beside(label, "tags"), ("tag",), ((_number(1),), (_number(-1),)))
    tag = ColumnRef(tags.relation, "tag").expression()
    candidates = Reduction(asking, changed, matching)
    tagged = beside(label, "tagged")

    def side(node: Node, sign: int) -> Project:
        items = [Named(name, column.expression()) for column, name in names.items()]
        return Project(node, tagged, (*items, Named("tag", _number(sign))))

    both = UnionAll(
        (side(changes.post(right), 1), side(changes.pre(right), -1)),
        tagged,
        (*names.values(), "tag"),
    )
    columns = {c: ColumnRef(tagged, name).expression() for c, name in names.items()}
    same_tag = exp.EQ(this=tag, expression=ColumnRef(tagged, "tag").expression())
    return Affected(
        Join((candidates, tags)),
        tag,
        both,
        columns,
        (*(substitute(c, columns) for c in conditions), same_tag),
    )


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def negative(count: exp.Expr) -> exp.Expr:
    """The opposite count."""
    return exp.Neg(this=count.copy())
