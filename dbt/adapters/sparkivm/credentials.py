"""The profile of a `sparkivm` target."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dbt.adapters.spark.connections import SparkCredentials
from dbt_common.dataclass_schema import StrEnum
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.connection import extras
from dbt.adapters.sparkivm.connection.settings import spark_text

ANSI = "spark.sql.ansi.enabled"
DEFAULT_CATALOG = "spark.sql.defaultCatalog"
SECRET = re.compile(
    r"secret|password|passwd|token|credential|(access|account)[._-]?key|[.]sas[.]", re.IGNORECASE
)
"""What names a setting whose value is nobody's to see."""
_LEAST = 4
"""Shorter values are no secret, and stand in many texts."""


class Method(StrEnum):
    """How Spark is reached: dbt-spark's ways, and Spark Connect."""

    CONNECT = "connect"
    HTTP = "http"
    ODBC = "odbc"
    SESSION = "session"
    THRIFT = "thrift"


@dataclass
class SparkIvmCredentials(SparkCredentials):
    """dbt-spark's credentials, of which a session target needs only `schema`.

    Attributes:
        method: a Spark in this process (`session`), one behind Spark Connect (`connect`), or as in
            dbt-spark.
        host: for `connect` its URL, `sc://host:port`; without, the project's resident Spark.
        master: where a session, or the resident Spark, runs: `local[*]`, `local[4]`,
            `spark://host:7077`, `yarn`, ...
        resident: whether dbt starts the project's resident Spark by itself, and leaves it running.
        resident_idle_minutes: after how long without use that one ends.
        telemetry: who is told of each refresh: `otel`, `openlineage`, or both; nobody by default.
        count_warnings: whether a model that was refreshed with a warning has dbt's status `warn`.
        catalog: in which all names are looked up that have none, and everything is built; the
            profile's `database`, or its `catalog`. None means Spark's own.
        server_side_parameters: Spark settings, as written by the user; the values of YAML
            (booleans, numbers) become Spark's texts. They win over every default of ours.
    """

    method: Method = Method.SESSION  # type: ignore[assignment]
    master: str = "local[*]"
    resident: bool = False
    resident_idle_minutes: float = 30.0
    telemetry: list[str] = field(default_factory=list)
    count_warnings: bool = True
    catalog: str | None = None
    # dbt-spark says dict[str, str], and dbt then refuses a plain `true` or `8` of YAML.
    server_side_parameters: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Complete and check the credentials.

        Raises:
            DbtRuntimeError: a package that the method needs is missing; as dbt-spark says it, e.g.
                for a missing `schema`, or a missing `host` of a method that has one; `host` is no
                URL of Spark Connect; or `resident` asks for what the method does not have.
        """
        # Set by the connection manager: a profile does not know which project it is used for.
        self.project_root: Path | None = None
        self.server_side_parameters = {
            str(key): spark_text(value) for key, value in self.server_side_parameters.items()
        }
        self.master = self.server_side_parameters.get("spark.master", self.master)
        ansi = self.server_side_parameters.get(ANSI)
        for name in self.telemetry:
            extras.require(name, "telemetry", extras.TELEMETRY)
        if self.is_session or (self.host is not None and not self.is_connect):
            extras.require(self.method)  # before dbt-spark, whose advice names its own extras
        self._take_catalog()
        host = self.host
        if self.resident:
            self._check_resident(host)
        if self.in_session and host is None:
            self.host = "localhost"  # dbt-spark asks every method for a host
        super().__post_init__()
        if self.in_session:
            self.host = host
        if self.is_connect and host is not None and not _is_url(host):
            raise DbtRuntimeError(
                f"method: connect needs a `host` such as sc://localhost:15002, or none for the "
                f"project's resident Spark; it is {host.partition(';')[0]}"
            )
        if ansi is not None:
            # dbt-spark turns ANSI off, whatever the profile says.
            self.server_side_parameters[ANSI] = ansi

    def _take_catalog(self) -> None:
        """Have Spark look names up in the catalog; dbt-spark takes no `database` but the schema."""
        if self.database and self.database != self.schema:
            if self.catalog not in (None, self.database):
                raise DbtRuntimeError(
                    f"database is {self.database} and catalog is {self.catalog}: both name the "
                    "catalog, so set one of them"
                )
            self.catalog = self.database
        self.database = None
        given = self.server_side_parameters.get(DEFAULT_CATALOG, self.catalog)
        if given != self.catalog and self.catalog is not None:
            raise DbtRuntimeError(
                f"database is {self.catalog} and {DEFAULT_CATALOG} is {given}: set one of them"
            )
        self.catalog = given
        if given is not None:
            self.server_side_parameters[DEFAULT_CATALOG] = given

    def _check_resident(self, host: str | None) -> None:
        is_connect = self.method == Method.CONNECT
        if self.method not in (Method.SESSION, Method.CONNECT) or (is_connect and host):
            what = f"method: {self.method}" + (" with a host" if is_connect else "")
            raise DbtRuntimeError(
                f"resident: true starts a Spark on this machine, and {what} reaches another one: "
                "set method: session, or leave resident out"
            )
        if sys.platform == "win32":
            raise DbtRuntimeError(
                "resident: true needs Linux or macOS: on Windows use WSL, or leave resident out"
            )
        if self.resident_idle_minutes <= 0:
            raise DbtRuntimeError(
                f"resident_idle_minutes is {self.resident_idle_minutes:g}: it must be above 0"
            )

    @property
    def is_session(self) -> bool:
        """Whether Spark runs in this process (`method: session`)."""
        return bool(self.method == Method.SESSION) and not self.resident

    @property
    def is_connect(self) -> bool:
        """Whether Spark is reached by Spark Connect: `method: connect`, or a resident Spark."""
        return bool(self.method == Method.CONNECT) or self.resident

    @property
    def in_session(self) -> bool:
        """Whether each connection is a Spark session of its own, by either of the two methods."""
        return self.is_session or self.is_connect

    @property
    def type(self) -> str:
        """The adapter's name in a profile."""
        return "sparkivm"

    @property
    def unique_field(self) -> str:
        """What dbt hashes for its anonymous statistics."""
        return self.master if self.is_session else str(self.host)

    def connection_info(self, *, with_aliases: bool = False) -> Iterable[tuple[str, Any]]:
        """What `dbt debug` prints; of a URL of Spark Connect without its parameters.

        One of them can be a token.
        """
        for key, value in super().connection_info(with_aliases=with_aliases):
            hides = self.is_connect and key == "host" and value is not None
            yield key, value.partition(";")[0].rstrip("/") if hides else value

    def secrets(self) -> list[str]:
        """The values that nothing may show: passwords, tokens, keys of settings."""
        _, _, parameters = str(self.host or "").partition(";")
        pairs = [part.partition("=")[::2] for part in parameters.split(";")]
        pairs += [("token", self.token or ""), ("password", self.password or "")]
        pairs += self.server_side_parameters.items()
        found = [str(value) for key, value in pairs if SECRET.search(key)]
        return [one for one in found if len(one) >= _LEAST and one not in ("true", "false")]

    def _connection_keys(self) -> tuple[str, ...]:
        # Not server_side_parameters: `dbt debug` prints these, and a secret may be there.
        more = ("catalog",) if self.catalog else ()
        if self.in_session:
            if self.resident:
                return "method", "master", "resident", "resident_idle_minutes", "schema", *more
            return "method", "host" if self.is_connect else "master", "schema", *more
        return "method", *super()._connection_keys(), *more


def _is_url(host: str) -> bool:
    """Whether this is a URL of Spark Connect."""
    try:
        parts = urlsplit(host)
        return parts.scheme == "sc" and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number
        return False
