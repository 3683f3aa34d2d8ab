"""OpenLineage: an event as each refresh begins, and one as it ends, with versions and rows.

Imported only where the profile says `telemetry: [openlineage]`. The client is configured as
OpenLineage says: by its variables, or `openlineage.yml`.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timezone

import attr
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import (
    InputDataset,
    Job,
    OutputDataset,
    Run,
    RunEvent,
    RunState,
)
from openlineage.client.facet_v2 import (
    dataset_version_dataset,
    output_statistics_output_dataset,
)
from openlineage.client.generated.base import InputDatasetFacet, RunFacet
from openlineage.client.uuid import generate_new_uuid

from dbt.adapters.sparkivm.__version__ import version
from dbt.adapters.sparkivm.telemetry.told import Asked, Done, Read
from python_ivm.refresh.statement import StatementKind

_PRODUCER = f"https://github.com/dbt-sparkivm/dbt-sparkivm/tree/{version}"
_PAGE = "https://github.com/dbt-sparkivm/dbt-sparkivm/blob/main/docs/telemetry.md"


@attr.define
class RefreshRunFacet(RunFacet):
    """How a model was refreshed."""

    strategy: str
    reason: str
    fallback: bool
    seconds: float
    rowsInserted: int | None = attr.field(default=None)
    rowsUpdated: int | None = attr.field(default=None)
    rowsDeleted: int | None = attr.field(default=None)
    dbtInvocationId: str | None = attr.field(default=None)

    @staticmethod
    def _get_schema() -> str:
        return f"{_PAGE}#facets"


@attr.define
class ErrorRunFacet(RunFacet):
    """The code of what went wrong; its text may hold values."""

    code: str

    @staticmethod
    def _get_schema() -> str:
        return f"{_PAGE}#facets"


@attr.define
class ChangesInputDatasetFacet(InputDatasetFacet):
    """Which changes of a source were read."""

    versionBefore: int | None = attr.field(default=None)
    rows: int | None = attr.field(default=None)

    @staticmethod
    def _get_schema() -> str:
        return f"{_PAGE}#facets"


class OpenLineage:
    """Tells OpenLineage of refreshes.

    Args:
        client: Sends events.
    """

    def __init__(self, client: OpenLineageClient) -> None:
        """Take the client."""
        self._client = client

    def begin(self, asked: Asked) -> Refreshing:
        """Tell that a refresh begins."""
        return Refreshing(self._client, asked)


class Refreshing:
    """A refresh, of which the client is told."""

    def __init__(self, client: OpenLineageClient, asked: Asked) -> None:
        """Tell that it begins."""
        self._client, self._asked = client, asked
        self._run = str(generate_new_uuid())
        self._space = f"spark://{asked.server.partition('//')[2] or 'localhost'}"
        self._emit(RunState.START, {}, [], None)

    def statement(self, kind: StatementKind) -> AbstractContextManager[object]:
        """Nothing is told of single statements."""
        return nullcontext()

    def done(self, done: Done) -> None:
        """Tell what it did."""
        facet = RefreshRunFacet(
            done.strategy,
            done.reason,
            done.fallback,
            done.seconds,
            done.inserted,
            done.updated,
            done.deleted,
            self._asked.invocation,
        )
        read = [self._input(one) for one in done.reads]
        self._emit(RunState.COMPLETE, {"sparkivm_refresh": facet}, read, done.affected)

    def failed(self, code: str) -> None:
        """Tell that it failed."""
        self._emit(RunState.FAIL, {"sparkivm_error": ErrorRunFacet(code)}, [], None)

    def _input(self, read: Read) -> InputDataset:
        at = dataset_version_dataset.DatasetVersionDatasetFacet(str(read.version))
        changes = ChangesInputDatasetFacet(read.before, read.rows)
        return InputDataset(
            self._space,
            read.source,
            facets={"version": at},
            inputFacets={"sparkivm_changes": changes},
        )

    def _emit(
        self,
        state: RunState,
        facets: dict[str, RunFacet],
        read: list[InputDataset],
        rows: int | None,
    ) -> None:
        asked = self._asked
        counted = {}
        if rows is not None:
            statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet
            counted["outputStatistics"] = statistics(rowCount=rows)
        written = OutputDataset(self._space, asked.view, outputFacets=counted)
        space = os.environ.get("OPENLINEAGE_NAMESPACE", "dbt")
        self._client.emit(
            RunEvent(
                eventTime=datetime.now(timezone.utc).isoformat(),
                producer=_PRODUCER,
                eventType=state,
                run=Run(self._run, facets),
                job=Job(space, f"{asked.project}.{asked.view}"),
                inputs=read,
                outputs=[written],
            )
        )


def observer() -> OpenLineage:
    """One whose client is configured by OpenLineage's variables or file."""
    return OpenLineage(OpenLineageClient())
