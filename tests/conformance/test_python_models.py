"""Python models, which run in the session's own Spark."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.python_model.test_python_model import (
    BasePythonEmptyTests,
    BasePythonIncrementalTests,
    BasePythonMetaGetTests,
    BasePythonModelTests,
    BasePythonSampleTests,
)
from dbt.tests.adapter.python_model.test_spark import (
    PANDAS_MODEL,
    PANDAS_ON_SPARK_MODEL,
    PYSPARK_MODEL,
    BasePySparkTests,
)
from dbt.tests.util import run_dbt


class TestPythonModel(BasePythonModelTests):
    pass


class TestPythonIncremental(BasePythonIncrementalTests):
    pass


@pytest.mark.quick
class TestPythonMetaGet(BasePythonMetaGetTests):
    pass


class TestPythonEmpty(BasePythonEmptyTests):
    pass


class TestPythonSample(BasePythonSampleTests):
    pass


class TestPySpark(BasePySparkTests):
    """Without Koalas, which became pandas on Spark, and runs with no Spark after 3.1."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "pandas_df.py": PANDAS_MODEL,
            "pyspark_df.py": PYSPARK_MODEL,
            "pandas_on_spark_df.py": PANDAS_ON_SPARK_MODEL,
        }

    def test_different_dataframes(self, project: Any) -> None:
        assert len(run_dbt(["run"])) == 3
        for name in ("pandas_df", "pyspark_df", "pandas_on_spark_df"):
            table = f"{project.test_schema}.{name}"
            assert project.run_sql(f"select count(*) from {table}", fetch="one")[0] == 5
