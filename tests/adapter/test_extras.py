"""The base install has no Spark: what works without, and what is said of a method that needs it."""

from __future__ import annotations

import subprocess
import sys

from dbt.adapters.sparkivm.connection.extras import MODULES

STARTS_SPARK = {
    "connection.in_process",
    "connection.launch",
    "server.automatic",
    "server.lifecycle",
}
"""The modules that import PySpark; they are loaded when a Spark is started."""

WITHOUT = """
import sys
for name in {modules}:
    sys.modules[name] = None  # as if it were not installed
"""
IMPORT_ALL = """
import importlib, pkgutil
import python_ivm, dbt.adapters.sparkivm as ours
from dbt.adapters.sparkivm.cli import main
for package in (python_ivm, ours):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            print(module.name.removeprefix("dbt.adapters.sparkivm."), error.name.split(".")[0])
"""
MESSAGES = """
from pathlib import Path
from click.testing import CliRunner
from dbt.adapters.sparkivm import SparkIvmCredentials
from dbt.adapters.sparkivm.cli import main
from dbt.adapters.sparkivm.connection.connect import new_session
for method in {methods}:
    host = "sc://localhost" if method == "connect" else "localhost"
    try:
        made = SparkIvmCredentials(method=method, schema="s", host=host, database=None)
        if made.is_connect:
            new_session(made)
    except Exception as error:
        print(error.msg)
with CliRunner().isolated_filesystem():
    Path("dbt_project.yml").write_text("name: shop")
    print("server:", CliRunner().invoke(main, ["server", "stop"]).output)
"""


def told(program: str, *missing: str) -> str:
    """What a program prints in a Python that lacks some packages."""
    text = WITHOUT.format(modules=missing) + program
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


def test_all_but_what_starts_spark_is_imported_without_pyspark() -> None:
    lines = told(IMPORT_ALL, "pyspark", "py4j", "delta", "grpc", "pandas", "pyarrow").splitlines()
    assert {line.split()[0] for line in lines} == STARTS_SPARK
    assert {line.split()[1] for line in lines} == {"pyspark"}


def test_a_method_without_its_packages_names_the_extra() -> None:
    every = {module for modules in MODULES.values() for module in modules}
    message = told(MESSAGES.format(methods=list(MODULES)), *every)
    for method, modules in MODULES.items():
        assert (
            f"method: {method} needs further packages: pip install 'dbt-sparkivm[{method}]'. "
            f"(Not installed: {', '.join(modules)}.)"
        ) in message
    assert "server: Error: method: connect needs further packages" in message
