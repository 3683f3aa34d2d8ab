"""How long the refreshes of a state took, and which way is expected to be the faster one.

A cost model counts bytes and operators. What a `MERGE` into few rows costs depends on the machine,
and no count of bytes tells it. Each commit of the state tells how long its refresh took. A refresh
shows the time of the way that it took, and not of the other one; so old times count less, until
the other way is tried again (docs/decisions/0070).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

FASTER = "FASTER"
"""The reason of a refresh that wrote all rows as that is faster."""
_UNCHANGED = "UNCHANGED"
"""The reason of one that wrote none, as the query sees nothing of what changed."""
_FOLLOWED = frozenset({"CHANGED", "CHEAPER"})
"""The reasons of refreshes whose way the planner chose by bytes and operators."""
_KEPT = 3
"""So many times of each way are kept, of changes of each size: the least of them is what it takes
when nothing else runs."""
_SIZES = 4
"""Times of so many sizes of changes are kept."""
_TRIED = 2
"""Changes are followed so many times before they are not: the first MERGE of a process is slow."""
_TELLS = 2
"""A change tells of those that have at least half of its rows."""
_GROWS = 2
"""A change that is larger than all before is expected to take so many times as long at the most."""
_EACH_SIZE = 1.25
"""A change of four times the rows is expected to take so many times as long, if nothing tells."""
_FEW = 10_000
"""Up to so many rows it is their statement that takes the time."""
_AGES = 0.97
"""What the times of a way count of themselves for each refresh since it was last taken."""
_AT_LEAST = 0.5
"""What it counts however old it is: so a way that takes twice as long is never tried again."""
_ASKED = 4
"""After a change that the query did not see, so many refreshes ask first whether it sees theirs."""
_ASKED_ANYWAY = 11
"""One refresh in so many asks anyway; else nothing would be known of changes that are not seen.
Runs of a day or a week do not come in elevens, so that it is not always the same one that asks."""
_COLD = 1_000
"""So many milliseconds of a build do not count, but at most half of it: most builds are the first
work of their process, which compiles code then. It is a guess, which counts until all rows were
written by a refresh."""
_TRIALS = 2
"""So many refreshes that write all rows tell what it takes: the first one, whose code is compiled
then, took up to twice as long as the next."""
_TENTH = 1.1
_MORE = 200
"""A way is taken instead of the usual one if it is expected to be faster by a tenth, and by so many
milliseconds at least."""


class Took(NamedTuple):
    """How long one refresh took.

    Attributes:
        milliseconds: From when it was asked for to its commit.
        rows: How many rows changed of the sources that the query reads; None if that is not known.
        refresh: Its number.
        build: Whether the state was built by it.
    """

    milliseconds: int
    rows: int | None
    refresh: int
    build: bool = False


class Expected(NamedTuple):
    """What both ways are expected to take.

    Attributes:
        anew: The milliseconds of writing all rows.
        followed: Those of following the change.
        compared: Those that a model above takes to compare all rows with what they were.
        is_trial: Whether the first are what it takes at best, which is to be tried.
    """

    anew: float
    followed: float
    compared: float = 0
    is_trial: bool = False

    @property
    def gains(self) -> bool:
        """Whether enough is gained by writing all rows."""
        least = max(_TENTH * self.anew, self.anew + _MORE)
        return least < self.followed and self.anew + self.compared <= self.followed


@dataclass(frozen=True)
class Timings:
    """How long the last refreshes of a state took, each way's newest last.

    Attributes:
        followed: Those that followed what changed.
        anew: Those that wrote all of the query's rows, builds among them.
        unseen: The last one that found that the query sees nothing of what changed.
    """

    followed: tuple[Took, ...] = ()
    anew: tuple[Took, ...] = ()
    unseen: Took | None = None

    @staticmethod
    def of(value: object) -> Timings:
        """Read what a commit tells; nothing is known if it tells nothing."""
        if not isinstance(value, Mapping):
            return Timings()
        followed, anew, unseen = map(value.get, ("followed", "anew", "unseen"))
        return Timings(_read(followed), _read(anew), next(iter(_read([unseen])), None))

    def after(self, reason: str, took: Took) -> Timings:
        """The same after a refresh for a reason."""
        if reason in _FOLLOWED:
            alike = [other for other in self.followed if _size(other.rows) == _size(took.rows)]
            kept = [other for other in self.followed if other not in alike[: 1 - _KEPT]]
            return replace(self, followed=(*kept, took)[-_KEPT * _SIZES :])
        if reason == FASTER:
            return replace(self, anew=(*self.anew, took)[-_KEPT:])
        if reason == _UNCHANGED and took.rows != 0:
            return replace(self, unseen=took)
        return self

    def faster_anew(self, rows: int | None, refresh: int, compared: float = 0) -> Expected | None:
        """What both ways are expected to take, if to write all rows is the faster one; else None.

        If only cold times of it are known, it is tried once that may pay.

        Args:
            rows: How many rows changed of the sources that the query reads; None if not known.
            refresh: The number of the refresh that is planned.
            compared: The milliseconds that a model above takes to compare all rows.
        """
        seen = [took for took in self._comparable() if _tells_of(took.rows, rows)]
        if len(seen) < _TRIED or not self.anew:
            return None
        rewrites = [took for took in self.anew if not took.build]
        known = rewrites or self.anew
        followed = _expected(seen, rows, refresh)
        expected = Expected(_least(known, refresh), followed, compared)
        if not expected.gains and len(rewrites) < _TRIALS:
            at_best = Expected(_AT_LEAST * _warm(known[-1]), followed, compared, is_trial=True)
            if _pays(at_best, known[-1], refresh):
                expected = at_best
        return expected if expected.gains else None

    def may_be_unseen(self, rows: int | None, refresh: int) -> bool:
        """Whether to ask first if the query sees a change at all, before all rows are written.

        So it is where it saw nothing of one of this size, or of a larger one, a few refreshes ago;
        and now and then.

        Args:
            rows: How many rows changed of the sources that the query reads; None if not known.
            refresh: The number of the refresh that is planned.
        """
        if refresh % _ASKED_ANYWAY == 0:
            return True
        last = self.unseen
        if last is None or refresh - last.refresh > _ASKED:
            return False
        if rows is None or last.rows is None:
            return True
        return (_size(rows) or 0) <= (_size(last.rows) or 0)

    def _comparable(self) -> tuple[Took, ...]:
        """Those that followed; not the oldest, which may be its process's first, if it is alone."""
        sizes = [_size(took.rows) for took in self.followed]
        return self.followed[1:] if sizes[:1] and sizes.count(sizes[0]) == 1 else self.followed


def _least(alike: Sequence[Took], refresh: int) -> float:
    """The least of a way's times, in milliseconds as they count now.

    All of them are as old as the newest. If a way was tried again, and was slow again, its older
    times must not let it be tried soon once more.
    """
    age = refresh - max(took.refresh for took in alike) - 1
    return max(_AT_LEAST, _AGES**age) * min(map(_warm, alike))


def _pays(at_best: Expected, cold: Took, refresh: int) -> bool:
    """Whether it is time to try a way of which only a cold time is known.

    It is once the refreshes since then may have lost as much as a trial costs. So until it is
    known which way is the faster one, no more is lost than about twice what a trial costs, if it
    takes no longer than the cold time did (ski rental; Karlin, Manasse, Rudolph and Sleator,
    "Competitive snoopy caching", Algorithmica 3, 1988).
    """
    each = at_best.followed - at_best.anew - at_best.compared
    trial = cold.milliseconds + at_best.compared - at_best.followed
    return (refresh - cold.refresh - 1) * each >= trial


def _warm(took: Took) -> float:
    """The milliseconds of a time that are not taken for cold."""
    if not took.build:
        return took.milliseconds
    return max(took.milliseconds / 2, took.milliseconds - _COLD)


def _expected(seen: Sequence[Took], rows: int | None, refresh: int) -> float:
    """The milliseconds that following a change is expected to take.

    It is what changes of its size took, or the largest of those that were smaller. Old times count
    in full as far as smaller changes take as long by now. If it is larger than all of these, each
    row more takes what it took from the size before to theirs. If there is no size before, it takes
    a quarter more for each four times as many rows.
    """
    by_size: dict[int | None, list[Took]] = {}
    for took in seen:
        by_size.setdefault(_size(took.rows), []).append(took)
    if rows is None:
        return _least(by_size.get(None, seen), refresh)
    own = _size(rows)
    sizes = sorted(size for size in by_size if size is not None)
    if own in sizes:
        sizes = sizes[: sizes.index(own) + 1]
    groups = [by_size[size] for size in sizes]
    most = [max(took.rows or 0 for took in alike) for alike in groups]
    least: list[float] = []
    for alike in groups:
        in_full = min(map(_warm, alike))
        least.append(max(_least(alike, refresh), min(in_full, least[-1] if least else 0)))
    expected = least[-1]
    if own in sizes or rows <= most[-1]:
        return expected
    if len(groups) == 1:
        more = math.log(max(1, rows / max(most[-1], _FEW)), 4)
        return min(_GROWS, math.pow(_EACH_SIZE, more)) * expected
    rise = (expected - least[-2]) / (most[-1] - most[-2])
    return min(_GROWS * expected, expected + max(0, rise) * (rows - most[-1]))


def _tells_of(seen: int | None, rows: int | None) -> bool:
    """Whether a change of so many rows costs no more than one of these."""
    if rows is None:
        return True
    return seen is not None and seen <= _TELLS * rows


def _size(rows: int | None) -> int | None:
    """The size of a change, which reaches to four times the rows; unknown sizes are one more."""
    return None if rows is None else rows.bit_length() // 2


def _read(value: object) -> tuple[Took, ...]:
    """What commits tell of times; nothing if it is not written as by this version."""
    if not isinstance(value, Sequence):
        return ()
    try:
        return tuple(Took(*told[: len(Took._fields)]) for told in value)
    except (TypeError, KeyError):
        return ()
