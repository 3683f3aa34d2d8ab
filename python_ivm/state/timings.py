"""How long the refreshes of a state took, and which way is expected to be the faster one.

A cost model counts bytes and operators. What a `MERGE` into few rows costs depends on the machine,
and no count of bytes tells it. Each commit of the state records how long its refresh took. That is
the time of the way that it took, and not of the other one. So old times count less and less, until
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
"""How many times of each way are kept, for each size of change. The least of them is what the way
takes when nothing else runs."""
_SIZES = 4
"""For how many sizes of change times are kept."""
_MIN_FOLLOWED = 2
"""How many changes are followed before the times decide: the first MERGE of a process is slow."""
_MAX_SIZE_RATIO = 2
"""A recorded change is evidence if it had at most this many times the rows of the pending one."""
_MAX_GROWTH = 2
"""A change larger than all before is expected to take at most this many times as long as they."""
_GROWTH_PER_SIZE = 1.25
"""How many times as long a change of four times the rows is expected to take, if nothing tells."""
_FIXED_COST_ROWS = 10_000
"""Up to this many rows it is the statement, and not the rows, that takes the time."""
_DECAY = 0.97
"""By this the recorded times of a way are multiplied for each refresh since it was last taken, so
that it is tried again."""
_MIN_DECAY = 0.5
"""The least that this factor becomes: a way that takes more than twice as long is never tried
again."""
_ASKED_AFTER_UNSEEN = 4
"""After a change that the query did not see, this many refreshes ask first if it sees theirs."""
_ASK_EVERY = 11
"""One refresh in this many asks anyway; else nothing would be known of changes that are not seen.
Runs of a day or a week do not come in elevens, so that it is not always the same one that asks.
For so many refreshes an estimate of the cost model counts, too."""
_ASK_OF_MANY_EVERY = 4 * _ASK_EVERY
"""The same of changes of more than :data:`_FIXED_COST_ROWS` rows, which to read takes long, and of
which the query hardly ever sees nothing."""
_COLD_MS = 1_000
"""How many milliseconds of a build do not count, but at most half of it: most builds are the first
work of their process, which compiles code then. It is a guess, which counts until a refresh has
written all rows."""
_MIN_REWRITES = 2
"""How many refreshes must write all rows before their times decide: the first one, whose code is
compiled then, took up to twice as long as the next."""
_MIN_GAIN_RATIO = 1.1
_MIN_GAIN_MS = 200
"""Another way than the usual one is taken if it is expected to be faster by a tenth, and by this
many milliseconds at least."""


class Took(NamedTuple):
    """How long one refresh took.

    Attributes:
        milliseconds: From when it was asked for to its commit.
        rows: How many rows changed of the sources that the query reads; None if that is not known.
        refresh: Its number.
        build: Whether the state was built by it.
        changed: Which sources had changed, by their places among the sorted ones; None if that is
            not known.
    """

    milliseconds: int
    rows: int | None
    refresh: int
    build: bool = False
    changed: tuple[int, ...] | None = None


class Expected(NamedTuple):
    """What both ways are expected to take.

    Attributes:
        anew: The milliseconds of writing all rows.
        followed: Those of following the change.
        compared: Those that a model above takes to compare all rows with what they were.
        is_trial: Whether `anew` is what it takes at best, which is to be tried.
    """

    anew: float
    followed: float
    compared: float = 0
    is_trial: bool = False

    @property
    def gains(self) -> bool:
        """Whether enough is gained by writing all rows."""
        least = max(_MIN_GAIN_RATIO * self.anew, self.anew + _MIN_GAIN_MS)
        return least < self.followed and self.anew + self.compared <= self.followed


@dataclass(frozen=True)
class Timings:
    """How long the last refreshes of a state took, each way's newest last.

    Attributes:
        followed: Those that followed what changed.
        anew: Those that wrote all of the query's rows, builds among them.
        unseen: The last one that found that the query sees nothing of what changed.
        estimated: The last one that wrote all rows as the cost model found that to follow the
            change would read more.
    """

    followed: tuple[Took, ...] = ()
    anew: tuple[Took, ...] = ()
    unseen: Took | None = None
    estimated: Took | None = None

    @staticmethod
    def of(value: object) -> Timings:
        """Read what a commit tells; nothing is known if it tells nothing."""
        if not isinstance(value, Mapping):
            return Timings()
        return Timings(
            _read(value.get("followed")),
            _read(value.get("anew")),
            *(next(iter(_read([value.get(one)])), None) for one in ("unseen", "estimated")),
        )

    def after(self, reason: str, took: Took, *, estimated: bool = False) -> Timings:
        """The same after a refresh for a reason.

        Args:
            reason: The code of the reason.
            took: How long the refresh took.
            estimated: Whether it wrote all rows because of the cost model.
        """
        if reason in _FOLLOWED:
            alike = [other for other in self.followed if _kind(other) == _kind(took)]
            kept = [other for other in self.followed if other not in alike[: 1 - _KEPT]]
            return replace(self, followed=(*kept, took)[-_KEPT * _SIZES :])
        if reason == FASTER:
            last = took if estimated else self.estimated
            return replace(self, anew=(*self.anew, took)[-_KEPT:], estimated=last)
        if reason == _UNCHANGED and took.rows != 0:
            return replace(self, unseen=took)
        return self

    def faster_anew(
        self,
        rows: int | None,
        refresh: int,
        compared: float = 0,
        changed: tuple[int, ...] | None = None,
    ) -> Expected | None:
        """What both ways are expected to take, if writing all rows is the faster one; else None.

        If only cold times of it are known, it is tried as soon as that may pay.

        Args:
            rows: How many rows changed of the sources that the query reads; None if not known.
            refresh: The number of the refresh that is planned.
            compared: The milliseconds that a model above takes to compare all rows.
            changed: Which sources changed, as in :class:`Took`.
        """
        seen = [took for took in self._comparable() if _is_evidence(took, rows, changed)]
        if len(seen) < _MIN_FOLLOWED or not self.anew:
            return None
        rewrites = [took for took in self.anew if not took.build]
        known = rewrites or self.anew
        followed = _expected(seen, rows, refresh)
        expected = Expected(_least(known, refresh), followed, compared)
        if not expected.gains and len(rewrites) < _MIN_REWRITES:
            at_best = Expected(_MIN_DECAY * _warm(known[-1]), followed, compared, is_trial=True)
            if _pays(at_best, known[-1], refresh):
                expected = at_best
        return expected if expected.gains else None

    def reads_more(
        self, rows: int | None, refresh: int, changed: tuple[int, ...] | None = None
    ) -> bool:
        """Whether to follow a change is known to read more than the query does.

        It is if the cost model lately found so for a change of its size, or a smaller one, of these
        sources, or of some of them. To find it again would take as long as the keys of the change
        take to be asked for.

        Args:
            rows: How many rows changed of the sources that the query reads; None if not known.
            refresh: The number of the refresh that is planned.
            changed: Which sources changed, as in :class:`Took`.
        """
        last = self.estimated
        if last is None or rows is None or last.rows is None or changed is None:
            return False
        if refresh - last.refresh >= _ASK_EVERY or not _is_among(last.changed, changed):
            return False
        return (_size(last.rows) or 0) <= (_size(rows) or 0)

    def may_be_unseen(
        self, rows: int | None, refresh: int, changed: tuple[int, ...] | None = None
    ) -> bool:
        """Whether to ask first if the query sees a change at all, before all rows are written.

        It is asked a few refreshes long after one of this size, or a larger one, of these sources
        was not seen; and now and then.

        Args:
            rows: How many rows changed of the sources that the query reads; None if not known.
            refresh: The number of the refresh that is planned.
            changed: Which sources changed, as in :class:`Took`.
        """
        is_large = rows is not None and rows > _FIXED_COST_ROWS
        if refresh % (_ASK_OF_MANY_EVERY if is_large else _ASK_EVERY) == 0:
            return True
        last = self.unseen
        if last is None or refresh - last.refresh > _ASKED_AFTER_UNSEEN:
            return False
        if not _is_among(changed, last.changed):
            return False
        if rows is None or last.rows is None:
            return True
        return (_size(rows) or 0) <= (_size(last.rows) or 0)

    def _comparable(self) -> tuple[Took, ...]:
        """The times of following, without the oldest if no other is of its size.

        That one may be the first refresh of its process, which is slow.
        """
        kinds = [_kind(took) for took in self.followed]
        return self.followed[1:] if kinds[:1] and kinds.count(kinds[0]) == 1 else self.followed


def _least(alike: Sequence[Took], refresh: int) -> float:
    """The least of a way's times, in milliseconds, reduced by its age.

    All of them count as old as the newest. If a way was tried again, and was slow again, its older
    times must not let it be tried once more soon.
    """
    age = refresh - max(took.refresh for took in alike) - 1
    return max(_MIN_DECAY, _DECAY**age) * min(map(_warm, alike))


def _pays(at_best: Expected, cold: Took, refresh: int) -> bool:
    """Whether it is time to try a way of which only a cold time is known.

    It is, once the refreshes since then may have lost as much as a trial costs. So at most about
    twice the cost of a trial is lost until the faster way is known, if the trial takes no longer
    than the cold time did (ski rental; Karlin, Manasse, Rudolph and Sleator, "Competitive snoopy
    caching", Algorithmica 3, 1988).
    """
    each = at_best.followed - at_best.anew - at_best.compared
    trial = cold.milliseconds + at_best.compared - at_best.followed
    return (refresh - cold.refresh - 1) * each >= trial


def _warm(took: Took) -> float:
    """The milliseconds of a time without what is taken for cold code."""
    if not took.build:
        return took.milliseconds
    return max(took.milliseconds / 2, took.milliseconds - _COLD_MS)


def _expected(seen: Sequence[Took], rows: int | None, refresh: int) -> float:
    """The milliseconds that following a change is expected to take.

    It is what changes of its size took; if there was none, what the largest of the smaller ones
    took. The time of a size is not reduced by its age below what smaller changes take by now. If
    the pending change is larger than all recorded ones, each further row adds what a row added
    between the two largest sizes. If only one size is recorded, four times the rows add a quarter.
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
        more = math.log(max(1, rows / max(most[-1], _FIXED_COST_ROWS)), 4)
        return min(_MAX_GROWTH, math.pow(_GROWTH_PER_SIZE, more)) * expected
    rise = (expected - least[-2]) / (most[-1] - most[-2])
    return min(_MAX_GROWTH * expected, expected + max(0, rise) * (rows - most[-1]))


def _is_evidence(took: Took, rows: int | None, changed: tuple[int, ...] | None) -> bool:
    """Whether a recorded change is evidence for a pending one of `rows` of the `changed` sources.

    Each changed source is followed by a term of its own, which reads the others: of the change of
    another source nothing is known. That of some of the sources takes no longer than that of all.
    """
    if not _is_among(took.changed, changed):
        return False
    if rows is None:
        return True
    return took.rows is not None and took.rows <= _MAX_SIZE_RATIO * rows


def _is_among(some: tuple[int, ...] | None, others: tuple[int, ...] | None) -> bool:
    """Whether all of some sources are among others, as far as that is known."""
    return some is None or others is None or set(some) <= set(others)


def _kind(took: Took) -> tuple[int | None, tuple[int, ...] | None]:
    """What sets changes apart: their size, and which sources changed."""
    return _size(took.rows), took.changed


def _size(rows: int | None) -> int | None:
    """The size of a change, which reaches to four times the rows; unknown sizes are one more."""
    return None if rows is None else rows.bit_length() // 2


def _read(value: object) -> tuple[Took, ...]:
    """What commits tell of times; nothing if it is not written as by this version."""
    if not isinstance(value, Sequence):
        return ()
    try:
        found = [Took(*told[: len(Took._fields)]) for told in value]
        return tuple(
            took._replace(changed=tuple(took.changed)) if isinstance(took.changed, list) else took
            for took in found
        )
    except (TypeError, KeyError):
        return ()
