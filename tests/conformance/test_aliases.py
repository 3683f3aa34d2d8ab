"""Models whose table has another name than the model."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.aliases import fixtures
from dbt.tests.adapter.aliases.test_aliases import (
    BaseAliasErrors,
    BaseAliases,
    BaseSameAliasDifferentSchemas,
)

# The suite's macro casts to `text`.
MACROS = {
    "cast.sql": fixtures.MACROS__CAST_SQL.replace("::text", ""),
    "expect_value.sql": fixtures.MACROS__EXPECT_VALUE_SQL,
}


class TestAliases(BaseAliases):
    """String literals without a cast to `text`, which is no type in Spark."""

    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return MACROS


class TestAliasErrors(BaseAliasErrors):
    pass


class TestSameAliasDifferentSchemas(BaseSameAliasDifferentSchemas):
    """String literals without a cast to `text`, which is no type in Spark."""

    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return MACROS
