"""The command `dbt-sparkivm`."""

from __future__ import annotations

import subprocess
from argparse import Namespace
from pathlib import Path

import click
from dbt.cli.resolvers import default_profiles_dir, default_project_dir
from dbt_common.exceptions import DbtBaseException

from dbt.adapters.sparkivm.connection import extras, resident
from dbt.adapters.sparkivm.connection.settings import project_folder
from dbt.adapters.sparkivm.credentials import SparkIvmCredentials
from dbt.adapters.sparkivm.operations.commands import COMMANDS

_EXISTING = click.Path(exists=True, file_okay=False, path_type=Path)
_project = click.option(
    "--project-dir",
    type=_EXISTING,
    default=default_project_dir,
    envvar="DBT_PROJECT_DIR",
    help="The folder of the dbt project; by default the current one or one above.",
)


@click.group()
def main() -> None:
    """Tools around dbt projects with the adapter sparkivm."""


for _command in COMMANDS:
    main.add_command(_command)


@main.group()
def server() -> None:
    """A resident Spark for one project on this machine (method: connect)."""


@server.command()
@_project
@click.option(
    "--profiles-dir",
    type=_EXISTING,
    envvar="DBT_PROFILES_DIR",
    help="The folder of profiles.yml; by default as in dbt.",
)
@click.option("--profile", envvar="DBT_PROFILE", help="By default the project's.")
@click.option("--target", envvar="DBT_TARGET", help="By default the profile's.")
@click.option(
    "--port", type=click.IntRange(1, 65535), help="By default the profile's, or a free one."
)
def start(
    project_dir: Path,
    profiles_dir: Path | None,
    profile: str | None,
    target: str | None,
    port: int | None,
) -> None:
    """Start the project's Spark, with the settings of its profile, and wait until it is ready."""
    try:
        extras.require("connect")
        from dbt.adapters.sparkivm.server import lifecycle as server

        credentials = _credentials(project_dir, profiles_dir, profile, target)
        started = server.start(credentials, port)
    except DbtBaseException as error:
        raise click.ClickException(getattr(error, "msg", str(error))) from None
    click.echo(f"running: {started.url}, process {started.pid}")


@server.command()
@_project
def status(project_dir: Path) -> None:
    """Say whether the project's Spark runs; the exit code is 0 if it does, else 1."""
    folder = _folder(project_dir)
    found = resident.find(folder)
    if found is None:
        click.echo("starting" if resident.is_locked(folder) else "not running")
        raise SystemExit(1)
    state = "running" if found.ready else "starting"
    click.echo(f"{state}: {found.url}, process {found.pid}")
    if found.idle_minutes is not None:
        click.echo(f"started by dbt, ends after {found.idle_minutes:g} minutes without use")
    if (memory := _memory(found.pid)) is not None:
        click.echo(f"memory in use: {memory:,} MB")
    click.echo(f"token in {resident.state_file(folder)}, log in {folder / 'server.log'}")
    if not found.ready:
        raise SystemExit(1)


@server.command()
@_project
def stop(project_dir: Path) -> None:
    """Stop the project's Spark, and with it what it runs; without one, nothing happens."""
    try:
        extras.require("connect")
        from dbt.adapters.sparkivm.server import lifecycle as server

        stopped = server.stop(_folder(project_dir))
    except DbtBaseException as error:
        raise click.ClickException(getattr(error, "msg", str(error))) from None
    click.echo("stopped" if stopped else "not running")


def _memory(pid: int) -> int | None:
    """A process's memory in MB, as the operating system tells it; None if it does not."""
    try:
        told = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True
        )
        return int(told.stdout) // 1024
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def _folder(project_dir: Path) -> Path:
    """`.sparkivm` of a project."""
    if not (project_dir / "dbt_project.yml").exists():
        raise click.ClickException(
            f"{project_dir.resolve()} has no dbt_project.yml: call this in a dbt project, or name "
            "it by --project-dir."
        )
    return project_folder(project_dir)


def _credentials(
    project_dir: Path, profiles_dir: Path | None, profile: str | None, target: str | None
) -> SparkIvmCredentials:
    """What the project's profile says, read by dbt.

    Raises:
        DbtBaseException: dbt finds no such profile or target, or it is not sparkivm's.
    """
    from dbt.config.runtime import load_profile
    from dbt.flags import set_from_args

    _folder(project_dir)
    places = Namespace(
        PROFILES_DIR=str(profiles_dir or default_profiles_dir()),
        PROJECT_DIR=str(project_dir),
    )
    set_from_args(places, None)
    credentials = load_profile(str(project_dir), {}, profile, target).credentials
    if not isinstance(credentials, SparkIvmCredentials):
        raise click.ClickException(
            f"The profile's target is of type {credentials.type}; a resident Spark is for targets "
            "of type sparkivm."
        )
    credentials.project_root = project_dir
    return credentials
