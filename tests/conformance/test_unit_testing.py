"""dbt's unit tests of models."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.unit_testing import test_quoted_reserved_word_column_names as quoted
from dbt.tests.adapter.unit_testing.test_case_insensitivity import BaseUnitTestCaseInsensivity
from dbt.tests.adapter.unit_testing.test_invalid_input import BaseUnitTestInvalidInput
from dbt.tests.adapter.unit_testing.test_types import (
    BaseUnitTestingTypes,
    BaseUnitTestingVarcharFixtureNoTruncation,
)


class TestUnitTestingTypes(BaseUnitTestingTypes):
    """Spark's types, and values of nested ones as its SQL writes them."""

    @pytest.fixture
    def data_types(self) -> list[list[str]]:
        return [
            ["1", "1"],
            ["2.0", "2.0"],
            ["cast(2 as double)", "2.0"],
            ["'12345'", "12345"],
            ["'string'", "string"],
            ["true", "true"],
            ["DATE '2011-11-11'", "2011-11-11"],
            ["TIMESTAMP '2013-11-03 00:00:00-0'", "2013-11-03 00:00:00-0"],
            ["TIMESTAMP_NTZ '2013-11-03 00:00:00'", "2013-11-03 00:00:00"],
            ["cast(1 as decimal(28, 6))", "1"],
            ["""'{"bar": "baz", "balance": 7.77}'""", """'{"bar": "baz", "balance": 7.77}'"""],
            ["array(1, 2, 3)", """'array(1, 2, 3)'"""],
            ["array(1.0, 2.0)", """'array(1.0, 2.0)'"""],
            ["array('a', 'b', 'c')", """'array("a", "b", "c")'"""],
            ["map('10', 't', '15', 'f')", """'map("10", "t", "15", "f")'"""],
            ["named_struct('a', 1, 'b', 2, 'c', 3)", """'named_struct("a", 1, "b", 2, "c", 3)'"""],
        ]


class TestUnitTestingVarcharFixtureNoTruncation(BaseUnitTestingVarcharFixtureNoTruncation):
    pass


class TestUnitTestCaseInsensivity(BaseUnitTestCaseInsensivity):
    pass


class TestUnitTestInvalidInput(BaseUnitTestInvalidInput):
    pass


@pytest.mark.quick
class TestUnitTestQuotedReservedWordColumnNames(quoted.BaseUnitTestQuotedReservedWordColumnNames):
    """Spark's quotes."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model.sql": quoted.my_model_sql,
            "my_upstream_model.sql": "select 1 as `GROUP`",
            "unit_tests.yml": quoted.test_my_model_csv_fixtures_yml,
        }
