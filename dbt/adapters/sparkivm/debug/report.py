"""What `dbt debug` shows beside dbt's own checks, tries, and advises."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.bridge.conf import Conf, known
from dbt.adapters.sparkivm.connection import metastore
from dbt.adapters.sparkivm.connection.settings import (
    CATALOG,
    METASTORE_URIS,
    METASTORE_URL,
    is_local,
)
from dbt.adapters.sparkivm.credentials import SparkIvmCredentials
from dbt.adapters.sparkivm.debug.delta_trial import try_delta
from dbt.adapters.sparkivm.log import say

Query = Callable[[str], list[dict[str, Any]]]

_WAREHOUSE = "spark.sql.warehouse.dir"
_SHOWN = ("spark.sql.session.timeZone", "spark.sql.ansi.enabled")
_VERSIONS = "SELECT version() AS spark"
_JAVA = "SELECT java_method('java.lang.System', 'getProperty', 'java.version') AS java"
_UNKNOWN = "not told"


@dataclass(frozen=True)
class Facts:
    """What advice depends on.

    Attributes:
        spark: The version of the Spark that was reached.
        client: The version of PySpark here.
        in_memory: Whether the catalog goes with the Spark.
    """

    spark: str
    client: str
    in_memory: bool


def examine(query: Query, conf: Callable[[], Conf], credentials: SparkIvmCredentials) -> None:
    """Show versions and places, try Delta, and advise.

    Args:
        query: Runs a statement and gives its rows; the first one opens the connection.
        conf: Gives the session's settings, once it is open.
        credentials: The profile's.

    Raises:
        DbtRuntimeError: No connection, or Delta does not work there.
    """
    client = installed("pyspark")
    _show("pyspark", client)
    compiled = installed("sqlglotc") == installed("sqlglot")
    _show("sqlglot", installed("sqlglot") + (" (compiled)" if compiled else ""))
    spark = str(query(_VERSIONS)[0]["spark"]).split(" ")[0]
    _show("spark", spark)
    _show("java", _java(query))
    settings = conf()
    keys = (CATALOG, METASTORE_URIS, METASTORE_URL)
    catalog = {key: value for key in keys if (value := known(settings, key)) is not None}
    _show("warehouse", known(settings, _WAREHOUSE) or _UNKNOWN)
    _show("metastore", metastore.place(catalog))
    for key in _SHOWN:
        _show(key, known(settings, key) or _UNKNOWN)
    schema = str(credentials.schema)
    say(f"  Trying Delta on a small table in the schema {schema} ...")
    begin = time.monotonic()
    delta = try_delta(query, settings, schema)
    took = time.monotonic() - begin
    _show("delta", f"{delta}; MERGE, change feed and time travel work ({took:.1f} s)")
    facts = Facts(spark, client, catalog.get(CATALOG) == "in-memory")
    for text in advice(credentials, facts):
        say(f"  advice: {text}")


def advice(credentials: SparkIvmCredentials, facts: Facts) -> Iterator[str]:
    """What could be better, though it works."""
    if facts.in_memory:
        yield (
            "the catalog is in memory, so dbt finds no table again when this Spark has ended: set "
            f"{CATALOG}: hive."
        )
    if credentials.in_session and facts.spark != facts.client:
        home = os.environ.get("SPARK_HOME") if credentials.is_session else None
        from_home = f" (from SPARK_HOME, {home})" if home else ""
        yield (
            f"PySpark is {facts.client}, Spark is {facts.spark}{from_home}: use one version, or "
            "expect odd errors."
        )
    if credentials.is_session and is_local(credentials.master):
        yield (
            "each dbt command starts a Spark of its own, which takes longer than a small refresh. "
            "To keep one: resident: true in the profile."
        )


def installed(package: str) -> str:
    """The version of a Python package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _java(query: Query) -> str:
    try:
        return str(query(_JAVA)[0]["java"])
    except DbtRuntimeError:  # engines that run SQL of many users refuse calls of Java
        return _UNKNOWN


def _show(what: str, value: str) -> None:
    say(f"  {what}: {value}")
