"""dbt's cache of what exists in a schema."""

from __future__ import annotations

from typing import Any

from dbt.tests.adapter.caching.test_caching import (
    BaseCachingLowercaseModel,
    BaseCachingSelectedSchemaOnly,
    BaseCachingUppercaseModel,
    BaseNoPopulateCache,
)
from dbt.tests.util import run_dbt


class NoDatabase:
    """What is known of a relation, whose database is None: the suite compares its name."""

    def run_and_inspect_cache(self, project: Any, run_args: list[str] | None = None) -> None:
        found = []
        for _ in range(2):
            run_dbt(run_args)
            (relation,) = project.adapter.cache.relations
            assert relation.database is None
            found.append((relation.schema, relation.identifier.lower()))
        assert found == [(project.test_schema, "model")] * 2


class TestCachingLowercaseModel(NoDatabase, BaseCachingLowercaseModel):
    """No name of a database, which a session does not have."""


class TestCachingUppercaseModel(NoDatabase, BaseCachingUppercaseModel):
    """No name of a database, which a session does not have."""


class TestCachingSelectedSchemaOnly(NoDatabase, BaseCachingSelectedSchemaOnly):
    """No name of a database, which a session does not have."""


class TestNoPopulateCache(NoDatabase, BaseNoPopulateCache):
    """No name of a database, which a session does not have."""
