"""Looks at the models of a project, one after the other; what goes wrong is told of one alone."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtBaseException

from dbt.adapters.sparkivm.configs.nodes import (
    Compiled,
    Graph,
    in_order,
    in_turn,
    is_maintained,
    relations_read,
)
from dbt.adapters.sparkivm.operations.previews import request
from dbt.adapters.sparkivm.operations.shared import Shared
from python_ivm.errors import IvmError
from python_ivm.operate.ahead import AheadWarehouse
from python_ivm.operate.audit import audit, statement
from python_ivm.operate.check import REFUSED, Check, check
from python_ivm.operate.maintenance import Maintenance
from python_ivm.operate.records import Record, records
from python_ivm.operate.status import Status, status
from python_ivm.operate.unbuilt import unbuilt
from python_ivm.parse.parser import quoted_name
from python_ivm.refresh.metadata.versions import state_history
from python_ivm.refresh.request import Request

logger = AdapterLogger("SparkIvm")

T = TypeVar("T")

MOST_ROWS = 5
"""So many rows that differ are shown."""


def checks(adapter: Any, graph: Graph, compiled: Compiled) -> list[Check]:
    """Whether and how each maintained model can be maintained, built or not.

    Args:
        adapter: dbt's, on an open connection.
        graph: The project's nodes.
        compiled: The models to look at.
    """
    ahead = AheadWarehouse(adapter._ivm_warehouse())
    found = []
    for uid in in_order(graph, compiled):
        node, sql = graph["nodes"][uid], compiled[uid]
        if not is_maintained(node):
            _stand_in(adapter, ahead, node, sql)
            continue
        if isinstance(sql, Exception):
            found.append(Check(node["name"], REFUSED, "COMPILATION", str(sql)))
            continue
        try:
            told = check(request(adapter, node, sql), ahead)
        except Exception as error:  # whatever it is, the others are looked at
            told = Check(node["name"], REFUSED, type(error).__name__, in_short(error))
        found.append(replace(told, advice=(*told.advice, *_replaced(graph, uid))))
        if told.verdict != REFUSED:
            _stand_in(adapter, ahead, node, sql)
    return found


def _stand_in(adapter: Any, ahead: AheadWarehouse, node: Any, sql: str | Exception) -> None:
    """Let those that read a model find it, though it is not built."""
    if isinstance(sql, Exception) or node["config"]["materialized"] == "ephemeral":
        return
    if node.get("language") != "sql":
        return
    if adapter.get_relation(node["database"], node["schema"], node["alias"]) is not None:
        return
    try:
        columns = dict(ahead.describe(sql))
        nulls = ", ".join(
            f"CAST(NULL AS {kind}) AS {quoted_name((name,))}" for name, kind in columns.items()
        )
        view = quoted_name((node["alias"],))
        adapter._ivm_query(f"CREATE OR REPLACE TEMPORARY VIEW {view} AS SELECT {nulls}")
    except DbtBaseException:
        return  # what reads it says that it is missing
    ahead.imagine_built((node["schema"], node["alias"]), columns)


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


def statuses(adapter: Any, graph: Graph, compiled: Compiled) -> list[Status]:
    """Where each maintained model stands."""
    adapter = Shared.of(adapter, graph, compiled)
    ahead = AheadWarehouse(adapter._ivm_warehouse())

    def look(asked: Request) -> Status:
        found = status(asked, ahead)
        if found.last is None or found.rows is not None:
            return found
        rows = adapter._ivm_query(f"SELECT count(*) AS n FROM {quoted_name(asked.state)}")
        return replace(found, rows=int(rows[0]["n"]))

    return _each(
        adapter, graph, compiled, look, lambda name, why: Status(name, "", None, trouble=(why,))
    )


def histories(
    adapter: Any, graph: Graph, compiled: Compiled, most: int | None
) -> list[tuple[str, list[Record], str]]:
    """The refreshes of each maintained model, newest first; or why there are none to tell.

    Args:
        adapter: dbt's, on an open connection.
        graph: The project's nodes.
        compiled: The models to look at.
        most: How many commits of each are looked at; None means all.
    """
    warehouse = Shared.of(adapter, graph, compiled)._ivm_warehouse()

    def look(asked: Request) -> tuple[str, list[Record], str]:
        found = records(warehouse.history(asked.state, most) or ())
        stands = state_history(warehouse, asked.state)
        return asked.model, found, unbuilt(stands) if stands.bookmark is None else ""

    return _each(adapter, graph, compiled, look, lambda name, why: (name, [], why))


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


def audits(adapter: Any, graph: Graph, compiled: Compiled, parts: int, seed: int) -> list[Audited]:
    """Recompute a sample of each maintained model, and compare.

    Args:
        adapter: dbt's, on an open connection.
        graph: The project's nodes.
        compiled: The models.
        parts: Into how many parts the groups or rows of a view fall, of which one is recomputed.
        seed: Which of them.
    """

    def look(asked: Request) -> Audited:
        planned = audit(asked, adapter._ivm_warehouse(), parts, seed)
        (counts,) = adapter._ivm_query(planned.counted)
        sampled, whole = (int(number) for number in counts.values())
        differing = adapter._ivm_query(f"SELECT * FROM (\n{planned.sql}\n) AS differing")
        told = statement(planned.unit, sampled, whole, len(differing))
        shown = [{k: str(v) for k, v in row.items()} for row in differing[:MOST_ROWS]]
        return Audited(asked.model, told, not differing, sampled, whole, shown)

    return _each(adapter, graph, compiled, look, Audited)


def maintained(
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

    return _each(adapter, graph, compiled, work, lambda name, why: (name, Maintenance(told=why)))


def dropped(adapter: Any, graph: Graph, compiled: Compiled) -> list[tuple[str, str]]:
    """Drop the view and the state of each maintained model, and tell what was dropped."""

    def drop(asked: Request) -> tuple[str, str]:
        return asked.model, adapter.ivm_drop_one(asked)

    return _each(adapter, graph, compiled, drop, lambda name, why: (name, why))


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


def adopted(
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

    return _each(adapter, graph, compiled, adopt, Adopted, reads_text=True)


def rebuilt(adapter: Any, graph: Graph, compiled: Compiled) -> list[tuple[str, str, bool]]:
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


def _each(
    adapter: Any,
    graph: Graph,
    compiled: Compiled,
    look: Callable[[Request], T],
    without: Callable[[str, str], T],
    *,
    reads_text: bool = False,
) -> list[T]:
    """What a look at each maintained model finds; in its place what is told where that fails.

    Args:
        adapter: dbt's, on an open connection.
        graph: The project's nodes.
        compiled: The models.
        look: Looks at one.
        without: What is told of a model at which nobody can look: its name, and why.
        reads_text: Whether nobody can where its text does not compile; a state tells of itself.
    """
    found = []
    for node, sql in in_turn(graph, compiled):
        try:
            if isinstance(sql, Exception) and reads_text:
                raise sql
            text = "" if isinstance(sql, Exception) else sql
            found.append(look(request(adapter, node, text)))
        except Exception as error:  # whatever it is, the others are looked at
            found.append(without(node["name"], in_short(error)))
    return found


def in_short(error: Exception) -> str:
    """What an error says, without Spark's hints, of which some have many lines."""
    if not isinstance(error, (DbtBaseException, IvmError)):
        logger.debug(f"{traceback.format_exc()}")
        return f"{type(error).__name__}: {error}"
    told = str(getattr(error, "msg", error)).strip()
    return told if isinstance(error, IvmError) else told.partition("\n")[0]
