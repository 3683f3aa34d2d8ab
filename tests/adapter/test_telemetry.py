"""What OpenTelemetry and OpenLineage are told of refreshes, and what they are not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError
from openlineage.client import OpenLineageClient
from openlineage.client.transport.file import FileConfig, FileTransport
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from dbt.adapters.sparkivm import SparkIvmCredentials
from dbt.adapters.sparkivm.bridge.response import RefreshResponse
from dbt.adapters.sparkivm.telemetry import observing
from dbt.adapters.sparkivm.telemetry.openlineage import OpenLineage
from dbt.adapters.sparkivm.telemetry.otel import Otel
from python_ivm.errors import Unsupported
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement import StatementKind
from tests.helpers.dbt_project import DbtProject

REQUEST = Request("sums", "select 'sesame'", ("shop", "sums"), ("shop", "sums__ivm_state"))
HOST = "sc://me:sesame@spark.local:15002/;token=sesame;use_ssl=true"
SECRET = "sesame"


def response() -> RefreshResponse:
    return RefreshResponse(
        _message="OK", strategy="incremental", reason="CHANGED", explanation=f"read {SECRET}",
        rows_inserted=2, rows_updated=1, rows_deleted=0, rows_affected=3,
        reads=[{"source": "shop.orders", "before": 5, "version": 6, "rows": 3}],
    )  # fmt: skip


class Memory:
    """OpenTelemetry that keeps what it is told."""

    def __init__(self) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        spans = TracerProvider()
        spans.add_span_processor(SimpleSpanProcessor(self.exporter))
        meters = MeterProvider([self.reader])
        self.otel = Otel(spans.get_tracer("t"), meters.get_meter("t"))

    @property
    def spans(self) -> dict[str, Any]:
        return {span.name: span for span in self.exporter.get_finished_spans()}

    @property
    def metrics(self) -> dict[str, list[Any]]:
        (resource,) = self.reader.get_metrics_data().resource_metrics
        found = resource.scope_metrics[0].metrics
        return {metric.name: list(metric.data.data_points) for metric in found}

    def text(self) -> str:
        return "".join(span.to_json() for span in self.exporter.get_finished_spans())


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    made = Memory()
    monkeypatch.setitem(observing._observers, "otel", made.otel)
    return made


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Reads the events that OpenLineage wrote to a file."""
    file = tmp_path / "events.json"
    transport = FileTransport(FileConfig(str(file), append=True))
    lineage = OpenLineage(OpenLineageClient(transport=transport))
    monkeypatch.setitem(observing._observers, "openlineage", lineage)
    return lambda: [json.loads(line) for line in file.read_text().splitlines()]


def refresh(*names: str, fails: Exception | None = None) -> RefreshResponse:
    told = response()
    with observing.observed(names, REQUEST, HOST) as refreshing:
        with refreshing.statement(StatementKind.MERGE):
            if fails is not None:
                raise fails
        refreshing.response = told
    return told


def test_a_refresh_is_a_span_with_one_below_for_each_statement(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    monkeypatch.setenv("TRACEPARENT", f"00-{trace}-b7ad6b7169203331-01")
    told = refresh("otel")
    span, merge = memory.spans["sparkivm.refresh"], memory.spans["sparkivm.merge"]
    assert merge.parent.span_id == span.context.span_id
    assert f"{span.context.trace_id:032x}" == trace and f"{span.parent.span_id:x}"[:4] == "b7ad"
    found = dict(span.attributes)
    assert found["dbt.model"] == "sums" and found["sparkivm.view"] == "shop.sums"
    assert found["sparkivm.strategy"] == "incremental" and found["sparkivm.rows.inserted"] == 2
    assert found["sparkivm.seconds"] == told.seconds and found["sparkivm.fallback"] is False
    (read,) = span.events
    assert dict(read.attributes) == {
        "sparkivm.source": "shop.orders", "sparkivm.before": 5, "sparkivm.version": 6,
        "sparkivm.rows": 3,
    }  # fmt: skip


def test_refreshes_are_counted(memory: Memory) -> None:
    refresh("otel")
    refresh("otel")
    with pytest.raises(Unsupported):
        refresh("otel", fails=Unsupported("no"))
    found = memory.metrics
    counted = {
        point.attributes.get("sparkivm.strategy", point.attributes.get("error.type")): point.value
        for point in found["sparkivm.refreshes"]
    }
    assert counted == {"incremental": 2, "IVM_UNSUPPORTED": 1}
    rows = {p.attributes["sparkivm.change"]: p.value for p in found["sparkivm.rows"]}
    assert rows == {"inserted": 4, "updated": 2}
    assert found["sparkivm.refresh.duration"][0].count == 2


def test_lineage_tells_versions_and_rows(events: Any) -> None:
    told = refresh("openlineage")
    start, complete = events()
    assert (start["eventType"], complete["eventType"]) == ("START", "COMPLETE")
    assert start["run"]["runId"] == complete["run"]["runId"]
    assert complete["job"] == {**complete["job"], "namespace": "dbt", "name": ".shop.sums"}
    (source,) = complete["inputs"]
    assert (source["namespace"], source["name"]) == ("spark://spark.local:15002", "shop.orders")
    assert source["facets"]["version"]["datasetVersion"] == "6"
    changes = source["inputFacets"]["sparkivm_changes"]
    assert (changes["versionBefore"], changes["rows"]) == (5, 3)
    (view,) = complete["outputs"]
    assert view["outputFacets"]["outputStatistics"]["rowCount"] == 3
    facet = complete["run"]["facets"]["sparkivm_refresh"]
    assert (facet["strategy"], facet["reason"]) == ("incremental", "CHANGED")
    assert facet["seconds"] == told.seconds and facet["rowsInserted"] == 2


def test_errors_are_told_by_their_code(memory: Memory, events: Any) -> None:
    with pytest.raises(DbtRuntimeError):
        refresh("otel", "openlineage", fails=DbtRuntimeError(f"password {SECRET}"))
    assert memory.spans["sparkivm.refresh"].attributes["error.type"] == "DbtRuntimeError"
    assert not memory.spans["sparkivm.merge"].status.is_ok
    failed = events()[-1]
    assert failed["eventType"] == "FAIL"
    assert failed["run"]["facets"]["sparkivm_error"]["code"] == "DbtRuntimeError"


def test_secrets_do_not_leave(memory: Memory, events: Any) -> None:
    refresh("otel", "openlineage")
    with pytest.raises(DbtRuntimeError):
        refresh("otel", "openlineage", fails=DbtRuntimeError(SECRET))
    assert "spark.local:15002" in memory.text()
    assert SECRET not in memory.text() and SECRET not in json.dumps(events())


def test_what_goes_wrong_there_fails_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def __getattr__(self, name: str) -> Any:
            raise OSError("no network")

    monkeypatch.setitem(observing._observers, "otel", Broken())
    assert refresh("otel").seconds is not None
    monkeypatch.setitem(observing.MODULES, "otel", "no.such.module")
    monkeypatch.delitem(observing._observers, "otel")
    assert refresh("otel").seconds is not None


def test_nothing_is_imported_where_nobody_is_told() -> None:
    program = (
        "import sys\nimport dbt.adapters.sparkivm\n"
        "from dbt.adapters.sparkivm.telemetry import observing\n"
        "print([m for m in sys.modules if m.startswith(('opentelemetry.sdk', 'openlineage', "
        "'dbt.adapters.sparkivm.telemetry.o'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.strip() == "['dbt.adapters.sparkivm.telemetry.observing']"


def test_the_profile_names_who_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    made = SparkIvmCredentials.from_dict({"schema": "x", "telemetry": ["otel", "openlineage"]})
    assert made.telemetry == ["otel", "openlineage"]
    with pytest.raises(DbtRuntimeError, match="telemetry: statsd is unknown"):
        SparkIvmCredentials.from_dict({"schema": "x", "telemetry": ["statsd"]})
    monkeypatch.setitem(sys.modules, "openlineage.client", None)
    with pytest.raises(DbtRuntimeError, match=r"pip install 'dbt-sparkivm\[openlineage\]'"):
        SparkIvmCredentials.from_dict({"schema": "x", "telemetry": ["openlineage"]})


def test_own_providers_follow_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    from dbt.adapters.sparkivm.telemetry import otel

    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    assert otel._exporter("OTEL_TRACES_EXPORTER") is None
    assert isinstance(otel.observer(), Otel)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    assert type(otel._exporter("OTEL_TRACES_EXPORTER")).__name__ == "ConsoleSpanExporter"
    monkeypatch.delenv("OTEL_TRACES_EXPORTER")
    assert type(otel._exporter("OTEL_TRACES_EXPORTER")).__name__ == "OTLPSpanExporter"


def test_a_run_tells_of_each_model(make_project: Any, memory: Memory, events: Any) -> None:
    project: DbtProject = make_project(target={"telemetry": ["otel", "openlineage"]})
    feed = "tblproperties (delta.enableChangeDataFeed = true)"
    project.sql(f"create table a (k int, v int) using delta {feed}")
    project.sql("insert into a values (1, 1)")
    ivm = "{{ config(materialized='incremental_ivm') }} "
    sql = f"select k, sum(v) as t from {project.schema}.a group by k"
    project.models(sums=ivm + sql, none=ivm + "select nothing")
    result = project.dbt("run")
    assert result.statuses == {"sums": "success", "none": "error"}
    kinds = set(memory.spans)
    assert {"sparkivm.refresh", "sparkivm.build", "sparkivm.create_view"} <= kinds
    ended = [(e["eventType"], e["job"]["name"].split(".")[-1]) for e in events()]
    assert sorted(ended) == [
        ("COMPLETE", "sums"), ("FAIL", "none"), ("START", "none"), ("START", "sums")
    ]  # fmt: skip
    project.sql("insert into a values (1, 5), (2, 2)")
    told = project.run("--select", "sums").response("sums")
    source = f"{project.schema}.a"
    assert told["reads"] == [{"source": source, "before": 1, "version": 2, "rows": 2}]
    assert told["seconds"] > 0 and told["fallback"] is False
