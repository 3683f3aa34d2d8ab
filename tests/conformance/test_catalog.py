"""`dbt docs generate`."""

from __future__ import annotations

import getpass
from typing import Any

import pytest
from dbt.tests.adapter.basic import expected_catalog
from dbt.tests.adapter.basic.test_docs_generate import BaseDocsGenerate, BaseDocsGenReferences
from dbt.tests.adapter.catalog import files
from dbt.tests.adapter.catalog.relation_types import CatalogRelationTypes

EXPECTED = {
    "id_type": "bigint",
    "text_type": "string",
    "time_type": "timestamp",
    "view_type": "view",
    "table_type": "table",
    "model_stats": expected_catalog.no_stats(),
}
"""What the catalog says of types in Spark's words, and of tables that nobody has analyzed."""


class TestDocsGenerate(BaseDocsGenerate):
    """The names of Spark's types, and the operating system's user as owner."""

    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Any) -> dict[str, Any]:
        return expected_catalog.base_expected_catalog(project, role=getpass.getuser(), **EXPECTED)


class TestDocsGenReferences(BaseDocsGenReferences):
    """The names of Spark's types, and the operating system's user as owner."""

    @pytest.fixture(scope="class")
    def expected_catalog(self, project: Any) -> dict[str, Any]:
        return expected_catalog.expected_references_catalog(
            project, role=getpass.getuser(), bigint_type="bigint", **EXPECTED
        )


class TestCatalogRelationTypes(CatalogRelationTypes):
    """A maintained view in place of a materialized one; types in the words of dbt-spark."""

    @pytest.fixture(scope="class", autouse=True)
    def models(self) -> dict[str, str]:
        maintained = files.MY_MATERIALIZED_VIEW.replace("materialized_view", "incremental_ivm")
        return {
            "my_table.sql": files.MY_TABLE,
            "my_view.sql": files.MY_VIEW,
            "my_maintained_view.sql": maintained,
        }

    @pytest.mark.parametrize(
        ("node_name", "relation_type"),
        [
            ("seed.test.my_seed", "table"),
            ("model.test.my_table", "table"),
            ("model.test.my_view", "view"),
            ("model.test.my_maintained_view", "view"),
        ],
    )
    def test_relation_types_populate_correctly(
        self, docs: Any, node_name: str, relation_type: str
    ) -> None:
        super().test_relation_types_populate_correctly(docs, node_name, relation_type)
