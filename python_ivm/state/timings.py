"""How long the refreshes of a state took, and which way is expected to be the faster one.

A cost model counts bytes and operators. What a `MERGE` into few rows costs depends on the machine,
and no count of bytes tells it. Each commit of the state tells how long its refresh took. A refresh
shows the time of the way that it took, and not of the other one; so old times count less, until
the other way is tried again (docs/decisions/0070).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

FASTER = "FASTER"
"""The reason of a refresh that wrote all rows as that is faster."""
_FOLLOWED = frozenset({"CHANGED", "CHEAPER"})
"""The reasons of refreshes whose way the planner chose by bytes and operators."""
_KEPT = 3
"""So many times of each way are kept: the least of them is what it takes when nothing else runs."""
_TRIED = 2
"""Changes are followed so many times before they are not: the first MERGE of a process is slow."""
_LIKE = 2
"""A change tells of those that have at least half of its rows."""
_AGES = 0.95
"""What a time counts of itself for each refresh since it was taken."""
_AT_LEAST = 0.5
"""What it counts however old it is: so a way that takes twice as long is never tried again."""
_BUILD = 0.5
"""What a build counts: most are the first work of their process, which compiles code then. It is a
guess, which counts until all rows were written by a refresh."""
_TENTH = 1.1
_MORE = 200
"""A way is taken instead of the usual one if it is expected to be faster by a tenth, and by so many
milliseconds."""


class Took(NamedTuple):
    """How long one refresh took.

    Attributes:
        milliseconds: From when it was asked for to its commit.
        rows: How many rows of its sources changed; None if that is not known.
        refresh: Its number.
        build: Whether the state was built by it.
    """

    milliseconds: int
    rows: int | None
    refresh: int
    build: bool = False


@dataclass(frozen=True)
class Timings:
    """How long the last refreshes of a state took, each way's newest last.

    Attributes:
        followed: Those that followed what changed.
        anew: Those that wrote all of the query's rows, builds among them.
    """

    followed: tuple[Took, ...] = ()
    anew: tuple[Took, ...] = ()

    @staticmethod
    def of(value: object) -> Timings:
        """Read what a commit tells; nothing is known if it tells nothing."""
        if not isinstance(value, Mapping):
            return Timings()
        return Timings(_read(value.get("followed")), _read(value.get("anew")))

    def after(self, reason: str, took: Took) -> Timings:
        """The same after a refresh for a reason."""
        if reason in _FOLLOWED:
            return replace(self, followed=(*self.followed, took)[-_KEPT:])
        if reason == FASTER:
            return replace(self, anew=(*self.anew, took)[-_KEPT:])
        return self

    def faster_anew(self, rows: int | None, refresh: int) -> tuple[Took, Took] | None:
        """What it took to write all rows and to follow a change, if the first is faster; else None.

        Args:
            rows: How many rows of the sources changed; None if that is not known.
            refresh: The number of the refresh that is planned.
        """
        seen = [took for took in self.followed if _tells_of(took.rows, rows)]
        if len(seen) < _TRIED or not self.anew:
            return None

        def expected(took: Took) -> float:
            age = refresh - took.refresh - 1
            counts = max(_AT_LEAST, _AGES**age) * (_BUILD if took.build else 1)
            return counts * took.milliseconds

        rewrites = [took for took in self.anew if not took.build]
        anew, followed = min(rewrites or self.anew, key=expected), min(seen, key=expected)
        if _TENTH * expected(anew) + _MORE >= expected(followed):
            return None
        return anew, followed


def _tells_of(seen: int | None, rows: int | None) -> bool:
    """Whether a change of so many rows costs no more than one of these."""
    if rows is None:
        return True
    return seen is not None and seen <= _LIKE * rows


def _read(value: object) -> tuple[Took, ...]:
    if not isinstance(value, Sequence):
        return ()
    return tuple(Took(*told[: len(Took._fields)]) for told in value)
