"""Tasks that fail at their first attempt; run as a process of its own by `test_failing_tasks.py`.

python -m tests.spark.crash.retried FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from dbt.adapters.sparkivm.connection.in_process import new_session
from dbt.adapters.sparkivm.credentials import SparkIvmCredentials
from python_ivm.optimize.cost import Cost
from tests.conftest import QUICK, QUICK_JVM
from tests.spark.workbench import Bench, View

QUERIES = (
    "select k, flaky(v) as v from r",
    "select k, count(*) as n, sum(flaky(v)) as s from r group by k",
    "select r.k, flaky(r.v) as v, q.n from r join (select k, count(*) as n from r group by k) q "
    "on r.k = q.k",
)
# Each one changes rows whose value is 49, 99 or the like: there the first attempts fail.
CHANGES = (
    "update r set v = v + 50 where k = 4",
    "delete from r where v = 149",
    "insert into r values (4, 99), (4, 99), (4, 99)",
)


def main(folder: Path) -> None:
    """Maintain views whose tasks fail late, and are run again."""
    Cost.is_more_expensive = lambda *plans: False  # type: ignore[method-assign]
    settings = {"spark.master": "local[2,4]", "spark.driver.extraJavaOptions": QUICK_JVM, **QUICK}
    credentials = SparkIvmCredentials.from_dict(
        {"method": "session", "schema": "s", "server_side_parameters": settings}
    )
    credentials.project_root = folder
    bench = Bench(lambda: new_session(credentials), "s")
    failed = folder / "failed"
    failed.mkdir()

    def flaky(value: int) -> int:
        """The value; a task's first attempt fails at its last rows."""
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None
        if value % 50 == 49 and task.attemptNumber() == 0:
            (failed / f"{task.stageId()}_{task.partitionId()}").touch()
            raise ValueError("this attempt fails")
        return value

    bench.handle.session.udf.register("flaky", flaky, "int")
    bench.table("r", "k int, v int")
    bench.sql("insert into r select id % 5, id from range(100)")
    views = [
        View(bench, f"m{number}", sql, {"ivm_deterministic_functions": ["flaky"]})
        for number, sql in enumerate(QUERIES)
    ]
    for view in views:
        view.refresh("full")
    for change in CHANGES:
        bench.sql(change)
        for view in views:
            before, commits = len(list(failed.iterdir())), len(bench.history(view.state))
            view.run()
            told = f"{view.sql}: {change}"
            assert len(list(failed.iterdir())) > before, f"no task failed in {told}"
            assert len(bench.history(view.state)) == commits + 1, told
            view.check()
            assert view.refresh("noop"), told


if __name__ == "__main__":
    main(Path(sys.argv[1]))
