"""Texts that only Spark can read, so that the planner does not know their tables."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from sqlglot import exp

from python_ivm.errors import InvalidModel, NotParsed, Unsupported
from python_ivm.explain.explain import explain
from python_ivm.parse.parser import parse, pin_versions
from python_ivm.refresh import model
from python_ivm.refresh.options import Options, Policy
from python_ivm.refresh.plan import Refresh, Strategy
from python_ivm.refresh.strategy import plan_refresh
from tests.planner.lake import Lake


class Reader(Lake):
    """A lake that reads every text, as Spark would, but for those that are ``wrong``."""

    def describe(self, sql: str) -> Sequence[tuple[str, str]]:
        if "wrong" in sql:
            raise ValueError(sql)
        return [("k", "int")]


@pytest.fixture
def reader() -> Reader:
    lake = Reader()
    lake.create("a", {"k": "int", "v": "int"}, [(1, 1)])
    lake.create("b", {"k": "int", "w": "int"}, [(1, 1)])
    return lake


def built(lake: Lake, sql: str, policy: Policy = Policy.AUTO) -> Refresh:
    return plan_refresh(lake.request("m", sql, options=Options(policy=policy)), lake)


@pytest.mark.parametrize(
    "sql",
    [
        "from s.a |> window w as (order by v) |> select sum(k) over w as k",
        "from s.a |> order by (select max(w) from s.b) |> limit 3 |> limit 2",
        "with a as (select 1 as k) values (2)",
        "select k from s.a for system_version as of 0",
        "select k from s.a with (x = 1)",
    ],
)
def test_what_only_spark_can_read_is_rebuilt_at_every_run(reader: Reader, sql: str) -> None:
    with pytest.raises(NotParsed):
        parse(sql)
    assert "NOT_PARSED" in explain(reader.request("m", sql), reader)
    refresh = built(reader, f"{sql};")
    assert (refresh.strategy, refresh.reason) == (Strategy.FULL, "NOT_PARSED")
    assert refresh.warning is not None
    assert f"(\n{sql}\n)" in refresh.statements[0].sql
    with pytest.raises(Unsupported, match=r"strict.*NOT_PARSED"):
        built(reader, sql, Policy.STRICT)


def test_what_spark_cannot_read_either_is_an_error(reader: Reader) -> None:
    with pytest.raises(InvalidModel, match="line 1"):
        built(reader, "select v wrong from s.a frm t x")


def test_the_view_of_such_a_text_is_built_anew_though_nothing_changed(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unread(sql: str) -> exp.Query:
        raise NotParsed(sql)

    monkeypatch.setattr(model, "parse", unread)
    for _ in range(2):
        assert lake.run("m", "values (1), (2)").reason == "NOT_PARSED"
        assert lake.view("m") == {(1,): 1, (2,): 1}
    assert lake.run("m", "values (3)").reason == "NOT_PARSED"
    assert lake.view("m") == {(3,): 1}


def test_no_versions_leave_a_text_as_it_is() -> None:
    assert pin_versions("table s.a", {}) == "table s.a"


def test_another_text_behind_a_pipe_is_another_query(reader: Reader) -> None:
    bookmarks = {
        built(reader, sql).statements[0].bookmark
        for sql in ("from s.a |> select k", "from s.a |> select distinct k")
    }
    assert len(bookmarks) == 2
