"""`resident: true`: a Spark that dbt starts by itself, and that ends by itself."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.cli import main
from dbt.adapters.sparkivm.connection import resident
from dbt.adapters.sparkivm.connection.resident import Resident, Use
from dbt.adapters.sparkivm.server import automatic, idle, lifecycle
from tests.adapter.test_server import SERVER, credentials, living
from tests.conftest import QUICK, QUICK_JVM
from tests.helpers.dbt_project import DbtProject

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no resident servers")

BY_ITSELF = replace(SERVER, fingerprint="same", idle_minutes=30)
A_SECOND = 1 / 60
COME = "import sys; sys.path[:0] = {path}; from dbt.adapters.sparkivm.connection import resident; "
STAY = "from pathlib import Path; use = resident.Use(Path({folder})); print('here'); input()"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(resident, "_uses", {})
    made = tmp_path / ".sparkivm"
    made.mkdir()
    return made


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """After how many minutes each server is to end that was started."""
    minutes: list[float | None] = []

    def start(_: object, *, idle_minutes: float | None) -> Resident:
        minutes.append(idle_minutes)
        return SERVER

    monkeypatch.setattr(lifecycle, "start", start)
    monkeypatch.setattr(lifecycle, "fingerprint", lambda _: "same")
    monkeypatch.setattr(idle, "watch", lambda *_: None)
    return minutes


@contextmanager
def another_user(folder: Path) -> Generator[None]:
    """Another process that uses the server."""
    code = (COME + STAY).format(path=sys.path, folder=repr(str(folder)))
    pipe = subprocess.PIPE
    user = subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, text=True)
    assert user.stdout is not None and user.stdin is not None
    with user:
        assert user.stdout.readline() == "here\n"
        try:
            yield
        finally:
            user.stdin.write("\n")
            user.stdin.flush()


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def ensure(folder: Path, **profile: object) -> None:
    automatic.ensure(credentials(folder, method="session", resident=True, **profile))


def test_a_server_that_nobody_uses_ends(folder: Path) -> None:
    with living(folder):
        idle.watch(folder, A_SECOND)
        assert within(20, lambda: not resident.is_locked(folder))
        assert "without use" in (folder / "server.log").read_text()


def test_a_server_in_use_stays(folder: Path) -> None:
    use = Use(folder)
    with living(folder):
        idle.watch(folder, A_SECOND)
        assert within(20, lambda: idle.is_watched(folder))
        assert not within(3, lambda: not resident.is_locked(folder))
        with another_user(folder):
            use.close()
            assert not within(3, lambda: not resident.is_locked(folder))
        assert within(20, lambda: not resident.is_locked(folder))
    assert within(20, lambda: not idle.is_watched(folder))


def test_a_server_that_ends_is_watched_no_more(folder: Path) -> None:
    with living(folder):
        idle.watch(folder, 30)
        assert within(20, lambda: idle.is_watched(folder))
    assert within(20, lambda: not idle.is_watched(folder))


def test_one_in_place_of_a_killed_one_ends_too(folder: Path) -> None:
    with living(folder):
        idle.watch(folder, 4 * A_SECOND)
        assert within(20, lambda: idle.is_watched(folder))
    with living(folder):
        assert within(20, lambda: not resident.is_locked(folder))


def test_the_first_run_starts_one(folder: Path, started: list[float | None]) -> None:
    ensure(folder, resident_idle_minutes=5)
    assert started == [5]


def test_the_next_run_takes_it(folder: Path, started: list[float | None]) -> None:
    with living(folder, BY_ITSELF):
        ensure(folder)
        assert not started
        assert resident.find(folder) is not None


def test_other_settings_restart_it(folder: Path, started: list[float | None]) -> None:
    with living(folder, replace(BY_ITSELF, fingerprint="another")):
        ensure(folder)
        assert started == [30]
        assert not resident.is_locked(folder)


@pytest.mark.parametrize("by_itself", [True, False], ids=["used by another", "started by the user"])
def test_what_others_count_on_is_not_restarted(
    folder: Path, started: list[float | None], by_itself: bool
) -> None:
    server = replace(SERVER, fingerprint="another", idle_minutes=30 if by_itself else None)
    with ExitStack() as stack:
        stack.enter_context(living(folder, server))
        if by_itself:
            stack.enter_context(another_user(folder))
        ensure(folder)
        assert not started
        assert resident.find(folder) is not None


def test_one_that_another_process_starts_is_waited_for(
    folder: Path, started: list[float | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(automatic, "_PATIENCE", 0.5)
    with (
        living(folder, replace(BY_ITSELF, ready=False)),
        pytest.raises(DbtRuntimeError, match=r"starting the resident Spark.*\n.*server\.log"),
    ):
        ensure(folder)
    assert not started


def test_a_profile_that_asks_for_none_leaves_none(folder: Path) -> None:
    with living(folder, BY_ITSELF):
        with another_user(folder):
            automatic.leave_none(folder)
            assert resident.is_locked(folder)
        automatic.leave_none(folder)
        assert not resident.is_locked(folder)
    with living(folder):  # the user's own
        automatic.leave_none(folder)
        assert resident.is_locked(folder)


def test_only_settings_of_the_whole_spark_are_in_the_fingerprint(folder: Path) -> None:
    def of(**settings: str) -> str:
        given = {key.replace("_", "."): value for key, value in settings.items()}
        return lifecycle.fingerprint(credentials(folder, server_side_parameters=given))

    assert of(spark_sql_shuffle_partitions="7") == of()
    assert of(spark_driver_memory="3g") != of()
    assert of(spark_sql_extensions="a.B") != of()


@pytest.mark.parametrize(
    ("profile", "told"),
    [
        ({"method": "thrift", "host": "h"}, "method: thrift"),
        ({"method": "connect", "host": "sc://h:1"}, "method: connect with a host"),
        ({"method": "session", "resident_idle_minutes": 0}, "above 0"),
    ],
)
def test_a_profile_that_cannot_have_one(
    folder: Path, profile: dict[str, object], told: str
) -> None:
    with pytest.raises(DbtRuntimeError, match=told):
        credentials(folder, resident=True, **profile)


def test_dbt_debug_shows_it(folder: Path) -> None:
    made = credentials(folder, method="session", resident=True)
    assert (made.is_connect, made.is_session) == (True, False)
    shown = dict(made.connection_info())
    assert (shown["method"], shown["resident"], shown["resident_idle_minutes"]) == (
        "session",
        True,
        30,
    )


def dbt_run(project: DbtProject, *more: str) -> subprocess.Popen[str]:
    """A `dbt run` in a process of its own, as a user starts it."""
    code = "from dbt.cli.main import cli; cli()"
    folders = ["--project-dir", str(project.root), "--profiles-dir", str(project.root)]
    return subprocess.Popen(
        [sys.executable, "-c", code, "--no-use-colors", "run", *folders, *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.spark
@pytest.mark.thorough
def test_runs_at_once_share_one_server_until_the_profile_says_otherwise(tmp_path: Path) -> None:
    settings = {"spark.master": "local[2]", "spark.driver.extraJavaOptions": QUICK_JVM, **QUICK}
    project = DbtProject(tmp_path, "shared", settings, target={"resident": True})
    project.models(
        a="{{ config(materialized='incremental_ivm') }} select id, 1 as one from range(3)",
        b="{{ config(materialized='incremental_ivm') }} select id, 2 as two from range(3)",
    )
    folder = project.root / ".sparkivm"
    try:
        runs = [dbt_run(project, "--select", name) for name in "ab"]
        told = [run.communicate()[0] for run in runs]
        assert [run.returncode for run in runs] == [0, 0], told
        assert sum("A resident Spark serves this run" in text for text in told) >= 1
        assert sum("Starting a resident Spark" in text for text in told) == 1
        first = resident.find(folder)
        assert first is not None and first.idle_minutes == 30
        status = CliRunner().invoke(main, ["server", "status", "--project-dir", str(project.root)])
        assert "ends after 30 minutes without use" in status.output
        assert "memory in use" in status.output
        again = dbt_run(project)
        assert "PASS=2" in again.communicate()[0]
        assert resident.find(folder) == first

        profile = project.root / "profiles.yml"
        profile.write_text(profile.read_text().replace("resident: true", "resident: false"))
        alone = dbt_run(project)
        output = alone.communicate()[0]
        assert alone.returncode == 0, output
        assert "Stopping the resident Spark" in output
        assert not resident.is_locked(folder)
    finally:
        lifecycle.stop(folder)
