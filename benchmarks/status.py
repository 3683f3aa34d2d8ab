"""What Spark did, from its own status stores."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError

_METRICS = {
    "number of files read": "files_read",
    "size of files read": "bytes_read",
}
_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


@dataclass
class Work:
    """What Spark did between two looks at it.

    Attributes:
        jobs: how many.
        tasks: how many ended.
        job_seconds: the jobs' times, added up.
        task_seconds: the tasks' times, added up.
        cpu_seconds: the processor time of the JVM, with planning, compilation and collection.
        rows_read: from files, by tasks: after the pruning of row groups.
        files_read: by scans of tables and of Delta's log.
        bytes_read: the sizes of these files; less is read of those in columns.
        bytes_written: by tasks.
    """

    jobs: int = 0
    tasks: int = 0
    job_seconds: float = 0.0
    task_seconds: float = 0.0
    cpu_seconds: float = 0.0
    rows_read: int = 0
    files_read: int = 0
    bytes_read: int = 0
    bytes_written: int = 0


class Status:
    """Looks at the Spark of this process.

    Args:
        session: any of its sessions.
    """

    def __init__(self, session: Any) -> None:
        """Begin to look."""
        context = session.sparkContext
        self._spark = context._jsc.sc()
        self._listed = context._jvm.scala.jdk.javaapi.CollectionConverters.asJava
        self._stages = self._spark.statusStore()
        self._queries = session._jsparkSession.sharedState().statusStore()
        source = context._jvm.org.apache.spark.metrics.source.JVMCPUSource()
        self._processor = source.metricRegistry().getGauges().get("jvmCpuTime")
        self._job = self._query = -1
        self._cpu = 0.0
        self.since()

    def since(self) -> Work:
        """What happened since the last call."""
        self._spark.listenerBus().waitUntilEmpty()
        cpu = self._cpu_now()
        work = Work(cpu_seconds=cpu - self._cpu)
        for job in self._newest(self._stages.jobsList(None), "jobId", self._job):
            self._job = max(self._job, job.jobId())
            self._add_job(work, job)
        # This list begins with the oldest, that of the jobs with the newest.
        count = self._queries.executionsCount()
        listed = self._queries.executionsList(max(0, count - 200), 200)
        newest = self._query
        for query in self._listed(listed):
            if query.executionId() > self._query:
                newest = max(newest, query.executionId())
                self._add_files(work, query)
        self._query = newest
        self._cpu = self._cpu_now()  # not what this look cost
        return work

    def _cpu_now(self) -> float:
        return float(self._processor.getValue()) / 1e9

    def _newest(self, items: Any, key: str, known: int) -> Iterator[Any]:
        for item in self._listed(items):
            if getattr(item, key)() <= known:
                return
            yield item

    def _add_job(self, work: Work, job: Any) -> None:
        work.jobs += 1
        if job.completionTime().isDefined():
            began = job.submissionTime().get().getTime()
            work.job_seconds += (job.completionTime().get().getTime() - began) / 1e3
        for number in self._listed(job.stageIds()):
            try:
                stage = self._stages.lastStageAttempt(number)
            except Py4JJavaError:  # Spark forgets skipped stages first
                continue
            if stage.status().toString() == "SKIPPED":
                continue
            work.tasks += stage.numCompleteTasks()
            work.task_seconds += stage.executorRunTime() / 1e3
            work.rows_read += stage.inputRecords()
            work.bytes_written += stage.outputBytes()

    def _add_files(self, work: Work, query: Any) -> None:
        values = None
        # Adaptive execution lists a metric again for each plan that it makes.
        metrics = {m.accumulatorId(): m.name() for m in self._listed(query.metrics())}
        for accumulator, name in metrics.items():
            field = _METRICS.get(name)
            if field is None:
                continue
            values = values or self._queries.executionMetrics(query.executionId())
            found = values.get(accumulator)
            if found.isDefined():
                setattr(work, field, getattr(work, field) + number(found.get()))


def number(shown: str) -> int:
    """A number as Spark shows it: `1,234`, `4.4 KiB`; of several tasks in the second line."""
    match = re.search(r"([\d,.]+)(?: ([KMGT]iB))?", shown.splitlines()[-1])
    if match is None:
        return 0
    return round(float(match[1].replace(",", "")) * _UNITS.get(match[2], 1))
