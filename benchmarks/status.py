"""What Spark did, from its own status stores."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_FILES = {"number of files read": "files_read", "number of written files": "files_written"}


@dataclass
class Work:
    """What Spark did between two looks at it.

    Attributes:
        jobs: how many.
        tasks: how many ended.
        job_seconds: the jobs' times, added up.
        task_seconds: the tasks' times, added up.
        cpu_seconds: the processor time of the JVM, with planning, compilation and collection.
        bytes_read: by tasks, from files (also from Delta's log).
        bytes_written: by tasks.
        files_read: by scans.
        files_written: by writes.
    """

    jobs: int = 0
    tasks: int = 0
    job_seconds: float = 0.0
    task_seconds: float = 0.0
    cpu_seconds: float = 0.0
    bytes_read: int = 0
    bytes_written: int = 0
    files_read: int = 0
    files_written: int = 0


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
        java = context._jvm.java.lang.management.ManagementFactory
        self._beans = java.getPlatformMBeanServer()
        self._machine = context._jvm.javax.management.ObjectName("java.lang:type=OperatingSystem")
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
        return float(self._beans.getAttribute(self._machine, "ProcessCpuTime")) / 1e9

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
            stage = self._stages.lastStageAttempt(number)
            if stage.status().toString() == "SKIPPED":
                continue
            work.tasks += stage.numCompleteTasks()
            work.task_seconds += stage.executorRunTime() / 1e3
            work.bytes_read += stage.inputBytes()
            work.bytes_written += stage.outputBytes()

    def _add_files(self, work: Work, query: Any) -> None:
        values = None
        for metric in self._listed(query.metrics()):
            name = _FILES.get(metric.name())
            if name is None:
                continue
            values = values or self._queries.executionMetrics(query.executionId())
            found = values.get(metric.accumulatorId())
            if found.isDefined():
                setattr(work, name, getattr(work, name) + number(found.get()))


def number(shown: str) -> int:
    """A number as Spark shows it: `1,234`, or with its spread over the tasks in a second line."""
    match = re.search(r"[\d,]+", shown.splitlines()[-1])
    return int(match[0].replace(",", "")) if match else 0
