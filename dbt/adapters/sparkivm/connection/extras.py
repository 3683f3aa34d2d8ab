"""Which Python packages a method of the profile needs, and how to install them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from dbt_common.exceptions import DbtRuntimeError

MODULES = {
    "session": ("pyspark",),
    "connect": ("pyspark", "grpc", "grpc_status", "pandas", "pyarrow", "zstandard"),
    "thrift": ("pyhive", "thrift"),
    "http": ("pyhive", "thrift"),
    "odbc": ("pyodbc",),
}
"""Method to the modules that it imports. The extra of the same name brings them."""


TELEMETRY = {
    "otel": ("opentelemetry.sdk", "opentelemetry.exporter"),
    "openlineage": ("openlineage.client",),
}
"""The same of who is told of refreshes."""


def require(
    method: str, key: str = "method", modules: Mapping[str, tuple[str, ...]] | None = None
) -> None:
    """Make sure that what a word of the profile needs is installed.

    Args:
        method: the word, such as a method.
        key: the profile's key.
        modules: what each word needs; None for the methods.

    Raises:
        DbtRuntimeError: names what is missing, and the command that installs it; or there is no
            such word.
    """
    modules = MODULES if modules is None else modules
    if key != "method" and method not in modules:
        raise DbtRuntimeError(f"{key}: {method} is unknown: it is a list of {', '.join(modules)}")
    missing = [name for name in modules.get(method, ()) if not _is_there(name)]
    if missing:
        raise DbtRuntimeError(
            f"{key}: {method} needs further packages: pip install 'dbt-sparkivm[{method}]'. "
            f"(Not installed: {', '.join(missing)}.)"
        )


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ModuleNotFoundError, ValueError):  # of the package that it is in
        return False
