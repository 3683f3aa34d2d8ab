"""Texts to which a setting of the session gives another meaning than the planner's."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from python_ivm.errors import ReadOtherwise
from python_ivm.qualify.checks.session_settings import (
    other_setting,
    other_than_defaults,
    refuse_other_reading,
)
from python_ivm.refresh.plan import Strategy
from python_ivm.refresh.strategy import plan_refresh
from tests.planner.lake import Lake

REGEX = {"spark.sql.parser.quotedRegexColumnNames": "true"}
ESCAPES = {"spark.sql.parser.escapedStringLiterals": "true"}
ANSI = {"spark.sql.ansi.enabled": "true"}
NAMES = {"spark.sql.ansi.doubleQuotedIdentifiers": "TRUE", **ANSI}
JOINED = {"spark.sql.legacy.consecutiveStringLiterals.enabled": "true"}
CASE = {"spark.sql.caseSensitive": "true"}
PRECEDENCE = {"spark.sql.ansi.relationPrecedence": "true"}
ORDINALS = {"spark.sql.groupByOrdinal": "false"}


@pytest.mark.parametrize(
    ("settings", "otherwise", "alike"),
    [
        (ESCAPES, r"select 1 where s rlike '\d+'", None),
        (ESCAPES, 'select "it\'s"', None),
        (NAMES, 'select "id" as x from s.t', "select 'id' as x from s.t"),
        (REGEX, "select `(a)?+.+` from s.t", "select a from s.t"),
        (JOINED, "select 1 where name = 'it''s'", r"select 1 where name = 'it\'s'"),
        (JOINED, 'select 1 where name = "a""b"', "select 1 where name = '' or name = ' '"),
        (JOINED, "select 'a', 'it''s'", "select r'it''s' || '\"\"'"),
        (CASE, "select q.X from (select a as x, b as X from s.t) q", "select SUM(a), sum(b), a A1"),
        (CASE, "select `x`, X from s.t", "select t.a, SUM(t.b) from T t"),
        (CASE, "select Date, date from s.t", "select a + interval 1 DAY, b + interval 2 day"),
        (ORDINALS, "select a, count(*) from s.t group by 1", None),
        (PRECEDENCE, "select * from s.a, s.b right join s.c on b.id = c.id", None),
    ],
)
def test_a_setting_gives_a_text_another_meaning(
    settings: dict[str, str], otherwise: str, alike: str | None
) -> None:
    with pytest.raises(ReadOtherwise):
        refuse_other_reading(otherwise, settings, lambda: True)
    refuse_other_reading(otherwise, {}, lambda: True)
    if alike is not None:
        refuse_other_reading(alike, settings, lambda: True)


def test_what_counts_is_what_differs_from_sparks_default() -> None:
    given = {
        "spark.sql.legacy.timeParserPolicy": "CORRECTED",
        "spark.sql.groupByOrdinal": "True",
        "spark.sql.legacy.sizeOfNull": "False",
        "spark.sql.shuffle.partitions": "3",
    }
    assert other_than_defaults(given) == {"spark.sql.legacy.sizeOfNull": "false"}
    refuse_other_reading("select a from s.t group by 1", given, lambda: True)
    quoted = {"spark.sql.ansi.doubleQuotedIdentifiers": "true"}
    refuse_other_reading('select "id" as x', quoted, lambda: True)


def test_settings_count_that_are_not_known_yet() -> None:
    given = {
        "spark.sql.legacy.negativeIndexInArrayInsert": "true",
        "spark.sql.parser.ofTheFuture": "On",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.adaptive.enabled": "false",
    }
    assert other_than_defaults(given) == {
        "spark.sql.legacy.negativeIndexInArrayInsert": "true",
        "spark.sql.parser.ofTheFuture": "on",
    }


@pytest.mark.parametrize(
    ("kept", "settings", "other"),
    [
        ({}, {}, None),
        ({"spark.sql.session.timeZone": "UTC"}, {"spark.sql.session.timeZone": "Mars"}, "timeZone"),
        ({}, {"spark.sql.ansi.enabled": "true"}, "ansi.enabled"),
        ({}, {"spark.sql.ansi.enabled": "false", "spark.sql.caseSensitive": "false"}, None),
        ({"spark.sql.legacy.sizeOfNull": "false"}, {}, "sizeOfNull"),
        ({"spark.sql.legacy.sizeOfNull": "true"}, {}, None),
        ({}, {"spark.sql.legacy.javaCharsets": "true"}, "javaCharsets"),
        ({"spark.sql.adaptive.enabled": "false"}, {}, None),
        # A default that is not known, and a static one, which no view keeps.
        ({}, {"spark.sql.legacy.sessionInitWithConfigDefaults": "true"}, None),
        ({"spark.sql.legacy.ofTheFuture": "true"}, {}, "ofTheFuture"),
    ],
)
def test_under_which_other_setting_a_view_was_made(
    kept: dict[str, str], settings: dict[str, str], other: str | None
) -> None:
    found = other_setting(kept, settings)
    assert found is None if other is None else str(found).endswith(other)


def test_an_engine_is_asked_only_about_doubled_quotes() -> None:
    """Spark 3.5 takes `'it''s'` for `its`."""
    asked: list[None] = []

    def doubles_quotes() -> bool:
        asked.append(None)
        return False

    refuse_other_reading(r"select 'a', '', 'it\'s', ''", {}, doubles_quotes)
    assert asked == []
    with pytest.raises(ReadOtherwise, match="reads as two texts") as error:
        refuse_other_reading("select\n  'it''s'", {}, doubles_quotes)
    assert (error.value.line, len(asked)) == (2, 1)


def test_a_text_that_does_not_end_is_left_to_the_parser() -> None:
    refuse_other_reading("select 'a", CASE, lambda: True)


class Reader(Lake):
    """A lake that describes every text, as Spark would."""

    def describe(self, sql: str) -> Sequence[tuple[str, str]]:
        if "wrong" in sql:
            raise ValueError("of Spark")
        return [("x", "int")]


def test_such_a_model_is_rebuilt_at_every_run() -> None:
    lake = Reader()
    lake.create("t", {"a": "int", "b": "int"}, [(1, 2)])
    sql = "select q.X as x from (select a as x, a as X from s.t) q"
    assert lake.run("m", "select a as x from s.t", settings=CASE).reason == "FIRST_BUILD"
    with pytest.raises(ValueError, match="of Spark"):
        lake.run("n", sql.replace("q.X", "q.wrong"), settings=CASE)
    refresh = plan_refresh(lake.request("n", sql, settings=CASE), lake)
    assert (refresh.strategy, refresh.reason) == (Strategy.FULL, "NOT_PARSED")
    assert sql in refresh.statements[0].sql


@pytest.mark.parametrize(
    ("session", "kept", "told"),
    [
        ({}, {"spark.sql.legacy.timeParserPolicy": "LEGACY"}, "timeParserPolicy"),
        ({"spark.sql.legacy.sizeOfNull": "false"}, {}, "sizeOfNull"),
        ({"spark.sql.legacy.sizeOfNull": "true"}, {}, None),
        ({}, {"spark.sql.legacy.timeParserPolicy": "Corrected"}, None),
        (REGEX, REGEX, "a name in backquotes"),
        ({}, {"spark.sql.shuffle.partitions": "3"}, None),
        ({}, None, "under which settings"),
    ],
)
def test_a_view_made_under_other_settings_is_read_as_it_is(
    lake: Lake, session: dict[str, str], kept: dict[str, str] | None, told: str | None
) -> None:
    """Spark reads a view's text under the settings under which it was made."""
    lake.create("t", {"a": "int", "s": "string"}, [(1, "1")])
    lake.define("v", "select `a` from s.t where s <> 'x'", settings=kept)
    refresh = lake.run("m", "select a from s.v", settings=session)
    if told is None:
        assert refresh.reason == "FIRST_BUILD"
    else:
        assert refresh.reason == "SOURCE_NOT_DELTA"
        assert told in refresh.explanation
