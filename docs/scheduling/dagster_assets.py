"""A dbt project as assets of Dagster, by dagster-dbt: one run of dbt for all that are asked for.

The target `prod` of the profile has `count_warnings: false`: dagster-dbt materializes an asset only
if its model has the status `success`, and a fallback with a warning has `warn`.
"""

from collections.abc import Iterator
from pathlib import Path

from dagster import AssetExecutionContext, Definitions, ScheduleDefinition, define_asset_job
from dagster_dbt import DbtCliResource, DbtProject, dbt_assets

PROJECT = DbtProject(project_dir=Path("/srv/shop"), target="prod")


@dbt_assets(manifest=PROJECT.manifest_path)
def shop(context: AssetExecutionContext, dbt: DbtCliResource) -> Iterator[object]:
    """Each model is an asset; a refresh follows what changed since the last one."""
    yield from dbt.cli(["build"], context=context).stream()


every_ten_minutes = ScheduleDefinition(
    job=define_asset_job("refresh", selection=[shop]), cron_schedule="*/10 * * * *"
)
defs = Definitions(
    assets=[shop], schedules=[every_ten_minutes], resources={"dbt": DbtCliResource(PROJECT)}
)
