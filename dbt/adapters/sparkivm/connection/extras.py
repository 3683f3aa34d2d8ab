"""Which Python packages a method of the profile needs, and how to install them."""

from __future__ import annotations

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


def require(method: str) -> None:
    """Make sure that what a method imports is installed.

    Args:
        method: as in the profile.

    Raises:
        DbtRuntimeError: names what is missing, and the command that installs it.
    """
    missing = [name for name in MODULES.get(method, ()) if find_spec(name) is None]
    if missing:
        raise DbtRuntimeError(
            f"method: {method} needs further packages: pip install 'dbt-sparkivm[{method}]'. "
            f"(Not installed: {', '.join(missing)}.)"
        )
