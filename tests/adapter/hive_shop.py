"""A dbt project beside somebody else's connection to the same server, and a life of both."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.dbt_project import DbtProject

hive = pytest.importorskip("pyhive.hive", reason="pip install 'dbt-spark[PyHive]'")

IVM = "{{ config(materialized='incremental_ivm') }} "
FEED = "using delta tblproperties (delta.enableChangeDataFeed = true)"
MODELS = {
    "revenue": IVM + "select c.name, count(*) as orders, sum(o.total) as revenue "
    "from shop.orders o join {{ ref('customers') }} c on o.customer = c.id group by c.name",
    "latest": IVM + "select * from shop.orders "
    "qualify row_number() over (partition by customer order by id desc) = 1",
}
FILES = {
    "seeds/customers.csv": "id,name\n1,Ann\n2,Bob\n",
    "models/schema.yml": """
models:
  - {name: revenue, data_tests: [ivm_consistent]}
  - {name: latest, data_tests: [ivm_consistent]}
""",
}

Rows = list[dict[str, Any]]
Ask = Callable[[str], Rows]


@contextmanager
def asking(**how: Any) -> Generator[Ask]:
    """A connection to a Thrift server.

    Args:
        how: as PyHive has it: `host` and `port`, or a `thrift_transport`.
    """
    with closing(hive.connect(username="test", **how)) as connection:

        def ask(statement: str) -> Rows:
            cursor = connection.cursor()
            cursor.execute(statement)
            if cursor.description is None:
                return []
            names = [column[0].rpartition(".")[2] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

        yield ask


def in_session(project: DbtProject) -> Ask:
    """A session of the project's own server, apart from those of dbt."""
    return lambda statement: [row.asDict() for row in project.session.sql(statement).collect()]


class Shop:
    """A project, and somebody else, who writes its sources and reads its views."""

    def __init__(self, project: DbtProject, ask: Ask) -> None:
        self.project = project
        self.ask = ask

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements; the rows of the last one."""
        found: Rows = []
        for statement in statements:
            found = self.ask(statement)
        return [tuple(row.values()) for row in found]

    def sell(self) -> None:
        """Make the table of orders, with the first three."""
        self.sql(
            "create schema if not exists shop",
            f"create table shop.orders (id int, customer int, total int) {FEED}",
            "insert into shop.orders values (1, 1, 10), (2, 1, 20), (3, 2, 5)",
        )

    def furnish(self) -> None:
        """Write the project's models, and what it has beside."""
        self.project.models(**MODELS)
        self.project.write(FILES)

    def live(self) -> None:
        """Build a furnished project that has sold, follow a change, test, do nothing."""
        project = self.project
        built = project.dbt("build")
        assert built.success, built.log
        assert sorted(self.sql("select * from shop.revenue")) == [("Ann", 2, 30), ("Bob", 1, 5)]

        self.sql("insert into shop.orders values (4, 2, 7)", "delete from shop.orders where id = 1")
        second = project.run()
        assert {second.response(model)["strategy"] for model in MODELS} == {"incremental"}
        assert sorted(self.sql("select * from shop.revenue")) == [("Ann", 1, 20), ("Bob", 2, 12)]
        assert project.dbt("test").success
        third = project.run()
        assert {third.response(model)["strategy"] for model in MODELS} == {"noop"}


def files_with(secret: str, project: DbtProject, *logs: Path) -> set[str]:
    """The names of the files of a project, and of logs, in which a secret stands."""
    files = {file for file in project.root.rglob("*") if file.is_file()}
    assert any(file.name == "dbt.log" for file in files)
    return {f.name for f in (*files, *logs) if secret in f.read_text(errors="ignore")}
