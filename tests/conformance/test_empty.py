"""`--empty` and `--sample`: runs that read no rows, or some."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.empty import _models
from dbt.tests.adapter.empty.test_empty import (
    BaseTestEmpty,
    BaseTestEmptyInlineSourceRef,
    MetadataWithEmptyFlag,
)
from dbt.tests.adapter.sample_mode.test_sample_mode import BaseSampleModeTest

MODELS = (
    "control", "get_columns_in_relation", "alter_column_type", "alter_relation_comment",
    "alter_column_comment", "alter_relation_add_remove_columns", "truncate_relation",
)  # fmt: skip
"""The suite's models that ask of a relation, or change it, while they are compiled."""


class TestEmpty(BaseTestEmpty):
    pass


class TestEmptyInlineSourceRef(BaseTestEmptyInlineSourceRef):
    pass


class TestMetadataWithEmptyFlag(MetadataWithEmptyFlag):
    """Text is `string` here: Spark asks for the length of a varchar."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "schema.yml": _models.SCHEMA,
            **{
                f"{name}.sql": getattr(_models, name.upper()).replace("varchar", "string")
                for name in MODELS
            },
        }


class TestSampleMode(BaseSampleModeTest):
    pass
