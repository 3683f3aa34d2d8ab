"""The commands of `dbt-sparkivm` on the models of a project."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from dbt.adapters.sparkivm.bridge.relations import state_name
from dbt.adapters.sparkivm.configs.nodes import is_maintained
from dbt.adapters.sparkivm.operations import changes, inspections, rebuilding, texts
from dbt.adapters.sparkivm.operations.mixin import parts_of
from dbt.adapters.sparkivm.operations.previews import previews, request
from dbt.adapters.sparkivm.operations.project import opened
from dbt.adapters.sparkivm.operations.report.contents import contents
from dbt.adapters.sparkivm.operations.report.drawn import Drawn
from dbt.adapters.sparkivm.operations.report.page import html
from dbt.adapters.sparkivm.operations.report.run import read
from dbt.adapters.sparkivm.operations.totals import totals
from python_ivm.errors import IvmError
from python_ivm.operate.check import REFUSED
from python_ivm.operate.preview import ERROR
from python_ivm.operate.status import last_fallback

SCHEMA = 1
"""The version of the JSON that commands print (docs/operations.md)."""

_DBT = {"ignore_unknown_options": True, "help_option_names": ["--help", "-h"]}
_EPILOG = (
    "All other options are dbt's own and go to it: --select, --exclude, --selector, --target, "
    "--profiles-dir, --project-dir, --vars and so on."
)
_arguments = click.argument(
    "arguments", nargs=-1, type=click.UNPROCESSED, metavar="[DBT OPTIONS]..."
)
_format = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    help="A table for people, or JSON.",
)


def command(function: Callable[..., None]) -> click.Command:
    """A command that hands dbt's options to dbt."""
    made = click.command(context_settings=_DBT, epilog=_EPILOG)(_format(function))
    assert isinstance(made, click.Command)
    return made


@command
@click.option(
    "--fail-on",
    type=click.Choice(["full", "recompute", "fallback"]),
    multiple=True,
    help="End with exit code 1 if a model would be refreshed so; can be given more than once.",
)
@click.option(
    "--look", is_flag=True, help="Read changed rows where a run reads them to decide, too."
)
@click.option("--full-refresh", is_flag=True, help="As of a run with this option.")
@_arguments
def preview(
    arguments: Sequence[str], form: str, fail_on: Sequence[str], look: bool, full_refresh: bool
) -> None:
    """Say what the next `dbt run` would do to each maintained model. Writes nothing.

    The exit code is 1 if a model would fail, or be refreshed as --fail-on names.
    """
    with opened(arguments) as project:
        found = previews(
            project.adapter,
            project.graph,
            project.compiled,
            look=look,
            full_refresh=full_refresh,
        )
    told = {"models": [asdict(p) for p in found], "totals": totals(found)}
    _show("preview", form, told, texts.of_previews(found))
    hit = [p for p in found if p.strategy in (ERROR, *fail_on)]
    hit += [p for p in found if p.fallback and "fallback" in fail_on]
    if hit:
        raise SystemExit(1)


@command
@_arguments
def check(arguments: Sequence[str], form: str) -> None:
    """Say whether and how each maintained model can be maintained, built or not.

    The exit code is 1 if a model is refused.
    """
    with opened(arguments) as project:
        found = inspections.check_all(project.adapter, project.graph, project.compiled)
    _show("check", form, {"models": [asdict(c) for c in found]}, texts.of_checks(found))
    if any(c.verdict == REFUSED for c in found):
        raise SystemExit(1)


@command
@_arguments
def status(arguments: Sequence[str], form: str) -> None:
    """Say where each maintained model stands: last refresh, sources behind, size of its state."""
    with opened(arguments) as project:
        found = inspections.read_statuses(project.adapter, project.graph, project.compiled)
    _show("status", form, {"models": [asdict(s) for s in found]}, texts.of_statuses(found))


@command
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=20,
    help="How many commits of each state to look at; 20 by default.",
)
@_arguments
def history(arguments: Sequence[str], form: str, limit: int) -> None:
    """Tell the last refreshes of each maintained model, newest first."""
    with opened(arguments) as project:
        found = inspections.read_histories(project.adapter, project.graph, project.compiled, limit)
    told = [{"model": m, "refreshes": [asdict(r) for r in p], "trouble": w} for m, p, w in found]
    _show("history", form, {"models": told}, texts.of_histories(found))


@command
@click.argument("model")
@_arguments
def why(arguments: Sequence[str], form: str, model: str) -> None:
    """Explain why MODEL was last computed from all rows, and what its next refresh would be."""
    with opened(["--select", model, *arguments]) as project:
        past = inspections.read_histories(project.adapter, project.graph, project.compiled, None)
        found = previews(project.adapter, project.graph, project.compiled, look=False)
    coming = {preview.model: preview for preview in found}
    told = [(name, last_fallback(records), coming.get(name)) for name, records, _ in past]
    if form == "json":
        listed = [
            {"model": m, "fallback": asdict(f) if f else None, "next": asdict(n) if n else None}
            for m, f, n in told
        ]
        print_json("why", {"models": listed})
    elif told:
        without = {name: f"{name}: {trouble.rstrip('.')}." for name, _, trouble in past if trouble}
        click.echo("\n".join(without.get(one[0]) or texts.of_fallback(*one) for one in told))
    else:
        raise click.ClickException(f"{model} names no maintained model.")


@command
@click.option(
    "--fraction",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.01,
    help="Which part of the groups or rows to recompute; 0.01 by default.",
)
@click.option("--seed", type=int, help="Which sample; by default another one each time.")
@_arguments
def audit(arguments: Sequence[str], form: str, fraction: float, seed: int | None) -> None:
    """Recompute a sample of each maintained view at the versions that it shows, and compare.

    The exit code is 1 if a row differs, or a view cannot be compared.
    """
    chosen = random.randrange(2**31) if seed is None else seed
    with opened(arguments) as project:
        found = inspections.audit_all(
            project.adapter, project.graph, project.compiled, parts_of(fraction), chosen
        )
    if form == "json":
        print_json("audit", {"seed": chosen, "models": [asdict(one) for one in found]})
    else:
        _tell("audit", form, [(one.model, one.told) for one in found])
        click.echo(f"seed {chosen}")
        for one in found:
            for row in one.differing:
                click.echo(f"{one.model}: {row}")
    if any(not one.equal for one in found):
        raise SystemExit(1)


@command
@click.option("--force", is_flag=True, help="Maintain every state that has something to tidy.")
@_arguments
def maintain(arguments: Sequence[str], form: str, force: bool) -> None:
    """OPTIMIZE and VACUUM the states that need it; each keeps its bookmark."""
    with opened(arguments) as project:
        found = changes.maintain_all(project.adapter, project.graph, project.compiled, forced=force)
    _tell("maintain", form, [(name, done.told) for name, done in found])


@command
@click.option("--dry-run", is_flag=True, help="Say what it would cost, and do nothing.")
@_arguments
def rebuild(arguments: Sequence[str], form: str, dry_run: bool) -> None:
    """Build the selected maintained models anew, by `dbt run --full-refresh`; nothing is asked.

    First it says what that costs. The exit code is 1 if a model could not be built.
    """
    with opened(arguments) as project:
        graph = project.graph
        found = previews(project.adapter, graph, project.compiled, look=False, full_refresh=True)
        fqns = [n["fqn"] for u in project.compiled if is_maintained(n := graph["nodes"][u])]
    if form == "text":
        click.echo(texts.of_previews(found))
    done = rebuilding.rebuild(arguments, fqns, quiet=form == "json") if fqns and not dry_run else []
    if form == "json":
        listed = {"costs": [asdict(p) for p in found], "models": [asdict(one) for one in done]}
        print_json("rebuild", listed)
    if any(one.status not in ("success", "warn") for one in done):
        raise SystemExit(1)


@command
@click.option(
    "--trust", is_flag=True, help="Do not compare: the table equals the query, you say so."
)
@click.option(
    "--at",
    "versions",
    metavar="SOURCE=VERSION",
    multiple=True,
    help="The version of a source that the table stands for; the present one by default.",
)
@_arguments
def adopt(arguments: Sequence[str], form: str, trust: bool, versions: Sequence[str]) -> None:
    """Let the Delta table under each selected model's name become its state, if it equals it.

    The exit code is 1 if a table was not adopted; it is then as it was.
    """
    at = dict(_version(told) for told in versions)
    with opened(arguments) as project:
        found = changes.adopt_all(
            project.adapter, project.graph, project.compiled, versions=at, trusted=trust
        )
    if form == "json":
        print_json("adopt", {"models": [asdict(one) for one in found]})
    else:
        _tell("adopt", form, [(one.model, one.told) for one in found])
        for one in found:
            for row in one.differing:
                click.echo(f"{one.model}: {row}")
    if any(not one.done for one in found):
        raise SystemExit(1)


def _version(told: str) -> tuple[str, int]:
    """A source's name and its version.

    Raises:
        BadParameter: If it is not written so.
    """
    name, _, version = told.rpartition("=")
    if not name or not version.isdigit():
        raise click.BadParameter(f"{told} is not written as shop.orders=5", param_hint="--at")
    return name, int(version)


@command
@click.option("--yes", is_flag=True, help="Do not ask.")
@_arguments
def drop(arguments: Sequence[str], form: str, yes: bool) -> None:
    """Drop the view and the state of the selected maintained models."""
    with opened(arguments) as project:
        graph = project.graph
        chosen = [u for u in project.compiled if is_maintained(graph["nodes"][u])]
        names = ", ".join(sorted(graph["nodes"][uid]["name"] for uid in chosen))
        if names and not yes:
            click.confirm(f"Drop {names}: view and state?", abort=True, err=True)
        found = changes.drop_all(project.adapter, graph, project.compiled)
    _tell("drop", form, found)


@command
@click.argument("former")
@click.argument("model")
@_arguments
def rename(arguments: Sequence[str], form: str, former: str, model: str) -> None:
    """Move the state of FORMER, a relation as schema.name or name, to MODEL.

    Rename the model's file first. Other options follow both names.
    """
    with opened(["--select", model, *arguments]) as project:
        maintained = [u for u in project.compiled if is_maintained(project.graph["nodes"][u])]
        if len(maintained) != 1:
            raise click.ClickException(f"{model} names {len(maintained)} maintained models.")
        node, sql = project.graph["nodes"][maintained[0]], project.compiled[maintained[0]]
        schema, _, name = former.rpartition(".")
        view = (schema or str(node["schema"]), name)
        try:
            asked = request(project.adapter, node, "" if isinstance(sql, Exception) else sql)
            project.adapter.ivm_rename_one(asked, view, state_name("", node["config"]))
        except IvmError as error:
            raise click.ClickException(str(error)) from None
    _tell("rename", form, [(model, f"has the state of {'.'.join(view)}; run it to make its view")])


@click.command(context_settings=_DBT, epilog=_EPILOG)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("target/sparkivm-report.html"),
    help="The file to write; target/sparkivm-report.html by default.",
)
@click.option(
    "--run",
    "results",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A run_results.json: show what that run did.",
)
@_arguments
def report(arguments: Sequence[str], output: Path, results: Path | None) -> None:
    """Write a page that shows the project's models, or a run: graph, trends, plans."""
    run = read(results) if results is not None else None
    with opened(arguments) as project:
        config = project.adapter.config
        drawn = Drawn(Path(config.project_target_path) / "sparkivm-drawings.json")
        found = contents(project.adapter, project.graph, project.compiled, run, drawn)
        written = html(config.project_name, found, config.credentials.secrets())
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(written, encoding="utf-8")
    click.echo(f"{len(found['models'])} models in {output}")


def _tell(name: str, form: str, found: Sequence[tuple[str, str]]) -> None:
    """Print one sentence on each model."""
    lines = "\n".join(f"{model}: {told}" for model, told in found)
    listed = [{"model": model, "told": told} for model, told in found]
    _show(name, form, {"models": listed}, lines or "No maintained model is selected.")


def _show(name: str, form: str, told: dict[str, Any], text: str) -> None:
    """Print what a command found, as it was asked for."""
    if form == "json":
        print_json(name, told)
    else:
        click.echo(text)


def print_json(name: str, told: dict[str, Any]) -> None:
    """Print what a command found."""
    click.echo(json.dumps({"command": name, "schema": SCHEMA, **told}, indent=2))


COMMANDS = (
    preview, check, status, history, why, audit, maintain, rebuild, adopt, drop, rename, report,
)  # fmt: skip
