"""Builds wheel and sdist, and installs each into a fresh environment, where the quick start is run.

`make dist` calls it. The environments lie in a temporary folder, and know nothing of this checkout.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

from scripts.docs.snippets import commands, write_project

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
PAGE = ROOT / "docs" / "quick-start.md"
SOURCES = ("python_ivm", "dbt", "macros")
LINK = "dbt/include/sparkivm/macros"
"""A symlink to `macros` here, and a folder in the archives."""


def main() -> None:
    """Build, check, install and run.

    Raises:
        SystemExit: something is missing in an archive, or the quick start does not go as told.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-run", action="store_true", help="build and check, install nothing")
    arguments = parser.parse_args()
    wheel, sdist = build()
    missing = sorted(packaged() - set(zipfile.ZipFile(wheel).namelist()))
    if missing:
        raise SystemExit(f"{wheel.name} lacks {', '.join(missing)}")
    if not arguments.no_run:
        for archive in (wheel, sdist):
            print(f"The quick start with {archive.name}:")
            with tempfile.TemporaryDirectory(prefix="dbt-sparkivm-dist-") as folder:
                run_quick_start(install(archive, Path(folder)), Path(folder) / "shop")
    print(f"{wheel.name} and {sdist.name} are complete.")


def build() -> tuple[Path, Path]:
    """Build both archives, the wheel from the sdist, and check their metadata."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT))
    archives = [*DIST.glob("*.whl"), *DIST.glob("*.tar.gz")]
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, archives))
    return archives[0], archives[1]


def packaged() -> set[str]:
    """The files that belong into the wheel, by their names there."""
    told = subprocess.run(
        ["git", "ls-files", *SOURCES], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = set(told.stdout.splitlines()) - {LINK}
    return {re.sub(r"^macros/", f"{LINK}/", file) for file in files}


def install(archive: Path, folder: Path) -> Path:
    """Install an archive into a fresh environment in a folder.

    Returns:
        The folder of the environment's commands.
    """
    venv.create(folder / "env", with_pip=True)
    commands_folder = folder / "env" / "bin"
    options = ["install", "--quiet", "--constraint", str(ROOT / "constraints.txt")]
    run(str(commands_folder / "pip"), *options, f"{archive}[session]")
    return commands_folder


def run_quick_start(commands_folder: Path, project: Path) -> None:
    """Do in an environment what the quick start says.

    Raises:
        SystemExit: it does not go as told.
    """
    write_project(PAGE, project)
    path = f"{commands_folder}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    environment.pop("PYTHONPATH", None)
    logs = [
        run("bash", "-c", command, cwd=project, env=environment)
        for command in commands(PAGE)
        if not command.startswith(("pip", "mkdir", "cd "))
    ]
    told = "\n".join(logs)
    for strategy in ("full (FIRST_BUILD): 3 rows", "incremental: +1 ~1 -0 rows", "noop: no source"):
        if strategy not in told:
            raise SystemExit(f"The quick start does not say: {strategy}")


def run(*command: str, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    """Run a command, and show what it prints.

    Raises:
        SystemExit: it fails.
    """
    print("$", " ".join(command), flush=True)
    done = subprocess.run(
        command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    print(done.stdout, flush=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}")
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)


if __name__ == "__main__":
    main()
