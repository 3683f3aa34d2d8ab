"""A dbt project on disk and the commands to run in it, for tests on a real Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from dbt.cli.main import dbtRunner, dbtRunnerResult

from dbt.adapters.sparkivm.credentials import SparkIvmCredentials


@dataclass
class DbtResult:
    """What one dbt command left behind.

    Attributes:
        success: dbt's verdict.
        exception: why the command as a whole failed, if it did.
        log: the lines that a user sees, without colors.
        debug_log: all of dbt's log, with debug lines.
        run_results: the content of `run_results.json`; empty if the command wrote none.
    """

    success: bool
    exception: BaseException | None
    log: str
    debug_log: str
    run_results: dict[str, Any] = field(default_factory=dict)

    @property
    def results(self) -> dict[str, dict[str, Any]]:
        """The entries of `run_results.json` by the name of the node (model, test, seed)."""
        entries = self.run_results.get("results", [])
        return {entry["unique_id"].split(".")[2]: entry for entry in entries}

    @property
    def statuses(self) -> dict[str, str]:
        """success, error, pass, fail, skipped ... by the name of the node."""
        return {name: entry["status"] for name, entry in self.results.items()}

    def message(self, name: str) -> str:
        """What dbt says about one node, e.g. its error."""
        return str(self.results[name]["message"])

    def response(self, name: str) -> dict[str, Any]:
        """The adapter response of one node."""
        return dict(self.results[name]["adapter_response"])


class DbtProject:
    """A project in a folder, with a schema of its own in the Spark that all tests share."""

    def __init__(
        self,
        root: Path,
        schema: str,
        spark_settings: Mapping[str, Any],
        *,
        threads: int = 1,
        settings: Mapping[str, Any] | None = None,
        config: Mapping[str, Any] | None = None,
        target: Mapping[str, Any] | None = None,
    ) -> None:
        """Write a project without any models.

        Args:
            root: the project's folder.
            schema: the target's schema.
            spark_settings: how the shared Spark is started; the same for all projects.
            threads: dbt's threads.
            settings: further `server_side_parameters` of this project's profile.
            config: further keys of `dbt_project.yml`, e.g. `{"models": {"+enabled": False}}`.
            target: further keys of the profile's target, e.g. `{"method": "connect"}`.
        """
        self.root = root
        self.schema = schema
        parameters = {key: str(value) for key, value in spark_settings.items()}
        parameters |= settings or {}
        self.target = {
            "type": "sparkivm",
            "method": "session",
            "schema": schema,
            "threads": threads,
            "server_side_parameters": parameters,
            **(target or {}),
        }
        self._session: Any = None
        self._write_yaml(
            "dbt_project.yml",
            {
                "name": "project",
                "profile": "project",
                "flags": {
                    "send_anonymous_usage_stats": False,
                    # Not every project has models and seeds.
                    "warn_error_options": {"silence": ["UnusedResourceConfigPath"]},
                },
                **(config or {}),
            },
        )
        self.write_profile()

    def write_profile(self) -> DbtProject:
        """Write `profiles.yml`, again after `target` was changed."""
        profile = {"project": {"target": "test", "outputs": {"test": self.target}}}
        self._write_yaml("profiles.yml", profile)
        return self

    def write(self, files: Mapping[str, str]) -> DbtProject:
        """Write files, by their path in the project: `{"models/a.sql": "select 1 as x"}`."""
        for path, content in files.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        return self

    def models(self, **sql: str) -> DbtProject:
        """Write models by name: `project.models(a="select 1 as x")`."""
        return self.write({f"models/{name}.sql": text for name, text in sql.items()})

    def dbt(self, *args: str) -> DbtResult:
        """Run a dbt command in this process: `project.dbt("run", "--select", "a")`."""
        messages: list[tuple[str, str]] = []
        runner = dbtRunner(callbacks=[lambda event: messages.append(_level_and_text(event))])
        run_results = self.root / "target" / "run_results.json"
        run_results.unlink(missing_ok=True)
        outcome: dbtRunnerResult = runner.invoke([*args, *self._paths(), "--no-use-colors"])
        return DbtResult(
            success=outcome.success,
            exception=outcome.exception,
            log="\n".join(text for level, text in messages if level != "debug"),
            debug_log="\n".join(text for _, text in messages),
            run_results=json.loads(run_results.read_text()) if run_results.exists() else {},
        )

    def run(self, *args: str) -> DbtResult:
        """`dbt run`, which has to succeed."""
        result = self.dbt("run", *args)
        assert result.success, result.log or result.exception
        return result

    def sql(self, sql: str) -> list[Any]:
        """Run one statement in the same Spark, in the project's schema.

        Returns:
            The rows, which compare with tuples.
        """
        return list(self.session.sql(sql).collect())

    @property
    def session(self) -> Any:
        """A Spark session with the settings of this project, in its schema."""
        if self._session is None:
            # Imported here, as they import Spark, which tests without it need not wait for.
            if self.credentials.is_connect:
                from dbt.adapters.sparkivm.connection.connect import new_session
            else:
                from dbt.adapters.sparkivm.connection.in_process import new_session

            self._session = new_session(self.credentials)
            self._session.sql(f"create schema if not exists `{self.schema}`")
            self._session.sql(f"use `{self.schema}`")
        return self._session

    def close(self) -> None:
        """Give a session of Spark Connect back, while its server can still hear of it."""
        if self._session is not None and self.credentials.is_connect:
            self._session.stop()
            self._session = None

    @property
    def credentials(self) -> SparkIvmCredentials:
        """What dbt makes of the profile's target."""
        keys = self.target.keys() - {"type", "threads"}
        made = SparkIvmCredentials.from_dict({key: self.target[key] for key in keys})
        made.project_root = self.root
        return made

    def _paths(self) -> list[str]:
        root = str(self.root)
        return [
            *("--project-dir", root),
            *("--profiles-dir", root),
            *("--log-path", str(self.root / "logs")),
        ]

    def _write_yaml(self, path: str, content: Mapping[str, Any]) -> None:
        self.write({path: yaml.safe_dump(dict(content), sort_keys=False)})


def _level_and_text(event: Any) -> tuple[str, str]:
    return event.info.level, event.info.msg
