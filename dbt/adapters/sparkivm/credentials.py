"""The profile of a `sparkivm` target."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbt.adapters.spark.connections import SparkConnectionMethod, SparkCredentials

ANSI = "spark.sql.ansi.enabled"


@dataclass
class SparkIvmCredentials(SparkCredentials):
    """dbt-spark's credentials, of which a session target needs only `schema`.

    Attributes:
        master: where a session runs: `local[*]`, `local[4]`, `spark://host:7077`, `yarn`, ...
            Only for `method: session`.
        server_side_parameters: Spark settings, as written by the user; the values of YAML
            (booleans, numbers) become Spark's texts. They win over every default of ours.
    """

    method: SparkConnectionMethod = SparkConnectionMethod.SESSION
    master: str = "local[*]"
    # dbt-spark says dict[str, str], and dbt then refuses a plain `true` or `8` of YAML.
    server_side_parameters: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Complete and check the credentials.

        Raises:
            DbtRuntimeError: as dbt-spark says it, e.g. for a missing `schema`, or a missing
                `host` of a method that has one.
        """
        # Set by the connection manager: a profile does not know which project it is used for.
        self.project_root: Path | None = None
        self.server_side_parameters = {
            str(key): _spark_text(value) for key, value in self.server_side_parameters.items()
        }
        self.master = self.server_side_parameters.get("spark.master", self.master)
        ansi = self.server_side_parameters.get(ANSI)
        host = self.host
        if self.is_session and host is None:
            self.host = "localhost"  # dbt-spark asks every method for a host
        super().__post_init__()
        if self.is_session:
            self.host = host
        if ansi is not None:
            # dbt-spark turns ANSI off, whatever the profile says.
            self.server_side_parameters[ANSI] = ansi

    @property
    def is_session(self) -> bool:
        """Whether Spark runs in this process (`method: session`)."""
        return bool(self.method == SparkConnectionMethod.SESSION)

    @property
    def type(self) -> str:
        """The adapter's name in a profile."""
        return "sparkivm"

    @property
    def unique_field(self) -> str:
        """What dbt hashes for its anonymous statistics."""
        return self.master if self.is_session else str(self.host)

    def _connection_keys(self) -> tuple[str, ...]:
        if self.is_session:
            # Not server_side_parameters: `dbt debug` prints these, and a secret may be there.
            return "method", "master", "schema"
        return ("method", *super()._connection_keys())


def _spark_text(value: Any) -> str:
    """The text by which Spark knows a value of YAML."""
    return str(value).lower() if isinstance(value, bool) else str(value)
