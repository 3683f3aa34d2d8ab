"""Inspects each selected model: check, status, history and audit; writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbt_common.exceptions import DbtBaseException

from dbt.adapters.sparkivm.configs.nodes import (
    Compiled,
    Graph,
    in_order,
    is_maintained,
    relations_read,
)
from dbt.adapters.sparkivm.operations.caching_adapter import CachingAdapter
from dbt.adapters.sparkivm.operations.each_model import MOST_ROWS, in_short, run_each
from dbt.adapters.sparkivm.operations.previews import request
from python_ivm.operate.audit import audit, statement
from python_ivm.operate.check import REFUSED, Check, check
from python_ivm.operate.records import Record, records
from python_ivm.operate.simulated_warehouse import SimulatedWarehouse
from python_ivm.operate.status import Status, status
from python_ivm.operate.unbuilt import unbuilt
from python_ivm.parse.parser import quoted_name
from python_ivm.refresh.metadata.versions import state_history
from python_ivm.refresh.request import Request


def check_all(adapter: Any, graph: Graph, compiled: Compiled) -> list[Check]:
    """Whether and how each maintained model can be maintained, built or not.

    Args:
        adapter: dbt's, on an open connection.
        graph: The project's nodes.
        compiled: The models.
    """
    simulated = SimulatedWarehouse(adapter._ivm_warehouse())
    found = []
    for uid in in_order(graph, compiled):
        node, sql = graph["nodes"][uid], compiled[uid]
        if not is_maintained(node):
            _stand_in(adapter, simulated, node, sql)
            continue
        if isinstance(sql, Exception):
            found.append(Check(node["name"], REFUSED, "COMPILATION", str(sql)))
            continue
        try:
            told = check(request(adapter, node, sql), simulated)
        except Exception as error:  # whatever it is, the others go on
            told = Check(node["name"], REFUSED, type(error).__name__, in_short(error))
        found.append(replace(told, advice=(*told.advice, *_replaced(graph, uid))))
        if told.verdict != REFUSED:
            _stand_in(adapter, simulated, node, sql)
    return found


def _stand_in(adapter: Any, simulated: SimulatedWarehouse, node: Any, sql: str | Exception) -> None:
    """Let those that read a model find it, though it is not built."""
    if isinstance(sql, Exception) or node["config"]["materialized"] == "ephemeral":
        return
    if node.get("language") != "sql":
        return
    if adapter.get_relation(node["database"], node["schema"], node["alias"]) is not None:
        return
    try:
        columns = dict(simulated.describe(sql))
        nulls = ", ".join(
            f"CAST(NULL AS {kind}) AS {quoted_name((name,))}" for name, kind in columns.items()
        )
        view = quoted_name((node["alias"],))
        adapter._ivm_query(f"CREATE OR REPLACE TEMPORARY VIEW {view} AS SELECT {nulls}")
    except DbtBaseException:
        return  # what reads it says that it is missing
    simulated.imagine_built((node["schema"], node["alias"]), columns)


def _replaced(graph: Graph, uid: str) -> Iterator[str]:
    """Of sources that each run replaces as a whole."""
    for above in relations_read(graph, uid):
        node = graph["nodes"][above]
        if node["resource_type"] == "model" and node["config"]["materialized"] == "table":
            yield (
                f"{node['name']} is materialized as table, which each run replaces, so that all "
                "rows are computed and those that differ merged: incremental_ivm or incremental "
                "keep its rows"
            )


def read_statuses(adapter: Any, graph: Graph, compiled: Compiled) -> list[Status]:
    """Where each maintained model stands."""
    adapter = CachingAdapter.of(adapter, graph, compiled)
    simulated = SimulatedWarehouse(adapter._ivm_warehouse())

    def inspect(asked: Request) -> Status:
        found = status(asked, simulated)
        if found.last is None or found.rows is not None:
            return found
        rows = adapter._ivm_query(f"SELECT count(*) AS n FROM {quoted_name(asked.state)}")
        return replace(found, rows=int(rows[0]["n"]))

    return run_each(
        adapter, graph, compiled, inspect, lambda name, why: Status(name, "", None, trouble=(why,))
    )


def read_histories(
    adapter: Any, graph: Graph, compiled: Compiled, most: int | None
) -> list[tuple[str, list[Record], str]]:
    """The refreshes of each maintained model, newest first; or why there are none to tell.

    Args:
        adapter: dbt's, on an open connection.
        graph: The project's nodes.
        compiled: The models.
        most: How many commits of each are read; None means all.
    """
    warehouse = CachingAdapter.of(adapter, graph, compiled)._ivm_warehouse()

    def inspect(asked: Request) -> tuple[str, list[Record], str]:
        found = records(warehouse.history(asked.state, most) or ())
        stands = state_history(warehouse, asked.state)
        return asked.model, found, unbuilt(stands) if stands.bookmark is None else ""

    return run_each(adapter, graph, compiled, inspect, lambda name, why: (name, [], why))


@dataclass(frozen=True)
class Audited:
    """What a sample of a view showed.

    Attributes:
        model: The model's name.
        told: What it says of the whole view, in a sentence.
        equal: Whether no row of it differs; None if it could not be compared.
        sampled: How many groups or rows the view has in the sample.
        whole: How many it has.
        differing: Some of the rows that differ, as texts by column.
    """

    model: str
    told: str
    equal: bool | None = None
    sampled: int | None = None
    whole: int | None = None
    differing: Sequence[Mapping[str, str]] = ()


def audit_all(
    adapter: Any, graph: Graph, compiled: Compiled, parts: int, seed: int
) -> list[Audited]:
    """Recompute a sample of each maintained model, and compare.

    Args:
        adapter: dbt's, on an open connection.
        graph: The project's nodes.
        compiled: The models.
        parts: Into how many parts the groups or rows of a view fall, of which one is recomputed.
        seed: Which of them.
    """

    def inspect(asked: Request) -> Audited:
        planned = audit(asked, adapter._ivm_warehouse(), parts, seed)
        (counts,) = adapter._ivm_query(planned.counted)
        sampled, whole = (int(number) for number in counts.values())
        differing = adapter._ivm_query(f"SELECT * FROM (\n{planned.sql}\n) AS differing")
        told = statement(planned.unit, sampled, whole, len(differing))
        shown = [{k: str(v) for k, v in row.items()} for row in differing[:MOST_ROWS]]
        return Audited(asked.model, told, not differing, sampled, whole, shown)

    return run_each(adapter, graph, compiled, inspect, Audited)
