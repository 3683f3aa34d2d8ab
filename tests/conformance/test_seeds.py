"""Seeds: their types, delimiters and encodings, and what a second `dbt seed` does."""

from __future__ import annotations

from pathlib import Path
from shutil import copy
from typing import Any

import pytest
from dbt.tests.adapter.simple_seed import fixtures, seeds
from dbt.tests.adapter.simple_seed.test_seed import (
    BaseBasicSeedTests,
    BaseSeedConfigFullRefreshOff,
    BaseSeedConfigFullRefreshOn,
    BaseSeedCustomSchema,
    BaseSeedParsing,
    BaseSeedWithEmptyDelimiter,
    BaseSeedWithUniqueDelimiter,
    BaseSimpleSeedEnabledViaConfig,
    BaseSimpleSeedWithBOM,
    BaseTestEmptySeed,
)
from dbt.tests.adapter.simple_seed.test_seed_type_override import BaseSimpleSeedColumnOverride

from tests.conformance.dialect import to_spark


class NoCascade:
    """A seed that is loaded anew, in place: the views over it stay, as nothing is dropped."""

    def _check_relation_end_state(self, run_result: Any, project: Any, exists: bool) -> None:
        super()._check_relation_end_state(run_result, project, True)  # type: ignore[misc]


class TestBasicSeeds(NoCascade, BaseBasicSeedTests):
    """A seed is loaded anew in place, so that the views over it stay."""


class TestSeedConfigFullRefreshOn(NoCascade, BaseSeedConfigFullRefreshOn):
    """A seed is loaded anew in place, so that the views over it stay."""


class TestSeedConfigFullRefreshOff(BaseSeedConfigFullRefreshOff):
    pass


class TestSeedCustomSchema(BaseSeedCustomSchema):
    pass


@pytest.mark.quick
class TestSeedWithUniqueDelimiter(BaseSeedWithUniqueDelimiter):
    pass


class TestSeedWithEmptyDelimiter(BaseSeedWithEmptyDelimiter):
    pass


class TestSimpleSeedEnabledViaConfig(BaseSimpleSeedEnabledViaConfig):
    pass


class TestSeedParsing(BaseSeedParsing):
    pass


class TestSimpleSeedWithBOM(BaseSimpleSeedWithBOM):
    """The suite's file, from the package's folder."""

    @pytest.fixture(scope="class", autouse=True)
    def setUp(self, project: Any) -> None:
        project.run_sql(seeds.seeds__expected_sql)
        copy(Path(seeds.__file__).parent / "seed_bom.csv", Path(project.project_root) / "seeds")


class TestEmptySeed(BaseTestEmptySeed):
    pass


class TestSimpleSeedColumnOverride(BaseSimpleSeedColumnOverride):
    """The names of Spark's types."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        properties = to_spark(fixtures.properties__schema_yml).replace("integer", "bigint")
        return {"schema.yml": properties}

    @staticmethod
    def seed_enabled_types() -> dict[str, str]:
        return {"seed_id": "string", "birthday": "date"}

    @staticmethod
    def seed_tricky_types() -> dict[str, str]:
        return dict.fromkeys(["seed_id_str", "looks_like_a_bool", "looks_like_a_date"], "string")
