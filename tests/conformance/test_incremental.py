"""Incremental models: strategies, keys, and columns that come and go."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.incremental.test_incremental_merge_exclude_columns import (
    BaseMergeExcludeColumns,
)
from dbt.tests.adapter.incremental.test_incremental_microbatch import BaseMicrobatch
from dbt.tests.adapter.incremental.test_incremental_on_schema_change import (
    BaseIncrementalOnSchemaChange,
)
from dbt.tests.adapter.incremental.test_incremental_predicates import BaseIncrementalPredicates
from dbt.tests.adapter.incremental.test_incremental_unique_id import BaseIncrementalUniqueKey


class TestIncrementalUniqueKey(BaseIncrementalUniqueKey):
    pass


class TestIncrementalOnSchemaChange(BaseIncrementalOnSchemaChange):
    pass


@pytest.mark.quick
class TestMergeExcludeColumns(BaseMergeExcludeColumns):
    pass


class TestIncrementalPredicatesMerge(BaseIncrementalPredicates):
    """The strategy `merge`: Delta needs no delete+insert."""

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        predicates = ["dbt_internal_dest.id != 2"]
        return {"models": {"+incremental_predicates": predicates, "+incremental_strategy": "merge"}}


class TestPredicatesMerge(BaseIncrementalPredicates):
    """The strategy `merge`: Delta needs no delete+insert. `predicates` is the former name."""

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        predicates = ["dbt_internal_dest.id != 2"]
        return {"models": {"+predicates": predicates, "+incremental_strategy": "merge"}}


class TestMicrobatch(BaseMicrobatch):
    pass
