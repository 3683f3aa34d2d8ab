"""Changes each selected model: maintain, drop, adopt and rebuild."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbt_common.exceptions import DbtBaseException

from dbt.adapters.sparkivm.configs.nodes import Compiled, Graph, in_turn
from dbt.adapters.sparkivm.operations.each_model import run_each
from dbt.adapters.sparkivm.operations.previews import request
from python_ivm.errors import IvmError
from python_ivm.operate.maintenance import Maintenance
from python_ivm.refresh.request import Request


def maintain_all(
    adapter: Any, graph: Graph, compiled: Compiled, *, forced: bool = False
) -> list[tuple[str, Maintenance]]:
    """Do what the state of each maintained model needs, and tell it.

    Args:
        adapter: dbt's, on an open connection.
        graph: The project's nodes.
        compiled: The models.
        forced: Whether it is done in any case.
    """

    def work(asked: Request) -> tuple[str, Maintenance]:
        return asked.model, adapter.ivm_maintain_one(asked, forced=forced)

    return run_each(adapter, graph, compiled, work, lambda name, why: (name, Maintenance(told=why)))


def drop_all(adapter: Any, graph: Graph, compiled: Compiled) -> list[tuple[str, str]]:
    """Drop the view and the state of each maintained model, and tell what was dropped."""

    def drop(asked: Request) -> tuple[str, str]:
        return asked.model, adapter.ivm_drop_one(asked)

    return run_each(adapter, graph, compiled, drop, lambda name, why: (name, why))


@dataclass(frozen=True)
class Adopted:
    """What became of a table that a model was to adopt.

    Attributes:
        model: The model's name.
        told: What was done, or why nothing.
        done: Whether it is the model's state now.
        differing: Some of the rows in which table and query differ, as texts by column.
    """

    model: str
    told: str
    done: bool = False
    differing: Sequence[Mapping[str, str]] = ()


def adopt_all(
    adapter: Any,
    graph: Graph,
    compiled: Compiled,
    *,
    versions: Mapping[str, int] | None = None,
    trusted: bool = False,
) -> list[Adopted]:
    """Let the table under the name of each maintained model become its state.

    Args:
        adapter: dbt's, on an open connection.
        graph: The project's nodes.
        compiled: The models.
        versions: The versions of sources that the tables stand for, by name; else the present ones.
        trusted: Whether the tables are not compared with the queries.
    """

    def adopt(asked: Request) -> Adopted:
        done: Adopted = adapter.ivm_adopt_one(asked, versions=versions or {}, trusted=trusted)
        return done

    return run_each(adapter, graph, compiled, adopt, Adopted, reads_text=True)


def rebuild_all(adapter: Any, graph: Graph, compiled: Compiled) -> list[tuple[str, str, bool]]:
    """Build each maintained model anew: its name, what was done, and whether it was.

    No hooks run; grants and descriptions follow at the model's next run.

    Args:
        adapter: dbt's, on an open connection.
        graph: The project's nodes.
        compiled: The models.
    """
    found = []
    for node, sql in in_turn(graph, compiled):
        try:
            if isinstance(sql, Exception):
                raise sql
            asked = request(adapter, node, sql, full_refresh=True)
            if asked.full_refresh is False:
                found.append((node["name"], NOT_REBUILT, True))
                continue
            outcome = adapter.ivm_refresh(asked, graph)
            found.append((node["name"], str(outcome.response), True))
        except (DbtBaseException, IvmError) as error:
            found.append((node["name"], str(getattr(error, "msg", error)), False))
    return found


NOT_REBUILT = "left as it is, as its config says full_refresh: false"
