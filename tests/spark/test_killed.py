"""A run in a process of its own that is killed while it writes.

Not part of the default run: ``pytest tests/spark/test_killed.py --ivm-kill``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.skipif(sys.platform == "win32", reason="there are no process groups")
@pytest.mark.parametrize("seconds", ["0.2", "1", "3"])
def test_a_process_killed_around_its_merge(
    tmp_path: Path, seconds: str, pytestconfig: pytest.Config
) -> None:
    if not pytestconfig.getoption("ivm_kill", False):
        pytest.skip("asked for by --ivm-kill")
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
