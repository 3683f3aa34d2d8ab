"""Contracts of models, and constraints."""

from __future__ import annotations

import re

import pytest
from dbt.tests.adapter.constraints import fixtures
from dbt.tests.adapter.constraints.test_constraints import (
    BaseConstraintQuotedColumn,
    BaseConstraintsRollback,
    BaseConstraintsRuntimeDdlEnforcement,
    BaseIncrementalConstraintsColumnsEqual,
    BaseIncrementalConstraintsRollback,
    BaseIncrementalConstraintsRuntimeDdlEnforcement,
    BaseIncrementalForeignKeyConstraint,
    BaseModelConstraintsRuntimeEnforcement,
    BaseTableConstraintsColumnsEqual,
    BaseViewConstraintsColumnsEqual,
)

STATEMENT = """
create or replace table <model_identifier>
using delta
as
select id, color, date_day
from (
    -- depends_on: <foreign_key_model_identifier>
    select 'blue' as color, 1 as id, '2019-01-01' as date_day
) as model_subq
"""


def in_spark(schema: str) -> str:
    """Properties with Spark's names of types; their quotes are those of YAML."""
    return re.sub(r"\binteger\b", "int", re.sub(r"\btext\b", "string", schema))


class Types:
    """Spark's types, with their values; errors show their names in lower case."""

    @pytest.fixture
    def string_type(self) -> str:
        return "string"

    @pytest.fixture
    def int_type(self) -> str:
        return "int"

    @pytest.fixture
    def data_types(self, int_type: str, string_type: str) -> list[list[str]]:
        values = {
            int_type: "1",
            string_type: "'1'",
            "boolean": "true",
            "timestamp": "timestamp'2013-11-03 00:00:00-07'",
            "date": "date'2013-11-03'",
            "array<string>": "array('a', 'b', 'c')",
            "array<int>": "array(1, 2, 3)",
            "decimal(28,6)": "cast('1' as decimal(28, 6))",
            "map<string,int>": "map('a', 1)",
            "struct<a:int>": "named_struct('a', 1)",
        }
        return [[value, kind, kind] for kind, value in values.items()]


class TestTableConstraintsColumnsEqual(Types, BaseTableConstraintsColumnsEqual):
    """Spark's types."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model_wrong_order.sql": fixtures.my_model_wrong_order_sql,
            "my_model_wrong_name.sql": fixtures.my_model_wrong_name_sql,
            "constraints_schema.yml": in_spark(fixtures.model_schema_yml),
        }


class TestViewConstraintsColumnsEqual(Types, BaseViewConstraintsColumnsEqual):
    """Spark's types."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model_wrong_order.sql": fixtures.my_model_view_wrong_order_sql,
            "my_model_wrong_name.sql": fixtures.my_model_view_wrong_name_sql,
            "constraints_schema.yml": in_spark(fixtures.model_schema_yml),
        }


class TestIncrementalConstraintsColumnsEqual(Types, BaseIncrementalConstraintsColumnsEqual):
    """Spark's types."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model_wrong_order.sql": fixtures.my_model_incremental_wrong_order_sql,
            "my_model_wrong_name.sql": fixtures.my_model_incremental_wrong_name_sql,
            "constraints_schema.yml": in_spark(fixtures.model_schema_yml),
        }


class TestTableConstraintsDdl(BaseConstraintsRuntimeDdlEnforcement):
    """Spark's statement: constraints are added after it."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model.sql": fixtures.my_model_wrong_order_depends_on_fk_sql,
            "foreign_key_model.sql": fixtures.foreign_key_model_sql,
            "constraints_schema.yml": in_spark(fixtures.model_fk_constraint_schema_yml),
        }

    @pytest.fixture(scope="class")
    def expected_sql(self) -> str:
        return STATEMENT


class TestIncrementalConstraintsDdl(BaseIncrementalConstraintsRuntimeDdlEnforcement):
    """Spark's statement: constraints are added after it."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model.sql": fixtures.my_model_incremental_wrong_order_depends_on_fk_sql,
            "foreign_key_model.sql": fixtures.foreign_key_model_sql,
            "constraints_schema.yml": in_spark(fixtures.model_fk_constraint_schema_yml),
        }

    @pytest.fixture(scope="class")
    def expected_sql(self) -> str:
        return STATEMENT


class TestModelConstraintsDdl(BaseModelConstraintsRuntimeEnforcement):
    """Spark's statement: constraints are added after it."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model.sql": fixtures.my_model_wrong_order_depends_on_fk_sql,
            "foreign_key_model.sql": fixtures.foreign_key_model_sql,
            "constraints_schema.yml": in_spark(fixtures.constrained_model_schema_yml),
        }

    @pytest.fixture(scope="class")
    def expected_sql(self) -> str:
        return STATEMENT


@pytest.mark.quick
class TestConstraintQuotedColumn(BaseConstraintQuotedColumn):
    """Spark's statement and quotes."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        schema = in_spark(fixtures.model_quoted_column_schema_yml)
        return {
            "my_model.sql": fixtures.my_model_with_quoted_column_name_sql,
            "constraints_schema.yml": schema.replace('"from"', "`from`"),
        }

    @pytest.fixture(scope="class")
    def expected_sql(self) -> str:
        return """
            create or replace table <model_identifier>
            using delta
            as
            select id, `from`, date_day
            from (
                select 'blue' as `from`, 1 as id, '2019-01-01' as date_day
            ) as model_subq
        """


class Rollback:
    """Delta's words for what a constraint forbids."""

    @pytest.fixture(scope="class")
    def expected_error_messages(self) -> list[str]:
        return ["violate", "NULL"]


class TestTableConstraintsRollback(Rollback, BaseConstraintsRollback):
    """Spark's types and Delta's errors."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model.sql": fixtures.my_model_sql,
            "constraints_schema.yml": in_spark(fixtures.model_schema_yml),
        }


class TestIncrementalConstraintsRollback(Rollback, BaseIncrementalConstraintsRollback):
    """Spark's types and Delta's errors."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model.sql": fixtures.my_incremental_model_sql,
            "constraints_schema.yml": in_spark(fixtures.model_schema_yml),
        }


class TestIncrementalForeignKeyConstraint(BaseIncrementalForeignKeyConstraint):
    pass
