"""How much a refresh reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named
from python_ivm.algebra.nodes import (
    Aggregate,
    At,
    Filter,
    Join,
    Node,
    Project,
    Scan,
    UnionAll,
)
from python_ivm.optimize.analysis.bounds import Range
from python_ivm.optimize.cost import (
    DROPPED,
    FEW_BYTES,
    FEW_ROWS,
    SOME_BYTES,
    STATE_ROW,
    STATE_WEIGHT,
    Cost,
    Execution,
)
from python_ivm.sources.history import Commit, DataFile, SourceVersion, since
from python_ivm.state.layout import STATE

KEY = ColumnRef("b", "k")
OWN = exp.EQ(this=KEY.expression(), expression=ColumnRef("a", "k").expression())


@dataclass
class Sizes:
    """What a model knows of the sizes of its tables; the state's is 0 unless it is given."""

    sizes: Mapping[str, int | None]
    listed: Mapping[str, Sequence[DataFile]] = field(default_factory=dict)
    states: Sequence[str] = (STATE,)
    asked: list[str] = field(default_factory=list)

    def size(self, source: str) -> int | None:
        self.asked.append(source)
        return self.sizes.get(source, 0)

    def files(self, source: str) -> Sequence[DataFile] | None:
        return self.listed.get(source)

    def is_state(self, source: str) -> bool:
        return source in self.states


def joined(*conditions: exp.Expr) -> Node:
    """The change of a joined to b."""
    change = Scan("s.a", "a", ("k",), At.DELTA)
    return Join((change, Scan("s.b", "b", ("k", "w"))), (OWN, *conditions))


def keys(*values: int, every: bool = True) -> list[exp.Expr]:
    """The bounds of b's key by those of a change."""
    found = Range.of("int", map(str, values), every)
    assert found is not None
    return found.holds(KEY.expression(), or_null=False)


def execution(model: Sizes, plan: Node, *rows: int | None) -> Execution:
    return Cost(model, dict(zip(("s.a", "s.c"), rows, strict=False))).execution(plan)


def is_little(model: Sizes, plan: Node, *rows: int | None) -> bool:
    return execution(model, plan, *rows) is Execution.PLANNED_ONCE


def test_few_rows_and_few_bytes_are_little() -> None:
    half = Sizes({"s.b": FEW_BYTES})
    assert is_little(half, joined(), FEW_ROWS)
    assert not is_little(Sizes({"s.b": FEW_BYTES + 1}), joined(), FEW_ROWS)
    assert not is_little(Sizes({"s.b": None}), joined(), 1)
    assert not is_little(Sizes({STATE: None}), joined(), 1)
    half.asked.clear()
    assert not is_little(half, joined(), FEW_ROWS + 1)
    assert not is_little(half, joined(), None)
    assert half.asked == []
    assert is_little(half, joined(), FEW_ROWS, 1), "the plan reads no change of s.c"


def test_no_code_is_compiled_for_somewhat_more() -> None:
    for bytes_, wanted in (
        (FEW_BYTES, Execution.PLANNED_ONCE),
        (FEW_BYTES + 1, Execution.INTERPRETED),
        (SOME_BYTES, Execution.INTERPRETED),
        (SOME_BYTES + 1, Execution.USUAL),
    ):
        assert execution(Sizes({"s.b": bytes_}), joined(), 1) is wanted
    assert execution(Sizes({"s.b": SOME_BYTES}), joined(), FEW_ROWS + 1) is Execution.USUAL


def test_bytes_of_which_few_rows_are_left_count_for_less_without_code() -> None:
    spread = files((1, 10**7), (1, 10**7), (1, 10**7))
    bytes_ = int(FEW_BYTES / DROPPED)
    few, many = keys(7), keys(1, 10**7, every=False)
    assert is_little(Sizes({"s.b": bytes_}, spread), joined(*few), 1)
    assert not is_little(Sizes({"s.b": bytes_ + 1}, spread), joined(*few), 1)
    assert not is_little(Sizes({"s.b": bytes_}, spread), joined(*many), 1)


def test_a_question_reads_no_target() -> None:
    known: Any = Sizes({STATE: 2**40, "s.b": FEW_BYTES // 2})
    volume = Cost(known, {})
    twice = (Scan("s.b", "b", ("k",)), Scan("s.b", "c", ("k",)))
    assert volume.execution(*twice, merges=False) is Execution.PLANNED_ONCE
    assert volume.execution(*twice, twice[0], merges=False) is Execution.INTERPRETED
    assert volume.execution(*twice) is Execution.USUAL


def test_short_rows_of_a_state_count_for_more_than_their_bytes() -> None:
    def of(rows: int, source: str = STATE) -> Execution:
        return execution(Sizes({source: 1000}, {source: [DataFile(rows, {}, {})]}), joined(), 1)

    assert of(FEW_BYTES // STATE_ROW) is Execution.PLANNED_ONCE
    assert of(FEW_BYTES // STATE_ROW + 1) is Execution.INTERPRETED
    assert of(SOME_BYTES // STATE_ROW + 1) is Execution.USUAL
    assert of(SOME_BYTES, "s.b") is Execution.PLANNED_ONCE


def test_bytes_of_a_state_count_for_more() -> None:
    bytes_ = FEW_BYTES // STATE_WEIGHT
    assert is_little(Sizes({STATE: bytes_}), joined(), 1)
    assert not is_little(Sizes({STATE: bytes_ + 1}), joined(), 1)
    assert is_little(Sizes({"s.b": bytes_}, states=("s.b",)), joined(), 1)
    assert not is_little(Sizes({"s.b": bytes_ + 1}, states=("s.b",)), joined(), 1)


@pytest.mark.parametrize(
    ("conditions", "little"),
    [
        ([], False),
        (keys(7), True),
        (keys(3, 5), True),
        (keys(-9, 990, every=False), True),
        (keys(-9, 991, every=False), False),
        (keys(-9, 991), True),
        (
            Range("date", "2023-05-01", "2024-05-01").holds(KEY.expression(), or_null=True),
            True,
        ),
        (
            Range("date", "1999-05-01", "2024-05-01").holds(KEY.expression(), or_null=True),
            False,
        ),
        ([exp.EQ(this=KEY.expression(), expression=exp.Literal.number(7))], False),
        (Range("int", 7, 7).holds(ColumnRef("a", "v").expression(), or_null=True), False),
    ],
)
def test_a_key_among_literals_bounds_a_read(conditions: list[exp.Expr], little: bool) -> None:
    """A user's own condition does not: it may leave most of the table."""
    assert is_little(Sizes({"s.b": 2**40}), joined(*conditions), 1) is little


def files(*ends: tuple[object, object]) -> dict[str, list[DataFile]]:
    """Files of a million rows in all."""
    rows = 10**6 // len(ends)
    return {"s.b": [DataFile(rows, {"k": low}, {"k": high}) for low, high in ends]}


@pytest.mark.parametrize(
    ("ends", "little"),
    [
        ([(1, 10), (11, 20), (21, 30)], True),
        ([(1, 14), (10, 20), (19, 30)], True),
        ([(1, 30), (1, 30), (1, 30)], False),
        ([(1, 30), (2, 29), (11, 12)], False),
        ([("2024-01-01", "2024-06-30"), ("2024-07-01", "2024-12-31")], True),
        ([("2024-01-01", "2024-12-30"), ("2024-01-02", "2024-12-31")], False),
        ([(1, 10), (None, None)], False),
        ([(5, 5), (5, 5)], False),
        ([("a", "b"), ("b", "c")], False),
        ([(1, 10)], False),
    ],
)
def test_a_bound_helps_where_a_table_is_laid_out_by_its_column(
    ends: list[tuple[object, object]], little: bool
) -> None:
    sizes = {"s.b": int(3 * FEW_BYTES / DROPPED)}
    are_days = str(ends[0][0]).startswith("2024")
    own = Range("date", *["2024-08-01"] * 2).holds(KEY.expression(), False) if are_days else keys(7)
    assert is_little(Sizes(sizes, files(*ends)), joined(*own), 1) is little


def test_keys_that_were_looked_up_ahead_do_not_tell_the_layout() -> None:
    """What a table is joined to by users' habit it may be laid out by; what comes after, hardly."""
    found = Range.of("int", ["3", "7"], True)
    assert found is not None
    ahead = found.holds(KEY.expression(), or_null=False, of_change=False)
    sizes = {"s.b": 2**40}
    assert not is_little(Sizes(sizes), joined(*ahead), 1)
    assert is_little(Sizes(sizes, files((1, 10**6), (10**6, 10**7))), joined(*ahead), 1)


def test_of_two_bounds_the_one_that_leaves_fewer_values_tells() -> None:
    few, many = keys(7), keys(1, 10**6, every=False)
    for conditions in (few + many, many + few):
        assert is_little(Sizes({"s.b": 2**40}), joined(*conditions), 1)


@pytest.mark.parametrize(
    ("operation", "mode", "metrics", "rows"),
    [
        ("WRITE", "Append", {"numOutputRows": "3"}, 3),
        ("WRITE", "Overwrite", {"numOutputRows": "3"}, None),
        ("DELETE", "", {"numDeletedRows": "2", "numCopiedRows": "9"}, 2),
        ("DELETE", "", {"numRemovedFiles": "2"}, None),
        ("UPDATE", "", {"numUpdatedRows": "5"}, 5),
        ("MERGE", "", {f"numTargetRows{w}": "1" for w in ("Inserted", "Updated", "Deleted")}, 3),
        ("MERGE", "", {"numTargetRowsInserted": "1"}, None),
        ("OPTIMIZE", "", {}, 0),
        ("RESTORE", "", {}, None),
    ],
)
def test_history_counts_changed_rows(
    operation: str, mode: str, metrics: dict[str, str], rows: int | None
) -> None:
    assert Commit(2, "2", operation, mode, metrics).rows == rows


def test_commits_add_up() -> None:
    commits = [
        Commit(3, "3", "DELETE", metrics={"numDeletedRows": "2"}),
        Commit(2, "2", "OPTIMIZE"),
        Commit(1, "1", "WRITE", "Append", {"numOutputRows": "100"}),
    ]
    found = since(("s", "a"), SourceVersion(1, "1"), commits)
    assert found is not None
    assert found.rows == 2


def is_more_expensive(model: Sizes, following: Node, other: Node, rows: int | None = 1) -> bool:
    return Cost(model, {"s.a": rows}).is_more_expensive(following, other, {"s.a"})


def both_states() -> Node:
    """The change of a joined to b as it was, and to b as it is."""
    change = Scan("s.a", "a", ("k",), At.DELTA)
    parts = [Join((change, Scan("s.b", "b", ("k", "w"), at)), (OWN,)) for at in (At.PRE, At.POST)]
    return UnionAll(tuple(parts), "both", ("a_k", "n", "b_k", "w"))


def query() -> Node:
    return Join((Scan("s.a", "a", ("k",)), Scan("s.b", "b", ("k", "w"))), (OWN,))


@pytest.mark.parametrize(
    ("sizes", "rows", "dearer"),
    [
        ({"s.b": 2**30}, 1, True),
        ({"s.b": 2**30, "s.a": 2**30}, 1, False),
        ({"s.b": 2**30, "s.a": 2**28}, 1, True),
        ({"s.b": 2**20}, 1, False),
        ({"s.b": 2**30}, None, False),
        ({"s.b": None}, 1, False),
        ({"s.b": 2**30, "s.a": None}, 1, False),
        ({"s.a": 2**30}, 10**8, True),
        ({"s.a": 2**30}, 10**6, False),
    ],
    ids=[
        "two states of a table are read for one",
        "but the query reads another one as well",
        "a smaller one",
        "it saves little",
        "nobody knows how much changed",
        "nor how large the table is that both read",
        "or one that the query reads",
        "more changed than there is",
        "less",
    ],
)
def test_what_reads_more_than_the_query_is_more_expensive(
    sizes: dict[str, int | None], rows: int | None, dearer: bool
) -> None:
    assert is_more_expensive(Sizes(sizes), both_states(), query(), rows) is dearer


def test_many_operators_cost_as_much_as_bytes() -> None:
    deep: Node = query()
    for number in range(40):
        deep = Project(
            deep, f"p{number}", tuple(Named(c.name, c.expression()) for c in deep.schema[:1])
        )
    assert is_more_expensive(Sizes({}), deep, query())
    assert not is_more_expensive(Sizes({}), query(), deep)


def test_bounded_reads_of_a_table_cost_the_part_that_they_leave() -> None:
    apart = Sizes({"s.b": 2**30}, files((1, 10**5), (10**5, 10**6), (10**6, 10**7)))
    spread = Sizes({"s.b": 2**30}, files((1, 10**7), (1, 10**7), (1, 10**7)))
    recomputing = Scan("s.a", "a", ("k",))
    for bounds in (keys(7), keys(10**4, 10**5, every=False)):
        assert not is_more_expensive(apart, joined(*bounds), recomputing)
        assert is_more_expensive(spread, joined(*bounds), recomputing)
    assert is_more_expensive(apart, joined(*keys(1, 10**7, every=False)), recomputing)


def test_bytes_of_which_few_rows_are_left_count_for_less() -> None:
    """Both states of a table for a few keys take less than to join it once."""
    spread = files((1, 10**7), (1, 10**7), (1, 10**7))
    whole = {"s.b": 2**30}

    def both(*bounds: exp.Expr) -> Node:
        states = (Scan("s.b", "b", ("k", "w"), at) for at in (At.PRE, At.POST))
        change = Scan("s.a", "a", ("k",), At.DELTA)
        parts = tuple(Join((change, state), (OWN, *bounds)) for state in states)
        return UnionAll(parts, "both", ("a_k", "n", "b_k", "w"))

    assert not is_more_expensive(Sizes(whole, spread), both(*keys(7, 10**6)), query())
    assert is_more_expensive(Sizes(whole, spread), both(*keys(7, 10**6, every=False)), query())
    assert is_more_expensive(Sizes(whole, spread), both(), query())


@pytest.mark.parametrize(
    ("rows", "dearer"), [(200_000, False), (100_000, False), (60_000, True), (1, True)]
)
def test_of_unknown_files_each_has_some_of_keys_that_lie_far_from_each_other(
    rows: int, dearer: bool
) -> None:
    """Q17 of 60 million lines: after 60,000 it was followed, in 2.6 times the rebuild."""
    sizes = Sizes({"s.b": 2**30})
    recomputing = Scan("s.a", "a", ("k",))
    near = joined(*keys(1, 10**6, every=False))
    assert is_more_expensive(sizes, near, recomputing, rows) is dearer
    few = joined(*keys(1, 10**6))
    assert not is_more_expensive(sizes, few, recomputing, rows)


def test_a_table_of_unknown_files_is_taken_for_laid_out_by_what_bounds_it() -> None:
    """Of one of more than fifty the log does not list them; to read it whole could take minutes."""
    grouped = Aggregate(
        Scan("s.b", "b", ("k", "w")),
        "g",
        (Named("k", KEY.expression()),),
        (Named("n", exp.Count(this=exp.Star())),),
    )
    found = Range.of("int", ["7"], True)
    assert found is not None
    bound = exp.and_(*found.holds(ColumnRef("g", "k").expression(), or_null=False))
    recomputing = Scan("s.a", "a", ("k",))
    assert not is_more_expensive(Sizes({"s.b": 2**40}), Filter(grouped, bound), recomputing)
    assert is_more_expensive(Sizes({"s.b": 2**40}), grouped, recomputing)
