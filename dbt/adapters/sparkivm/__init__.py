"""The dbt adapter `sparkivm`: dbt-spark with isolated sessions and maintained models."""

from dbt.adapters.base import AdapterPlugin

from dbt.adapters.sparkivm.connections import SparkIvmConnectionManager
from dbt.adapters.sparkivm.credentials import SparkIvmCredentials
from dbt.adapters.sparkivm.impl import SparkIvmAdapter
from dbt.include import sparkivm

__all__ = ["Plugin", "SparkIvmAdapter", "SparkIvmConnectionManager", "SparkIvmCredentials"]

# The dependency makes dbt look for a macro as sparkivm__x, then spark__x, then default__x.
Plugin = AdapterPlugin(
    adapter=SparkIvmAdapter,  # type: ignore[arg-type]
    credentials=SparkIvmCredentials,
    include_path=sparkivm.PACKAGE_PATH,
    dependencies=["spark"],
)
