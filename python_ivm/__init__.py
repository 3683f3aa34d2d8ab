"""The planner: from a model's SQL to the statements that maintain it.

Pure: it imports neither dbt nor Spark. The data goes one way through the folders::

    sql ─▶ algebra ─▶ delta ─▶ state ─▶ refresh ─▶ Spark SQL text
                             sources ─┘
"""

from python_ivm.errors import (
    Conflict,
    Internal,
    InvalidModel,
    IvmError,
    NotYetImplemented,
    Unsupported,
)

__all__ = [
    "Conflict",
    "Internal",
    "InvalidModel",
    "IvmError",
    "NotYetImplemented",
    "Unsupported",
]
