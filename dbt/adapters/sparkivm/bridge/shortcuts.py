"""What a session in this process or of Spark Connect tells of tables without a statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.bridge.view_details import Kept
from dbt.adapters.sparkivm.bridge.warehouse import Row
from dbt.adapters.sparkivm.connection.session import AnySession
from python_ivm.parse.parser import quoted_name

if TYPE_CHECKING:  # the sessions of Spark Connect have the same methods
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

logger = AdapterLogger("SparkIvm")

T = TypeVar("T")

_CHAR_OR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"
"""Where Spark keeps such a type, to which a query's schema says string."""


class SessionShortcuts:
    """Shortcuts of a session: a relation's columns; all else is left to statements.

    Args:
        handle: The session.
    """

    def __init__(self, handle: AnySession) -> None:
        """Take the session."""
        self._handle = handle

    def columns(self, parts: tuple[str, ...]) -> dict[str, str] | None:
        """A relation's columns and types as ``DESCRIBE TABLE`` tells them, or left to it: None."""
        name = quoted_name(parts)
        schema = self._look(parts, lambda session: session.table(name).schema)
        return None if schema is None else columns_of(schema)

    def namespace(self) -> tuple[str, str] | None:
        """Left to ``SHOW CURRENT NAMESPACE``."""
        return None

    def history(self, parts: tuple[str, ...], limit: int | None) -> list[Row] | None:
        """Left to ``DESCRIBE HISTORY``."""
        return None

    def detail(self, parts: tuple[str, ...]) -> Row | None:
        """Left to ``DESCRIBE DETAIL``."""
        return None

    def files(self, parts: tuple[str, ...]) -> list[Row] | None:
        """Not told."""
        return None

    def view(self, parts: tuple[str, ...]) -> Kept | None:
        """Not told."""
        return None

    def forget(self, parts: tuple[str, ...]) -> None:
        """Nothing is remembered."""

    def _look(self, parts: tuple[str, ...], look: Callable[[SparkSession], T]) -> T | None:
        """What is seen in the session; None if that fails, for a statement says why."""
        try:
            return self._handle.run(look)
        except DbtRuntimeError as error:
            logger.debug(f"{'.'.join(parts)} is left to SQL: {error}")
            return None


def columns_of(schema: StructType) -> dict[str, str] | None:
    """A schema's columns and types; None if it does not tell one of them."""
    if any(_CHAR_OR_VARCHAR in field.metadata for field in schema.fields):
        return None
    return {field.name: field.dataType.simpleString() for field in schema.fields}
