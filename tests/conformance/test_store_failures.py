"""Data tests that keep the rows that fail."""

from __future__ import annotations

from dbt.tests.adapter.store_test_failures_tests.basic import (
    StoreTestFailuresAsExceptions,
    StoreTestFailuresAsGeneric,
    StoreTestFailuresAsInteractions,
    StoreTestFailuresAsProjectLevelEphemeral,
    StoreTestFailuresAsProjectLevelOff,
    StoreTestFailuresAsProjectLevelView,
)
from dbt.tests.adapter.store_test_failures_tests.test_store_test_failures import (
    BaseStoreTestFailures,
    BaseStoreTestFailuresLimit,
)


class TestStoreTestFailures(BaseStoreTestFailures):
    pass


class TestStoreTestFailuresLimit(BaseStoreTestFailuresLimit):
    pass


class TestAsInteractions(StoreTestFailuresAsInteractions):
    pass


class TestAsProjectLevelOff(StoreTestFailuresAsProjectLevelOff):
    pass


class TestAsProjectLevelView(StoreTestFailuresAsProjectLevelView):
    pass


class TestAsProjectLevelEphemeral(StoreTestFailuresAsProjectLevelEphemeral):
    pass


class TestAsGeneric(StoreTestFailuresAsGeneric):
    pass


class TestAsExceptions(StoreTestFailuresAsExceptions):
    pass
