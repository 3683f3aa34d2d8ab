"""Delta's JAR follows from the Spark that is installed."""

from __future__ import annotations

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.connection import delta_jar
from dbt.adapters.sparkivm.connection.delta_jar import any_package, package_for


@pytest.mark.parametrize(
    ("spark", "package"),
    [
        ("3.5.5", "io.delta:delta-spark_2.12:3.3.2"),
        ("4.0.1", "io.delta:delta-spark_4.0_2.13:4.4.0"),
        ("4.1.4", "io.delta:delta-spark_4.1_2.13:4.4.0"),
        ("4.2.0", "io.delta:delta-spark_4.2_2.13:4.4.0"),
        ("4.2.1", "io.delta:delta-spark_4.2_2.13:4.4.0"),
    ],
)
def test_each_spark_has_its_newest_delta(spark: str, package: str) -> None:
    assert package_for(spark) == package


@pytest.mark.parametrize(
    ("spark", "delta", "package"),
    [
        ("4.0.0", "4.0.1", "io.delta:delta-spark_2.13:4.0.1"),  # no Spark in the name then
        ("4.1.0", "4.1.0", "io.delta:delta-spark_4.1_2.13:4.1.0"),
    ],
)
def test_the_python_package_chooses_another_version(spark: str, delta: str, package: str) -> None:
    assert package_for(spark, delta) == package


@pytest.mark.parametrize(("spark", "delta"), [("4.2.0", "4.3.0"), ("4.2.0", "4.4.1")])
def test_a_pair_without_a_jar_is_an_error_that_names_those_with_one(spark: str, delta: str) -> None:
    with pytest.raises(DbtRuntimeError) as caught:
        package_for(spark, delta)
    assert f"Delta Lake {delta}" in caught.value.msg
    assert "but 4.4.0 has: pip uninstall delta-spark" in caught.value.msg
    assert "spark.jars.packages" in caught.value.msg


def test_a_spark_without_delta_is_an_error_that_names_those_with_one() -> None:
    with pytest.raises(DbtRuntimeError) as caught:
        package_for("4.3.0")
    assert "PySpark 4.3.0 is installed, and there is no Delta Lake for it" in caught.value.msg
    assert "PySpark 3.5, 4.0, 4.1, 4.2: pip install 'pyspark==4.2.*'" in caught.value.msg


def test_a_spark_whose_delta_cannot_replace_tables_is_an_error() -> None:
    with pytest.raises(DbtRuntimeError) as caught:
        package_for("3.5.6")
    assert "pip install 'pyspark==3.5.5'" in caught.value.msg


def test_without_pyspark_the_newest_is_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delta_jar, "_installed", lambda package: None)
    assert any_package() == "io.delta:delta-spark_4.2_2.13:4.4.0"
