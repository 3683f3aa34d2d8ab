"""Which of Delta's JARs goes with the Spark that is installed.

The JAR is all that Spark needs of Delta. The Python package delta-spark is not: it has versions
without a JAR, and wants one PySpark each.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from dbt_common.exceptions import DbtRuntimeError

SERVED = {
    "3.5": ("delta-spark_2.12:3.3.2",),
    "4.0": ("delta-spark_2.13:4.0.0", "delta-spark_2.13:4.0.1", "delta-spark_4.0_2.13:4.4.0"),
    "4.1": (
        "delta-spark_4.1_2.13:4.1.0",
        "delta-spark_4.1_2.13:4.2.0",
        "delta-spark_4.1_2.13:4.3.0",
        "delta-spark_4.1_2.13:4.4.0",
    ),
    "4.2": ("delta-spark_4.2_2.13:4.4.0",),
}
"""Spark's release to the JARs that Maven has for it, the newest last. All were downloaded once."""

_LAST_THAT_WORKS = {"3.5": 5}
"""Delta 3.3 cannot replace tables on a Spark after 3.5.5 (Delta's issue 4671 on GitHub)."""

_ELSE = (
    "To use another one, name it in the profile: server_side_parameters: spark.jars.packages: "
    "io.delta:delta-spark_..."
)


@cache  # Spark puts its packages' JARs on Python's path, where looking for versions takes seconds
def delta_package() -> str:
    """The Maven coordinate of Delta for the installed PySpark, e.g. `io.delta:...:4.4.0`.

    Raises:
        DbtRuntimeError: Maven has none for it; names those that it has.
    """
    return package_for(version("pyspark"), _installed("delta-spark"))


def package_for(spark: str, delta: str | None = None) -> str:
    """The Maven coordinate of Delta for a Spark.

    Args:
        spark: Spark's version.
        delta: the version of Delta, if the user has chosen one by the package delta-spark.

    Raises:
        DbtRuntimeError: Maven has none for the two; names those that it has.
    """
    served = SERVED.get(_release(spark))
    if served is None:
        raise DbtRuntimeError(
            f"PySpark {spark} is installed, and there is no Delta Lake for it. There is one for "
            f"PySpark {', '.join(SERVED)}: pip install 'pyspark=={list(SERVED)[-1]}.*'. {_ELSE}"
        )
    last = _LAST_THAT_WORKS.get(_release(spark))
    if last is not None and int(re.split(r"\D", spark)[2]) > last:
        raise DbtRuntimeError(
            f"PySpark {spark} is installed, on which no Delta Lake can replace a table: "
            f"pip install 'pyspark=={_release(spark)}.{last}', or a newer Spark. {_ELSE}"
        )
    if delta is None:
        return f"io.delta:{served[-1]}"
    for artifact in served:
        if artifact.endswith(f":{delta}"):
            return f"io.delta:{artifact}"
    versions = [artifact.partition(":")[2] for artifact in served]
    raise DbtRuntimeError(
        f"Delta Lake {delta} (by the Python package delta-spark) has no JAR for PySpark {spark}, "
        f"{'but ' if versions else ''}{' and '.join(versions)} "
        f"{'has' if len(versions) == 1 else 'have'}: pip uninstall delta-spark, which Spark does "
        f"not need, or install that version. {_ELSE}"
    )


def any_package() -> str:
    """The coordinate to advise for a Spark elsewhere, of which only PySpark here may tell."""
    spark = _installed("pyspark")
    served = SERVED.get(_release(spark)) if spark else None
    return f"io.delta:{(served or SERVED['4.2'])[-1]}"


def _release(spark: str) -> str:
    """4.2 of 4.2.0."""
    return ".".join(spark.split(".")[:2])


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
