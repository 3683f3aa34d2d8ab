"""What is asked of the warehouse, and how often."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from python_ivm.refresh.metadata.cache import MetadataCache
from python_ivm.sources.history import Commit, Detail

TABLE = ("s", "r")


class Log:
    """A table's commits, and what was asked of them."""

    def __init__(self, newest: int, at_least: int = 1) -> None:
        self.newest, self.at_least = newest, at_least
        self.asked: list[int | None] = []

    def __call__(self, limit: int | None) -> Sequence[Commit] | None:
        self.asked.append(limit)
        most = None if limit is None else max(limit, self.at_least)
        versions = range(self.newest, -1, -1)[:most]
        return [Commit(v, str(v), "WRITE") for v in versions]


def versions(answers: MetadataCache, limit: int | None, log: Log) -> list[int]:
    return [commit.version for commit in answers.history(TABLE, limit, log) or []]


def test_the_commit_before_the_newest_is_asked_for_with_it() -> None:
    answers, log = MetadataCache(), Log(100)
    assert versions(answers, 1, log) == [100]
    assert versions(answers, 2, log) == [100, 99]
    assert log.asked == [2]


def test_what_is_told_beyond_the_question_is_kept() -> None:
    answers, log = MetadataCache(), Log(100, at_least=8)
    assert versions(answers, 1, log) == [100]
    assert versions(answers, 8, log) == list(range(100, 92, -1))
    assert versions(answers, 9, log) == list(range(100, 91, -1))
    assert log.asked == [2, 9]


def test_a_longer_history_is_asked_for_and_kept() -> None:
    answers, log = MetadataCache(), Log(100)
    versions(answers, 1, log)
    assert versions(answers, 20, log) == list(range(100, 80, -1))
    assert versions(answers, 15, log) == list(range(100, 85, -1))
    assert log.asked == [2, 20]


def test_all_commits() -> None:
    answers, log = MetadataCache(), Log(30)
    assert versions(answers, None, log) == list(range(30, -1, -1))
    assert versions(answers, 50, log) == list(range(30, -1, -1))
    assert log.asked == [None]


def test_a_short_history_is_complete() -> None:
    answers, log = MetadataCache(), Log(2)
    assert versions(answers, 1, log) == [2]
    assert versions(answers, 3, log) == [2, 1, 0]
    assert versions(answers, 9, log) == [2, 1, 0]
    assert versions(answers, None, log) == [2, 1, 0]
    assert log.asked == [2, 3]


@pytest.mark.parametrize("came", [1, 5, 40])
def test_commits_that_came_since_the_first_question_are_not_seen(came: int) -> None:
    answers, log = MetadataCache(), Log(100)
    assert versions(answers, 1, log) == [100]
    log.newest += came
    assert versions(answers, 1, log) == [100]
    assert versions(answers, 20, log) == list(range(100, 80, -1))
    assert versions(answers, None, log) == list(range(100, -1, -1))


@pytest.mark.parametrize("came", [0, 1, 5, 40])
def test_commits_that_came_since_a_tables_newest_version_was_asked_are_not_seen(came: int) -> None:
    answers, log = MetadataCache(), Log(100)
    assert answers.detail(TABLE, lambda: Detail("100", 7)) == Detail("100", 7)
    log.newest += came
    assert answers.detail(TABLE, lambda: Detail("140", 8)) == Detail("100", 7)
    assert versions(answers, 1, log) == [100]
    assert versions(answers, 20, log) == list(range(100, 80, -1))


def test_a_newest_version_that_was_told_is_the_limit() -> None:
    answers, log = MetadataCache(), Log(105)
    answers.detail(TABLE, lambda: Detail("moved", 7, 100))
    assert versions(answers, 1, log) == [100]


def test_a_newest_version_at_a_time_of_no_commit_is_not_looked_for_in_the_whole_history() -> None:
    answers, log = MetadataCache(), Log(1000)
    answers.detail(TABLE, lambda: Detail("1001", None))
    assert versions(answers, 1, log) == [1000]
    assert len(log.asked) == 1


def test_a_newest_version_that_the_history_does_not_name_is_no_limit() -> None:
    answers, log = MetadataCache(), Log(3)
    answers.detail(TABLE, lambda: Detail("of another table", None))
    assert versions(answers, 1, log) == [3]


def test_a_table_that_was_forgotten_is_asked_for_again() -> None:
    answers, log = MetadataCache(), Log(3)
    versions(answers, 1, log)
    log.newest = 4
    answers.forget(TABLE)
    assert versions(answers, 1, log) == [4]


def test_a_table_that_is_missing_is_asked_for_once() -> None:
    answers = MetadataCache()
    asked: list[int | None] = []
    assert answers.history(TABLE, 1, asked.append) is None
    assert answers.history(TABLE, None, asked.append) is None
    assert asked == [2]


def test_threads_see_one_version() -> None:
    answers, log = MetadataCache(), Log(10)
    seen: list[list[int]] = []

    def look() -> None:
        seen.append(versions(answers, 1, log))
        log.newest += 1

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [[10]] * 8
    assert log.asked == [2]


def test_other_answers_are_kept_even_if_they_are_nothing() -> None:
    answers = MetadataCache()
    asked: list[str] = []
    for _ in range(2):
        assert answers.other(TABLE, "columns", lambda: asked.append("columns")) is None
    assert asked == ["columns"]
