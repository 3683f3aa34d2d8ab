"""What the ratios of TPC-H's queries are told as; what they are is asserted nowhere."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from benchmarks import plots, report
from benchmarks.catalog import OrdersChange, orders_changes, share
from benchmarks.figures import beside, each_under_each
from benchmarks.models import write_all_of_tpch
from benchmarks.ratios import in_turn
from benchmarks.ratios_page import crossover, pairs, ratios_csv, ratios_page


def _samples(
    query: str, ratio: float, *, refresh: float, following: float, table: float
) -> list[dict[str, Any]]:
    of = {"query": query, "kind": "mixed", "ratio": ratio, "rows": 7, "strategy": "incremental"}
    seconds = {"refresh": refresh, "following": following, "table": table}
    return [{**of, "way": way, "seconds": value} for way, value in seconds.items()]


FASTER = _samples("q01", 0.0, refresh=1.0, following=1.0, table=4.0)
SLOWER = _samples("q01", 0.1, refresh=8.0, following=9.0, table=4.0)
SHORT = _samples("q02", 0.0, refresh=0.5, following=0.3, table=0.3)


def test_a_change_has_a_name() -> None:
    assert OrdersChange("mixed", 0.001).name == "mixed 0.1 %"
    assert share(0) == "one order"


def test_who_loses_and_whose_choice_was_wrong() -> None:
    by = {(p.query, p.ratio): p for p in pairs([*FASTER, *SLOWER, *SHORT])}
    assert [p.loses for p in by.values()] == [False, True, False]
    assert [p.chose_right for p in by.values()] == [True, False, False]
    assert [p.chose_well for p in by.values()] == [True, False, True]


def test_two_measurements_of_one_way_are_no_choice() -> None:
    samples = _samples("q01", 0.0, refresh=1.5, following=1.0, table=4.0)
    assert [p.chose_right for p in pairs(samples)] == [True]
    samples[0]["how"], samples[1]["how"] = "recompute (FASTER)", "incremental"
    (pair,) = pairs(samples)
    assert (pair.taken, sorted(pair.others), pair.chose_right) == (1.5, [1.0, 4.0], False)


def test_the_crossover_is_the_last_ratio_that_pays() -> None:
    assert crossover(pairs([*FASTER, *SLOWER])) == "up to one order"
    assert crossover(pairs(SLOWER)) == "never faster"
    assert crossover(pairs(FASTER)) == "up to one order"


def test_the_page_and_the_lines_tell_each_pair() -> None:
    samples = [*FASTER, *SLOWER, *_samples("q02", 0.1, refresh=1, following=1, table=2), *SHORT]
    page = ratios_page(samples)
    assert "Of 4 pairs of query and change 2 take no more time" in page
    assert "1 take more than 1.1 times" in page
    assert "it was right in 3; beside following alone in 4." in page
    assert "together took 10 s by refreshes, 11 s by following, and 10 s by rebuilds" in page
    assert "| q01 | 0.25 | 2.00 | up to one order |" in page
    assert "| q01 | mixed 10 % | incremental | 8.00 | 9.00 | - | 4.00 |" in page
    line = ratios_csv(samples).splitlines()[1]
    assert line == "q01,mixed,0.0,7,incremental,1.000,1.000,,4.000,0.250"


def test_the_choice_is_compared_with_the_other_way_of_a_refresh() -> None:
    """What dbt's table takes tells who loses, but a refresh cannot choose it."""

    def anew(samples: list[dict[str, Any]], seconds: float, how: str) -> list[dict[str, Any]]:
        return [*samples, {**samples[0], "way": "anew", "seconds": seconds, "how": how}]

    written = "recompute (FASTER)"
    right = anew(SLOWER, 8.5, written)
    wrong = anew(_samples("q02", 0.1, refresh=8.0, following=9.0, table=9.0), 7.0, written)
    # The state is too large to be written whole: there is no other way.
    large = anew(_samples("q03", 0.1, refresh=8.0, following=8.0, table=4.0), 8.0, "incremental")
    found = {pair.query: pair for pair in pairs([*right, *wrong, *large])}
    assert [found[q].loses for q in ("q01", "q02", "q03")] == [True, False, True]
    assert [found[q].chose_right for q in ("q01", "q02", "q03")] == [True, False, False]
    page = ratios_page([*right, *wrong])
    assert "takes at most 1.1 times what the other one takes" in page
    assert "18 s by following, 16 s by computing anew, and 13 s by rebuilds" in page
    assert "| q02 | mixed 10 % | incremental | 8.00 | 9.00 | 7.00 | 9.00 |" in page
    assert ",8.000,9.000,7.000,9.000,0.889" in ratios_csv([*right, *wrong]).splitlines()[2]


def test_the_page_tells_why_refreshes_lose() -> None:
    def loser(query: str, following: float, anew: float) -> list[dict[str, Any]]:
        samples = _samples(query, 0.1, refresh=8.0, following=following, table=4.0)
        return [*samples, {**samples[0], "way": "anew", "seconds": anew, "how": "recompute"}]

    wandering, chosen_wrong = loser("q01", 4.0, 9.0), loser("q02", 8.0, 4.0)
    both = loser("q03", 8.0, 9.0)
    page = ratios_page([*wandering, *chosen_wrong, *both])
    assert "Of the 3 that lose, 1 do not lose when the same way is forced" in page
    assert "1 would not lose by the other way, and 1 lose by both. Of all pairs 1 lose" in page
    assert "that lose," not in ratios_page(SLOWER), "computing anew was not measured"


def test_the_choice_is_told_of_the_pairs_whose_both_ways_were_measured() -> None:
    anew = {**SLOWER[0], "way": "anew", "seconds": 5.0, "how": "recompute (FASTER)"}
    page = ratios_page([*FASTER, *SLOWER, anew])
    assert "Of 2 pairs of query and change 1 take no more time" in page
    assert (
        "All pairs together took 9 s by refreshes, 10 s by following, and 8 s by rebuilds" in page
    )
    of_one = page.partition("Both ways of a refresh were measured in 1 of these pairs")[2]
    assert "The choice was right in 0 (0 %)" in of_one
    assert "took 8 s by refreshes, 9 s by following, 5 s by computing anew, and 4 s by" in of_one


def test_each_way_comes_as_often_before_another_as_after_it() -> None:
    ways = ("refresh", "following", "anew", "table")
    turns = [in_turn(turn, ways) for turn in range(8)]
    assert all(sorted(turn) == sorted(ways) for turn in turns)
    for one, other in permutations(ways, 2):
        assert sum(turn.index(one) < turn.index(other) for turn in turns) == 4, (one, other)


def test_the_page_tells_how_often_a_rebuild_loses_against_itself() -> None:
    def again(samples: list[dict[str, Any]], seconds: float) -> dict[str, Any]:
        return {**samples[-1], "way": "again", "seconds": seconds}

    shown = ratios_page([*FASTER, again(FASTER, 4.5), *SHORT, again(SHORT, 0.4)])
    assert "in 2 pairs the rebuild was measured twice" in shown
    assert "lose in 1 of them, and be the wrong choice in 2 (100 %)" in shown
    assert "noise" not in ratios_page([*FASTER, *SHORT]), "it was not measured"


def test_following_may_be_left_out() -> None:
    samples = [sample for sample in [*FASTER, *SLOWER] if sample["way"] != "following"]
    assert [(p.following, p.chose_right) for p in pairs(samples)] == [(None, True), (None, False)]
    page = ratios_page(samples)
    assert "is compared with the rebuild alone" in page
    assert "together took 9 s by refreshes, and 8 s by rebuilds" in page
    assert "| q01 | mixed 10 % | incremental | 8.00 | - | - | 4.00 |" in page
    assert ratios_csv(samples).splitlines()[1] == "q01,mixed,0.0,7,incremental,1.000,,,4.000,0.250"


def test_the_first_time_that_a_change_comes_is_told_by_itself() -> None:
    first = [{**sample, "round": 0} for sample in SLOWER]
    second = _samples("q01", 0.1, refresh=1.0, following=1.0, table=4.0)
    third = _samples("q01", 0.1, refresh=2.0, following=2.0, table=4.0)
    later = [{**sample, "round": n} for n, group in ((1, second), (2, third)) for sample in group]
    (pair,) = pairs([*first, *later])
    assert (pair.refresh, pair.loses) == (1.5, False)
    page = ratios_page([*first, *later])
    assert "together took 2 s by refreshes" in page
    cold = page.partition("The first time that each change came")[2]
    assert "1 take more than 1.1 times" in cold
    assert "together took 8 s by refreshes" in cold
    assert "The first time" not in ratios_page(SLOWER), "old samples do not tell"


def test_a_map_is_drawn_of_what_was_measured_so_far(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    inserts = [{**sample, "kind": "inserts"} for sample in FASTER]
    plots.heat_maps([*inserts, *FASTER, *SLOWER], tmp_path / "map.svg", "so far")
    assert "<svg" in (tmp_path / "map.svg").read_text()


def test_a_small_ratio_is_kept_as_it_is(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    samples = [{**sample, "ratio": 0.0001} for sample in FASTER]
    report.write(tmp_path, "ratios", 0.1, {"machine": {}, "samples": samples})
    assert report.read(tmp_path, "ratios", 0.1)["samples"] == samples


def test_another_ratio_stands_beside_those_measured_before() -> None:
    def samples(ratio: float, run: str) -> list[dict[str, Any]]:
        some = _samples("q01", ratio, refresh=1.0, following=1.0, table=4.0)
        return [{**s, "change": OrdersChange("mixed", ratio).name, "run": run} for s in some]

    before = [*samples(0.1, "old"), *samples(0.0, "old")]
    order = each_under_each(["q01"], [change.name for change in orders_changes([0.0, 0.1, 0.5])])
    found = beside(before, samples(0.1, "new") + samples(0.5, "new"), order)
    ways = 3
    assert [(s["ratio"], s["run"]) for s in found[::ways]] == [
        (0.0, "old"), (0.1, "new"), (0.5, "new")
    ]  # fmt: skip


def test_all_queries_are_written_without_ties(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    names = write_all_of_tpch(tmp_path)
    assert names == [f"tpch_q{number:02}" for number in range(1, 23)]
    for name, key in (("tpch_q03", "l_orderkey"), ("tpch_q18", "o_orderkey")):
        text = (tmp_path / "models" / "tpch" / f"{name}.sql").read_text()
        assert text.count(f"    , {key}\nlimit") == 1
