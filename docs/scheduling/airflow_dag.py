"""A dbt project as a DAG of Airflow, by astronomer-cosmos: one task for the whole project.

A task for each model would start a Spark for each with `method: session`; with a server
(`method: connect` or `thrift`) use cosmos' `DbtDag` instead.
"""

from datetime import datetime, timedelta
from pathlib import Path

from airflow import DAG
from cosmos import ProfileConfig
from cosmos.operators.local import DbtBuildLocalOperator

PROJECT = Path("/srv/shop")

with DAG(
    "shop",
    start_date=datetime(2026, 1, 1),
    schedule=timedelta(minutes=10),
    catchup=False,
    max_active_runs=1,
) as dag:
    DbtBuildLocalOperator(
        task_id="build",
        project_dir=str(PROJECT),
        profile_config=ProfileConfig(
            profile_name="shop",
            target_name="prod",
            profiles_yml_filepath=PROJECT / "profiles.yml",
        ),
        retries=2,  # a run that died is made up for by the next
    )
