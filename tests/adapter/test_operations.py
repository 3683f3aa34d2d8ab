"""The commands on the models of a project, over tables in DuckDB instead of Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result
from dbt_common.exceptions import CompilationError, DbtDatabaseError

from dbt.adapters.sparkivm.cli import main
from dbt.adapters.sparkivm.configs import nodes
from dbt.adapters.sparkivm.operations import changes, mixin, rebuilding, texts
from dbt.adapters.sparkivm.operations.history_query import COLUMNS, Past, query
from python_ivm.errors import InvalidModel
from python_ivm.operate.records import Record, records
from python_ivm.sources.history import Commit
from tests.adapter.project_in_a_lake import MODELS, Adapter, node
from tests.planner.lake import Lake


def run(lake: Lake) -> None:
    for name, sql in MODELS.items():
        lake.run(name, sql)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def told(*arguments: str) -> dict[str, Mapping[str, Any]]:
    outcome = call(arguments[0], "--format", "json", *arguments[1:])
    assert isinstance(outcome.exception, SystemExit | None), outcome.exception
    found = json.loads(outcome.stdout)
    assert (found["command"], found["schema"]) == (arguments[0], 1)
    return {model["model"]: model for model in found["models"]}


def test_models_come_after_those_that_they_read(graph: dict[str, Any]) -> None:
    chosen = ["model.last", "model.above", "model.sums", "model.bag"]
    order = nodes.in_order(graph, chosen)
    assert order.index("model.sums") < order.index("model.above")
    assert order.index("model.bag") < order.index("model.last")
    assert list(nodes.followers(graph, "model.bag")) == ["model.last"]
    assert list(nodes.relations_read(graph, "model.above")) == ["model.sums"]
    graph["nodes"]["model.sums"]["config"]["materialized"] = "ephemeral"
    assert list(nodes.relations_read(graph, "model.above")) == [], "of s.x dbt builds nothing"


def test_a_preview_shows_what_follows(adapter: Adapter, selected: dict[str, Any]) -> None:
    run(adapter.lake)
    adapter.lake.change("x", insert=[(7, 7)])
    found = told("preview")
    assert {name: p["strategy"] for name, p in found.items()} == dict.fromkeys(
        MODELS, "incremental"
    )
    assert found["bag"]["followers"] == ["last"]
    shown = call("preview").stdout
    assert "x@0→1 +1" in shown and "(by sums)" in shown
    assert "last reads it, and is not part of this run" in shown
    assert "3 models: 3 incremental" in shown
    assert call("preview", "--fail-on", "full").exit_code == 0
    assert {p["reason"] for p in told("preview", "--full-refresh").values()} == {"FULL_REFRESH"}
    assert call("preview", "--full-refresh", "--fail-on", "full").exit_code == 1


def test_before_the_first_run_all_is_built(adapter: Adapter, selected: dict[str, Any]) -> None:
    found = told("preview")
    assert {p["reason"] for p in found.values()} == {"FIRST_BUILD"}
    assert "sums is built first" in found["above"]["explanation"]


def test_a_model_that_fails_is_told_of_alone(
    adapter: Adapter, selected: dict[str, Any], graph: dict[str, Any]
) -> None:
    run(adapter.lake)
    selected["model.sums"] = CompilationError("no macro of this name")
    adapter.broken = {"bag"}
    outcome = call("preview")
    assert outcome.exit_code == 1
    assert "no macro of this name" in outcome.stdout and "no such luck" in outcome.stdout
    assert told("preview")["above"]["strategy"] == "noop"
    assert told("status")["bag"]["trouble"] == ["no such luck"]
    assert told("status")["sums"]["last"]["reason"] == "FIRST_BUILD", "its state tells of itself"
    checked = told("check")
    assert checked["sums"]["verdict"] == checked["bag"]["verdict"] == "refused"
    assert call("check").exit_code == 1


def test_a_table_of_dbts_is_replaced_by_each_run(
    adapter: Adapter, selected: dict[str, Any], graph: dict[str, Any]
) -> None:
    adapter.lake.create("copied", {"k": "int"}, [(1,), (2,)])
    graph["nodes"]["model.copied"] = node("copied", "table", "source.x")
    graph["nodes"]["model.of"] = node("of", "incremental_ivm", "model.copied")
    selected.clear()
    selected |= {"model.copied": "select 1", "model.of": "select k from s.copied"}
    adapter.lake.run("of", "select k from s.copied")
    found = told("preview")["of"]
    assert found["reason"] == "SOURCE_REPLACED" and found["sources"][0]["by"] == "copied"
    assert "copied is materialized as table" in told("check")["of"]["advice"][0]
    del selected["model.copied"]
    assert told("preview")["of"]["strategy"] == "noop"


def test_where_models_stand(adapter: Adapter, selected: dict[str, Any]) -> None:
    assert told("status")["sums"]["trouble"] == ["it is not built yet"]
    run(adapter.lake)
    adapter.lake.change("x", insert=[(7, 7), (8, 8)])
    sums = told("status")["sums"]
    assert sums["last"]["refresh"] == 1 and sums["rows"] == 2
    assert sums["sources"][0]["inserted"] == 2
    run(adapter.lake)
    past = told("history")["sums"]["refreshes"]
    assert [r["strategy"] for r in past] == ["incremental", "full"]
    assert len(told("history", "--limit", "1")["sums"]["refreshes"]) == 1
    for command in ("status", "history"):
        assert "sums" in call(command).stdout
    assert "no refresh that its state remembers was a fallback" in call("why", "sums").stdout


def test_states_that_cannot_be_read_are_told_of(adapter: Adapter, selected: dict[str, Any]) -> None:
    run(adapter.lake)
    for name, metadata in (("sums", '{"ivm":999}'), ("bag", None)):
        commits = adapter.lake.commits[f"{name}__ivm_state"]
        commits.insert(0, Commit(1, adapter.lake._time(), "DELETE", user_metadata=metadata))
    del adapter.lake.commits["above__ivm_state"][:]
    adapter.lake.commits["above__ivm_state"].append(Commit(0, "1", "CREATE TABLE AS SELECT"))
    trouble = {name: " ".join(s["trouble"]) for name, s in told("status").items()}
    assert "newer version" in trouble["sums"] and "something else" in trouble["bag"]
    assert "log was cleaned" in trouble["above"]
    past = {name: one["trouble"] for name, one in told("history").items()}
    assert "newer version" in past["sums"] and not past["bag"]
    assert "log was cleaned" in past["above"]
    assert "newer version" in call("why", "sums").stdout
    audited = {name: one["told"] for name, one in told("audit").items()}
    assert "newer version" in audited["sums"] and "log was cleaned" in audited["above"]
    assert told("preview")["sums"]["reason"] == "STATE_NEWER"
    assert told("preview")["sums"]["fallback"] is True


def test_one_whose_history_cannot_be_read_is_told_of_alone(
    adapter: Adapter, selected: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run(adapter.lake)
    history = Lake.history

    def torn(self: Lake, parts: tuple[str, ...], limit: int | None) -> Any:
        if parts[-1] == "sums__ivm_state":
            raise DbtDatabaseError("[DELTA_LOG] is torn\nmany\nmore lines")
        if parts[-1] == "bag__ivm_state":
            raise KeyError("a bug")
        return history(self, parts, limit)

    monkeypatch.setattr(Lake, "history", torn)
    for command, field in (("status", "trouble"), ("history", "trouble"), ("audit", "told")):
        found = {name: str(model[field]) for name, model in told(command).items()}
        assert "DELTA_LOG] is torn" in found["sums"] and "more lines" not in found["sums"], command
        assert "KeyError" in found["bag"], command
        assert ("torn" in found["above"]) == (command != "history"), "it reads sums"
    found = told("preview")
    assert found["sums"]["strategy"] == found["bag"]["strategy"] == "error"
    page = tmp_path / "page.html"
    assert call("report", "--output", str(page)).exit_code == 0
    assert "is torn" in page.read_text()
    assert set(told("check")) == set(MODELS)


def test_the_verdicts_of_a_check(adapter: Adapter, selected: dict[str, Any]) -> None:
    selected["model.sums"] = (
        "select k,\n  nth_value(v, 2) over (partition by k order by v) as t\nfrom s.x"
    )
    selected["model.bag"] = "select k, count(distinct v) as n from s.x group by k"
    found = told("check")
    assert found["bag"]["verdict"] == "partly" and found["bag"]["recomputed"]
    selected["model.bag"] = "select k, v\nfrom s.x\nwhere rand() > v"
    refused = told("check")["bag"]
    assert (refused["verdict"], refused["line"]) == ("refused", 3)
    assert refused["text"] == "where rand() > v"
    assert "3 | where rand() > v" in call("check").stdout


def test_an_audit_fails_where_a_group_is_wrong(adapter: Adapter, selected: dict[str, Any]) -> None:
    run(adapter.lake)
    assert call("audit", "--fraction", "1").exit_code == 0
    adapter.lake.db.execute("update s.sums__ivm_state set t = 0 where k = 2")
    outcome = call("audit", "--fraction", "1", "--seed", "4")
    assert outcome.exit_code == 1 and "seed 4" in outcome.stdout
    assert "sums: 2 rows differ" in outcome.stdout and "'t': '5'" in outcome.stdout
    assert told("audit", "--fraction", "1")["bag"]["equal"] is True


def test_work_is_told_by_model(adapter: Adapter, selected: dict[str, Any]) -> None:
    assert "sums: nothing is needed" in call("maintain").stdout
    assert told("maintain", "--force")["sums"]["told"] == "forced"
    assert call("drop").exit_code == 1
    assert "sums: dropped sums" in call("drop", "--yes").stdout


def test_tables_are_adopted_one_by_one(
    adapter: Adapter, selected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def adopt(self: Adapter, request: Any, **given: Any) -> changes.Adopted:
        asked.append(given)
        if request.model == "sums":
            raise InvalidModel("it has a state already")
        return changes.Adopted(request.model, "it is", done=True)

    monkeypatch.setattr(Adapter, "ivm_adopt_one", adopt, raising=False)
    selected["model.bag"] = CompilationError("no macro of this name")
    outcome = call("adopt", "--trust", "--at", "s.x=5", "--at", "y=0")
    assert outcome.exit_code == 1 and "above: it is" in outcome.stdout
    assert "state already" in outcome.stdout and "no macro of this name" in outcome.stdout
    assert asked[0] == {"versions": {"s.x": 5, "y": 0}, "trusted": True}
    del selected["model.bag"], selected["model.sums"]
    assert told("adopt")["above"]["done"] is True
    assert call("adopt", "--at", "s.x").exit_code == 2


def test_rebuilds_are_dbts_own(
    adapter: Adapter, selected: dict[str, Any], graph: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    run(adapter.lake)
    for name, made in graph["nodes"].items():
        made["fqn"] = ["shop", name.removeprefix("model.")]
    invoked: list[list[str]] = []

    class Runner:
        def invoke(self, arguments: list[str]) -> Any:
            invoked.append(arguments)
            results = [
                SimpleNamespace(
                    node=SimpleNamespace(name="sums"), status=status, message="m", execution_time=1
                )
                for status in (("success",) if len(invoked) == 1 else ("error",))
            ]
            return SimpleNamespace(exception=None, result=SimpleNamespace(results=results))

    monkeypatch.setattr("dbt.cli.main.dbtRunner", Runner)
    dry = call("rebuild", "--dry-run")
    assert dry.exit_code == 0 and "FULL_REFRESH" in dry.stdout and not invoked
    assert call("rebuild", "-s", "a", "b", "--vars", "{x: 1}").exit_code == 0
    assert invoked[0][:5] == ["run", "--full-refresh", "--vars", "{x: 1}", "--select"]
    assert sorted(invoked[0][5:]) == ["fqn:shop.above", "fqn:shop.bag", "fqn:shop.sums"]
    failed = call("rebuild", "--format", "json")
    assert failed.exit_code == 1 and invoked[1][:2] == ["--log-level", "none"]
    assert json.loads(failed.stdout)["models"][0]["status"] == "error"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["-s", "a", "b", "--target", "ci"], ["--target", "ci"]),
        (["--select=a", "--exclude", "b", "-q"], ["-q"]),
        (["--vars", "{a: 1}", "--selector", "nightly"], ["--vars", "{a: 1}"]),
        (["--exclude", "a"], []),
    ],
)
def test_what_selects_models_is_left_out(given: list[str], kept: list[str]) -> None:
    assert rebuilding.without_selection(given) == kept


def test_no_maintained_model_is_no_error(selected: dict[str, Any]) -> None:
    selected.clear()
    for command in ("preview", "check", "status", "history", "maintain"):
        outcome = call(command)
        assert outcome.exit_code == 0 and "No maintained model" in outcome.stdout


def test_models_are_named_to_operations(graph: dict[str, Any]) -> None:
    assert mixin._chosen(graph, "sums") == ["model.sums"]
    assert mixin._chosen(graph, ["model.bag", "above"]) == ["model.above", "model.bag"]
    assert len(mixin._chosen(graph, ())) == 5
    with pytest.raises(CompilationError, match="no model named nowhere"):
        mixin._chosen(graph, ["sums", "nowhere"])
    assert [mixin.parts_of(f) for f in (1, 0.5, 0.001)] == [1, 2, 1000]
    with pytest.raises(CompilationError):
        mixin.parts_of(0)


def test_the_history_as_a_query_holds_what_is_new(lake: Lake) -> None:
    lake.create("x", {"k": "int", "v": "int"}, [(1, 1)])
    lake.run("sums", MODELS["sums"], began=0)
    lake.change("x", insert=[(7, 7)])
    lake.run("sums", MODELS["sums"], began=0)
    past = Past("s.sums", "s.sums__ivm_state", records(lake.commits["sums__ivm_state"]))
    newest, oldest = (record.milliseconds for record in past.records)
    assert query([past], {}).count("FIRST_BUILD") == 1
    assert "FIRST_BUILD" not in query([past], {"s.sums__ivm_state": oldest})
    empty = query([past], {"s.sums__ivm_state": newest})
    assert empty.endswith("where false") and all(f"`{name}`" in empty for name in COLUMNS)
    quoted = Past("s.o'clock", "s.o'clock__ivm_state", past.records)
    assert "o\\'clock" in query([quoted], {}) or "o''clock" in query([quoted], {})


def test_the_history_tells_how_many_rows_a_refresh_wrote(lake: Lake) -> None:
    lake.create("x", {"k": "int", "v": "int"}, [(1, 1)])
    lake.run("sums", MODELS["sums"], began=0)
    (built,) = records(lake.commits["sums__ivm_state"])
    anew = replace(built, inserted=None, updated=None, deleted=None, written=7)

    def row(record: Record) -> str:
        lines = query([Past("s.sums", "s.sums__ivm_state", [record])], {}).splitlines()
        return lines[lines.index("from values") + 1]

    assert list(COLUMNS)[-1] == "rows_affected"
    assert row(anew).endswith(", 7)") and "null, null, null" in row(anew)
    assert row(replace(built, inserted=4, updated=2, deleted=1)).endswith(", 7)")
    unknown = replace(built, inserted=4, updated=None, deleted=1)
    assert row(unknown).endswith(", null)")


@pytest.mark.parametrize(
    ("size", "shown"), [(None, "?"), (12, "12 B"), (4_100, "4.1 kB"), (3 * 10**9, "3.0 GB")]
)
def test_sizes_are_short(size: int | None, shown: str) -> None:
    assert texts.bytes_(size) == shown


@pytest.mark.parametrize(
    ("took", "shown"), [(None, "?"), (1.234, "1.2 s"), (600, "10 min"), (9_000, "2.5 h")]
)
def test_times_are_short(took: float | None, shown: str) -> None:
    assert texts.seconds(took) == shown


def test_a_renamed_model_takes_its_state_along(
    adapter: Adapter, selected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[Any] = []
    monkeypatch.setattr(
        Adapter, "ivm_rename_one", lambda self, *given: moved.append(given), raising=False
    )
    outcome = call("rename", "old", "bag")
    assert outcome.exit_code == 1 and "names 3 maintained models" in outcome.stderr
    del selected["model.sums"], selected["model.above"]
    assert "has the state of s.old" in call("rename", "old", "bag").stdout
    assert "has the state of t.old" in call("rename", "t.old", "bag").stdout
    assert [(asked.model, *given) for asked, *given in moved] == [
        ("bag", ("s", "old"), "__ivm_state"), ("bag", ("t", "old"), "__ivm_state")
    ]  # fmt: skip
