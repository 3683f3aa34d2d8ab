"""Where the commits of a state tell that it is faster to write all of its rows, that is done."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from python_ivm.errors import InvalidModel
from python_ivm.operate.pending import pending
from python_ivm.operate.records import records
from python_ivm.optimize.cost import Cost
from python_ivm.refresh.incremental import Following, TooLarge
from python_ivm.refresh.options import OnConfigurationChange, Options, Output, StepMode
from python_ivm.refresh.plan import Counts, Refresh, Strategy
from python_ivm.refresh.statement import StatementKind
from python_ivm.sources.history import SourceVersion
from python_ivm.state.bookmark import Bookmark, Found, no_refresh
from python_ivm.state.storage import Storage
from python_ivm.state.timings import Expected, Timings, Took
from tests.planner.lake import Lake

SUMS = "select k, sum(v) as v from s.x group by k"
ABOVE = "select k, v + 1 as v from s.sums where v > 3"


class Timed(Lake):
    """A lake in which a test says how long each refresh takes."""

    def refreshed(self, model: str, sql: str, seconds: float, **request: Any) -> Refresh:
        """A refresh that equals its query, and takes so long."""
        began = round(self.milliseconds + self.between_commits - 1_000 * seconds)
        refresh = self.run(model, sql, began=began, **request)
        self.check(model)
        return refresh

    def timings(self, model: str) -> Timings:
        """What the newest commit of a model tells of those before it."""
        bookmark = Bookmark.of(self.commits[f"{model}__ivm_state"][0].user_metadata)
        assert bookmark is not None
        assert bookmark.told is not None
        return bookmark.told.timings


@pytest.fixture
def learned(lake: Timed) -> Timed:
    """A model whose build took one second, and of which a row was followed twice, in five."""
    lake.refreshed("sums", SUMS, 1)
    for v in (4, 5):
        lake.change("x", insert=[(1, v)])
        assert lake.refreshed("sums", SUMS, 5).strategy is Strategy.INCREMENTAL
    return lake


@pytest.fixture
def lake(timings_count: None) -> Timed:
    """A source of four rows, and states that are small."""
    lake = Timed()
    lake.size_of = lambda name: 1_000
    lake.create("x", {"k": "int", "v": "int"}, [(1, 1), (1, 2), (2, 3), (None, 4)])
    return lake


def chosen(refresh: Refresh) -> str:
    """Strategy and reason."""
    return f"{refresh.strategy.value} ({refresh.reason})"


REWRITTEN = "recompute (FASTER)"
FOLLOWED = "incremental (CHANGED)"


def test_all_rows_are_written_where_that_was_faster(learned: Timed) -> None:
    learned.change("x", delete=[(1, 1)], insert=[(3, 3)])
    refresh = learned.refreshed("sums", SUMS, 1)
    assert [s.kind for s in refresh.statements] == [StatementKind.REWRITE]
    assert refresh.summary(Counts(inserted=4)) == (
        "recompute (FASTER): 4 rows from x@2→3; computing it takes about 0.5 s, "
        "following the change takes about 5.0 s"
    )
    assert not refresh.fallback
    assert learned.run("sums", SUMS).strategy is Strategy.NOOP
    newest, before, *_ = records(learned.history(("s", "sums__ivm_state"), None) or [])
    told = [(r.inserted, r.updated, r.deleted, r.written) for r in (newest, before)]
    assert told == [(None, None, None, 4), (1, 0, 1, None)]


def chosen_at(lake: Timed, size: int | None, seconds: float) -> str:
    """What is chosen for a state of so many bytes that was built in one second."""
    lake.size_of = lambda name: size
    lake.refreshed("sums", SUMS, 1)
    for v in (4, 5):
        lake.change("x", insert=[(1, v)])
        assert chosen(lake.refreshed("sums", SUMS, seconds)) == FOLLOWED
    lake.change("x", insert=[(1, 9)])
    return chosen(lake.refreshed("sums", SUMS, 1))


@pytest.mark.parametrize(
    ("size", "expected"), [(2**23, REWRITTEN), (2**23 + 1, FOLLOWED), (None, FOLLOWED)]
)
def test_a_state_is_written_whole_up_to_a_size(
    lake: Timed, size: int | None, expected: str
) -> None:
    assert chosen_at(lake, size, 5) == expected


@pytest.mark.parametrize(("size", "expected"), [(2**22, REWRITTEN), (2**23, FOLLOWED)])
def test_what_is_saved_is_more_than_a_model_above_pays(
    lake: Timed, size: int, expected: str
) -> None:
    """It compares what the state had and has: a tenth of a second for each mebibyte."""
    assert chosen_at(lake, size, 1.2) == expected


@pytest.fixture
def cheaper(monkeypatch: pytest.MonkeyPatch) -> None:
    """To follow a change would always read more than the query does."""
    monkeypatch.setattr(Cost, "is_more_expensive", lambda *plans: True)


MERGED = "recompute (CHEAPER)"


@pytest.mark.usefixtures("cheaper")
@pytest.mark.parametrize(
    ("size", "expected"), [(1_000, REWRITTEN), (2**22, MERGED), (None, MERGED)]
)
def test_of_a_small_state_all_rows_are_written_if_it_is_cheaper_to_compute_them(
    lake: Timed, size: int | None, expected: str
) -> None:
    """A MERGE of the rows that differ took up to twice as long."""
    lake.size_of = lambda name: size
    lake.refreshed("sums", SUMS, 1)
    lake.change("x", delete=[(1, 1)], insert=[(3, 3)])
    refresh = lake.refreshed("sums", SUMS, 2)
    assert chosen(refresh) == expected
    assert not refresh.fallback
    assert "to follow what changed would read more" in refresh.summary(Counts(inserted=4))
    small = expected == REWRITTEN
    assert [s.kind for s in refresh.statements] == [
        StatementKind.REWRITE if small else StatementKind.MERGE
    ]
    lake.change("x", insert=[(3, 3)])
    lake.refreshed("sums", SUMS, 2)
    built, took = Took(1_000, None, 1, build=True), Took(2_000, 1, 2, changed=(0,))
    assert lake.timings("sums") == (
        Timings((), (built, took), estimated=took) if small else Timings((took,), (built,))
    )


def estimates(lake: Timed, monkeypatch: pytest.MonkeyPatch, *rows: tuple[int, int]) -> bool:
    """Whether a refresh after such rows came plans how to follow them, before all are written."""
    planned: list[Any] = []
    follow = Following.follow

    def counted(self: Following, read: Any) -> Any:
        planned.append(read)
        return follow(self, read)

    lake.change("x", insert=list(rows))
    with monkeypatch.context() as patch:
        patch.setattr(Following, "follow", counted)
        refresh = lake.refreshed("sums", SUMS, 2)
    assert chosen(refresh) == REWRITTEN
    assert "to follow what changed would read more" in refresh.summary(Counts(inserted=4))
    return bool(planned)


@pytest.mark.usefixtures("cheaper")
def test_that_following_reads_more_is_not_found_again_at_each_refresh(
    lake: Timed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It took 0.1 to 1.2 s: the keys of the change are asked for, and tables are looked at."""
    lake.refreshed("sums", SUMS, 1)
    assert [estimates(lake, monkeypatch, (3, v)) for v in range(11)] == (
        [True] + 8 * [False] + [True] + [False]  # at the 11th refresh
    )


@pytest.mark.usefixtures("cheaper")
def test_it_is_found_again_for_a_smaller_change(
    lake: Timed, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.refreshed("sums", SUMS, 1)
    assert estimates(lake, monkeypatch, *[(3, v) for v in range(40)])
    assert not estimates(lake, monkeypatch, *[(3, v) for v in range(60)])
    assert estimates(lake, monkeypatch, (3, 1))


def test_for_which_changes_following_is_known_to_read_more() -> None:
    learned = Timings(estimated=Took(500, 40, 20, changed=(0, 2)))
    assert learned.reads_more(40, 21, (0, 2)) and learned.reads_more(10**6, 30, (0, 1, 2))
    assert not learned.reads_more(15, 21, (0, 2)), "a smaller one"
    assert not learned.reads_more(40, 31, (0, 2)), "too long ago"
    assert not learned.reads_more(40, 21, (0,)), "one of both"
    assert not learned.reads_more(40, 21, (1,)), "another source"
    assert not learned.reads_more(None, 21, (0, 2)) and not learned.reads_more(40, 21, None)
    assert not Timings().reads_more(40, 21, (0, 2))


UNSEEN = [(7, -1)]
"""Rows of which POSITIVE sees nothing."""
POSITIVE = "select k, sum(v) as v from s.x where v > 0 group by k"


@pytest.fixture
def unseen(lake: Timed, monkeypatch: pytest.MonkeyPatch) -> Timed:
    """A model that is computed anew, and saw nothing of one row at its 11th refresh, its last."""
    monkeypatch.setattr(Cost, "is_worth_a_question", lambda *arguments: True)
    lake.refreshed("sums", POSITIVE, 1)
    for v in (4, 5):
        lake.change("x", insert=[(1, v)])
        assert lake.refreshed("sums", POSITIVE, 5).strategy is Strategy.INCREMENTAL
    lake.change("x", insert=[(1, 6)])
    assert chosen(lake.refreshed("sums", POSITIVE, 1)) == REWRITTEN
    for _ in range(6):
        lake.change("x", insert=UNSEEN)
        assert chosen(lake.refreshed("sums", POSITIVE, 1)) == REWRITTEN  # nothing tells of it
    lake.change("x", insert=UNSEEN)
    assert lake.refreshed("sums", POSITIVE, 1).strategy is Strategy.NOOP
    return lake


def test_a_change_like_one_that_the_query_did_not_see_is_asked_about(unseen: Timed) -> None:
    unseen.change("x", insert=UNSEEN)
    assert unseen.refreshed("sums", POSITIVE, 1).strategy is Strategy.NOOP
    unseen.change("x", insert=[(1, 7)])
    assert chosen(unseen.refreshed("sums", POSITIVE, 1)) == REWRITTEN
    assert unseen.timings("sums").unseen == Took(1_000, 1, 12, changed=(0,))


def test_few_refreshes_ask(unseen: Timed) -> None:
    for v in range(4):
        unseen.change("x", insert=[(1, v + 10)])
        assert chosen(unseen.refreshed("sums", POSITIVE, 1)) == REWRITTEN
    unseen.change("x", insert=UNSEEN)
    assert chosen(unseen.refreshed("sums", POSITIVE, 1)) == REWRITTEN


def test_a_larger_change_than_what_was_not_seen_is_not_asked_about(unseen: Timed) -> None:
    unseen.change("x", insert=UNSEEN * 100)
    assert chosen(unseen.refreshed("sums", POSITIVE, 1)) == REWRITTEN


def test_what_became_slow_is_noticed_while_it_asks(unseen: Timed) -> None:
    """Its time counts with the question: left out, the way would be taken again and again."""
    done = []
    for v in range(4):
        unseen.change("x", insert=[(1, v + 10)])
        done.append(chosen(unseen.refreshed("sums", POSITIVE, 9)))
    assert done == [REWRITTEN, REWRITTEN, REWRITTEN, FOLLOWED]


def test_a_commit_that_is_no_refresh_keeps_what_was_not_seen(unseen: Timed) -> None:
    newest, *others = unseen.commits["sums__ivm_state"]
    bookmark = Bookmark.of(newest.user_metadata)
    assert bookmark is not None
    assert bookmark.told is not None
    told = no_refresh(Found(bookmark, True, newest.version, commit=newest), bookmark.told, "KEPT")
    kept = replace(bookmark, refresh=12, told=told).text()
    unseen.commits["sums__ivm_state"] = [replace(newest, user_metadata=kept), *others]
    unseen.change("x", insert=UNSEEN)
    assert unseen.refreshed("sums", POSITIVE, 1).strategy is Strategy.NOOP


@pytest.mark.parametrize("fails", [TooLarge("5,001 operators"), ValueError("a bug")])
def test_all_rows_are_written_though_the_question_fails(
    unseen: Timed, fails: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> Any:
        raise fails

    monkeypatch.setattr(Following, "_merge", fail)
    unseen.change("x", insert=UNSEEN)
    refresh = unseen.refreshed("sums", POSITIVE, 1)
    assert chosen(refresh) == REWRITTEN
    assert (refresh.warning is not None) == isinstance(fails, ValueError)  # a bug is told


@pytest.mark.parametrize(
    ("last", "rows", "expected"),
    [
        (None, 1, False), (100, 5, True), (100, 100, True), (100, 127, True), (100, 300, False),
        (100, 256, False), (100, None, True),
    ],
)  # fmt: skip
def test_what_may_be_unseen(last: int | None, rows: int | None, expected: bool) -> None:
    found = Timings(unseen=Took(500, last, 1) if last else None)
    assert found.may_be_unseen(rows, 2) is expected
    assert found.may_be_unseen(rows, 5) is expected
    assert found.may_be_unseen(rows, 6) is False
    assert found.may_be_unseen(rows, 11) is True


@pytest.mark.parametrize(("rows", "every"), [(None, 11), (10_000, 11), (10_001, 44)])
def test_of_a_large_change_it_is_seldom_asked(rows: int | None, every: int) -> None:
    """To ask about 60,000 lines took 0.5 to 2.4 s, for nothing."""
    asks = [refresh for refresh in range(1, 100) if Timings().may_be_unseen(rows, refresh)]
    assert asks == list(range(every, 100, every))


def test_unseen_changes_of_unknown_size_are_like_any() -> None:
    assert Timings(unseen=Took(500, None, 3)).may_be_unseen(10**6, 4)


def test_a_bookmark_that_moves_for_its_age_tells_nothing_of_what_is_seen() -> None:
    known = Timings(unseen=Took(500, 40, 3))
    assert known.after("UNCHANGED", Took(500, 0, 4)) == known
    assert known.after("UNCHANGED", Took(500, 9, 4)).unseen == Took(500, 9, 4)


@pytest.mark.parametrize("unseen", [None, 3, "x", {"rows": 7}, [], [1]])
def test_what_another_version_wrote_of_it_is_no_error(unseen: object) -> None:
    known = Timings.of({"followed": [[600, 1, 3, False]], "anew": [], "unseen": unseen})
    assert known == Timings((Took(600, 1, 3),))


def test_nothing_is_tuned_for_a_merge_that_does_not_come(learned: Timed) -> None:
    newest, *others = learned.commits["sums__ivm_state"]
    large = replace(newest, operation="WRITE", metrics={"numOutputBytes": str(5 * 2**20)})
    learned.commits["sums__ivm_state"] = [large, *others]
    learned.change("x", insert=[(1, 9)])
    refresh = learned.refreshed("sums", SUMS, 1)
    assert [s.kind for s in refresh.statements] == [StatementKind.REWRITE]


def test_a_first_refresh_that_was_slow_does_not_decide(lake: Timed) -> None:
    lake.refreshed("sums", SUMS, 2)
    took = [9, 0.6, 0.6]
    for v, seconds in enumerate(took):
        lake.change("x", insert=[(1, v)])
        assert chosen(lake.refreshed("sums", SUMS, seconds)) == FOLLOWED
    assert lake.timings("sums") == Timings(
        (Took(9000, 1, 2, changed=(0,)), Took(600, 1, 3, changed=(0,))),
        (Took(2000, None, 1, build=True),),
    )


def test_what_is_not_taken_is_tried_again_if_it_may_be_the_faster_one(learned: Timed) -> None:
    done = []
    for v in range(20):
        learned.change("x", insert=[(2, v)])
        done.append(chosen(learned.refreshed("sums", SUMS, 3.2)))
    first = done.index(FOLLOWED)
    assert done[:first] == [REWRITTEN] * first
    assert first == 12, "a tenth less than 3.5 s, which is what 5 s count then"
    assert REWRITTEN in done[first:]


def ways_of(build: int, following: int, *anew: int, refreshes: int = 20) -> str:
    """What is chosen after a build if following takes always the same: F and R.

    Args:
        build: Its milliseconds.
        following: Those of following a change.
        anew: Those of writing all rows, the last of them from then on.
        refreshes: How many there are.
    """
    times, ways = Timings(anew=(Took(build, None, 1, build=True),)), ""
    for refresh in range(2, 2 + refreshes):
        is_anew = times.faster_anew(5, refresh) is not None
        took = anew[min(ways.count("R"), len(anew) - 1)] if is_anew else following
        times = times.after("FASTER" if is_anew else "CHANGED", Took(took, 5, refresh))
        ways += "R" if is_anew else "F"
    return ways


@pytest.mark.usefixtures("timings_count")
def test_what_a_cold_build_promises_is_tried_once() -> None:
    """Q18 at scale factor 1: following is the faster way."""
    ways = ways_of(4_700, 2_200, 4_600, refreshes=40)
    assert ways.count("R") == 1
    assert ways.index("R") == 8, "each of eight may have lost 0.35 s, and a trial costs 2.5 s"
    assert "R" not in ways_of(4_700, 2_000, 4_600, refreshes=40), "half of 3.7 s gains too little"


@pytest.mark.usefixtures("timings_count")
def test_a_first_trial_is_cold_and_there_is_a_second_one() -> None:
    """Q13 at scale factor 0.1, which was followed thirteen times after the first one."""
    assert ways_of(2_300, 1_400, 1_770, 900)[:12] == "FFRFRRRRRRRR"
    assert ways_of(2_300, 1_400, 1_770)[:12] == "FFRFRFFFFFFF", "no third one soon"


@pytest.mark.usefixtures("timings_count")
def test_what_a_model_above_pays_is_no_gain_of_a_trial() -> None:
    """Of a state of 5 MiB: following takes 2.2 s, and writing all rows 1.7 at best."""

    def waits(compared: float) -> int:
        for refresh in range(7, 99):
            lately = (Took(2_200, 5, refresh - 2), Took(2_200, 5, refresh - 1))
            found = Timings(lately, (Took(3_400, 5, 4),)).faster_anew(5, refresh, compared)
            if found:
                assert found == Expected(1_700, 2_200, compared, is_trial=True)
                return refresh - 5
        return 99

    assert waits(0) == 3, "each may have lost 0.5 s, and a trial costs 1.2 s"
    assert waits(400) == 16, "0.1 s, and 1.6 s"
    assert waits(501) == 99, "there is nothing to gain"


@pytest.mark.usefixtures("timings_count")
def test_trials_of_changes_of_many_sizes() -> None:
    """The times of small changes tell of large ones, and a trial is one of both."""
    times, ways = Timings(anew=(Took(3_000, None, 1, build=True),)), ""
    for refresh in range(2, 30):
        rows, following = (5, 1_300) if refresh % 3 else (5_000, 1_900)
        is_anew = times.faster_anew(rows, refresh) is not None
        reason, took = ("FASTER", 2_900) if is_anew else ("CHANGED", following)
        times = times.after(reason, Took(took, rows, refresh))
        ways += "R" if is_anew else "F"
    assert ways.count("R") == 2, "one after the build, and one as the first one is cold"


@pytest.mark.usefixtures("timings_count")
def test_a_trial_is_told_as_one(lake: Timed) -> None:
    lake.refreshed("sums", SUMS, 2.4)
    done = []
    for v in range(4):
        lake.change("x", insert=[(2, v)])
        refresh = lake.refreshed("sums", SUMS, 1.2)
        done.append(chosen(refresh))
    assert done == [*3 * [FOLLOWED], REWRITTEN]
    told = "computing it may take only 0.7 s, following the change takes about 1.2 s"
    assert told in refresh.sentence


@pytest.mark.usefixtures("timings_count")
@pytest.mark.parametrize(
    ("anew", "followed", "is_faster"),
    [(1_000, 1_190, False), (1_000, 1_210, True), (4_000, 4_390, False), (4_000, 4_410, True)],
)
def test_a_tenth_has_to_be_gained_and_a_fifth_of_a_second_at_least(
    anew: int, followed: int, is_faster: bool
) -> None:
    known = Timings((Took(followed, 1, 3),) * 2, (Took(anew, 1, 3),) * 2)
    assert known.faster_anew(1, 4) == (Expected(anew, followed) if is_faster else None)


def test_a_slow_build_is_no_reason_never_to_try(lake: Timed) -> None:
    lake.refreshed("sums", SUMS, 4)
    done = []
    for v in range(12):
        lake.change("x", insert=[(1, v)])
        refresh = lake.refreshed("sums", SUMS, 4 if v < 2 else 0.5)
        done.append(chosen(refresh))
        if done.count(REWRITTEN) == 1 and done[-1] == REWRITTEN:
            assert "computing it takes about 2.8 s" in refresh.sentence
    assert done == [FOLLOWED] * 2 + [REWRITTEN] * 10


@pytest.mark.usefixtures("timings_count")
def test_of_a_build_one_second_is_cold_or_half_of_a_short_one() -> None:
    for build, warm in ((4_700, 3_700), (1_000, 500)):
        times = (Took(warm + 900, 1, 2), Took(warm + 900, 1, 3))
        found = Timings(times, (Took(build, None, 1, build=True),)).faster_anew(1, 4)
        assert found is not None
        assert found.anew == pytest.approx(warm * 0.97**2)
        assert not found.is_trial


def test_what_takes_many_times_as_long_is_never_tried_again(lake: Timed) -> None:
    lake.refreshed("sums", SUMS, 30)
    for v in range(50):
        lake.change("x", insert=[(1, v)])
        assert chosen(lake.refreshed("sums", SUMS, 5)) == FOLLOWED


@pytest.mark.parametrize(("rows", "expected"), [(1, REWRITTEN), (2, REWRITTEN), (9, REWRITTEN)])
def test_a_larger_change_takes_no_less(learned: Timed, rows: int, expected: str) -> None:
    learned.change("x", insert=[(7, v) for v in range(rows)])
    assert chosen(learned.refreshed("sums", SUMS, 1)) == expected


def test_of_a_much_smaller_change_nothing_is_known(lake: Timed) -> None:
    lake.refreshed("sums", SUMS, 1)
    for number in range(3):
        lake.change("x", insert=[(number, v) for v in range(100)])
        refresh = lake.refreshed("sums", SUMS, 5)
    assert chosen(refresh) == REWRITTEN
    lake.change("x", insert=[(1, 1)])
    assert chosen(lake.refreshed("sums", SUMS, 0.5)) == FOLLOWED


def followed(*times: tuple[float, int]) -> Timings:
    """Of a state whose rows are written in four seconds: what refreshes took, and rows."""
    found = Timings(anew=(Took(4_000, None, 0), Took(4_000, None, 1)))
    for number, (seconds, rows) in enumerate(times, 2):
        found = found.after("CHANGED", Took(round(1_000 * seconds), rows, number))
    return found


@pytest.mark.usefixtures("timings_count")
def test_a_change_larger_than_all_before_is_expected_to_take_longer() -> None:
    """Q3 at scale factor 1: one order, 1,500 orders, and then 15,000."""
    times = followed((1.5, 5), (1.5, 5), (2.4, 7_500))
    assert times.faster_anew(7_500, 5) is None
    computed, following, *_ = times.faster_anew(75_000, 5) or (0, 0)
    assert following == pytest.approx(4_800), "twice as long at the most"
    assert computed == pytest.approx(4_000 * 0.97**3)
    assert times.faster_anew(5, 5) is None


@pytest.mark.usefixtures("timings_count")
def test_a_first_large_change_that_was_slow_does_not_decide_about_others() -> None:
    """It was its process's first; there is none beside it that would tell."""
    assert followed((20, 5_000), (1, 1)).faster_anew(5_000, 4) is None
    assert followed((20, 5_000), (1, 1), (1, 1)).faster_anew(5_000, 5) is None
    assert followed((20, 5_000), (1, 1), (20, 5_000)).faster_anew(5_000, 5) is not None


@pytest.mark.usefixtures("timings_count")
def test_it_is_not_where_larger_ones_took_no_longer() -> None:
    assert followed((2.4, 5), (2.4, 5), (2.3, 7_500)).faster_anew(75_000, 5) is None
    assert followed((2.4, 7_500), (2.4, 7_500)).faster_anew(75_000, 4) is None


@pytest.mark.usefixtures("timings_count")
def test_of_one_size_alone_larger_ones_are_expected_to_take_a_quarter_more() -> None:
    """Q4 at scale factor 1: 15,000 orders, all rows, 1.5 s; as many more were followed in 3.7 s."""
    times = followed((1.8, 7_500), (1.9, 7_500)).after("FASTER", Took(1_550, 75_000, 4))
    assert times.faster_anew(7_500, 5) is None
    computed, following, *_ = times.faster_anew(75_000, 5) or (0, 0)
    assert computed == pytest.approx(1_550)
    assert following == pytest.approx(1_800 * 0.97 * 1.25 ** math.log(7.5, 4))
    _, most, *_ = times.faster_anew(10**9, 5) or (0, 0)
    assert most == pytest.approx(2 * 1_800 * 0.97)


@pytest.mark.usefixtures("timings_count")
def test_among_few_rows_more_of_them_take_no_longer() -> None:
    times = followed((1.8, 5), (1.8, 5)).after("FASTER", Took(1_550, 5, 4))
    assert times.faster_anew(10_000, 5) is None
    assert times.faster_anew(40_000, 5) is not None


def chosen_again_and_again(following: int, anew: int, refreshes: int) -> str:
    """What is chosen if both ways take always the same: F and R."""
    times, ways = followed((following / 1000, 5), (following / 1000, 5)), "FF"
    times = times.after("FASTER", Took(anew, 5, 4))
    for refresh in range(5, 5 + refreshes):
        is_anew = times.faster_anew(5, refresh) is not None
        reason, took = ("FASTER", anew) if is_anew else ("CHANGED", following)
        times = times.after(reason, Took(took, 5, refresh))
        ways += "R" if is_anew else "F"
    return ways


@pytest.mark.usefixtures("timings_count")
def test_one_slow_refresh_ends_a_trial() -> None:
    """Older times of the way that was tried, which count half, had it tried a second time."""
    ways = chosen_again_and_again(2_000, 1_200, 100)
    assert "F" in ways[2:], "it is tried"
    assert "FF" not in ways[2:]
    assert ways.count("F") <= 10
    other = chosen_again_and_again(1_000, 1_500, 100)
    assert "R" in other and "RR" not in other
    assert other.count("R") <= 10


@pytest.mark.usefixtures("timings_count")
def test_a_larger_change_takes_no_less_than_a_smaller_one_just_took() -> None:
    """Large changes that were followed long ago count half; small ones were just now followed."""
    large, small = (Took(3_000, 75_000, n) for n in (2, 3)), (Took(2_000, 5, n) for n in (39, 40))
    found = Timings((*large, *small), (Took(1_700, 5, 41),)).faster_anew(75_000, 42)
    assert found is not None and found[1] == pytest.approx(2_000 * 0.97)


@pytest.mark.usefixtures("timings_count")
def test_a_small_change_that_was_slow_by_chance_does_not_decide_about_large_ones() -> None:
    times = followed((2, 75_000), (2, 75_000), (2, 75_000), (9, 5))
    assert times.faster_anew(75_000, 6) is None, "2 s, not 9"
    level = followed((2.4, 5), (2.4, 5), (1, 100), (1, 7_500)).after("FASTER", Took(1_100, 5, 6))
    assert level.faster_anew(75_000, 7) is None, "7,500 took no longer than 100"


@pytest.mark.usefixtures("timings_count")
def test_a_small_change_does_not_tell_what_a_large_one_takes() -> None:
    times = followed((1, 5), (9, 75_000), (9, 75_000), (1, 5), (1, 5))
    assert times.faster_anew(75_000, 7) is not None
    assert times.faster_anew(20_000, 7) is None, "nor a large one what a small one takes"
    assert times.faster_anew(5, 7) is None


def test_of_each_size_the_last_times_are_kept() -> None:
    sizes = [10**power for power in range(6)]
    times = followed(*((1, rows) for rows in sizes * 5))
    assert [took.rows for took in times.followed] == sizes * 2
    assert [took.refresh for took in times.followed] == sorted(t.refresh for t in times.followed)
    assert [t.rows for t in followed((1, 9), (2, 9), (3, 12), (4, 9)).followed] == [9, 12, 9]
    apart = followed((1, 1), (1, 4), (1, 4), (1, 16), (1, 16), (1, 16), (1, 64))
    assert len(apart.followed) == 7, "no size takes the place of another"


@pytest.mark.usefixtures("timings_count")
def test_a_change_counts_by_its_own_size_though_there_are_larger_ones() -> None:
    times = followed((3.5, 20), (3.5, 20), (20, 60))
    assert times.faster_anew(31, 5) is None, "3.5 s, not 20"
    assert times.faster_anew(60, 5) is not None


@pytest.mark.usefixtures("timings_count")
def test_changes_of_unknown_size_are_of_one_size() -> None:
    found = Timings(anew=(Took(1_000, None, 1),))
    for number in range(2, 8):
        found = found.after("CHANGED", Took(5_000, None, number))
    assert len(found.followed) == 3
    assert found.faster_anew(None, 8) is not None
    assert found.faster_anew(7, 8) is None
    found = found.after("CHANGED", Took(300, 1, 8))
    assert found.faster_anew(None, 9) is not None, "a small one does not tell of these"


def test_a_rebuild_forgets(learned: Timed) -> None:
    learned.refreshed("sums", SUMS, 2, full_refresh=True)
    learned.change("x", insert=[(1, 1)])
    assert chosen(learned.refreshed("sums", SUMS, 5)) == FOLLOWED
    assert learned.timings("sums") == Timings((), (Took(2000, None, 4, build=True),))


def test_commits_without_times_tell_nothing(lake: Timed) -> None:
    lake.run("sums", SUMS)
    for v in range(4):
        lake.change("x", insert=[(1, v)])
        assert chosen(lake.run("sums", SUMS)) == FOLLOWED
    assert lake.timings("sums") == Timings()


@pytest.mark.parametrize(
    "more",
    [
        {"options": Options(learn=False)},
        {"options": Options(step=StepMode.COMMIT)},
        {"storage": Storage(partition_by=("k",))},
    ],
    ids=["not to learn", "steps", "partitions"],
)
@pytest.mark.parametrize("is_cheaper", [False, True])
def test_what_is_not_to_be_written_whole_is_not(
    lake: Timed, more: dict[str, Any], is_cheaper: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cost, "is_more_expensive", lambda *plans: is_cheaper)
    lake.refreshed("sums", SUMS, 1, **more)
    for v in range(4):
        lake.change("x", insert=[(1, v)])
        expected = MERGED if is_cheaper else FOLLOWED
        assert chosen(lake.refreshed("sums", SUMS, 5, **more)) == expected


def test_a_state_that_was_built_in_partitions_is_never_written_whole(lake: Timed) -> None:
    """The configuration no longer says so, and the state is left as it is."""
    partitioned = {"storage": Storage(partition_by=("k",))}
    lake.refreshed("sums", SUMS, 1, **partitioned)
    goes_on = {"options": Options(on_configuration_change=OnConfigurationChange.CONTINUE)}
    for v in range(4):
        lake.change("x", insert=[(1, v)])
        assert chosen(lake.refreshed("sums", SUMS, 5, **goes_on)) == FOLLOWED


def test_a_log_is_never_written_anew(lake: Timed) -> None:
    options = Options(output=Output.INSERTED)
    for v in range(4):
        lake.run("log", "select k, v from s.x", options=options, began=lake.milliseconds)
        lake.change("x", insert=[(1, v)])
    refresh = lake.run("log", "select k, v from s.x", options=options, began=lake.milliseconds)
    assert chosen(refresh) == FOLLOWED


@pytest.mark.parametrize("size", [None, 2**30])
def test_a_state_that_is_or_may_be_large_is_followed(learned: Timed, size: int | None) -> None:
    learned.size_of = lambda name: size
    forget_sizes(learned)
    learned.change("x", insert=[(1, 1)])
    assert chosen(learned.refreshed("sums", SUMS, 5)) == FOLLOWED


def forget_sizes(lake: Timed) -> None:
    """As every some refreshes: sizes of tables are asked for anew."""
    newest, *others = lake.commits["sums__ivm_state"]
    bookmark = Bookmark.of(newest.user_metadata)
    assert bookmark is not None
    told = replace(bookmark, sizes={}).text()
    lake.commits["sums__ivm_state"] = [replace(newest, user_metadata=told), *others]


def test_models_above_follow_what_differs(learned: Timed) -> None:
    learned.refreshed("above", ABOVE, 1)
    learned.change("x", insert=[(2, 10)])
    before = learned.history(("s", "sums__ivm_state"), 1)[0]
    assert chosen(learned.refreshed("sums", SUMS, 1)) == REWRITTEN
    found = pending(
        learned, ("s", "sums__ivm_state"), SourceVersion(before.version, before.timestamp)
    )
    assert found.rewritten and found.inserted is None
    refresh = learned.refreshed("above", ABOVE, 1)
    assert chosen(refresh) == FOLLOWED
    assert "HAVING" in refresh.statements[-1].sql  # rows that went and came are left out


def test_models_above_have_nothing_to_do_if_nothing_differs(learned: Timed) -> None:
    learned.refreshed("above", ABOVE, 1)
    learned.change("x", delete=[(1, 2)], insert=[(1, 2)])
    assert chosen(learned.refreshed("sums", SUMS, 1)) == REWRITTEN
    assert learned.refreshed("above", ABOVE, 1).strategy is Strategy.NOOP


def test_a_log_above_tells_of_new_rows_only(learned: Timed) -> None:
    options = Options(output=Output.INSERTED)
    sql = "select k, v from s.sums"
    learned.run("log", sql, options=options)
    learned.change("x", insert=[(2, 10)])
    assert chosen(learned.refreshed("sums", SUMS, 1)) == REWRITTEN
    learned.run("log", sql, options=options)
    rows = learned.db.execute("select * from s.log").fetchall()
    newest = max(row[-1] for row in rows)
    assert [row[:2] for row in rows if row[-1] == newest] == [(2, 13)]


def test_a_value_that_is_none_is_refused() -> None:
    assert not Options.of({"ivm_learn": False}).learn
    with pytest.raises(InvalidModel, match="ivm_learn is true or false"):
        Options.of({"ivm_learn": "often"})


def test_what_a_newer_version_tells_beside_is_left_out() -> None:
    took = [2, 1, 2, False, [0, 3], "more"]
    told = {"followed": [took], "anew": [[3, None, 1, True]], "more": []}
    assert Timings.of(told) == Timings(
        (Took(2, 1, 2, changed=(0, 3)),), (Took(3, None, 1, build=True),)
    )


@pytest.mark.usefixtures("timings_count")
def test_the_change_of_another_source_tells_nothing() -> None:
    """Q22 after a customer took 7.6 s, and after an order, by another term of the delta, 2.4."""
    slow = [Took(9_000, 1, n, changed=(0,)) for n in (2, 3)]
    learned = Timings(tuple(slow), (Took(2_000, 1, 4), Took(2_000, 1, 5)))
    assert learned.faster_anew(1, 6, 0, (0,)) == Expected(2_000, 9_000 * 0.97**2)
    assert learned.faster_anew(1, 6, 0, (1,)) is None
    assert learned.faster_anew(1, 6, 0, (0, 1)), "to follow both takes no less than one of them"
    assert learned.faster_anew(1, 6, 0, None), "it is not known which one changed"
    fast = [Took(600, 1, n, changed=(1,)) for n in (6, 7)]
    both = Timings((*slow, *fast), learned.anew)
    assert both.faster_anew(1, 8, 0, (0,)) and not both.faster_anew(1, 8, 0, (1,))


def test_times_are_kept_for_each_set_of_sources_that_changed() -> None:
    learned = Timings()
    for number in range(2, 12):
        learned = learned.after("CHANGED", Took(100 * number, 1, number, changed=(number % 2,)))
    assert [took.refresh for took in learned.followed] == [6, 7, 8, 9, 10, 11]


def test_what_was_not_seen_of_another_source_is_no_reason_to_ask() -> None:
    learned = Timings(unseen=Took(500, 1, 20, changed=(0, 2)))
    assert learned.may_be_unseen(1, 23, (0,)) and learned.may_be_unseen(1, 23, None)
    assert not learned.may_be_unseen(1, 23, (1,))


def test_which_sources_changed_is_told_by_the_commits(lake: Timed) -> None:
    lake.create("y", {"k": "int", "w": "int"}, [(1, 1)])
    joined = "select x.k, sum(v + w) as n from s.x join s.y on y.k = x.k group by x.k"
    lake.refreshed("joined", joined, 1)
    lake.change("y", insert=[(1, 2)])
    lake.refreshed("joined", joined, 1)
    lake.change("x", insert=[(1, 9)])
    lake.refreshed("joined", joined, 1)
    lake.change("x", insert=[(1, 8)])
    lake.change("y", insert=[(1, 7)])
    lake.refreshed("joined", joined, 1)
    lake.change("x", insert=[(1, 6)])
    lake.refreshed("joined", joined, 1)
    assert [took.changed for took in lake.timings("joined").followed] == [(1,), (0,), (0, 1)]
