"""Rebuilds by dbt itself, with hooks, grants and all: `dbt run --full-refresh` of chosen models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

_SELECTING = ("--select", "-s", "--models", "--model", "-m", "--exclude", "--selector")


@dataclass(frozen=True)
class Rebuilt:
    """What a rebuild did to a model.

    Attributes:
        model: The model's name.
        status: dbt's word for it: ``success``, ``error`` or ``skipped``.
        told: What the adapter says, or what went wrong.
        seconds: How long it took.
    """

    model: str
    status: str
    told: str
    seconds: float | None


def without_selection(arguments: Sequence[str]) -> list[str]:
    """Dbt's arguments without those that select models.

    Args:
        arguments: Of which one that selects has the values up to the next option.
    """
    kept, inside = [], False
    for argument in arguments:
        if argument.startswith("-"):
            inside = argument.partition("=")[0] in _SELECTING
            single = inside and "=" in argument
            if not inside:
                kept.append(argument)
            inside = inside and not single
        elif not inside:
            kept.append(argument)
    return kept


def rebuild(
    arguments: Sequence[str], fqns: Sequence[Sequence[str]], *, quiet: bool
) -> list[Rebuilt]:
    """Build models anew by `dbt run --full-refresh`.

    Args:
        arguments: dbt's own; what they select is left out.
        fqns: The models, by the parts of dbt's names for them.
        quiet: Whether dbt's log is not to be shown.

    Raises:
        ClickException: If dbt could not run.
    """
    from dbt.cli.main import dbtRunner  # which imports all of dbt

    log = ["--log-level", "none"] if quiet else []
    selected = [f"fqn:{'.'.join(parts)}" for parts in fqns]
    outcome = dbtRunner().invoke(
        [*log, "run", "--full-refresh", *without_selection(arguments), "--select", *selected]
    )
    if outcome.exception is not None:
        raise click.ClickException(str(outcome.exception))
    results = getattr(outcome.result, "results", ())
    return [Rebuilt(r.node.name, str(r.status), str(r.message), r.execution_time) for r in results]
