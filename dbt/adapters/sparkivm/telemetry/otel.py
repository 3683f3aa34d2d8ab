"""OpenTelemetry: a span for each refresh, one below it for each statement, and metrics.

Imported only where the profile says `telemetry: [otel]`. Providers that the process has already are
used; else they are made here, by OpenTelemetry's own variables.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.metrics import Meter, MeterProvider
from opentelemetry.sdk.metrics import MeterProvider as OwnMeterProvider
from opentelemetry.sdk.metrics.export import (
    ConsoleMetricExporter,
    MetricExporter,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider as OwnTracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter
from opentelemetry.trace import ProxyTracerProvider, Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from dbt.adapters.sparkivm.telemetry.told import Asked, Done
from python_ivm.refresh.statement import StatementKind

_NAME = "dbt-sparkivm"
Attributes = Mapping[str, Any]


class Otel:
    """Tells OpenTelemetry of refreshes.

    Args:
        tracer: Makes spans.
        meter: Makes metrics.
    """

    def __init__(self, tracer: Tracer, meter: Meter) -> None:
        """Make the metrics."""
        self._tracer = tracer
        self._refreshes = meter.create_counter(
            "sparkivm.refreshes", description="Refreshes of maintained models"
        )
        self._seconds = meter.create_histogram(
            "sparkivm.refresh.duration", unit="s", description="How long refreshes took"
        )
        self._rows = meter.create_counter(
            "sparkivm.rows", unit="{row}", description="Rows of states that refreshes wrote"
        )

    def begin(self, asked: Asked) -> Refreshing:
        """Start a span; its parent is the one of the variable TRACEPARENT, if it is set."""
        carrier = {"traceparent": os.environ.get("TRACEPARENT", "")}
        parent = TraceContextTextMapPropagator().extract(carrier)
        span = self._tracer.start_span(
            "sparkivm.refresh",
            parent,
            SpanKind.INTERNAL,
            {
                "dbt.invocation_id": asked.invocation,
                "dbt.project": asked.project,
                "dbt.model": asked.model,
                "sparkivm.view": asked.view,
                "sparkivm.state": asked.state,
                "server.address": asked.server,
            },
        )
        return Refreshing(self, span, asked)

    def count(self, asked: Asked, outcome: Attributes, done: Done | None) -> None:
        """Add a refresh to the metrics."""
        labels = {"dbt.model": asked.model, **outcome}
        self._refreshes.add(1, labels)
        if done is None:
            return
        self._seconds.record(done.seconds, labels)
        written = {"inserted": done.inserted, "updated": done.updated, "deleted": done.deleted}
        if done.strategy == "full":
            written = {"inserted": done.affected}
        for kind, rows in written.items():
            if rows:
                self._rows.add(rows, {"dbt.model": asked.model, "sparkivm.change": kind})


class Refreshing:
    """A refresh's span."""

    def __init__(self, otel: Otel, span: Span, asked: Asked) -> None:
        """Take the span."""
        self._otel, self._span, self._asked = otel, span, asked

    @contextmanager
    def statement(self, kind: StatementKind) -> Generator[None, None, None]:
        """A span below; its SQL, which may hold values, is not told."""
        span = self._otel._tracer.start_span(
            f"sparkivm.{kind.value}",
            trace.set_span_in_context(self._span),
            SpanKind.CLIENT,
            {"db.system.name": "spark", "sparkivm.statement": kind.value},
        )
        try:
            yield
        except BaseException as error:
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(Status(StatusCode.ERROR))
            raise
        finally:
            span.end()

    def done(self, done: Done) -> None:
        """End the span with what was done."""
        outcome = {"sparkivm.strategy": done.strategy, "sparkivm.reason": done.reason}
        rows = {
            "inserted": done.inserted,
            "updated": done.updated,
            "deleted": done.deleted,
            "affected": done.affected,
        }
        self._span.set_attributes(
            {
                **outcome,
                "sparkivm.fallback": done.fallback,
                "sparkivm.seconds": done.seconds,
                "sparkivm.sources": [read.source for read in done.reads],
                **{f"sparkivm.rows.{what}": n for what, n in rows.items() if n is not None},
            }
        )
        for read in done.reads:
            known = {"before": read.before, "version": read.version, "rows": read.rows}
            told = {f"sparkivm.{name}": n for name, n in known.items() if n is not None}
            self._span.add_event("sparkivm.read", {"sparkivm.source": read.source, **told})
        self._span.end()
        self._otel.count(self._asked, outcome, done)

    def failed(self, code: str) -> None:
        """End the span with an error."""
        self._span.set_attribute("error.type", code)
        self._span.set_status(Status(StatusCode.ERROR))
        self._span.end()
        self._otel.count(self._asked, {"error.type": code}, None)


def observer() -> Otel:
    """One over the process's providers, or else over own ones."""
    return Otel(_tracers().get_tracer(_NAME), _meters().get_meter(_NAME))


def _tracers() -> trace.TracerProvider:
    found = trace.get_tracer_provider()
    if not isinstance(found, ProxyTracerProvider):
        return found
    made = OwnTracerProvider(resource=_resource())
    exporter = _exporter("OTEL_TRACES_EXPORTER")
    if exporter is not None:
        made.add_span_processor(BatchSpanProcessor(exporter))
    return made


def _meters() -> MeterProvider:
    found = metrics.get_meter_provider()
    if type(found).__name__ != "_ProxyMeterProvider":
        return found
    exporter = _metric_exporter("OTEL_METRICS_EXPORTER")
    readers = [PeriodicExportingMetricReader(exporter)] if exporter is not None else []
    return OwnMeterProvider(readers, _resource())


def _resource() -> Resource:
    return Resource.create({SERVICE_NAME: os.environ.get("OTEL_SERVICE_NAME", _NAME)})


def _exporter(variable: str) -> SpanExporter | None:
    match os.environ.get(variable, "otlp"):
        case "none":
            return None
        case "console":
            return ConsoleSpanExporter()
        case _:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            return OTLPSpanExporter()


def _metric_exporter(variable: str) -> MetricExporter | None:
    match os.environ.get(variable, "otlp"):
        case "none":
            return None
        case "console":
            return ConsoleMetricExporter()
        case _:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

            return OTLPMetricExporter()
