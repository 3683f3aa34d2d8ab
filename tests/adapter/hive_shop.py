"""A dbt project beside a connection of its own to a Thrift server."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.dbt_project import DbtProject

hive = pytest.importorskip("pyhive.hive", reason="pip install 'dbt-spark[PyHive]'")

IVM = "{{ config(materialized='incremental_ivm') }} "
FEED = "using delta tblproperties (delta.enableChangeDataFeed = true)"


class Shop:
    """A project, and somebody else's connection, who writes its sources and reads its views."""

    def __init__(self, project: DbtProject, port: int) -> None:
        self.project = project
        self.connection = hive.connect(host="127.0.0.1", port=port, username="test")

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        cursor = self.connection.cursor()
        for statement in statements:
            cursor.execute(statement)
        return [tuple(row) for row in cursor.fetchall()] if cursor.description else []

    def sell(self) -> None:
        """Make the table of orders, with the first three."""
        self.sql(
            "create schema shop",
            f"create table shop.orders (id int, customer int, total int) {FEED}",
            "insert into shop.orders values (1, 1, 10), (2, 1, 20), (3, 2, 5)",
        )
