"""What is asked of changes: one question for all sources, and one more of those with many keys.

The last one is for the looks ahead (``test_ahead.py``).
"""

from __future__ import annotations

import pytest

from python_ivm.optimize.cost import Execution
from python_ivm.refresh import changed_keys
from tests.planner.lake import Lake
from tests.planner.optimize.bounds import is_bounded, one_of

MODEL = (
    "select l.id, o.who, p.name, l.v from s.l join s.o on o.ok = l.ok join s.p on p.pk = l.pk "
    "where l.v > 0"
)


@pytest.fixture
def lake() -> Lake:
    """Lines of orders and parts: three tables that are all large."""
    made = Lake()
    made.create("o", {"ok": "int", "who": "string"}, [(k, f"o{k}") for k in range(1, 40)])
    made.create("p", {"pk": "bigint", "name": "string"}, [(k, f"p{k}") for k in range(1, 40)])
    lines = [(k, k % 40, k % 30, k) for k in range(1, 80)]
    made.create("l", {"id": "int", "ok": "int", "pk": "bigint", "v": "int"}, lines)
    made.size_of = lambda name: 2**30
    return made


def refreshed(lake: Lake) -> str:
    """The MERGE after changes of all three tables, on one line: three orders, two parts, a line."""
    lake.run("m", MODEL)
    lake.change("o", delete=[(k, f"o{k}") for k in (3, 5, 9)], insert=[(3, "x"), (9, "y")])
    lake.change("p", delete=[(4, "p4"), (7, "p7")], insert=[(4, "x")])
    lake.change("l", insert=[(100, 11, 12, 5)])
    lake.run("m", MODEL)
    lake.check("m")
    return " ".join(lake.executed[-1].sql.split())


def test_all_changed_sources_are_asked_at_once(lake: Lake) -> None:
    merge = refreshed(lake)
    assert len(lake.asked) == 2
    assert one_of("l.ok", 3, 5, 9) in merge
    assert one_of("l.pk", 4, 7) in merge
    assert "o.ok = 11" in merge
    assert "p.pk = 12" in merge


def test_those_with_many_keys_are_asked_for_ranges_at_once(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_keys, "_MOST_LISTED", 1)
    merge = refreshed(lake)
    assert len(lake.asked) == 3
    assert "l.ok BETWEEN 3 AND 9" in merge
    assert "l.pk BETWEEN 4 AND 7" in merge
    assert "l.ok IN (" not in merge
    assert "o.ok = 11" in merge
    assert "p.pk = 12" in merge


def test_a_question_that_fails_bounds_nothing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(sql: str, execution: Execution) -> list[list[str | None]]:
        raise RuntimeError("no")

    monkeypatch.setattr(lake, "texts", failing)
    merge = refreshed(lake)
    assert not is_bounded(merge)
