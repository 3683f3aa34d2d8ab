"""What a Python model returns, written to its table; called by the code that dbt runs."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dbt.adapters.base.column import Column
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.tables.defaults import is_odd

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MAPPING_BY_DEFAULT = "spark.databricks.delta.properties.defaults.columnMapping.mode"


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
        with _any_names(frame):
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
def _any_names(frame: DataFrame) -> Generator[None, None, None]:
    """Let Delta store columns of any name, such as those of pandas with blanks.

    The statement was written before the columns were known, so the session's default has to do.
    """
    conf = frame.sparkSession.conf
    odd = any(is_odd(Column(name, dtype)) for name, dtype in frame.dtypes)
    if not odd or conf.get(_MAPPING_BY_DEFAULT, None) is not None:
        yield
        return
    conf.set(_MAPPING_BY_DEFAULT, "name")
    try:
        yield
    finally:
        conf.unset(_MAPPING_BY_DEFAULT)
