"""`method: connect` on a resident Spark, which is started once for this module."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import threading
import time
from collections.abc import Generator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner, Result
from dbt.adapters.exceptions import FailedToConnectError
from dbt_common.exceptions import DbtDatabaseError

from dbt.adapters.sparkivm.cli import main
from dbt.adapters.sparkivm.connection import connect, metastore, resident
from dbt.adapters.sparkivm.connection.session import SessionHandle
from dbt.adapters.sparkivm.connection.settings import METASTORE_URL, start_settings
from tests.adapter.messages import assert_shown_without_a_trace
from tests.conftest import QUICK, QUICK_JVM
from tests.helpers.dbt_project import DbtProject

pytestmark = pytest.mark.spark

REVENUE = """
{{ config(materialized='incremental_ivm') }}
select c.nation, count(*) as orders, sum(o.total) as revenue
from connect.orders o join connect.customers c on o.customer_id = c.id
group by c.nation
"""
CHEAP = """
{{ config(materialized='incremental_ivm') }}
select id, total from connect.orders where total < 10
"""
PYTHON_MODELS = {
    "functions": "from pyspark.sql import functions as F\n\ndef model(dbt, session):\n"
    "    plus = F.udf(lambda x: x + 1, 'int')\n"
    "    return session.range(2).select(F.col('id'), plus('id').alias('y'))",
    "frames": "import pandas\n\ndef model(dbt, session):\n"
    "    assert dbt.ref('functions').count() == 2\n"
    "    return pandas.DataFrame({'id': [0, 1], 'y': [1, 2]})",
    "on_spark": "import pyspark.pandas as ps\n\ndef model(dbt, session):\n"
    "    return ps.DataFrame({'id': [0, 1], 'y': [1, 2]})",
}
LOADER = "java_method('org.apache.spark.util.Utils', 'getContextOrSparkClassLoader')"
"""The class loader that is in use, as text."""
FEED = "using delta tblproperties (delta.enableChangeDataFeed = true)"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Generator[DbtProject]:
    root = tmp_path_factory.mktemp("connect")
    settings = {
        "spark.master": "local[2]",
        "spark.sql.session.timeZone": "Asia/Tokyo",
        "spark.driver.extraJavaOptions": QUICK_JVM,
        **QUICK,
    }
    made = DbtProject(root, "connect", settings, threads=2, target={"method": "connect"})
    result = server(made, "start", "--profiles-dir", str(root))
    try:
        assert result.exit_code == 0, result.output
        yield made
    finally:
        made.close()
        server(made, "stop")


def server(project: DbtProject, command: str, *args: str) -> Result:
    return CliRunner().invoke(main, ["server", command, "--project-dir", str(project.root), *args])


def handle(project: DbtProject) -> SessionHandle:
    return connect.new_handle(project.credentials)


def fetch(handle: SessionHandle, sql: str) -> list[tuple[object, ...]]:
    cursor = handle.cursor()
    cursor.execute(sql)
    return [tuple(row) for row in cursor.fetchall()]


def folder(project: DbtProject) -> Path:
    return project.root / ".sparkivm"


def test_the_server_runs(project: DbtProject) -> None:
    result = server(project, "status")
    assert result.exit_code == 0
    assert result.output.startswith("running: sc://localhost:")
    again = server(project, "start", "--profiles-dir", str(project.root))
    assert again.exit_code == 1
    assert "runs or starts already" in again.output
    assert not list(folder(project).glob("server.conf"))


def test_views_are_maintained_by_two_threads(project: DbtProject) -> None:
    project.sql(f"create table customers {FEED} as values (1, 'FR'), (2, 'DE') as t(id, nation)")
    rows = "values (1, 1, 10.00bd), (2, 2, 5.00bd) as t(id, customer_id, total)"
    project.sql(f"create table orders {FEED} as {rows}")
    project.models(revenue=REVENUE, cheap=CHEAP)
    tested = ", ".join(f"{{name: {n}, data_tests: [ivm_consistent]}}" for n in ("revenue", "cheap"))
    project.write({"models/schema.yml": f"models: [{tested}]"})

    def strategies() -> dict[str, str]:
        result = project.run()
        assert "Without effect" not in result.log
        return {name: result.response(name)["strategy"] for name in ("revenue", "cheap")}

    assert strategies() == {"revenue": "full", "cheap": "full"}
    project.sql("update orders set customer_id = 1, total = 7 where id = 2")
    assert strategies() == {"revenue": "incremental", "cheap": "incremental"}
    assert project.sql("select nation, orders, revenue from revenue") == [("FR", 2, Decimal(17))]
    assert project.sql("select id, total from cheap") == [(2, Decimal(7))]
    assert strategies() == {"revenue": "noop", "cheap": "noop"}
    assert set(project.dbt("test").statuses.values()) == {"pass"}
    shown = project.dbt("run-operation", "ivm_explain", "--args", "{model: revenue}")
    assert shown.success
    assert "MERGE INTO" in shown.log


def test_python_models_run_on_the_server(project: DbtProject) -> None:
    project.write({f"models/python/{name}.py": text for name, text in PYTHON_MODELS.items()})
    wrong = "def model(dbt, session):\n    return session.range(3).select('nope')\n"
    project.write({"models/python/wrong.py": wrong})
    result = project.dbt("run", "--select", "python")
    shutil.rmtree(project.root / "models" / "python")
    for name in PYTHON_MODELS:
        assert result.statuses[name] == "success", result.message(name)
        assert project.sql(f"select id, y from {name} order by id") == [(0, 1), (1, 2)], name
    assert "[UNRESOLVED_COLUMN" in result.message("wrong")
    assert "wrong.py" in result.message("wrong").split("\n", 1)[1]
    assert "SPARK_CONNECT_MODE_ENABLED" not in os.environ


def test_debug_tries_delta(project: DbtProject) -> None:
    result = project.dbt("debug")
    assert result.success, result.log
    assert "spark: 4.2.0" in result.log and "java: " in result.log
    assert f"metastore: {folder(project) / 'metastore'}" in result.log
    assert "delta: 4.4.0; MERGE, change feed and time travel work" in result.log
    assert project.sql("show tables like 'dbt_sparkivm_debug*'") == []


def test_sessions_are_apart(project: DbtProject) -> None:
    first, second = handle(project), handle(project)
    usual = fetch(second, "set spark.sql.shuffle.partitions")
    fetch(first, "set spark.sql.shuffle.partitions = 77")
    fetch(first, "create temporary view mine as select 1 as x")
    assert fetch(first, "set spark.sql.shuffle.partitions")[0][1] == "77"
    assert fetch(second, "set spark.sql.shuffle.partitions") == usual
    with pytest.raises(DbtDatabaseError, match="TABLE_OR_VIEW_NOT_FOUND"):
        fetch(second, "select * from mine")
    second.close()
    assert fetch(first, "select x from mine") == [(1,)]
    first.close()


def test_sessions_share_the_code_that_spark_generates(project: DbtProject) -> None:
    first, second = handle(project), handle(project)
    assert fetch(first, f"select {LOADER}") == fetch(second, f"select {LOADER}")
    by_task = f"select {LOADER} from range(2) where id = 1"
    assert fetch(first, by_task) == fetch(second, by_task)
    first.close()
    second.close()


def test_a_profile_can_ask_for_sessions_with_jars_of_their_own(project: DbtProject) -> None:
    profile = project.credentials
    profile.server_side_parameters["spark.sql.artifact.isolation.enabled"] = "true"
    first, second = connect.new_handle(profile), connect.new_handle(profile)
    assert fetch(first, f"select {LOADER}") != fetch(second, f"select {LOADER}")
    first.close()
    second.close()


def test_a_session_that_cannot_be_cloned_is_kept(
    project: DbtProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(session: object, number: str) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr("pyspark.sql.connect.session.SparkSession.cloneSession", refused)
    session = handle(project)
    assert fetch(session, "select current_timezone()") == [("Asia/Tokyo",)]
    session.close()


def test_a_profiles_settings_are_its_own(project: DbtProject) -> None:
    profile = project.credentials
    del profile.server_side_parameters["spark.sql.session.timeZone"]
    profile.server_side_parameters["spark.sql.ansi.enabled"] = "true"
    changed = connect.new_handle(profile)
    assert fetch(changed, "set spark.sql.ansi.enabled")[0][1] == "true"
    # The server was started with Tokyo's; this profile does not ask for it.
    assert fetch(changed, "select current_timezone()") != [("Asia/Tokyo",)]
    with pytest.raises(DbtDatabaseError, match="DIVIDE_BY_ZERO"):
        fetch(changed, "select 1 / id from range(1)")
    changed.close()
    plain = handle(project)
    assert fetch(plain, "select 1 / id, current_timezone() from range(1)") == [(None, "Asia/Tokyo")]
    plain.close()


def test_values_and_their_types(project: DbtProject) -> None:
    session = handle(project)
    columns = {
        "a": ("cast(1.10 as decimal(38,2))", "decimal(38,2)", Decimal("1.10")),
        "b": ("date '2024-02-29'", "date", dt.date(2024, 2, 29)),
        "c": ("cast(null as string)", "string", None),
        "d": ("array(1, null)", "array<int>", [1, None]),
        "e": ("map('k', 2)", "map<string,int>", {"k": 2}),
        "f": ("double('NaN') = double('NaN')", "boolean", True),
        "g": ("timestamp_seconds(86400)", "timestamp", dt.datetime.fromtimestamp(86400)),
    }
    sql = ", ".join(f"{value} as {name}" for name, (value, _, _) in columns.items())
    assert fetch(session, f"select {sql}") == [tuple(value for _, _, value in columns.values())]
    described = {column[0]: column[1] for column in session.description}
    assert described == {name: kind for name, (_, kind, _) in columns.items()}
    assert fetch(session, "select 1 as x, 2 as x where 1 = 0") == []
    assert [column[0] for column in session.description] == ["x", "x"]
    session.close()


COMMANDS = [
    "describe table connect.answers",
    "describe table extended connect.answers",
    "describe history connect.answers",
    "describe detail connect.answers",
    "show table extended in connect like 'answers'",
    "show tblproperties connect.answers",
    "show tables in connect like 'nothing here'",
    "insert into connect.answers select 2, now()",
    "alter table connect.answers set tblproperties (p = 1)",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_rows_of_a_command_come_with_its_answer(project: DbtProject, command: str) -> None:
    """The same rows and types that the server gives when it is asked for them once more."""
    plain = handle(project)
    fetch(plain, "create or replace table connect.answers using delta as select 1 as x, now() as t")
    frame = plain.session.sql(command)
    at_hand = connect.rows_at_hand(frame)
    assert at_hand is not None
    schema, rows = at_hand
    assert rows == frame.collect()
    assert [(f.name, f.dataType) for f in schema] == [(f.name, f.dataType) for f in frame.schema]
    assert connect.rows_at_hand(plain.session.sql("select 1")) is None
    plain.close()


def test_a_commits_time_is_the_same_by_every_method(project: DbtProject) -> None:
    """Bookmarks contain it, and a project may change between the methods."""
    from dbt.adapters.sparkivm.bridge.warehouse import SparkWarehouse

    session = handle(project)
    fetch(session, "create or replace table connect.dated using delta as select 1 as x")
    place = next(
        str(row[1])
        for row in fetch(session, "describe table extended connect.dated")
        if row[0] == "Location"
    )

    def query(sql: str) -> list[dict[str, object]]:
        rows = fetch(session, sql)
        names = [column[0] for column in session.description]
        return [dict(zip(names, row, strict=True)) for row in rows]

    commits = SparkWarehouse(query).history(("connect", "dated"), 1)
    assert commits is not None
    commit = Path(urlsplit(place).path) / "_delta_log" / f"{commits[0].version:020}.json"
    assert commits[0].timestamp == str(commit.stat().st_mtime_ns // 1_000_000)
    session.close()


def test_an_error_names_the_model_and_the_place_without_javas_trace(
    project: DbtProject, capfd: pytest.CaptureFixture[str]
) -> None:
    project.models(broken="select 1 as x,\n  nope\nfrom range(1)")
    try:
        result = project.dbt("run", "--select", "broken")
    finally:
        (project.root / "models" / "broken.sql").unlink()
    message = assert_shown_without_a_trace(result, "broken", capfd)
    assert "[UNRESOLVED_COLUMN" in message
    assert "pos 2" in message


def test_cancelling_stops_the_statement(project: DbtProject) -> None:
    session = handle(project)
    caught: list[BaseException] = []

    def work() -> None:
        try:
            fetch(
                session,
                "create table connect.endless using delta as "
                "select count(*) as n from range(100000000) a cross join range(1000000) b",
            )
        except DbtDatabaseError as error:
            caught.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    time.sleep(1)
    session.cancel()
    worker.join(timeout=60)
    assert not worker.is_alive()
    assert "Stopped by Ctrl-C" in str(caught[0])
    with pytest.raises(DbtDatabaseError, match="Stopped by Ctrl-C"):
        fetch(session, "select 1")
    session.close()


def test_a_wrong_token_is_refused(project: DbtProject) -> None:
    with pytest.raises(FailedToConnectError, match="refuses the token"):
        connect.new_session(replaced(project, token="wrong"))


def test_the_url_finds_the_projects_token(project: DbtProject) -> None:
    running = resident.find(folder(project))
    assert running is not None
    session = connect.new_handle(replaced(project, host=running.url))
    assert fetch(session, "select 1") == [(1,)]
    session.close()


def replaced(project: DbtProject, **profile: str) -> connect.SparkIvmCredentials:
    made = replace(project.credentials, **profile)
    made.project_root = project.root
    return made


def test_an_embedded_spark_hears_who_has_the_metastore(project: DbtProject) -> None:
    settings = start_settings("local[2]", {}, folder(project))
    with pytest.raises(FailedToConnectError, match=r"The resident Spark.*method: connect"):
        metastore.check_free(settings[METASTORE_URL], resident.holder(folder(project)))


def test_it_stops(project: DbtProject) -> None:
    """The last of this module."""
    project.close()
    assert server(project, "stop").output == "stopped\n"
    assert server(project, "status").output == "not running\n"
    result = project.dbt("run")
    assert not result.success
    assert "dbt-sparkivm server start" in str(result.exception) + result.log
