"""A server of Spark Connect that wants a token: the resident Spark of a project of its own.

`python -m integration_tests.servers.connect FOLDER` runs one until Ctrl-C, and says what to write
into a profile.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dbt.adapters.sparkivm.connection.resident import Resident
from dbt.adapters.sparkivm.connection.settings import project_folder
from dbt.adapters.sparkivm.credentials import SparkIvmCredentials
from dbt.adapters.sparkivm.server import lifecycle
from integration_tests.servers.programs import stay


@contextmanager
def running(folder: Path, settings: Mapping[str, str]) -> Generator[Resident]:
    """Run a server.

    Args:
        folder: of a project; made if missing. Its `.sparkivm` gets warehouse, metastore and log.
        settings: of Spark, beside those that `method: session` gives it.

    Raises:
        FailedToConnectError: it does not start; with the end of its log.
    """
    profile = {"method": "connect", "schema": "default", "server_side_parameters": dict(settings)}
    credentials = SparkIvmCredentials.from_dict(profile)
    credentials.project_root = folder
    server = lifecycle.start(credentials)
    try:
        yield server
    finally:
        lifecycle.stop(project_folder(folder))


if __name__ == "__main__":
    with running(Path(sys.argv[1]).resolve(), {}) as running_server:
        print(f"method: connect, host: {running_server.url}, token: {running_server.token}")
        stay()
