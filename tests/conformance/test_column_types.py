"""What dbt knows of a column's type: text, whole number, float, decimal."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.column_types.fixtures import schema_yml
from dbt.tests.adapter.column_types.test_column_types import BasePostgresColumnTypes

MODEL = """
select
    cast(1 as smallint) as smallint_col,
    cast(2 as int) as int_col,
    cast(3 as bigint) as bigint_col,
    cast(4.0 as float) as real_col,
    cast(5.0 as double) as double_col,
    cast(6.0 as decimal(28, 6)) as numeric_col,
    cast('7' as string) as text_col,
    cast('8' as varchar(20)) as varchar_col
"""


class TestColumnTypes(BasePostgresColumnTypes):
    """The names of Spark's types in the model."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {"model.sql": MODEL, "schema.yml": schema_yml}
