"""Sessions of Spark Connect: no Java in this process, a session on the server a connection."""

from __future__ import annotations

import os
import threading
import uuid
import warnings
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.exceptions import FailedToConnectError

from dbt.adapters.sparkivm.__version__ import version
from dbt.adapters.sparkivm.connection import extras, resident
from dbt.adapters.sparkivm.connection.resident import Resident
from dbt.adapters.sparkivm.connection.session import SessionHandle
from dbt.adapters.sparkivm.connection.session_settings import Started, apply
from dbt.adapters.sparkivm.connection.settings import (
    TOKEN,
    project_folder,
    spark_defaults,
    start_settings,
)
from dbt.adapters.sparkivm.credentials import SparkIvmCredentials
from dbt.adapters.sparkivm.diagnostics import errors
from dbt.adapters.sparkivm.log import waiting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row
    from pyspark.sql.connect.client import ChannelBuilder
    from pyspark.sql.connect.session import SparkSession
    from pyspark.sql.types import StructType

logger = AdapterLogger("SparkIvm")

THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
DEFAULT_PORT = 15002  # Spark's own
_TRIES = 3  # within a second: enough for a server that is just about to answer
_ADVICE = "The Spark at {url} runs with other settings, which only its restart can change."
_WITHOUT_TLS = {
    "CERTIFICATE_VERIFY_FAILED": "No authority that is known here vouches for the certificate of "
    "{url}: name a file with its authority's in GRPC_DEFAULT_SSL_ROOTS_FILE_PATH, an environment "
    "variable.",
    "Hostname Verification": "The certificate of {url} is for another host's name.",
    "andshake": "Nobody speaks TLS at {url}, which `use_ssl` or a token asks for.",
}
"""What gRPC says where there is no TLS, and what it means; the first one counts."""
_ISOLATION = {
    "spark.sql.artifact.isolation.enabled": "false",
    "spark.sql.artifact.isolation.alwaysApplyClassloader": "false",
}
_warned: dict[str, set[tuple[str, str]]] = {}
_lock = threading.Lock()


def new_handle(credentials: SparkIvmCredentials) -> SessionHandle:
    """A dbt connection: see `new_session`. Closing it ends the session on the server."""
    session = new_session(credentials)
    return SessionHandle(session, partial(_release, session), rows_at_hand)  # type: ignore[arg-type]


def new_session(credentials: SparkIvmCredentials) -> SparkSession:
    """A new session on a server, with the settings of one profile.

    Settings and temporary views are the session's own; catalog, tables and cached data are
    shared with all others.

    Raises:
        FailedToConnectError: a package is missing, or the server is not there or refuses us; with
            what the user can do.
    """
    extras.require("connect")
    folder = project_folder(credentials.project_root)
    server = resident.find(folder)
    url = _url(credentials, server)
    if server is not None and not _is_resident(url, server):
        server = None
    if server is not None:
        resident.used(folder)
    try:
        from pyspark.sql.connect.client.retries import DefaultPolicy
        from pyspark.sql.connect.session import SparkSession
    except ImportError as error:  # PySpark asks for newer packages than there are
        raise FailedToConnectError(
            f"{_asked(credentials)} needs further packages: pip install 'dbt-sparkivm[connect]'. "
            f"({errors.message_of(error)})"
        ) from None
    errors.silence_pyspark()
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")  # the error says it
    builder = _channel(url, credentials, server)
    session = SparkSession.builder.channelBuilder(builder).create()
    patient = session.client.get_retry_policies()
    hasty = [_first_tries(credentials, DefaultPolicy)]
    session.client.set_retry_policies(hasty)
    try:
        with waiting(f"Waiting for Spark at {_shown(url)} ..."):
            actual = session.conf.getAll
    except Exception as error:
        session.client.close()
        logger.debug(errors.trace_of(error) or repr(error))
        raise FailedToConnectError(_refusal(error, builder.host, url, server)) from None
    user = credentials.server_side_parameters
    if server is not None and not user.keys() & _ISOLATION.keys():
        session = _sharing_code(session, builder)
    # Networks have pauses; a Spark on this machine that does not answer is gone.
    is_near = urlsplit(url).hostname in THIS_MACHINE
    session.client.set_retry_policies(hasty if is_near else patient)
    wanted, requested = dict(user), frozenset[str]()
    if server is not None:
        wanted = start_settings(credentials.master, user, folder, spark_defaults(os.environ))
        requested = frozenset(server.requested)
    wanted.pop(TOKEN, None)  # the server has it, and does not say it
    with _lock:
        started = Started(actual, requested, _warned.setdefault(url, set()))
        apply(session, started, wanted, user, _ADVICE.format(url=_shown(url)))  # type: ignore[arg-type]
    return session


def _sharing_code(session: SparkSession, builder: ChannelBuilder) -> SparkSession:
    """A session in place of `session`, with the code that Spark generated for sessions before it.

    A server of Spark Connect gives each session a class loader of its own, for JARs that its client
    may send, and Spark keeps generated code by class loader: each connection of dbt would compile
    it anew. Whether a session has a loader is settled when the server makes it; a clone is made
    with the settings of the session that it is cloned from.

    Args:
        session: A new one; released, unless the server cannot clone it: then it is given back.
        builder: How it was connected.
    """
    from pyspark.sql.connect.client import ChannelBuilder
    from pyspark.sql.connect.session import SparkSession

    number = str(uuid.uuid4())
    try:
        for key, value in _ISOLATION.items():
            session.conf.set(key, value)
        # The clone that PySpark gives cannot be stopped: only its connection is let go of.
        session.cloneSession(number).client.close()
    except Exception as error:
        logger.debug(f"Every session compiles its own code: {errors.message_of(error)}")
        return session
    _release(session)
    builder.set(ChannelBuilder.PARAM_SESSION_ID, number)
    return SparkSession.builder.channelBuilder(builder).create()


def rows_at_hand(frame: DataFrame) -> tuple[StructType, list[Row]] | None:
    """Schema and rows of a command, which the server has sent with its answer.

    PySpark would send them back to the server to ask it for the schema, and again for the rows.

    Args:
        frame: what `SparkSession.sql` of Spark Connect gave.

    Returns:
        None for a query: the server has only read its text so far; and of types that PySpark cannot
        convert. Binary values are bytes, as PySpark gives them unless
        `spark.sql.execution.pyspark.binaryAsBytes` is off.
    """
    from pyarrow import ipc
    from pyspark.errors import PySparkException
    from pyspark.sql.conversion import ArrowTableToRowsConversion
    from pyspark.sql.pandas.types import from_arrow_schema

    relation = frame._plan.to_proto(frame.sparkSession.client).root  # type: ignore[attr-defined]
    if not relation.HasField("local_relation"):
        return None
    table = ipc.open_stream(relation.local_relation.data).read_all()
    try:
        schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
    except PySparkException:
        return None
    return schema, ArrowTableToRowsConversion.convert(table, schema)


def _url(credentials: SparkIvmCredentials, server: Resident | None) -> str:
    """Where to connect to: what the profile says, else the project's resident Spark."""
    if credentials.host is not None:
        return credentials.host
    if server is None:
        raise FailedToConnectError(
            "This project has no resident Spark running: start it by `dbt-sparkivm server start`, "
            "or name another server in the profile (host: sc://...)."
        )
    if not server.ready:
        raise FailedToConnectError(
            f"The resident Spark of this project is still starting (process {server.pid}): wait "
            "for `dbt-sparkivm server start` to end."
        )
    return server.url


def _asked(credentials: SparkIvmCredentials) -> str:
    return "resident: true" if credentials.resident else "method: connect"


def _is_resident(url: str, server: Resident) -> bool:
    """Whether a URL leads to the project's resident Spark."""
    parts = urlsplit(url)
    return parts.hostname in THIS_MACHINE and (parts.port or DEFAULT_PORT) == server.port


def _channel(url: str, credentials: SparkIvmCredentials, server: Resident | None) -> ChannelBuilder:
    """The connection to build, with its token.

    PySpark sends a token only over TLS or within this machine, which it knows as `localhost`.
    """
    from pyspark.errors import PySparkValueError
    from pyspark.sql.connect.client import ChannelBuilder, DefaultChannelBuilder

    start, _, parameters = url.partition(";")
    if urlsplit(start).hostname in THIS_MACHINE and "use_ssl=true" not in parameters.lower():
        port = urlsplit(start).port
        start = f"sc://localhost:{port}/" if port else "sc://localhost/"
    try:
        builder = DefaultChannelBuilder(f"{start};{parameters}" if parameters else start)
    except PySparkValueError as error:
        raise FailedToConnectError(f"host in the profile: {errors.message_of(error)}") from None
    given = builder.getDefault(ChannelBuilder.PARAM_TOKEN, None) or credentials.token
    token = given or (server.token if server is not None else None)
    if token:
        builder.set(ChannelBuilder.PARAM_TOKEN, token)
    if credentials.use_ssl:
        builder.set(ChannelBuilder.PARAM_USE_SSL, "true")
    builder.set(ChannelBuilder.PARAM_USER_AGENT, f"dbt-sparkivm/{version}")
    return builder


def _first_tries(credentials: SparkIvmCredentials, policy: type) -> object:
    """How often to try to reach the server: dbt-spark's settings for it, else for a second."""
    if credentials.connect_retries:
        wait = credentials.connect_timeout * 1000
        return policy(
            max_retries=credentials.connect_retries, initial_backoff=wait, backoff_multiplier=1
        )
    return policy(max_retries=_TRIES)


def _refusal(error: Exception, host: str, url: str, server: Resident | None) -> str:
    """Why there is no session, and what to do."""
    code = getattr(error, "getGrpcStatusCode", lambda: None)()
    name = getattr(code, "name", "")
    shown = _shown(url)
    if name == "UNAUTHENTICATED":
        return f"The Spark at {shown} refuses the token: set `token` in the profile" + (
            "." if server is None else ", or leave it out for that of the resident Spark."
        )
    if name == "UNAVAILABLE":
        text = errors.message_of(error)
        for sign, meaning in _WITHOUT_TLS.items():
            if sign in text:
                return meaning.format(url=shown)
        advice = "Is it started? (dbt-sparkivm server start)" if host == "localhost" else ""
        return f"No Spark answers at {shown}. {advice}".strip()
    return f"No session at {shown}: {errors.explained(error)}"


def _shown(url: str) -> str:
    """A URL without its parameters, of which one can be a token."""
    return url.partition(";")[0].rstrip("/")


def _release(session: SparkSession) -> None:
    """End a session on its server, which would else keep it for an hour."""
    session.stop()
