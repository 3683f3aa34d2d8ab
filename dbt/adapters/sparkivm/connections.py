"""dbt's connections: sessions of our own, dbt-spark's for thrift, http and odbc."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext
from pathlib import Path

from dbt.adapters.contracts.connection import AdapterRequiredConfig, Connection, ConnectionState
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.connections import PyhiveConnectionWrapper, SparkConnectionManager
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.connection import extras, resident
from dbt.adapters.sparkivm.connection.polling import PatientPolling
from dbt.adapters.sparkivm.connection.settings import project_folder
from dbt.adapters.sparkivm.log import waiting

logger = AdapterLogger("SparkIvm")


class SparkIvmConnectionManager(SparkConnectionManager):
    """Opens a Spark session for each connection of `method: session` and `method: connect`."""

    TYPE = "sparkivm"

    def __init__(self, profile: AdapterRequiredConfig, mp_context: SpawnContext) -> None:
        """Take dbt's configuration, of which sessions need the project's folder.

        dbt opens a connection with nothing but the credentials, so the folder travels with them.
        """
        super().__init__(profile, mp_context)
        profile.credentials.project_root = _project_root(profile)

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        """Open a connection if it is not open yet.

        Raises:
            FailedToConnectError: with what the user can do.
        """
        credentials = connection.credentials
        if connection.state == ConnectionState.OPEN:
            return connection
        if not credentials.in_session:
            with waiting(f"Waiting for Spark at {credentials.host} ..."):
                opened = super().open(connection)
            if isinstance(opened.handle, PyhiveConnectionWrapper):
                opened.handle = PatientPolling(opened.handle)
            return opened
        # Each imports its own half of PySpark, which takes a while.
        if credentials.resident:
            extras.require("connect")
            from dbt.adapters.sparkivm.server.automatic import ensure

            ensure(credentials)
        elif credentials.is_session:
            _stop_unasked(project_folder(credentials.project_root))
        if credentials.is_connect:
            from dbt.adapters.sparkivm.connection.connect import new_handle
        else:
            from dbt.adapters.sparkivm.connection.in_process import new_handle

        try:
            connection.handle = new_handle(credentials)
        except Exception:
            connection.handle = None
            connection.state = ConnectionState.FAIL
            raise
        connection.state = ConnectionState.OPEN
        return connection

    @contextmanager
    def exception_handler(self, sql: str) -> Generator[None, None, None]:
        """Show errors of a session as they were raised; those of other methods as dbt-spark does.

        dbt-spark's handler would turn our errors into text and lose their type, with which dbt
        says "Database Error in model x".
        """
        if not self.profile.credentials.in_session:
            with super().exception_handler(sql):
                yield
            return
        try:
            yield
        except DbtRuntimeError:
            logger.debug(f"Error while running:\n{sql}")
            raise


def _stop_unasked(folder: Path) -> None:
    """Stop a resident Spark that started by itself while the profile still said so."""
    server = resident.find(folder)
    if server is not None and server.idle_minutes is not None:
        from dbt.adapters.sparkivm.server.automatic import leave_none

        leave_none(folder)


def _project_root(profile: AdapterRequiredConfig) -> Path:
    """The folder of the dbt project.

    dbt's configuration knows it in all commands but `dbt debug`, which gives only the profile: then
    it is where dbt looks for the project.
    """
    root = getattr(profile, "project_root", None)
    if root is None:
        from dbt.flags import get_flags

        root = getattr(get_flags(), "PROJECT_DIR", None)
    return Path(root) if root else Path.cwd()
