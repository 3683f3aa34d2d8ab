"""Operators over rows: each keeps what it must know, gets what changed, and says what that changes.

A change is a mapping of rows to signed numbers, as in DBSP (Budiu et al., "DBSP: Automatic
Incremental View Maintenance for Rich Query Languages", VLDB 2023), whose operators these are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Row = tuple[Any, ...]
Bag = dict[Row, int]
"""Rows and how often each is there; in a change the number may be negative."""
Key = Callable[[Row], Any]


def add(bag: Bag, change: Mapping[Row, int]) -> None:
    """Add a change to a bag, in place; what cancels out goes."""
    for row, times in change.items():
        now = bag.get(row, 0) + times
        if now:
            bag[row] = now
        else:
            del bag[row]


def difference(after: Bag, before: Bag) -> Bag:
    """What has to be added to one bag to get another."""
    change = dict(after)
    add(change, {row: -times for row, times in before.items()})
    return change


_NONE: Bag = {}


class Operator:
    """What all operators have; one that keeps nothing needs no :meth:`reset`."""

    def start(self) -> Bag:
        """What it gives before anything came in."""
        return {}

    def step(self, changes: Mapping[int, Bag]) -> Bag:
        """What it gives more, or takes back, as its inputs changed.

        Args:
            changes: By the number of the input.
        """
        raise NotImplementedError

    def reset(self) -> None:
        """Forget what came in."""


class Given(Operator):
    """Rows that are there from the start."""

    def __init__(self, rows: Bag | Iterable[Row]) -> None:
        """Take the rows: each once with how often it is there, or as often as it is there."""
        self.rows = rows

    def start(self) -> Bag:
        """The rows."""
        return self.rows if isinstance(self.rows, dict) else Counter(self.rows)

    def step(self, changes: Mapping[int, Bag]) -> Bag:
        """Nothing changes them."""
        return {}


class Linear(Operator):
    """What is done to each row by itself, whatever the others are; inputs are united.

    The functions, one for each input, give a row; None if it goes.
    """

    def __init__(self, functions: Sequence[Callable[[Row], Row | None]]) -> None:
        """Take the function for each input."""
        self.functions = functions

    def step(self, changes: Mapping[int, Bag]) -> Bag:
        """The changed rows, each for itself."""
        result: Bag = {}
        for place, change in changes.items():
            function = self.functions[place]
            for row, times in change.items():
                made = function(row)
                if made is not None:
                    now = result.get(made, 0) + times
                    if now:
                        result[made] = now
                    else:
                        del result[made]
        return result


class Repeated(Operator):
    """Each row as often as a function says."""

    def __init__(self, times: Callable[[Row], int | None]) -> None:
        """Take the function."""
        self.times = times

    def step(self, changes: Mapping[int, Bag]) -> Bag:
        """The changed rows as often."""
        return {
            row: times * more
            for row, times in changes[0].items()
            if (more := max(0, self.times(row) or 0))
        }


class Joined(Operator):
    """The pairs of rows of two inputs that have equal keys."""

    def __init__(self, keys: tuple[Key, Key]) -> None:
        """Take what is equal of both sides, of which None is equal to nothing."""
        self.keys = keys
        self.sides: tuple[dict[Any, Bag], dict[Any, Bag]] = ({}, {})

    def reset(self) -> None:
        """Forget both sides."""
        self.sides = ({}, {})

    def step(self, changes: Mapping[int, Bag]) -> Bag:
        """Changed rows of the left with the right before, then of the right with the left now."""
        result: Bag = {}
        for side in (0, 1):
            own, other = self.sides[side], self.sides[1 - side]
            key_of = self.keys[side]
            for row, times in changes.get(side, {}).items():
                key = key_of(row)
                if key is None:
                    continue
                for match, number in other.get(key, _NONE).items():
                    pair = row + match if side == 0 else match + row
                    now = result.get(pair, 0) + times * number
                    if now:
                        result[pair] = now
                    else:
                        del result[pair]
                bag = own.get(key)
                if bag is None:
                    own[key] = {row: times}
                    continue
                add(bag, {row: times})
                if not bag:
                    del own[key]
        return result


class Grouped(Operator):
    """What follows from all rows of one key, computed anew for each key of which a row changed."""

    def __init__(self, keys: Sequence[Key], made: Callable[[Any, Sequence[Bag]], Bag]) -> None:
        """Take each input's key, and what is made of a key and the inputs' rows that have it."""
        self.keys = keys
        self.made = made
        self.groups: dict[Any, list[Bag]] = {}
        self.results: dict[Any, Bag] = {}

    def reset(self) -> None:
        """Forget all groups."""
        self.groups, self.results = {}, {}

    def step(self, changes: Mapping[int, Bag]) -> Bag:
        """The groups that changed, without what they were."""
        touched: dict[Any, None] = {}
        for place, change in changes.items():
            for row, times in change.items():
                key = self.keys[place](row)
                touched[key] = None
                group = self.groups.setdefault(key, [{} for _ in self.keys])
                add(group[place], {row: times})
        result: Bag = {}
        for key in touched:
            after = self.made(key, self.groups[key])
            add(result, difference(after, self.results.get(key, {})))
            self.results[key] = after
            if not any(self.groups[key]):
                del self.groups[key], self.results[key]
        return result


class Total(Grouped):
    """What follows from all rows, also where there are none."""

    def __init__(self, inputs: int, made: Callable[[Any, Sequence[Bag]], Bag]) -> None:
        """Take the number of inputs, and what is made of their rows."""
        super().__init__([lambda row: ()] * inputs, made)

    def start(self) -> Bag:
        """What follows from no row."""
        self.groups[()] = [{} for _ in self.keys]
        self.results[()] = self.made((), self.groups[()])
        return self.results[()]

    def step(self, changes: Mapping[int, Bag]) -> Bag:
        """What follows now, without what followed before."""
        for place, change in changes.items():
            add(self.groups[()][place], change)
        before = self.results[()]
        self.results[()] = self.made((), self.groups[()])
        return difference(self.results[()], before)


class Distinct(Operator):
    """Each row once."""

    def __init__(self, row_of: Callable[[Row], Row]) -> None:
        """Take what of a row is looked at."""
        self.row_of = row_of
        self.counts: Bag = {}

    def reset(self) -> None:
        """Forget all rows."""
        self.counts = {}

    def step(self, changes: Mapping[int, Bag]) -> Bag:
        """The rows that were not there before, and those that are there no longer."""
        result: Bag = {}
        for row, times in changes[0].items():
            made = self.row_of(row)
            before = self.counts.get(made, 0)
            now = before + times
            if now:
                self.counts[made] = now
            else:
                self.counts.pop(made, None)
            if (now > 0) != (before > 0):
                add(result, {made: 1 if now > 0 else -1})
        return result


class Stored(Operator):
    """A binding: all rows that it has now."""

    def __init__(self, name: str) -> None:
        """Take the binding's name."""
        self.name = name
        self.rows: Bag = {}
        self.size = 0

    def reset(self) -> None:
        """Forget the rows."""
        self.rows, self.size = {}, 0

    def step(self, changes: Mapping[int, Bag]) -> Bag:
        """The change itself."""
        add(self.rows, changes[0])
        self.size += sum(changes[0].values())
        return changes[0]


class Delayed(Operator):
    """A binding as of the round before: what comes in goes out with the next round."""

    def __init__(self, name: str) -> None:
        """Take the binding's name."""
        self.name = name
        self.rows: Bag = {}
        self.waiting: Bag = {}

    def step(self, changes: Mapping[int, Bag]) -> Bag:
        """Nothing in this round."""
        add(self.waiting, changes[0])
        return {}

    def next_round(self) -> Bag:
        """What came in during the round before."""
        change, self.waiting = self.waiting, {}
        add(self.rows, change)
        return change
