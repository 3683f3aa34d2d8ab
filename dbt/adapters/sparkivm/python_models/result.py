"""What a Python model returns, written to its table; called by the code that dbt runs."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dbt_common.exceptions import DbtRuntimeError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FEED_BY_DEFAULT = "spark.databricks.delta.properties.defaults.enableChangeDataFeed"


def save(session: SparkSession, result: Any, view: str, statement: str) -> None:
    """Write a model's result.

    Args:
        session: The model's session.
        result: What the model returned.
        view: The name of a temporary view, for the result.
        statement: SQL that makes the model's table of this view.

    Raises:
        DbtRuntimeError: The result is no DataFrame.
    """
    frame = as_frame(session, result)
    # It may be of another session, if the model asked for one: a view of it is seen there alone.
    owner = frame.sparkSession
    frame.createOrReplaceTempView(view)
    try:
        with _change_feed_by_default(owner):
            owner.sql(statement)
    finally:
        owner.catalog.dropTempView(view)


def as_frame(session: SparkSession, result: Any) -> DataFrame:
    """A model's result as a DataFrame of PySpark.

    Raises:
        DbtRuntimeError: It is no DataFrame.
    """
    from pyspark.sql import DataFrame

    if isinstance(result, DataFrame):
        return result
    # Not imported: a result of theirs would have imported them.
    pandas, on_spark = sys.modules.get("pandas"), sys.modules.get("pyspark.pandas")
    if pandas is not None and isinstance(result, pandas.DataFrame):
        return session.createDataFrame(result)
    if on_spark is not None and isinstance(result, on_spark.DataFrame):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the index is not kept, as of pandas' own
            return result.to_spark()
    returned = "nothing" if result is None else f"a {type(result).__name__}"
    raise DbtRuntimeError(
        f"model() returned {returned}: let it return a DataFrame of PySpark, pandas, or pandas on "
        "Spark."
    )


@contextmanager
def _change_feed_by_default(session: SparkSession) -> Generator[None, None, None]:
    """Give tables a change feed that are made meanwhile, unless the user decided."""
    if session.conf.get(_FEED_BY_DEFAULT, None) is not None:
        yield
        return
    session.conf.set(_FEED_BY_DEFAULT, "true")
    try:
        yield
    finally:
        session.conf.unset(_FEED_BY_DEFAULT)
