"""A run in a process of its own that is killed while it writes, and one whose Spark is.

Not part of the default run: ``pytest tests/spark/test_killed.py --ivm-kill``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dbt.adapters.sparkivm.connection import resident
from dbt.adapters.sparkivm.server import automatic, idle, lifecycle
from tests.adapter.test_resident import dbt_run, within
from tests.conftest import QUICK, QUICK_JVM
from tests.helpers.dbt_project import DbtProject
from tests.spark.workbench import FEED

SCRIPT = """
import os, signal, sys
from pathlib import Path
from dbt.adapters.sparkivm.credentials import SparkIvmCredentials
from dbt.adapters.sparkivm.connection.in_process import new_session
from tests.spark.workbench import Bench, View

root, fatal = Path(sys.argv[1]), sys.argv[2]
credentials = SparkIvmCredentials.from_dict({
    "method": "session", "schema": "s", "server_side_parameters": {"spark.master": "local[2]"},
})
credentials.project_root = root
bench = Bench(lambda: new_session(credentials), "s")
tables = {row["tableName"] for row in bench.sql("show tables in s")}
view = View(bench, "m", "select k, sum(v) as s from r group by k")
if "r" not in tables:
    bench.table("r", "k int, v int", "(1, 10)", "(2, 20)")
    view.refresh("full")
    bench.sql("insert into r values (1, 5)")

def die(sql):
    if sql.startswith("MERGE"):
        # The MERGE runs in the JVM, which goes with its whole process group a little later.
        import threading
        threading.Timer(float(fatal), lambda: os.killpg(0, signal.SIGKILL)).start()
    return query(sql)

if fatal != "never":
    query, bench.query = bench.query, die
print("outcome", view.refresh(None).refresh.strategy.value, view.refresh("noop") and view.rows())
"""


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no process groups")


@pytest.fixture(autouse=True)
def asked_for(pytestconfig: pytest.Config) -> None:
    if not pytestconfig.getoption("ivm_kill", False):
        pytest.skip("asked for by --ivm-kill")


@pytest.mark.parametrize("seconds", ["0.2", "1", "3"])
def test_a_process_killed_around_its_merge(tmp_path: Path, seconds: str) -> None:
    script = tmp_path / "run.py"
    script.write_text(SCRIPT)
    root = Path(__file__).parents[2]

    def run(fatal: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(script), str(tmp_path), fatal],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root)},
            start_new_session=True,
            capture_output=True,
            text=True,
            timeout=600,
        )

    killed = run(seconds)
    assert killed.returncode in (-signal.SIGKILL, 0), killed.stderr
    # Derby's lock file stays behind; the next process takes over.
    again = run("never")
    assert again.returncode == 0, again.stderr
    assert "[(1, 15), (2, 20)]" in again.stdout


# Each row takes about a second.
SLOW = (
    "select k, sum(aggregate(sequence(1, 3000000), 0L, (a, i) -> a + i % 2) - 1500000 + v) as s "
    "from {schema}.r group by k"
)


def killed_while_it_serves(project: DbtProject, server: resident.Resident) -> str:
    """What a run says whose resident Spark is killed in the middle of its refresh."""
    run = dbt_run(project)
    assert run.stdout is not None
    said = ""
    while "START sql incremental_ivm" not in said:
        line = run.stdout.readline()
        assert line, said
        said += line
    time.sleep(3)
    os.kill(server.pid, signal.SIGKILL)
    said += run.communicate(timeout=60)[0]
    assert run.returncode == 1, said
    return said


def test_a_resident_spark_killed_in_a_refresh(tmp_path: Path) -> None:
    settings = {"spark.master": "local[2]", "spark.driver.extraJavaOptions": QUICK_JVM, **QUICK}
    project = DbtProject(
        tmp_path, "killed", settings, target={"method": "connect", "resident": True}
    )
    query = SLOW.format(schema=project.schema)
    project.models(m="{{ config(materialized='incremental_ivm') }} " + query)
    folder = tmp_path / ".sparkivm"
    try:
        automatic.ensure(project.credentials)
        project.sql(f"create table r (k int, v int) using delta {FEED}")
        project.sql("insert into r values (1, 10), (2, 20)")
        built = dbt_run(project).communicate()[0]
        assert "PASS=1" in built
        project.sql("insert into r select 1, 1 from range(12)")
        project.close()
        server = resident.find(folder)
        assert server is not None

        said = killed_while_it_serves(project, server)
        assert "Spark does not answer any more: its process ended or was killed" in said, said
        assert "Rpc" not in said and "Traceback" not in said, said
        again = dbt_run(project).communicate()[0]
        assert (said + again).count("Starting a resident Spark") == 1, said + again
        assert "incremental: +0 ~1 -0 rows" in again, again
        assert "noop" in dbt_run(project).communicate()[0]
        assert sorted(project.sql("select * from m")) == [(1, 22), (2, 20)]
        project.close()
    finally:
        lifecycle.stop(folder)
    assert within(20, lambda: not idle.is_watched(folder))
    left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True)
    assert left.stdout == ""
