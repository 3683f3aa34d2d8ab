"""Only one process at a time lets Ivy download Spark's packages."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.sparkivm import log
from dbt.adapters.sparkivm.connection import launch
from dbt.adapters.sparkivm.connection.packages import IVY, not_downloaded, one_at_a_time
from dbt.adapters.sparkivm.connection.settings import PACKAGES

DELTA = "io.delta:delta-spark_4.2_2.13:4.4.0"
HOLD = """
import sys
from dbt.adapters.sparkivm.connection.packages import one_at_a_time
with one_at_a_time({"spark.jars.packages": "a:b:1", "spark.jars.ivy": sys.argv[1]}):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no locks there")
def test_a_spark_that_starts_waits_for_one_that_downloads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    ivy = tmp_path / "ivy"
    (ivy / "jars").mkdir(parents=True)
    (ivy / "jars" / "a_b-1.jar").touch()
    launched = threading.Event()

    def launch_gateway(*_: Any, **__: Any) -> None:
        launched.set()
        raise RuntimeError("no JVM here")

    def start() -> None:
        with pytest.raises(Exception, match="no JVM here"):
            launch.root_session({PACKAGES: DELTA, IVY: str(ivy)}, tmp_path / "project")

    monkeypatch.setattr(launch, "launch_gateway", launch_gateway)
    monkeypatch.setattr(launch, "check_java", lambda: None)
    monkeypatch.setattr(launch.SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(launch.SparkContext, "_gateway", None)
    monkeypatch.setattr(log, "_PATIENCE", 0.1)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(ivy)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    starter = threading.Thread(target=start)
    with holder:
        assert holder.stdout is not None and holder.stdin is not None
        assert holder.stdout.readline() == "held\n"
        starter.start()
        assert not launched.wait(0.5)
        holder.stdin.close()
    starter.join()
    assert launched.is_set()
    assert said == [
        "Starting Spark 4.2.0 (local[*]) ...",
        "Waiting for another process that downloads Spark's packages ...",
        f"Downloading Spark's packages, this once: {DELTA} ...",
    ]


@pytest.mark.parametrize(
    ("settings", "before", "after"),
    [
        ({"spark.master": "local[2]"}, {}, sys.executable),
        ({"spark.master": "local[2]"}, {"PYSPARK_PYTHON": "mine"}, "mine"),
        ({"spark.master": "local", "spark.pyspark.python": "its"}, {}, "its"),
        ({"spark.master": "yarn"}, {}, None),
    ],
)
def test_which_python_spark_calls_for_functions_in_python(
    settings: dict[str, str], before: dict[str, str], after: str | None
) -> None:
    launch.name_python(settings, before)
    assert before.get("PYSPARK_PYTHON") == after


def test_what_ivy_has_is_not_downloaded_again(tmp_path: Path) -> None:
    other = "a:b_2.13:1.0"
    settings = {PACKAGES: f"{DELTA}, {other}", IVY: str(tmp_path)}
    assert not_downloaded(settings) == [DELTA, other]
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "io.delta_delta-spark_4.2_2.13-4.4.0.jar").touch()
    assert not_downloaded(settings) == [other]


def test_without_packages_there_is_nothing_to_wait_for(tmp_path: Path) -> None:
    with one_at_a_time({IVY: str(tmp_path / "ivy")}):
        assert not (tmp_path / "ivy").exists()


def test_a_folder_that_cannot_be_made_does_not_stop_spark(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with one_at_a_time({PACKAGES: DELTA, IVY: str(tmp_path / "file" / "ivy")}):
        pass
