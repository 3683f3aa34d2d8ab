"""Runs an operation on each selected model; a failure of one is reported and the others go on."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtBaseException

from dbt.adapters.sparkivm.configs.nodes import Compiled, Graph, in_turn
from dbt.adapters.sparkivm.operations.previews import request
from python_ivm.errors import IvmError
from python_ivm.refresh.request import Request

logger = AdapterLogger("SparkIvm")

T = TypeVar("T")

MOST_ROWS = 5
"""How many of the rows that differ are shown."""


def run_each(
    adapter: Any,
    graph: Graph,
    compiled: Compiled,
    operation: Callable[[Request], T],
    without: Callable[[str, str], T],
    *,
    reads_text: bool = False,
) -> list[T]:
    """What an operation gives for each maintained model; where it fails, what is told in its place.

    Args:
        adapter: dbt's, on an open connection.
        graph: The project's nodes.
        compiled: The models.
        operation: What is done with one.
        without: What is told of a model with which it fails: its name, and why.
        reads_text: Whether it fails where a model's text does not compile; a state needs no text.
    """
    found = []
    for node, sql in in_turn(graph, compiled):
        try:
            if isinstance(sql, Exception) and reads_text:
                raise sql
            text = "" if isinstance(sql, Exception) else sql
            found.append(operation(request(adapter, node, text)))
        except Exception as error:  # whatever it is, the others go on
            found.append(without(node["name"], in_short(error)))
    return found


def in_short(error: Exception) -> str:
    """What an error says, without Spark's hints, of which some have many lines."""
    if not isinstance(error, (DbtBaseException, IvmError)):
        logger.debug(f"{traceback.format_exc()}")
        return f"{type(error).__name__}: {error}"
    told = str(getattr(error, "msg", error)).strip()
    return told if isinstance(error, IvmError) else told.partition("\n")[0]
