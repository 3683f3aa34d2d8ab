"""Which Spark settings a session target gets: Delta, local defaults, and the user's on top.

Nothing here talks to Spark, so that it can be tested without.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dbt.adapters.sparkivm.connection.delta_jar import delta_package

DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
METASTORE_URL = "spark.hadoop.javax.jdo.option.ConnectionURL"
METASTORE_URIS = "spark.hadoop.hive.metastore.uris"

EXTENSIONS = "spark.sql.extensions"
PACKAGES = "spark.jars.packages"
JARS = "spark.jars"
JAVA_OPTIONS = "spark.driver.defaultJavaOptions"
"""Spark puts them before `spark.driver.extraJavaOptions`, which is left to the user."""
CATALOG = "spark.sql.catalogImplementation"
TOKEN = "spark.connect.authenticate.token"

# A metastore of the user's own: then no Derby of ours.
_OTHER_METASTORE = (METASTORE_URIS, METASTORE_URL)


def start_settings(
    master: str,
    user: Mapping[str, str],
    folder: Path,
    inherited: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """All settings with which Spark is started.

    Args:
        master: Spark's master URL; only a local one gets the local defaults.
        user: the profile's `server_side_parameters`, which win.
        folder: absolute path of the folder for warehouse, metastore and logs.
        inherited: what Spark reads by itself from `spark-defaults.conf`: wins over our defaults.

    Returns:
        Setting to value, ready for the launcher.
    """
    known = {**(inherited or {}), **user}
    settings = {"spark.app.name": "dbt", CATALOG: "hive"}
    if is_local(master):
        settings |= _local_defaults(master, known, folder)
    settings |= known
    settings["spark.master"] = master
    settings |= _delta(settings)
    if is_local(master) and METASTORE_URL in settings and "derby" in settings[METASTORE_URL]:
        # Without these Derby writes its log into whatever folder dbt was called from.
        options = f'"-Dderby.stream.error.file={folder / "derby.log"}"'
        settings[JAVA_OPTIONS] = f"{options} {settings.get(JAVA_OPTIONS, '')}".strip()
    return settings


def project_folder(root: Path | None) -> Path:
    """Where Spark keeps what it writes for a project: `.sparkivm` in the project's folder.

    It must not depend on the folder that dbt is called from, or a project would lose sight of its
    tables. dbt tells the folder of a project to the connection manager (see there).
    """
    return (root or Path.cwd()).resolve() / ".sparkivm"


def prepare(folder: Path) -> None:
    """Make the folder for what Spark writes, and keep it out of the project's git."""
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("# Spark's local tables and logs\n*\n")


def is_local(master: str) -> bool:
    """Whether Spark's executors live in this machine's process."""
    return master == "local" or master.startswith("local[")


def cores(master: str) -> int:
    """How many tasks a local master runs at once: `local[4]` 4, `local[*]` all of the machine."""
    match = re.match(r"local\[(\d+)", master)
    if match:
        return max(1, int(match[1]))
    return 1 if master == "local" else os.cpu_count() or 1


def spark_defaults(environ: Mapping[str, str]) -> dict[str, str]:
    """The user's `spark-defaults.conf`, as Spark's launcher will read it.

    Args:
        environ: environment variables; the file is looked for in SPARK_CONF_DIR, else in the
            `conf` folder of SPARK_HOME.

    Returns:
        Its settings; empty where there is none.
    """
    if environ.get("SPARK_CONF_DIR"):
        folder = Path(environ["SPARK_CONF_DIR"])
    elif environ.get("SPARK_HOME"):
        folder = Path(environ["SPARK_HOME"]) / "conf"
    else:
        return {}
    try:
        lines = (folder / "spark-defaults.conf").read_text().splitlines()
    except OSError:
        return {}
    settings = {}
    for line in lines:
        match = re.match(r"\s*(spark[^\s=:]*)\s*[=:\s]\s*(.*\S)", line)
        if match:
            settings[match[1]] = match[2]
    return settings


def _local_defaults(master: str, known: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Defaults for one machine, where Spark's own are made for a cluster."""
    settings = {
        "spark.driver.memory": "2g",
        "spark.driver.host": "localhost",  # not a name that a VPN takes away
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        # 200 and 50 by default: seconds of empty tasks in each statement.
        "spark.sql.shuffle.partitions": str(cores(master)),
        "spark.databricks.delta.snapshotPartitions": "2",
        # 10,000 by default: VACUUM lists a table's files in so many tasks.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": str(cores(master)),
        # 100 by default: what some ten models run drops what the others ran, to be compiled again.
        "spark.sql.codegen.cache.maxEntries": "2000",
        # Each statement's plan is written out for a page that nobody sees.
        "spark.sql.ui.explainMode": "simple",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
    }
    own_metastore = any(known.get(key) for key in _OTHER_METASTORE)
    if known.get(CATALOG, "hive") == "hive" and not own_metastore:
        settings[METASTORE_URL] = f"jdbc:derby:;databaseName={folder / 'metastore'};create=true"
        # Connections are lost where Derby's disk is full, and Hive would wait for ever for them.
        settings["spark.hadoop.datanucleus.connectionPool.maxWait"] = "10000"
    return settings


def _delta(settings: Mapping[str, str]) -> dict[str, str]:
    """What is missing in `settings` for Delta tables."""
    added = {}
    extensions = items(settings.get(EXTENSIONS))
    if DELTA_EXTENSION not in extensions:
        added[EXTENSIONS] = ",".join([*extensions, DELTA_EXTENSION])
    if "spark.sql.catalog.spark_catalog" not in settings:
        added["spark.sql.catalog.spark_catalog"] = DELTA_CATALOG
    packages = items(settings.get(PACKAGES))
    jars = items(settings.get(JARS))
    if not _has_delta_package(packages) and not _has_delta_jar(jars):
        added[PACKAGES] = ",".join([*packages, delta_package()])
    return added


def _has_delta_package(packages: Iterable[str]) -> bool:
    return any(package.startswith("io.delta:delta-spark") for package in packages)


def _has_delta_jar(jars: Iterable[str]) -> bool:
    return any(jar.rsplit("/", 1)[-1].startswith("delta-spark") for jar in jars)


_OF_THE_WHOLE = (
    EXTENSIONS,
    CATALOG,
    "spark.sql.warehouse.dir",
    "spark.sql.catalog.",
    "spark.sql.hive.metastore.",
    "spark.sql.streaming.ui.",
    "spark.sql.ui.",
)


def may_be_of_a_session(key: str) -> bool:
    """Whether to try a setting in a session: it accepts many in silence that nobody reads there."""
    return not key.startswith("spark.") or key.startswith(("spark.sql.", "spark.databricks."))


def is_of_the_whole(key: str) -> bool:
    """Whether one Spark has one value of a setting, which only its restart can change."""
    return not may_be_of_a_session(key) or key.startswith(_OF_THE_WHOLE)


def items(text: str | None) -> list[str]:
    """The members of a comma-separated setting."""
    return [item.strip() for item in (text or "").split(",") if item.strip()]


def spark_text(value: Any) -> str:
    """A value of YAML as Spark and Delta write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
