"""Snapshots: what changed and what was deleted, columns that are added, and names of one's own."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.simple_snapshot import (
    common,
    fixtures,
    new_record_dbt_valid_to_current,
    new_record_timestamp_mode,
)
from dbt.tests.adapter.simple_snapshot import test_ephemeral_snapshot_hard_deletes as hard_deletes
from dbt.tests.adapter.simple_snapshot.new_record_check_mode import BaseSnapshotNewRecordCheckMode
from dbt.tests.adapter.simple_snapshot.new_record_dbt_valid_to_current import (
    BaseSnapshotNewRecordDbtValidToCurrent,
)
from dbt.tests.adapter.simple_snapshot.new_record_timestamp_mode import (
    BaseSnapshotNewRecordTimestampMode,
)
from dbt.tests.adapter.simple_snapshot.test_snapshot import BaseSimpleSnapshot, BaseSnapshotCheck
from dbt.tests.adapter.simple_snapshot.test_various_configs import (
    BaseSnapshotColumnNames,
    BaseSnapshotColumnNamesFromDbtProject,
    BaseSnapshotInvalidColumnNames,
    BaseSnapshotMultiUniqueKey,
)


def without_database(text: str) -> str:
    """A file of the suite without the name of a database, which a session does not have."""
    return text.replace("{{target.database}}.", "")


class TestSnapshot(BaseSimpleSnapshot):
    """A column without a default, which Delta takes only with a table feature."""

    def add_fact_column(self, column: str, definition: str) -> None:
        common.add_column(self.project, "fact", column, definition.replace("default null", ""))


class TestSnapshotCheck(BaseSnapshotCheck):
    pass


class OwnNames:
    """A snapshot of a table without the name of a database."""

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {"snapshot.sql": without_database(fixtures.snapshot_actual_sql)}


class TestSnapshotColumnNames(OwnNames, BaseSnapshotColumnNames):
    """A table without the name of a database."""


class TestSnapshotColumnNamesFromDbtProject(OwnNames, BaseSnapshotColumnNamesFromDbtProject):
    """A table without the name of a database."""


class TestSnapshotInvalidColumnNames(OwnNames, BaseSnapshotInvalidColumnNames):
    """A table without the name of a database."""


class TestSnapshotMultiUniqueKey(BaseSnapshotMultiUniqueKey):
    """A table without the name of a database."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "seed.sql": without_database(fixtures.model_seed_sql),
            "snapshots.yml": fixtures.snapshots_multi_key_yml,
            "ref_snapshot.sql": fixtures.ref_snapshot_sql,
        }


class TestSnapshotNewRecordTimestampMode(BaseSnapshotNewRecordTimestampMode):
    """A table without the name of a database."""

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {"snapshot.sql": without_database(new_record_timestamp_mode._snapshot_actual_sql)}


class TestSnapshotNewRecordCheckMode(BaseSnapshotNewRecordCheckMode):
    """A table without the name of a database."""

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {"snapshot.sql": without_database(new_record_timestamp_mode._snapshot_actual_sql)}


class TestSnapshotNewRecordDbtValidToCurrent(BaseSnapshotNewRecordDbtValidToCurrent):
    """A table without the name of a database."""

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        sql = without_database(new_record_dbt_valid_to_current._snapshot_actual_sql)
        return {"snapshot.sql": sql}


class WithoutDefault:
    """A column that is added without a default, which Delta can't add to rows that are there."""

    @pytest.fixture(scope="class")
    def source_alter_sql(self) -> str:
        return hard_deletes._source_alter_sql.replace("default 'dummy_value'", "")


class TestSnapshotEphemeralHardDeletes(
    WithoutDefault, hard_deletes.BaseSnapshotEphemeralHardDeletes
):
    """A column that is added without a default, which Delta can't give to rows that are there."""


class TestSnapshotNewColumnTimestampStrategy(
    WithoutDefault, hard_deletes.BaseSnapshotNewColumnTimestampStrategy
):
    """A column that is added without a default, which Delta can't give to rows that are there."""


class TestSnapshotNewColumnSpecificCheckCols(
    WithoutDefault, hard_deletes.BaseSnapshotNewColumnSpecificCheckCols
):
    """A column that is added without a default, which Delta can't give to rows that are there."""


class TestSnapshotNewColumnWithDeletes(
    WithoutDefault, hard_deletes.BaseSnapshotNewColumnWithDeletes
):
    """A column that is added without a default, which Delta can't give to rows that are there."""
