"""The adapter class that dbt instantiates."""

from __future__ import annotations

from dbt.adapters.spark.impl import SparkAdapter

from dbt.adapters.sparkivm.bridge.grants import GrantsMixin
from dbt.adapters.sparkivm.bridge.names import NamesMixin
from dbt.adapters.sparkivm.bridge.orphans import OrphansMixin
from dbt.adapters.sparkivm.commands.catalog import CatalogMixin
from dbt.adapters.sparkivm.configs.header import HeaderMixin
from dbt.adapters.sparkivm.configs.previous import PreviousMixin
from dbt.adapters.sparkivm.connections import SparkIvmConnectionManager
from dbt.adapters.sparkivm.debug import report as debug
from dbt.adapters.sparkivm.methods import IvmMixin
from dbt.adapters.sparkivm.operations.mixin import OperationsMixin
from dbt.adapters.sparkivm.python_models.submission import PythonModelsMixin
from dbt.adapters.sparkivm.relation import SparkIvmRelation
from dbt.adapters.sparkivm.tables.columns import ColumnsMixin, SparkIvmColumn
from dbt.adapters.sparkivm.tables.comments import CommentsMixin
from dbt.adapters.sparkivm.tables.constraints import ConstraintsMixin
from dbt.adapters.sparkivm.tables.defaults import DefaultsMixin
from dbt.adapters.sparkivm.tables.seeds import SeedsMixin


class SparkIvmAdapter(
    IvmMixin,
    NamesMixin,
    OrphansMixin,
    OperationsMixin,
    PreviousMixin,
    HeaderMixin,
    GrantsMixin,
    CatalogMixin,
    PythonModelsMixin,
    DefaultsMixin,
    SeedsMixin,
    ColumnsMixin,
    CommentsMixin,
    ConstraintsMixin,
    SparkAdapter,
):
    """dbt-spark's adapter over this package's connections.

    What the macros call (`adapter.ivm_*`) is mixed in from modules of their own, so that this class
    stays a list of what it is made of.
    """

    ConnectionManager = SparkIvmConnectionManager
    Column = SparkIvmColumn
    Relation = SparkIvmRelation

    def debug_query(self) -> None:
        """What `dbt debug` does on a connection: look around, and try Delta.

        Raises:
            DbtRuntimeError: There is no connection, or Delta does not work there.
        """
        debug.examine(self._ivm_query, self._ivm_conf, self.config.credentials)
