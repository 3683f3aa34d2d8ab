"""`dbt show`."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.dbt_show.test_dbt_show import (
    BaseShowDoesNotHandleDoubleLimit,
    BaseShowLimit,
    BaseShowSqlHeader,
)


class TestShowLimit(BaseShowLimit):
    pass


@pytest.mark.quick
class TestShowSqlHeader(BaseShowSqlHeader):
    pass


class TestShowDoesNotHandleDoubleLimit(BaseShowDoesNotHandleDoubleLimit):
    """Spark's text of a syntax error."""

    DATABASE_ERROR_MESSAGE = "PARSE_SYNTAX_ERROR"
