"""What the threads of one run of dbt share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any

from dbt_common.invocation import get_invocation_id

from dbt.adapters.sparkivm.bridge.engine import Engine
from python_ivm.refresh.metadata.cache import MetadataCache
from python_ivm.refresh.request import Previous

_PREVIOUS = "ivm_previous"


@dataclass
class ThisRun:
    """What the threads of one run of dbt share.

    Attributes:
        sources: The tables that it only reads; None until a model asks.
        answers: What is known about them, and about what is read as before the run.
        looks_back: Whether a model names another one as it was before the run.
        previous: The models that were named so, by the names of their views as planner keys.
        engine: What is known of the engine.
        settings: The settings by which a query's result can differ, with which each session
            begins; None where each is asked for them.
    """

    sources: set[tuple[str, str]] | None = None
    answers: MetadataCache = field(default_factory=MetadataCache)
    looks_back: bool = False
    previous: dict[str, Previous] = field(default_factory=dict)
    engine: Engine = field(default_factory=Engine)
    settings: Mapping[str, str] | None = None


@lru_cache(maxsize=1)
def _new_run(invocation: str) -> ThisRun:
    return ThisRun()


_one_at_a_time = Lock()


def this_run(graph: Mapping[str, Any] | None = None) -> ThisRun:
    """The present run.

    Args:
        graph: The project's, as dbt gives it to Jinja; it is gone through once a run.
    """
    with _one_at_a_time:
        run = _new_run(get_invocation_id())
        if run.sources is None and graph is not None:
            run.sources = _only_read(graph)
            nodes = graph["nodes"].values()
            run.looks_back = any(_PREVIOUS in str(node.get("raw_code")) for node in nodes)
        return run


def _only_read(graph: Mapping[str, Any]) -> set[tuple[str, str]]:
    """The sources that nothing in the project writes, as (schema, name) in lower case.

    A model reads them by views and ephemeral models, too.
    """

    def lowered(schema: str, name: str) -> tuple[str, str]:
        return schema.lower(), name.lower()

    read = {lowered(s["schema"], s["identifier"]) for s in graph["sources"].values()}
    nodes = graph["nodes"].values()
    return read - {lowered(n["schema"], n.get("alias") or n["name"]) for n in nodes}
