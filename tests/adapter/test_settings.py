"""Which settings Spark is started with."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbt.adapters.sparkivm.connection import settings
from dbt.adapters.sparkivm.connection.delta_jar import delta_package
from dbt.adapters.sparkivm.connection.settings import cores, spark_defaults, start_settings

FOLDER = Path("/project/.sparkivm")
DELTA = delta_package()


def started(master: str = "local[2]", **user: str) -> dict[str, str]:
    return start_settings(master, {k.replace("__", "."): v for k, v in user.items()}, FOLDER)


def test_a_local_spark_keeps_its_files_in_the_project() -> None:
    made = started()
    assert made["spark.sql.warehouse.dir"] == "file:///project/.sparkivm/warehouse"
    assert "/project/.sparkivm/metastore;create=true" in made[settings.METASTORE_URL]
    assert "/project/.sparkivm/derby.log" in made[settings.JAVA_OPTIONS]


def test_a_local_spark_gets_small_numbers() -> None:
    made = started("local[3]")
    assert made["spark.sql.shuffle.partitions"] == "3"
    assert made["spark.databricks.delta.snapshotPartitions"] == "2"
    assert made["spark.sql.sources.parallelPartitionDiscovery.parallelism"] == "3"
    assert made["spark.driver.memory"] == "2g"


def test_a_local_spark_keeps_the_code_of_all_models() -> None:
    assert started()["spark.sql.codegen.cache.maxEntries"] == "2000"


def test_a_cluster_keeps_its_own() -> None:
    made = started("spark://host:7077")
    assert "spark.sql.codegen.cache.maxEntries" not in made
    assert "spark.sql.shuffle.partitions" not in made
    assert "spark.sql.warehouse.dir" not in made
    assert settings.METASTORE_URL not in made
    assert made["spark.sql.catalog.spark_catalog"] == settings.DELTA_CATALOG


def test_the_user_wins() -> None:
    made = started(spark__driver__memory="9g", spark__sql__shuffle__partitions="5")
    assert made["spark.driver.memory"] == "9g"
    assert made["spark.sql.shuffle.partitions"] == "5"


def test_the_session_time_zone_is_left_alone() -> None:
    assert "spark.sql.session.timeZone" not in started()


def test_delta_fits_spark() -> None:
    assert started()["spark.jars.packages"] == DELTA
    assert DELTA.startswith("io.delta:delta-spark_4.2_2.13:4.4.")


def test_delta_is_added_to_the_users_packages_and_extensions() -> None:
    made = started(spark__jars__packages="a:b:1, c:d:2", spark__sql__extensions="my.Extension")
    assert made["spark.jars.packages"] == f"a:b:1,c:d:2,{DELTA}"
    assert made["spark.sql.extensions"] == f"my.Extension,{settings.DELTA_EXTENSION}"


def test_the_users_own_delta_stays_alone() -> None:
    made = started(
        spark__jars="/jars/delta-spark_4.2_2.13-9.9.jar",
        spark__sql__extensions=settings.DELTA_EXTENSION,
        spark__sql__catalog__spark_catalog="my.Catalog",
    )
    assert "spark.jars.packages" not in made
    assert made["spark.sql.extensions"] == settings.DELTA_EXTENSION
    assert made["spark.sql.catalog.spark_catalog"] == "my.Catalog"


def test_a_package_of_delta_is_not_loaded_twice() -> None:
    packages = "io.delta:delta-spark_4.2_2.13:9.9"
    assert started(spark__jars__packages=packages)["spark.jars.packages"] == packages


def test_the_users_java_options_are_kept() -> None:
    made = started(spark__driver__extraJavaOptions="-Xss4m")
    assert made["spark.driver.extraJavaOptions"] == "-Xss4m"
    made = started(spark__driver__defaultJavaOptions="-Xss4m")
    assert made[settings.JAVA_OPTIONS].endswith(" -Xss4m")


def test_a_shared_metastore_needs_no_derby() -> None:
    made = start_settings("local", {"spark.hadoop.hive.metastore.uris": "thrift://x:9083"}, FOLDER)
    assert settings.METASTORE_URL not in made
    assert settings.JAVA_OPTIONS not in made


def test_a_catalog_in_memory_needs_no_derby() -> None:
    made = started(spark__sql__catalogImplementation="in-memory")
    assert settings.METASTORE_URL not in made


def test_spark_defaults_lie_between_ours_and_the_users(tmp_path: Path) -> None:
    text = "# comment\nspark.driver.memory   5g\nspark.ui.enabled=true\nspark.jars.packages a:b:1\n"
    (tmp_path / "spark-defaults.conf").write_text(text)
    inherited = spark_defaults({"SPARK_CONF_DIR": str(tmp_path)})
    made = start_settings("local", {"spark.ui.enabled": "false"}, FOLDER, inherited)
    assert made["spark.driver.memory"] == "5g"
    assert made["spark.ui.enabled"] == "false"
    assert made["spark.jars.packages"] == f"a:b:1,{DELTA}"


def test_no_spark_defaults() -> None:
    assert spark_defaults({}) == {}
    assert spark_defaults({"SPARK_HOME": "/nowhere"}) == {}


@pytest.mark.parametrize(
    ("master", "number"), [("local", 1), ("local[4]", 4), ("local[4,2]", 4), ("local[1]", 1)]
)
def test_cores_of_a_local_master(master: str, number: int) -> None:
    assert cores(master) == number


def test_cores_of_the_whole_machine() -> None:
    assert cores("local[*]") >= 1
