"""The clock as a source: one instant for each refresh, kept in the bookmark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TypeVar

from sqlglot import exp

Tree = TypeVar("Tree", bound=exp.Expr)

CLOCK = "__ivm_clock__"
"""The planner key of the clock."""

TODAY, NOW, LOCAL = "today", "now", "local"
"""What a query asks: ``current_date()``, ``current_timestamp()``, ``localtimestamp()``."""

_TYPES = {TODAY: "date", NOW: "timestamp", LOCAL: "timestamp_ntz"}
_BEFORE = "_before"


@dataclass(frozen=True)
class Instant:
    """One reading of the clock, as texts that Spark casts to the same values in any session.

    Attributes:
        today: The date in the session's time zone.
        now: The time, with its offset from UTC.
        local: The time in the session's time zone, without one.
    """

    today: str
    now: str
    local: str

    def literal(self, kind: str) -> exp.Expr:
        """One of the three as a literal."""
        to = exp.DataType.build(_TYPES[kind], dialect="spark")
        return exp.Cast(this=exp.Literal.string(asdict(self)[kind]), to=to)

    def differs(self, other: Instant | None, kinds: Iterable[str]) -> bool:
        """Whether what a query asks for is not as it was."""
        return other is None or any(asdict(self)[k] != asdict(other)[k] for k in kinds)


@dataclass(frozen=True)
class Clock:
    """The clock at the last refresh and at this one."""

    pre: Instant
    post: Instant

    def literals(self) -> Mapping[str, exp.Expr]:
        """A literal for each name that an expression of a plan can use."""
        return {
            **{kind: self.post.literal(kind) for kind in _TYPES},
            **{kind + _BEFORE: self.pre.literal(kind) for kind in _TYPES},
        }

    def range(self, kinds: Iterable[str]) -> str:
        """What moved, as ``2024-05-01→2024-05-02``; the time where more than the date is asked."""
        kind = TODAY if set(kinds) == {TODAY} else NOW
        return f"clock@{asdict(self.pre)[kind]}→{asdict(self.post)[kind]}"


def reading(kind: str) -> exp.Placeholder:
    """What a plan's expressions say for the clock's present value."""
    return exp.Placeholder(this=kind)


def before(expression: exp.Expr) -> exp.Expr:
    """The expression by the clock at the last refresh."""
    copied = expression.copy()
    for place in copied.find_all(exp.Placeholder):
        place.set("this", place.name.removesuffix(_BEFORE) + _BEFORE)
    return copied


def with_literals(tree: Tree, literals: Mapping[str, exp.Expr]) -> Tree:
    """A copy of a tree in which each reading is its literal."""
    copied = tree.copy()
    for place in list(copied.find_all(exp.Placeholder)):
        place.replace(literals[place.name].copy())
    return copied


def readings(expression: exp.Expr) -> set[str]:
    """What an expression asks of the clock."""
    return {place.name.removesuffix(_BEFORE) for place in expression.find_all(exp.Placeholder)}
