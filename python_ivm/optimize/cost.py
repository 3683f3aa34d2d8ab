"""What a refresh costs: how Spark is to run it, and whether to compute the query costs less."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from python_ivm.algebra.nodes import At, Node
from python_ivm.algebra.walks import size
from python_ivm.optimize.analysis.reads import Read, changes_in, reads
from python_ivm.optimize.analysis.zone_maps import ColumnLayout, share
from python_ivm.sources.history import DataFile, known_sum
from python_ivm.state.layout import STATE

FEW_ROWS = 20_000
"""Up to this many changed rows, of all sources together, a change is small."""
FEW_BYTES = 32 * 2**20
"""A statement that reads at most this many bytes is planned once and interpreted."""
SOME_BYTES = 64 * 2**20
"""For a statement that reads at most this many bytes, compiling code takes longer than it saves."""
DROPPED = 0.25
"""The weight of a byte in interpreted code, if a bound drops most rows right after reading."""
FEW_LEFT = 0.4
"""The same in compiled code."""
STATE_WEIGHT = 3
"""The weight of a byte of a state: its rows are short, mostly numbers."""
STATE_ROW = 160
"""The least weight of a state's row in interpreted code, in bytes."""
OPERATOR = 2 * 2**20
"""How many bytes Spark reads in the time that it takes to plan and start one operator."""
CHANGED_ROW = 100
"""Bytes of the change feed for each changed row, with its old and its new values."""
SMALL_TABLE = 8 * 2**20
"""Up to this many bytes, reading a table takes no longer than choosing its files."""
_MUCH_MORE = 1.25
"""To recompute pays if following costs more than this many times as much: both are estimates."""
_MIN_SAVED = 32 * 2**20
"""To recompute pays if it saves this many bytes: small tables are refreshed as users expect."""
_LOOKAHEAD_TABLE = 128 * 2**20
"""Up to this many bytes, reading a table takes no longer than asking which part is needed."""
_SCATTERED = 10
"""Keys lie far from each other if a bound lets pass more than this many times the changed rows."""
_MIN_SPARED = 2
"""A lookahead pays if it spares more than this many times the bytes that it reads."""

FILE_BYTES = 128 * 2**20
"""The size of file that OPTIMIZE aims at; Delta's own aim is 1 GiB."""
CLUSTERED_FILE_BYTES = 16 * 2**20
"""The same for a clustered state: a refresh reads less of narrow files."""
CLUSTERED_FILE_ROWS = 1_000_000
"""The most rows of a file of a clustered state that is built: 16 MiB and more."""


class Execution(Enum):
    """How Spark is to run a statement: by how much it reads (docs/decisions/0021), or writes."""

    USUAL = "usual"
    """By the session's settings."""
    INTERPRETED = "interpreted"
    """Without generated code: compiling it takes longer than it saves."""
    PLANNED_ONCE = "planned_once"
    """Without generated code and without adaptive execution: each stage gives little."""
    LAID_OUT = "laid_out"
    """Sorted rows into files of so many that each holds a narrow range (docs/decisions/0075)."""
    COMPACTING = "compacting"
    """Small files into files of :data:`FILE_BYTES`."""
    CLUSTERING = "clustering"
    """All files into files of :data:`CLUSTERED_FILE_BYTES`, each with a narrow range."""


@dataclass(frozen=True)
class ReadSize:
    """How much is read, as far as the statistics of tables tell.

    Attributes:
        bytes: The size of the files; None if that of a table is not known.
        rows: The rows in them, and in the change feeds; None likewise.
    """

    bytes: int | None
    rows: int | None


class Statistics(Protocol):
    """What is known of tables, by planner key; the model's own state is one of them."""

    def size(self, source: str) -> int | None:
        """A table's size in bytes; None if unknown."""

    def files(self, source: str) -> Sequence[DataFile] | None:
        """A table's files; None if they cannot be told cheaply, or are many."""

    def is_state(self, source: str) -> bool:
        """Whether a table is the state of a model."""


class Cost:
    """What plans cost, as far as histories, sizes and statistics of files tell."""

    def __init__(self, statistics: Statistics, changed_rows: Mapping[str, int | None]) -> None:
        """Take what is known.

        Args:
            statistics: Sizes and files of tables.
            changed_rows: How many rows of each source changed; None if that is not known.
        """
        self._statistics = statistics
        self._rows = changed_rows

    def reading(self, plan: Node) -> ReadSize:
        """How much a plan reads."""
        changed = [self._rows.get(source) for source in changes_in(plan)]
        found = [self._read(read) for read in reads(plan)]
        rows = known_sum([*changed, *(some.rows for some in found)])
        feeds = known_sum([None if r is None else CHANGED_ROW * r for r in changed])
        return ReadSize(known_sum([feeds, *(some.bytes for some in found)]), rows)

    def whole(self, sources: Collection[str]) -> ReadSize:
        """How much there is to read of tables."""
        found = [self._read(Read(source, At.POST)) for source in sources]
        return ReadSize(known_sum([r.bytes for r in found]), known_sum([r.rows for r in found]))

    def _read(self, read: Read) -> ReadSize:
        part = share(read, self._statistics.files, 0.0) if read.keys else 1.0
        bytes_ = self._statistics.size(read.source) if part else 0
        files = self._statistics.files(read.source) if part else ()
        rows = None if files is None else known_sum([file.rows for file in files])
        return ReadSize(
            None if bytes_ is None else round(part * bytes_),
            None if rows is None else round(part * rows),
        )

    def is_large(self, source: str) -> bool:
        """Whether it pays to bound what is read of a table."""
        size = self._statistics.size(source)
        return size is None or size > SMALL_TABLE

    def execution(self, *plans: Node, merges: bool = True) -> Execution:
        """How Spark is to run a statement.

        Args:
            plans: The plans that it computes.
            merges: Whether it is a MERGE. Of its target Delta reads whole files, whatever the
                condition.
        """
        if not self.changed_little(*plans):
            return Execution.USUAL
        found = [read for plan in plans for read in reads(plan)]
        if merges:
            found.append(Read(STATE, At.PRE))
        total = 0.0
        for read in sorted(found, key=lambda read: len(read.keys)):
            weighed = self._weighed(read, unknown=1.0, few_left=DROPPED)
            if weighed is None:
                return Execution.USUAL
            total += max(weighed, STATE_ROW * self._rows_of_state(read))
            if total > SOME_BYTES:
                return Execution.USUAL
        return Execution.PLANNED_ONCE if total <= FEW_BYTES else Execution.INTERPRETED

    def _rows_of_state(self, read: Read) -> int:
        """How many rows are read of a state; none of another table, or if it is not known."""
        rows = self._read(read).rows if self._statistics.is_state(read.source) else None
        return rows or 0

    def is_more_expensive(
        self, following: Node, recomputing: Node, sources: Collection[str]
    ) -> bool:
        """Whether to follow what changed costs more than to recompute the query.

        Bytes are counted, and operators, each of which Spark plans and starts: of large tables the
        bytes tell, of small ones the operators. Where either is not known, the change is followed.
        A table whose files are not known is taken for laid out by what bounds its read, unless the
        keys lie far from each other: then each file has some of them.

        Args:
            following: The plan of what a MERGE merges that applies what changed.
            recomputing: That of one which finds what differs from the query
                (``state/recompute.py``).
            sources: The sources whose changes are followed.
        """
        if any(self._rows.get(source) is None for source in sources):
            return False
        follow = self._cost(following)
        if follow is None or follow <= _MIN_SAVED:  # then no size is asked for the other
            return False
        compute = self._cost(recomputing)
        return compute is not None and follow > max(_MUCH_MORE * compute, compute + _MIN_SAVED)

    def keeps_state(self, differing: Node, fresh: Node) -> bool:
        """Whether to look for what differs from the state takes little more than to replace it.

        Args:
            differing: The plan of the rows that differ from the query (``state/recompute.py``).
            fresh: That of the query's rows.
        """
        look, replaced = self._cost(differing), self._cost(fresh)
        if look is None or replaced is None:
            return False
        return look <= _MUCH_MORE * replaced + _MIN_SAVED

    def pays_to_ask(self, near: Node, far: Read, key: str) -> bool:
        """Whether a plan's rows are found for a fraction of what they spare to read of a table.

        Not those of many changed rows: their keys would be too many to be listed.

        Args:
            near: The plan, of which the keys in the table would be asked for.
            far: How the table is read, which they would bound.
            key: By which of its columns.
        """
        if not self.changed_little(near):
            return False
        whole = self._statistics.size(far.source)
        if whole is None or whole < _LOOKAHEAD_TABLE:
            return False
        spared = whole * (self._spared(far, key) if far.keys else 1)
        if spared < _LOOKAHEAD_TABLE:
            return False
        asked = self._cost(near)
        return asked is not None and _MIN_SPARED * asked <= spared

    def _spared(self, read: Read, key: str) -> float:
        """Which part of a table is not read any more if one of its keys has very few values."""
        layout = ColumnLayout.of(self._statistics.files(read.source) or (), key)
        if layout is None or not layout.is_by_key:
            return 0.0
        return FEW_LEFT * share(read, self._statistics.files, 0.0)

    def is_worth_a_question(self, plan: Node) -> bool:
        """Whether a plan reads so much that it pays to ask first whether it is to be read."""
        bytes_ = self._bytes(plan)
        return bytes_ is not None and bytes_ > _MIN_SAVED

    def changed_little(self, *plans: Node) -> bool:
        """Whether the changes that plans read have few rows; not if those of one are not known."""
        changed = {source for plan in plans for source in changes_in(plan)}
        rows = [self._rows.get(source) for source in changed]
        return None not in rows and sum(filter(None, rows)) <= FEW_ROWS

    def _cost(self, plan: Node) -> float | None:
        """The bytes that a plan reads, with those that its operators stand for."""
        bytes_ = self._bytes(plan)
        return None if bytes_ is None else bytes_ + OPERATOR * size(plan)

    def _bytes(self, plan: Node) -> float | None:
        """The bytes that a plan reads; None if those of a table are not known."""
        total: float = sum(
            CHANGED_ROW * (self._rows.get(source) or 0) for source in changes_in(plan)
        )
        for read in reads(plan):
            unknown = 1.0 if self._is_scattered(read) else 0.0
            weighed = self._weighed(read, unknown, few_left=FEW_LEFT)
            if weighed is None:
                return None
            total += weighed
        return total

    def _is_scattered(self, read: Read) -> bool:
        """Whether the changed rows have few of the keys that a bound of the read lets pass.

        Not of a state: it is often laid out by its keys.
        """
        changed = sum(filter(None, self._rows.values()))
        if not changed or self._statistics.is_state(read.source):
            return False
        return all(bound.values > _SCATTERED * changed for bound in read.keys.values())

    def _weighed(self, read: Read, unknown: float, few_left: float) -> float | None:
        """The bytes of a read, those of states for more; None if its table's are not known."""
        part = share(read, self._statistics.files, unknown) if read.keys else 1.0
        bytes_ = self._statistics.size(read.source) if part else 0
        if bytes_ is None:
            return None
        is_few = any(bound.is_few for bound in read.keys.values())
        weight = STATE_WEIGHT if self._statistics.is_state(read.source) else 1
        return bytes_ * part * weight * (few_left if is_few else 1)
