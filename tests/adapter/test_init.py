"""`dbt init`: each of its choices gives a profile that loads."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from dbt.adapters.spark import connections as dbt_spark
from dbt.cli.main import cli
from dbt.version import _get_adapter_plugin_names

from dbt.adapters.sparkivm import SparkIvmCredentials
from dbt.adapters.sparkivm.connection import extras
from dbt.include.sparkivm import PACKAGE_PATH

CHOICES = {
    "session": ("1", "", "", ""),
    "session on a cluster": ("1", "yarn", "shop", "4"),
    "resident by itself": ("2", "", "", ""),
    "resident": ("3", "", "", ""),
    "connect": ("4", "", "", "", "", ""),
    "connect with a token": ("4", "sc://far:1", "hush", "true", "shop", "2"),
    "thrift": ("5", "", "", "", "", ""),
    "http": ("6", "org.databricks.com", "", "", "0123-4", "hush", "", ""),
    "odbc to a warehouse": ("7", "org.databricks.com", "", "", "1", "abc", "hush", "", ""),
    "odbc to a cluster": ("7", "org.databricks.com", "", "", "2", "012", "", "hush", "", ""),
}
ALWAYS = {"type": "sparkivm", "schema": "default", "threads": 1}
MADE: dict[str, dict[str, Any]] = {
    "session": {"method": "session", "master": "local[*]"},
    "session on a cluster": {
        **{"method": "session", "master": "yarn"},
        **{"schema": "shop", "threads": 4},
    },
    "resident by itself": {"method": "session", "resident": True, "master": "local[*]"},
    "resident": {"method": "connect", "master": "local[*]"},
    "connect": {
        **{"method": "connect", "host": "sc://localhost:15002"},
        **{"token": "", "use_ssl": False},
    },
    "connect with a token": {
        **{"method": "connect", "host": "sc://far:1", "token": "hush"},
        **{"use_ssl": True, "schema": "shop", "threads": 2},
    },
    "thrift": {
        **{"method": "thrift", "host": "localhost", "port": 10000},
        **{"user": "dbt"},
    },
    "http": {
        **{"method": "http", "host": "org.databricks.com", "port": 443, "organization": "0"},
        **{"cluster": "0123-4", "token": "hush"},
    },
    "odbc to a warehouse": {
        **{"method": "odbc", "host": "org.databricks.com", "port": 443, "endpoint": "abc"},
        **{"driver": "/opt/simba/spark/lib/64/libsparkodbc_sb64.so", "token": "hush"},
    },
    "odbc to a cluster": {
        **{"method": "odbc", "host": "org.databricks.com", "port": 443},
        **{"cluster": "012", "organization": "0"},
        **{"driver": "/opt/simba/spark/lib/64/libsparkodbc_sb64.so", "token": "hush"},
    },
}


@pytest.fixture
def drivers(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the packages of dbt-spark's methods were installed."""
    for name in ("ThriftState", "THttpClient", "hive"):
        monkeypatch.setattr(dbt_spark, name, object())
    monkeypatch.setitem(sys.modules, "pyodbc", ModuleType("pyodbc"))
    monkeypatch.setattr(extras, "MODULES", {})


@pytest.mark.usefixtures("drivers")
@pytest.mark.parametrize("choice", CHOICES)
def test_each_choice_gives_a_profile_that_loads(
    choice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    adapter = str(list(_get_adapter_plugin_names()).index("sparkivm") + 1)
    answers = "\n".join([adapter, *CHOICES[choice], ""])
    result = CliRunner().invoke(
        cli, ["init", "lake", "--profiles-dir", str(tmp_path)], input=answers
    )
    assert result.exit_code == 0, result.output
    target = yaml.safe_load((tmp_path / "profiles.yml").read_text())["lake"]["outputs"]["dev"]
    assert target == ALWAYS | MADE[choice]
    keys = target.keys() - {"type", "threads"}
    profile = {key: target[key] for key in keys}
    SparkIvmCredentials.validate(profile)
    loaded = SparkIvmCredentials.from_dict(profile)
    assert (loaded.method, loaded.schema) == (target["method"], target["schema"])


def test_every_method_is_offered() -> None:
    template = yaml.safe_load((Path(PACKAGE_PATH) / "profile_template.yml").read_text())
    offered = {c["_fixed_method"] for c in template["prompts"]["_choose_method"].values()}
    assert offered == {"session", "connect", "thrift", "http", "odbc"}
