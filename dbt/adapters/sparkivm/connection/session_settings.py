"""Settings of one session, in a Spark that may have been started with others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from dbt.adapters.events.logging import AdapterLogger

from dbt.adapters.sparkivm.connection.settings import METASTORE_URL, may_be_of_a_session
from dbt.adapters.sparkivm.credentials import SECRET
from dbt.adapters.sparkivm.diagnostics import errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = AdapterLogger("SparkIvm")

# One Spark has one value of these; told to the user even where they are defaults of ours, as they
# decide which tables one sees.
_PLACES = frozenset({"spark.master", "spark.sql.warehouse.dir", METASTORE_URL})


@dataclass
class Started:
    """With what a Spark was started.

    Attributes:
        settings: all of them.
        requested: the keys of `settings` that come from the starting profile's user.
        warned: differing settings that the user was told about.
    """

    settings: Mapping[str, str]
    requested: frozenset[str] = frozenset()
    warned: set[tuple[str, str]] = field(default_factory=set)


def apply(
    session: SparkSession,
    started: Started,
    wanted: Mapping[str, str],
    user: Collection[str],
    advice: str,
) -> None:
    """Give `session` the `wanted` settings, as far as they can differ between sessions.

    A new session begins with the settings of the start: what only the starting profile's user asked
    for is taken back. Of what can not be changed any more, the user is told once.

    Args:
        session: a new one.
        started: how its Spark was started.
        wanted: the settings that it should have.
        user: the keys of `wanted` that the user named.
        advice: what to do about settings that cannot be changed; ends before a colon's list.
    """
    for key in started.requested - wanted.keys():
        if may_be_of_a_session(key):
            _try(key, partial(session.conf.unset, key))
    ignored = []
    for key, value in wanted.items():
        if _has(started.settings.get(key), key, value):
            continue
        if may_be_of_a_session(key) and _try(key, partial(session.conf.set, key, value)):
            continue
        if (key in user or key in _PLACES) and (key, value) not in started.warned:
            started.warned.add((key, value))
            ignored.append(_shown(key, value, started.settings.get(key, "not set")))
    if ignored:
        logger.warning(f"{advice} Without effect: {', '.join(ignored)}")


def _has(actual: str | None, key: str, value: str) -> bool:
    """Whether Spark has a setting, though it may write it in another way.

    The URI of a local folder has one slash then, and a JVM's options stand behind Spark's own.
    """
    if actual is None:
        return False
    actual, value = actual.replace("file:///", "file:/"), value.replace("file:///", "file:/")
    return actual == value or (key.endswith(".extraJavaOptions") and actual.endswith(f" {value}"))


def _shown(key: str, value: str, actual: str) -> str:
    """A setting that differs, for the log: without values that Spark too hides in its own."""
    if SECRET.search(key) or SECRET.search(value) or SECRET.search(actual):
        return key
    return f"{key}={value} (it is {actual})"


def _try(key: str, change: Callable[[], None]) -> bool:
    """Change a setting; False if Spark has it as a whole only."""
    try:
        change()
    except Exception as error:
        logger.debug(f"{key} belongs to the process: {errors.message_of(error)}")
        return False
    return True
