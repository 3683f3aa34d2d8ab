"""A dbt project as the command `dbt-sparkivm` opens it: its models are selected by dbt itself."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click
from dbt.adapters.factory import get_adapter_by_type
from dbt_common.exceptions import DbtBaseException, DbtInternalError

from dbt.adapters.sparkivm.configs.nodes import Compiled, Graph, Texts

_LOUD = ("warn", "error")
_SELDOM = (200_000, 50, 50)
_BESIDE_THE_POINT = ("UnusedResourceConfigPath",)


@dataclass(frozen=True)
class Project:
    """A project, on an open connection.

    Attributes:
        adapter: dbt's.
        graph: The project's nodes.
        compiled: The selected models: their SQL, or why there is none.
    """

    adapter: Any
    graph: Graph
    compiled: Compiled


@contextmanager
def opened(arguments: Sequence[str]) -> Iterator[Project]:
    """A project, whose models are selected by ``dbt ls``.

    Args:
        arguments: dbt's own, such as ``--select``, ``--target`` and ``--vars``.

    Raises:
        ClickException: If dbt cannot read the project, or no model is selected.
    """
    # What is read of a project stays until the command ends: by default it is searched for garbage
    # again and again, a tenth of the time at 500 models.
    usual = gc.get_threshold()
    gc.set_threshold(*_SELDOM)
    try:
        yield from _opened(arguments)
    finally:
        gc.set_threshold(*usual)


def _opened(arguments: Sequence[str]) -> Iterator[Project]:
    uids = _selected(arguments)
    if not uids:
        raise click.ClickException("No model is selected. `dbt ls` shows what a selection names.")
    try:
        adapter = get_adapter_by_type("sparkivm")
    except (KeyError, DbtInternalError):
        raise click.ClickException(
            "The profile's target is of another type than sparkivm; choose one by --target."
        ) from None
    manifest = adapter.get_macro_resolver()
    manifest.build_flat_graph()
    try:
        with adapter.connection_named("dbt-sparkivm"):
            yield Project(adapter, manifest.flat_graph, Texts(adapter, uids))
    except DbtBaseException as error:
        raise click.ClickException(getattr(error, "msg", str(error))) from None
    finally:
        adapter.cleanup_connections()


def _selected(arguments: Sequence[str]) -> list[str]:
    """The unique ids of the selected models; dbt's warnings go to stderr."""
    from dbt.cli.main import dbtRunner  # which imports all of dbt

    listed = ["ls", "--resource-type", "model", "--output", "json", "--output-keys", "unique_id"]
    quiet = ["--log-level", "none", "--no-write-json"]
    outcome = dbtRunner(callbacks=[_teller()]).invoke([*quiet, *listed, *arguments])
    if outcome.exception is not None:
        raise click.ClickException(str(outcome.exception))
    if not isinstance(outcome.result, list):
        raise click.ClickException("dbt could not list the models; logs/dbt.log says why.")
    return [json.loads(line)["unique_id"] for line in outcome.result]


def _teller() -> Callable[[Any], None]:
    told = set()

    def tell(event: Any) -> None:
        known = event.info.name in _BESIDE_THE_POINT or event.info.msg in told
        if event.info.level in _LOUD and not known:
            told.add(event.info.msg)
            click.echo(event.info.msg, err=True)

    return tell
