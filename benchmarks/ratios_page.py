"""The results of `ratios` as tables and as CSV; pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.catalog import KINDS, share
from benchmarks.figures import Sample, chosen, figure_of, in_order, markdown, seconds

_SLOWER = 1.1
"""A refresh may take so many times what another way takes: the machine is noisy."""
_LITTLE, _SHORT = 0.3, 3.0
"""Or so many seconds more, where both take less than these."""


@dataclass(frozen=True)
class Pair:
    """A query after a change, in medians of seconds.

    Attributes:
        query: the query.
        kind: of the change.
        ratio: of the orders that changed; 0 is one order.
        orders: how many.
        strategy: what the refresh chose.
        refresh: as it was chosen.
        following: by following what changed; None if that was not measured.
        anew: by computing the query anew; likewise.
        table: by a rebuild.
        again: by the same rebuild once more; None if that was not measured.
        taken: by the way that was chosen, in all its measurements: following may be the same way.
        others: by each other way of a refresh; by the rebuild where there is none, or where
            computing anew was not measured.
    """

    query: str
    kind: str
    ratio: float
    orders: int
    strategy: str
    refresh: float
    following: float | None
    anew: float | None
    table: float
    again: float | None
    taken: float
    others: tuple[float, ...]

    @property
    def times(self) -> float:
        """How many times a rebuild's seconds the refresh takes."""
        return self.refresh / self.table

    @property
    def loses(self) -> bool:
        """Whether it takes notably more than a rebuild."""
        return is_slower(self.refresh, self.table)

    @property
    def forced(self) -> float | None:
        """The way that was chosen, when it was forced in the same turns; None if it was not."""
        forced = {"incremental": self.following, "noop": self.following, "recompute": self.anew}
        return forced.get(self.strategy)

    @property
    def could_win(self) -> bool | None:
        """Whether a way of a refresh does not lose; None if not all of them were measured."""
        if self.following is None or self.anew is None:
            return None
        return not is_slower(min(self.following, self.anew), self.table)

    @property
    def chose_right(self) -> bool:
        """Whether no other way is notably faster than the one that was chosen."""
        return self.taken <= _SLOWER * min(self.others)

    @property
    def chose_well(self) -> bool:
        """Whether no other way is faster by what a user would see."""
        return not is_slower(self.taken, min(self.others))


def is_slower(one: float, other: float) -> bool:
    """Whether one time is notably longer than another one."""
    if max(one, other) < _SHORT:
        return one > other + _LITTLE
    return one > _SLOWER * other


def pairs(samples: Sequence[Sample]) -> list[Pair]:
    """Each query after each change, without the first time that it came.

    The first change of its size compiles the code of its statements, and no commit of the state
    tells yet how long such a change takes.
    """
    return _pairs([sample for sample in samples if not _is_first(sample)])


def _is_first(sample: Sample) -> bool:
    """Whether a change came for the first time; samples of old versions do not tell."""
    return sample.get("round") == 0


def _pairs(samples: Sequence[Sample]) -> list[Pair]:
    found = []
    for query, kind, ratio in sorted(in_order(samples, "query", "kind", "ratio")):
        here = {"query": query, "kind": kind, "ratio": ratio}
        refresh, following, anew, table, again = (
            figure.median if (figure := figure_of(samples, way=way, **here)) else None
            for way in ("refresh", "following", "anew", "table", "again")
        )
        assert refresh is not None and table is not None
        refreshes = chosen(samples, way="refresh", **here)
        last = refreshes[-1]
        forced = (s for way in ("following", "anew") for s in chosen(samples, way=way, **here))
        by_way: dict[str, list[float]] = {}
        for sample in [*refreshes, *forced]:
            by_way.setdefault(_how(sample), []).append(seconds(sample))
        taken = median(by_way.pop(_how(last)))
        others = [median(took) for took in by_way.values()]
        if anew is None or not others:
            others.append(table)
        how = last["rows"], last["strategy"]
        medians = refresh, following, anew, table, again
        found.append(Pair(query, kind, ratio, *how, *medians, taken, tuple(others)))
    return found


def _how(sample: Sample) -> str:
    """The way that a refresh took: its strategy and reason."""
    return str(sample.get("how", sample["strategy"]))


def crossover(of_query: Sequence[Pair]) -> str:
    """Up to which ratio a query's refreshes take no more than its rebuilds."""
    faster = None
    for pair in sorted(of_query, key=lambda pair: pair.ratio):
        if pair.times > 1:
            break
        faster = pair.ratio
    return "never faster" if faster is None else f"up to {share(faster)}"


def ratios_page(samples: Sequence[Sample]) -> str:
    """The ratios, the crossovers and the choices."""
    found, first = pairs(samples), _pairs([sample for sample in samples if _is_first(sample)])
    texts = _sums(found)
    if first:
        texts += [
            "The first time that each change came is not among these. What it took:\n",
            *_sums(first),
        ]
    for kind in KINDS:
        of_kind = [pair for pair in found if pair.kind == kind]
        if of_kind:
            texts += [f"## Refresh ÷ rebuild, {kind}\n", _table(of_kind)]
    texts += ["r: the query was computed anew; n: it sees nothing of the change.\n"]
    wrong = [pair for pair in found if not pair.chose_right]
    told = [[p.query, f"{p.kind} {share(p.ratio)}", p.strategy, *_seconds(p)] for p in wrong]
    head = ["query", "change", "chosen", "refresh", "by following", "anew", "rebuild"]
    if told:
        texts += ["## Where another way was faster\n", "Seconds.\n", markdown(head, told)]
    return "\n".join(texts)


def _sums(found: Sequence[Pair]) -> list[str]:
    """What all pairs together tell."""
    faster, losers = sum(pair.times <= 1 for pair in found), sum(pair.loses for pair in found)
    both = [pair for pair in found if pair.could_win is not None]
    told = [
        f"Of {len(found)} pairs of query and change {faster} take no more time than the rebuild, "
        f"and {losers} take more than {_SLOWER} times its time (and more than {_LITTLE} s "
        f"more, where both take less than {_SHORT:g} s).\n"
    ]
    if 0 < len(both) < len(found):
        told += [
            _times("All pairs", found),
            f"Both ways of a refresh were measured in {len(both)} of these pairs, to which the "
            "following belongs.\n",
        ]
    subject = "All pairs" if len(both) in (0, len(found)) else "They"
    found = both or found
    times = _times(subject, found)
    return [*told, f"{_choices(found)}\n", times, *_losers(found), *_noise(found)]


def _times(subject: str, found: Sequence[Pair]) -> str:
    return (
        f"{subject} together took {sum(p.refresh for p in found):.0f} s by refreshes, "
        f"{_by_force(found)}and {sum(p.table for p in found):.0f} s by rebuilds.\n"
    )


def _losers(found: Sequence[Pair]) -> list[str]:
    """Why refreshes lose: the times wander, the other way is faster, or none is fast enough."""
    losers = [pair for pair in found if pair.loses]
    if not losers or any(pair.could_win is None for pair in losers):
        return []
    lucky = [p for p in losers if p.forced is not None and not is_slower(p.forced, p.table)]
    rest = [pair for pair in losers if pair not in lucky]
    other = sum(bool(pair.could_win) for pair in rest)
    never = sum(not pair.could_win for pair in found)
    return [
        f"Of the {len(losers)} that lose, {len(lucky)} do not lose when the same way is forced in "
        f"the same turns: there it is the times that wander. {other} would not lose by the other "
        f"way, and {len(rest) - other} lose by both. Of all pairs {never} lose by both.\n"
    ]


def _noise(found: Sequence[Pair]) -> list[str]:
    """How often a rebuild would lose against itself."""
    again = [(pair.again, pair.table) for pair in found if pair.again is not None]
    if not again:
        return []
    losers = sum(is_slower(one, other) for one, other in again)
    wrong = sum(one > _SLOWER * other for one, other in again)
    return [
        f"How much of this is noise: in {len(again)} pairs the rebuild was measured twice, in the "
        f"same turns. Against itself it would lose in {losers} of them, and be the wrong choice in "
        f"{wrong} ({100 * wrong / len(again):.0f} %).\n"
    ]


def _choices(found: Sequence[Pair]) -> str:
    """In how many pairs the choice was right, as far as the other ways were measured."""
    if any(pair.following is None for pair in found):
        return (
            "Following what changed against what it is expected to cost was not measured, so that "
            "the choice is compared with the rebuild alone."
        )
    right = sum(pair.chose_right for pair in found)
    well = sum(pair.chose_well for pair in found)
    beside = sum(p.following is None or not is_slower(p.refresh, p.following) for p in found)
    others = "following the change, or a rebuild, takes, where these are other ways"
    if all(pair.anew is not None for pair in found):
        others = "the other one takes, following the change or computing the query anew"
    return (
        f"The choice was right in {right} ({100 * right / len(found):.0f} %): the chosen way takes "
        f"at most {_SLOWER} times what {others}. "
        f"With up to {_LITTLE} s more, where both take less than {_SHORT:g} s, it was "
        f"right in {well}; beside following alone in {beside}."
    )


def _by_force(found: Sequence[Pair]) -> str:
    """What the two ways of a refresh took, as far as they were measured."""
    told = ""
    for took, how in (
        ([pair.following for pair in found], "following"),
        ([pair.anew for pair in found], "computing anew"),
    ):
        known = [seconds for seconds in took if seconds is not None]
        told += f"{sum(known):.0f} s by {how}, " if len(known) == len(found) else ""
    return told


def _table(found: Sequence[Pair]) -> str:
    ratios = sorted({pair.ratio for pair in found})
    rows: list[list[object]] = []
    for query in sorted({pair.query for pair in found}):
        by = {pair.ratio: pair for pair in found if pair.query == query}
        rows.append([query, *(cell(by[ratio]) for ratio in ratios), crossover([*by.values()])])
    return markdown(["query", *map(share, ratios), "faster"], rows)


def cell(pair: Pair) -> str:
    """The ratio, and how the query was brought up to date."""
    mark = {"recompute": " r", "full": " r", "noop": " n"}.get(pair.strategy, "")
    return f"{pair.times:.2f}{mark}"


def _seconds(pair: Pair) -> list[float | None]:
    return [pair.refresh, pair.following, pair.anew, pair.table]


def ratios_csv(samples: Sequence[Sample]) -> str:
    """A line for each query and change, in seconds."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    head = ("query", "kind", "change_ratio", "orders", "strategy", "refresh", "following")
    writer.writerow((*head, "anew", "rebuild", "refresh_to_rebuild"))
    for p in pairs(samples):
        row = (p.query, p.kind, p.ratio, p.orders, p.strategy, *map(_exact, _seconds(p)))
        writer.writerow((*row, f"{p.times:.3f}"))
    return file.getvalue()


def _exact(took: float | None) -> str:
    return "" if took is None else f"{took:.3f}"
