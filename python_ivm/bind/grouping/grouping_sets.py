"""GROUPING SETS, ROLLUP and CUBE: rows are repeated for each set, and grouped by it.

The rows are joined to one constant row a grouping set; a key is NULL in the sets that leave it
out. So all sets are one aggregate over one reading of the rows, as in Spark's own Expand.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named
from python_ivm.algebra.nodes import Values
from python_ivm.errors import InvalidModel
from python_ivm.parse.trees import GROUPING_SETS, has_grouping_sets, position

SET = "grouping_set"

Sets = list[list[exp.Expr]]


def expand(group: exp.Group) -> Sets | None:
    """The grouping sets of a GROUP BY; None if it has plain keys only.

    ``GROUP BY a, b GROUPING SETS (…)``, without a comma, has only those sets: a key that is in
    none of them is always NULL.
    """
    if not has_grouping_sets(group):
        return None
    trailing = _trailing_sets(group)
    if trailing is not None:
        return trailing
    return [list(itertools.chain(*chosen)) for chosen in itertools.product(*_parts(group))]


def keys_in_order(group: exp.Group) -> list[exp.Expr]:
    """The keys of a GROUP BY with grouping sets, some twice, in the order of their bits.

    ``grouping_id()`` without arguments has a bit for each: those of one construct after those of
    the one before it.
    """
    trailing = _trailing_sets(group)
    if trailing is None:
        return [key for part in _parts(group) for keys in part for key in keys]
    listed = group.expressions if group.args.get("grouping_sets") else []
    return [*listed, *itertools.chain(*trailing)]


def _trailing_sets(group: exp.Group) -> Sets | None:
    """Those of what follows all keys without a comma: ``WITH ROLLUP``, ``GROUPING SETS (…)``."""
    found: list[exp.Expr] = [
        construct
        for name in ("rollup", "cube", "grouping_sets")
        for construct in group.args.get(name) or []
    ]
    return _of(found[0], found[0].expressions or group.expressions) if found else None


def _parts(group: exp.Group) -> list[Sets]:
    """The grouping sets of each item of a GROUP BY."""
    return [
        _of(item, item.expressions) if isinstance(item, GROUPING_SETS) else [[item]]
        for item in group.expressions
    ]


def has_only_keys(group: exp.Group | None) -> bool:
    """Whether a GROUP BY is absent, or lists expressions: no ALL, no grouping sets."""
    return group is None or not (group.args.get("all") or has_grouping_sets(group))


def _of(construct: exp.Expr, members: list[exp.Expr]) -> Sets:
    units = [_unit(member) for member in members]
    if isinstance(construct, exp.Rollup):
        return [list(itertools.chain(*units[:n])) for n in range(len(units), -1, -1)]
    if isinstance(construct, exp.Cube):
        return [
            list(itertools.chain(*(u for u, kept in zip(units, mask, strict=True) if kept)))
            for mask in itertools.product((True, False), repeat=len(units))
        ]
    sets: Sets = []
    for member, unit in zip(members, units, strict=True):
        nested = isinstance(member, GROUPING_SETS)
        sets += _of(member, member.expressions) if nested else [unit]
    return sets


def _unit(member: exp.Expr) -> list[exp.Expr]:
    """The keys of one member: one expression, or several in parentheses."""
    if isinstance(member, exp.Tuple):
        return list(member.expressions)
    return [member.unnest()]


@dataclass(frozen=True)
class GroupingSets:
    """The grouping sets of an aggregate.

    Attributes:
        relation: The relation of the constant rows.
        members: For each set the indexes of its keys.
    """

    relation: str
    members: tuple[frozenset[int], ...]

    @property
    def rows(self) -> Values:
        """One row a set, with the set's number."""
        numbers = tuple((_number(n),) for n in range(len(self.members)))
        return Values(self.relation, (SET,), numbers)

    @property
    def number(self) -> exp.Expr:
        """The set's number, as a column of :attr:`rows`."""
        return ColumnRef(self.relation, SET).expression()

    def keys(self, keys: list[Named]) -> list[Named]:
        """The keys, NULL in the sets that leave them out, and the set's number."""
        found = []
        for index, key in enumerate(keys):
            within = [n for n, members in enumerate(self.members) if index in members]
            value = key.expression
            if len(within) < len(self.members):
                included = _one_of(self.number, within) if within else exp.false()
                value = exp.Case().when(included, key.expression.copy())
            found.append(Named(key.name, value))
        return [*found, Named(SET, self.number)]

    def grouping(
        self,
        call: exp.Expr,
        keys: list[Named],
        number: exp.Expr,
        same: Callable[[exp.Expr, exp.Expr], bool],
    ) -> exp.Expr:
        """``grouping(key)`` or ``grouping_id(keys…)`` over the aggregate's output.

        Raises:
            InvalidModel: If it names what is no key.
        """
        asked = [
            next((i for i, k in enumerate(keys) if same(k.expression, e)), None)
            for e in call.expressions
        ] or list(range(len(keys)))
        if any(index is None for index in asked):
            raise InvalidModel(
                "grouping() of an expression that is not grouped by", **position(call)
            )
        result = exp.Case(this=number.copy())
        for n, members in enumerate(self.members):
            bits = "".join("0" if index in members else "1" for index in asked)
            result = result.when(_number(n), _number(int(bits, 2)))
        kind = "tinyint" if isinstance(call, exp.Grouping) else "bigint"
        return exp.cast(result, kind)


def _one_of(number: exp.Expr, within: list[int]) -> exp.Expr:
    return exp.In(this=number.copy(), expressions=[_number(n) for n in within])


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)
