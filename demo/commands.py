"""dbt's commands in this process, with what each model did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from dbt.adapters.sparkivm.cli import main as sparkivm
from integration_tests.commands import DbtFailed, run_dbt


@dataclass(frozen=True)
class Model:
    """What one run did with a model.

    Attributes:
        name: the model's name.
        strategy: incremental, recompute, full or noop; error if it failed.
        message: dbt's line about it.
        rows: inserted, updated and deleted rows of its state; None where that is not known.
        seconds: how long it took.
    """

    name: str
    strategy: str
    message: str
    rows: tuple[int | None, int | None, int | None]
    seconds: float


@dataclass(frozen=True)
class Run:
    """One `dbt run`: its models, by name and in order."""

    models: dict[str, Model]

    @property
    def seconds(self) -> float:
        """The time of all models together."""
        return sum(model.seconds for model in self.models.values())


class Dbt:
    """dbt on one project.

    Args:
        project: the project's folder, with its `profiles.yml`.
        target: the profile's target.
        progress: is told each model that a run has finished.
    """

    def __init__(self, project: Path, target: str, progress: Callable[[Model], None]) -> None:
        """Remember the project; nothing runs yet."""
        self._project = project
        self._target = target
        self._progress = progress

    def run(self, *options: str) -> Run:
        """`dbt run`, one model after the other so that their times compare.

        Raises:
            SystemExit: it failed; with the models' errors.
        """

        def told(event: Any) -> None:
            # The results themselves come only after the last model.
            if event.info.name == "NodeFinished":
                self._progress(_model_of_event(event.data))

        results = self._invoke(["run", "--threads", "1", *options], told)
        models = (_model(result) for result in results)
        return Run({model.name: model for model in sorted(models, key=lambda m: m.name)})

    def report(self, file: Path, *options: str) -> None:
        """`dbt-sparkivm report`.

        Args:
            file: where the page goes.
            options: which models it shows.

        Raises:
            SystemExit: it failed.
        """
        outcome = CliRunner().invoke(
            sparkivm, ["report", "--output", str(file), *options, *self._places]
        )
        if outcome.exit_code != 0:
            raise SystemExit(f"dbt-sparkivm report failed:\n{outcome.output}{outcome.exception!r}")

    def test(self, *options: str) -> int:
        """`dbt test`.

        Returns:
            The number of tests, all of which passed.

        Raises:
            SystemExit: one failed.
        """
        return len(self._invoke(["test", *options], lambda event: None))

    @property
    def _places(self) -> list[str]:
        folder = str(self._project)
        return ["--project-dir", folder, "--profiles-dir", folder, "--target", self._target]

    def _invoke(self, arguments: list[str], told: Callable[[Any], None]) -> list[Any]:
        try:
            return run_dbt(self._project, [*arguments, "--target", self._target], told)
        except DbtFailed as error:
            raise SystemExit(f"dbt {arguments[0]} failed:\n{error}") from None


def _model(result: Any) -> Model:
    response = result.adapter_response or {}
    return Model(
        name=result.node.name,
        strategy=response.get("strategy") or str(result.status),
        message=str(result.message),
        rows=(
            response.get("rows_inserted"),
            response.get("rows_updated"),
            response.get("rows_deleted"),
        ),
        seconds=result.execution_time,
    )


def _model_of_event(data: Any) -> Model:
    result = data.run_result
    strategy = str(result.message).split(":")[0].split(" ")[0]
    return Model(
        data.node_info.node_name,
        strategy,
        str(result.message),
        (None, None, None),
        result.execution_time,
    )
