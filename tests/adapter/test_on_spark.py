"""dbt's commands on a real Spark: errors, seeds, cancelling, and what Spark leaves on the disk."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from dbt.adapters.exceptions import FailedToConnectError
from dbt_common.exceptions import DbtDatabaseError

from dbt.adapters.sparkivm.connection.delta_jar import delta_package
from dbt.adapters.sparkivm.connection.metastore import check_free
from tests.adapter.messages import assert_shown_without_a_trace
from tests.helpers.dbt_project import DbtProject

MakeProject = Callable[..., DbtProject]

ADD = """
{% macro add() %}
  {% set t = target.schema ~ '.t' %}
  {% do run_query('create table ' ~ t ~ ' using delta as select 1 as x') %}
  {% do run_query('insert into ' ~ t ~ ' values (2)') %}
{% endmacro %}
"""


WAREHOUSE = "spark.sql.warehouse.dir"


def databases() -> list[str]:
    from pyspark.sql import SparkSession

    return [found.name for found in SparkSession.builder.getOrCreate().catalog.listDatabases()]


def test_table_view_and_test(project: DbtProject) -> None:
    project.models(
        t="{{ config(materialized='table') }} select id as x from range(3)",
        v="select x + 1 as y from {{ ref('t') }}",
    )
    schema = "models: [{name: v, columns: [{name: y, data_tests: [unique, not_null]}]}]"
    project.write({"models/schema.yml": schema})
    result = project.dbt("build")
    assert result.statuses == {
        **{"t": "success", "v": "success"},
        **{"unique_v_y": "pass", "not_null_v_y": "pass"},
    }
    assert project.sql("select y from v order by y") == [(1,), (2,), (3,)]
    assert project.sql("describe history t")[0]["operation"].startswith("CREATE")


def test_an_error_names_the_model_and_the_place_without_javas_trace(
    project: DbtProject, capfd: pytest.CaptureFixture[str]
) -> None:
    project.models(broken="select 1 as x,\n  nope\nfrom range(1)")
    result = project.dbt("run")
    message = assert_shown_without_a_trace(result, "broken", capfd)
    assert "[UNRESOLVED_COLUMN" in message
    assert "`nope`" in message
    assert "pos 2" in message


def test_an_error_that_shows_only_when_rows_are_fetched(
    make_project: MakeProject, capfd: pytest.CaptureFixture[str]
) -> None:
    project = make_project(settings={"spark.sql.ansi.enabled": True})
    project.write({"tests/late.sql": "select 1 / id as x from range(2) where 1 / id > 5"})
    result = project.dbt("test")
    message = result.message("late")
    assert "Database Error in test late (tests/late.sql)" in message
    assert "[DIVIDE_BY_ZERO]" in message
    assert "at org.apache" not in message + result.log + capfd.readouterr().err


def test_seeds_keep_every_character(project: DbtProject) -> None:
    rows = [
        ("O'Neil", 1),
        ("50% %s", 2),
        ("back\\slash", 3),
        ('say "x"', 4),
        ("", 9007199254740993),
    ]
    lines = ["name,number"] + ['"{}",{}'.format(n.replace('"', '""'), k) for n, k in rows]
    project.write({"seeds/s.csv": "\n".join(lines) + "\n"})
    result = project.dbt("seed")
    assert result.success, result.log
    expected = [(name or None, number) for name, number in rows]
    assert project.sql("select name, number from s order by number") == expected


def test_show_with_a_limit(project: DbtProject) -> None:
    result = project.dbt("show", "--inline", "select id from range(100)", "--limit", "3")
    assert result.success, result.exception
    shown = [line.strip("| ") for line in result.log.splitlines() if line.startswith("|")]
    assert shown == ["id", "--", "0", "1", "2"]


def test_debug_finds_everything(project: DbtProject) -> None:
    result = project.dbt("debug")
    assert result.success, result.log
    assert "Connection test: [OK connection ok]" in result.log
    delta = delta_package().rpartition(":")[2]
    assert f"delta: {delta}; MERGE, change feed and time travel work" in result.log
    warehouse = str(project.target["server_side_parameters"][WAREHOUSE]).removeprefix("file://")
    (told,) = (line for line in result.log.splitlines() if "warehouse: " in line)
    assert told.endswith(warehouse)  # Spark writes file:/ for file:///
    # Neither the table nor the schema, which was not there, stays.
    assert project.credentials.schema not in str(databases())


def test_a_command_runs_once(project: DbtProject) -> None:
    project.write({"macros/add.sql": ADD})
    project.sql("select 1")  # makes the schema
    result = project.dbt("run-operation", "add")
    assert result.success, result.log
    assert project.sql("select x from t order by x") == [(1,), (2,)]
    assert len(project.sql("describe history t")) == 2


def test_cancelling_stops_sparks_jobs(project: DbtProject) -> None:
    from pyspark.sql import SparkSession

    from dbt.adapters.sparkivm.connection.session import SessionHandle

    project.sql("select 1")
    handle = SessionHandle(project.session)
    caught: list[BaseException] = []

    def work() -> None:
        try:
            handle.cursor().execute(
                "create table endless using delta as "
                "select count(*) as n from range(100000000) a cross join range(1000000) b"
            )
        except DbtDatabaseError as error:
            caught.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    tracker = SparkSession.builder.getOrCreate().sparkContext.statusTracker()
    while not tracker.getActiveJobsIds() and worker.is_alive():
        time.sleep(0.05)
    handle.cancel()
    worker.join(timeout=60)
    assert not worker.is_alive()
    assert "Stopped by Ctrl-C" in str(caught[0])
    assert not tracker.getActiveJobsIds()
    with pytest.raises(DbtDatabaseError, match="Stopped by Ctrl-C"):
        handle.cursor().execute("select 1")


def test_a_second_process_hears_that_the_metastore_is_in_use(
    project: DbtProject, spark_settings: dict[str, str]
) -> None:
    project.sql("select 1")
    # This process does not hold the lock itself: Spark's Java does.
    with pytest.raises(FailedToConnectError, match="Another process"):
        check_free(spark_settings["spark.hadoop.javax.jdo.option.ConnectionURL"])


def test_nothing_is_written_to_the_current_folder(
    project: DbtProject,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(folder)
    project.models(t="{{ config(materialized='table') }} select 1 as x").run()
    assert list(folder.iterdir()) == []


def test_dbt_does_not_stop_spark_between_commands(project: DbtProject) -> None:
    from pyspark.sql import SparkSession

    project.models(a="select 1 as x").run()
    first = SparkSession.builder.getOrCreate().sparkContext.applicationId
    project.run()
    assert SparkSession.builder.getOrCreate().sparkContext.applicationId == first
