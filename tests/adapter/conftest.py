"""A project over tables in DuckDB, as the commands of `dbt-sparkivm` open it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dbt.adapters.sparkivm.operations import commands
from dbt.adapters.sparkivm.operations.project import Project
from tests.adapter.project_in_a_lake import MODELS, READS, Adapter, node
from tests.planner.lake import Lake


@pytest.fixture
def graph() -> dict[str, Any]:
    made = {f"model.{name}": node(name, "incremental_ivm", *READS[name]) for name in MODELS}
    made["model.between"] = node("between", "view", "model.bag")
    made["model.last"] = node("last", "incremental_ivm", "model.between")
    return {"nodes": made, "sources": {}}


@pytest.fixture
def lake() -> Lake:
    return Lake()


@pytest.fixture
def adapter(lake: Lake) -> Adapter:
    lake.create("x", {"k": "int", "v": "int"}, [(1, 1), (1, 2), (2, 5)])
    lake.db.execute("create macro xxhash64(a) as hash(a)")
    lake.db.execute("create macro pmod(a, b) as a % b")
    return Adapter(lake)


@pytest.fixture
def selected(
    adapter: Adapter, graph: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> dict[str, str | Exception]:
    """The models of the commands, with their texts; a test may leave some out."""
    chosen: dict[str, str | Exception] = {f"model.{name}": sql for name, sql in MODELS.items()}

    @contextmanager
    def opened(arguments: Any) -> Iterator[Project]:
        yield Project(adapter, graph, chosen)

    monkeypatch.setattr(commands, "opened", opened)
    return chosen
