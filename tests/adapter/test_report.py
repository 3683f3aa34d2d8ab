"""The page of a project: what it tells, and what it hides."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from dbt_common.exceptions import CompilationError

from dbt.adapters.sparkivm.cli import main
from dbt.adapters.sparkivm.credentials import SparkIvmCredentials
from dbt.adapters.sparkivm.operations.report import contents as pages
from dbt.adapters.sparkivm.operations.report.drawn import Drawn
from dbt.adapters.sparkivm.operations.report.page import html, without
from python_ivm.explain.picture import picture
from tests.adapter.project_in_a_lake import MODELS, Adapter, node

OUTER = "select x.k, y.w from s.x as x left join s.y as y on x.k = y.k"


def written(tmp_path: Path, *arguments: str) -> tuple[str, dict[str, Any]]:
    """The page's text, and what it holds."""
    file = tmp_path / "deep" / "page.html"
    outcome = CliRunner().invoke(main, ["report", "--output", str(file), *arguments])
    assert outcome.exit_code == 0, outcome.output
    text = file.read_text(encoding="utf-8")
    found = re.search(r'id="contents">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return text, json.loads(found[1])


def run_all(adapter: Adapter) -> None:
    for name, sql in MODELS.items():
        adapter.lake.run(name, sql)


def test_a_page_tells_what_the_commands_tell(
    adapter: Adapter, selected: dict[str, Any], tmp_path: Path
) -> None:
    run_all(adapter)
    adapter.lake.change("x", insert=[(7, 7)])
    text, shown = written(tmp_path)
    sums = shown["models"]["model.sums"]
    assert sums["status"]["last"]["reason"] == "FIRST_BUILD" and sums["status"]["rows"] == 2
    assert sums["next"]["strategy"] == "incremental" and sums["next"]["sources"][0]["inserted"] == 1
    assert [one["strategy"] for one in sums["refreshes"]] == ["full"]
    kinds = [one["kind"] for one in sums["picture"]["plan"]["vertices"]]
    assert kinds == ["Aggregate", "Scan", "State", "View"]
    assert sums["picture"]["plan"]["edges"] == [["n1", "n0"], ["n0", "state"], ["state", "view"]]
    reads = {one["id"]: one["reads"] for one in shown["nodes"]}
    assert reads["model.above"] == ["model.sums"]
    assert "<title>shop</title>" in text


def test_drawings_are_made_once(
    adapter: Adapter, selected: dict[str, Any], graph: dict[str, Any], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    run_all(adapter)
    kept = tmp_path / "target" / "kept.json"
    made: list[str] = []

    def counted(asked: Any, warehouse: Any) -> Any:
        made.append(asked.model)
        return picture(asked, warehouse)

    monkeypatch.setattr(pages, "picture", counted)

    def page() -> Any:
        found = pages.contents(adapter, graph, selected, drawn=Drawn(kept))
        return {uid: json.loads(json.dumps(m["picture"])) for uid, m in found["models"].items()}

    first = page()
    assert sorted(made) == sorted(MODELS) and page() == first and len(made) == len(MODELS)
    adapter.lake.change("x", insert=[(7, 7)])
    assert page() == first and len(made) == len(MODELS), "only rows changed"
    selected["model.sums"] = "select k, max(v) as t from s.x group by k"
    assert page()["model.sums"] != first["model.sums"] and made.count("sums") == 2
    kept.write_text("{")
    page()
    assert made.count("bag") == 2, "what is kept is broken"


def test_a_page_asks_for_each_model_once(
    adapter: Adapter, selected: dict[str, Any], graph: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    run_all(adapter)
    asked: list[str] = []
    ask = adapter.ivm_request

    def counted(model: Any, *given: Any, **more: Any) -> Any:
        asked.append(model["name"])
        return ask(model, *given, **more)

    monkeypatch.setattr(adapter, "ivm_request", counted)
    pages.contents(adapter, graph, selected)
    assert sorted(asked) == sorted(MODELS)


def test_a_page_needs_nothing_but_itself(
    adapter: Adapter, selected: dict[str, Any], tmp_path: Path
) -> None:
    text, _ = written(tmp_path)
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=", text)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None and "default-src 'none'" in policy[1]
    assert text.count("<script>") == policy[1].count("sha256-")


def test_what_a_run_did_is_shown(
    adapter: Adapter, selected: dict[str, Any], tmp_path: Path
) -> None:
    results = tmp_path / "run_results.json"
    answer = {"strategy": "incremental", "reason": "CHANGED", "rows_inserted": 3}
    ran = [
        {"unique_id": "model.sums", "status": "success", "execution_time": 1.5,
         "adapter_response": answer, "message": "OK"},
        {"unique_id": "model.bag", "status": "error", "execution_time": 0.1,
         "adapter_response": {}, "message": "no such column"},
        {"unique_id": "model.whole", "status": "success", "execution_time": 1.5,
         "adapter_response": {"strategy": "recompute", "reason": "FASTER", "rows_affected": 7},
         "message": "OK"},
    ]  # fmt: skip
    results.write_text(json.dumps({"metadata": {"generated_at": "noon"}, "results": ran}))
    _, shown = written(tmp_path, "--run", str(results))
    told = shown["run"]["results"]
    assert told["model.sums"]["strategy"] == "incremental" and told["model.sums"]["inserted"] == 3
    assert told["model.bag"]["strategy"] == "error"
    assert [told[f"model.{name}"]["written"] for name in ("sums", "whole")] == [None, 7]
    results.write_text('{"results": [1]}')
    outcome = CliRunner().invoke(main, ["report", "--run", str(results)])
    assert outcome.exit_code == 1 and "no run_results.json that can be read" in outcome.output


def test_a_model_that_fails_leaves_the_others_their_place(
    adapter: Adapter, selected: dict[str, Any], tmp_path: Path
) -> None:
    run_all(adapter)
    selected["model.sums"] = CompilationError("no macro of this name")
    adapter.broken = {"bag"}
    _, shown = written(tmp_path)
    models = shown["models"]
    assert "no macro" in models["model.sums"]["picture"]["trouble"]
    assert models["model.bag"]["status"]["trouble"] == ["no such luck"]
    assert models["model.above"]["picture"]["plan"] is not None


def test_texts_of_models_stay_texts_and_secrets_stay_secret(
    adapter: Adapter,
    selected: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DBT_ENV_SECRET_KEY", "top'secret\"")
    selected["model.bag"] = CompilationError(
        "</script><script>alert(1)</script> hush-hush top'secret\" <b>"
    )
    text, shown = written(tmp_path)
    assert "alert(1)</script>" not in text and "<b>" not in text
    assert "hush-hush" not in text and "top'" not in json.dumps(shown)
    told = shown["models"]["model.bag"]["picture"]["trouble"]
    assert told.endswith("</script><script>alert(1)</script> ***** ***** <b>")
    assert "<title>&lt;i&gt;</title>" in html("<i>", {"models": {}})
    assert without({"a": ["xyz"]}, ["y"]) == {"a": ["x*****z"]}


def test_the_secrets_of_a_profile() -> None:
    made = SparkIvmCredentials(
        schema="s", method="connect", host="sc://there:15002/;token=abcdefgh;user_id=me",
        server_side_parameters={"spark.my.password": "password1", "spark.x.token.used": True},
    )  # fmt: skip
    assert made.secrets() == ["abcdefgh", "password1"]


def test_seeds_and_sources_stand_in_the_graph(
    adapter: Adapter, selected: dict[str, Any], graph: dict[str, Any], tmp_path: Path
) -> None:
    source = {"name": "x", "source_name": "s", "resource_type": "source", "config": {}}
    graph["sources"]["source.x"] = source
    graph["nodes"]["model.middle"] = node("middle", "ephemeral", "source.x")
    graph["nodes"]["model.sums"]["depends_on"]["nodes"] = ["model.middle"]
    _, shown = written(tmp_path)
    nodes = {one["id"]: one for one in shown["nodes"]}
    assert nodes["source.x"]["name"] == "s.x" and "model.middle" not in nodes
    assert nodes["model.sums"]["reads"] == ["source.x"]


def test_a_picture_has_a_maintenance_graph_for_each_side_of_an_outer_join(adapter: Adapter) -> None:
    adapter.lake.create("y", {"k": "int", "w": "int"}, [(1, 4)])
    found = picture(adapter.lake.request("joined", OUTER), adapter.lake)
    assert {one.title: [(v.kind, v.label) for v in one.vertices] for one in found.maintenance} == {
        "A change of x": [("D", "{x, y}"), ("D", "{x}")],
        "A change of y": [("D", "{x, y}"), ("I", "{x}")],
    }
    assert found.maintenance[0].edges == [("{x}", "{x, y}")]
    refused = picture(adapter.lake.request("odd", "select rand() as r from s.x"), adapter.lake)
    assert refused.plan is None and "rand" in refused.trouble
