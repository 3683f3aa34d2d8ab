"""How a state's rows are stored: partitions, clustering, and what Delta checks of each row.

The user names columns of the view. The state has other names for some of them, and lacks those that
the view computes from counters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.errors import SqlglotError

from python_ivm.errors import InvalidModel
from python_ivm.parse.parser import DIALECT, quoted_name
from python_ivm.state.layout import Layout

PARTITIONS = "partition_by"
CLUSTERS = "liquid_clustered_by"
PROPERTIES = "properties"
"""What a bookmark calls a state's own table properties, dbt's `tblproperties`."""
CHECKED = "delta.constraints."
"""What a check's name follows in the name of its table property."""

PARTITION_CHECK = "ivm_partition"
"""The start of the names of checks that keep out what Delta would store as another value."""
_NULL = "__HIVE_DEFAULT_PARTITION__"
"""The text by which Delta keeps NULL where it names a partition."""

_EXACT = re.compile(r"(tinyint|smallint|int|bigint|date|boolean|decimal\(.*\))")
_TEXT = re.compile(r"string|(var)?char\(.*\)")


@dataclass(frozen=True)
class Storage:
    """How rows are stored.

    Attributes:
        partition_by: Columns by whose values the files are kept apart.
        cluster_by: Columns by which files are laid out (liquid clustering).
        checks: Conditions that every row fulfills, by name.
        unchecked: Why each constraint is none of these, by name.
    """

    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    checks: Mapping[str, str] = field(default_factory=dict)
    unchecked: Mapping[str, str] = field(default_factory=dict, compare=False)

    def value(self) -> dict[str, object]:
        """What is stored so, as a value of JSON; what is empty is left out."""
        told = {
            PARTITIONS: list(self.partition_by),
            CLUSTERS: list(self.cluster_by),
            "checks": dict(self.checks),
        }
        return {name: value for name, value in told.items() if value}

    @staticmethod
    def of_value(value: Mapping[str, object]) -> Storage:
        """Read what :meth:`value` gives."""
        partitions, clusters, checks = (value.get(k) for k in (PARTITIONS, CLUSTERS, "checks"))
        return Storage(
            tuple(partitions) if isinstance(partitions, list) else (),
            tuple(clusters) if isinstance(clusters, list) else (),
            dict(checks) if isinstance(checks, dict) else {},
        )

    @staticmethod
    def of(config: Mapping[str, object]) -> Storage:
        """Read and validate a model's config, which tells nothing of checks.

        Raises:
            InvalidModel: If it asks for what Delta does not have.
        """
        if config.get("clustered_by") and config.get("buckets"):
            raise InvalidModel(
                "Config clustered_by with buckets asks for a bucketed table, and Delta has none",
                hint=f"Use {CLUSTERS}, which also lays files out by columns.",
            )
        partition_by, cluster_by = _columns(config, PARTITIONS), _columns(config, CLUSTERS)
        if partition_by and cluster_by:
            raise InvalidModel(
                f"Configs {PARTITIONS} and {CLUSTERS} exclude each other in Delta",
                hint="Keep one of them.",
            )
        return Storage(partition_by, cluster_by)


def _columns(config: Mapping[str, object], name: str) -> tuple[str, ...]:
    value = config.get(name) or []
    columns = [value] if isinstance(value, str) else value
    if not isinstance(columns, (list, tuple)) or not all(isinstance(c, str) for c in columns):
        raise InvalidModel(f"Config {name} is a column's name, or a list of them")
    return tuple(columns)


@dataclass(frozen=True)
class Visible:
    """The columns of a view, and where the state has them.

    Attributes:
        stored: The state's column by the view's, in lower case, as far as there is one.
        complete: Whether every row of the state is one of the view's.
    """

    stored: Mapping[str, str]
    complete: bool = True

    @staticmethod
    def of(layout: Layout) -> Visible:
        """What a maintained view shows of its state."""
        names = layout.columns or tuple(item.name for item in layout.items)
        stored = {
            name.lower(): item.expression.name
            for name, item in zip(names, layout.items, strict=True)
            if isinstance(item.expression, exp.Column)
        }
        sort = layout.sort
        limited = sort is not None and (sort.limit is not None or sort.offset is not None)
        return Visible(stored, layout.condition is None and not limited)


@dataclass(frozen=True)
class Resolved:
    """How a state is stored, in its own names.

    Attributes:
        storage: That.
        unchecked: Why each check is left out that cannot be made of the state, by name.
    """

    storage: Storage
    unchecked: Mapping[str, str]


def resolve(storage: Storage, visible: Visible, kinds: Mapping[str, str]) -> Resolved:
    """Translate what the user asks of a view's storage to the state's columns.

    Args:
        storage: In the view's names.
        visible: Where the state has the view's columns.
        kinds: The Spark types of the view's columns.

    Raises:
        InvalidModel: If it names a column that the state does not have, or whose values Delta does
            not keep as they are.
    """
    partitions = _stored(PARTITIONS, storage.partition_by, visible)
    clusters = _stored(CLUSTERS, storage.cluster_by, visible)
    checks: dict[str, str] = {}
    unchecked: dict[str, str] = {}
    lowered = {name.lower(): kind for name, kind in kinds.items()}
    for number, (name, column) in enumerate(zip(storage.partition_by, partitions, strict=True), 1):
        if _must_not_be_null(name, lowered.get(name.lower(), "")):
            quoted = quoted_name((column,))
            told = f"{quoted} IS NOT NULL AND {quoted} NOT IN ('', '{_NULL}')"
            checks[f"{PARTITION_CHECK}_{number}"] = told
    for name, condition in storage.checks.items():
        try:
            checks[name] = _condition(condition, visible)
        except _Unchecked as why:
            unchecked[name] = str(why)
    return Resolved(Storage(partitions, clusters, checks), unchecked)


def _stored(config: str, names: tuple[str, ...], visible: Visible) -> tuple[str, ...]:
    for name in names:
        if name.lower() not in visible.stored:
            possible = ", ".join(sorted(visible.stored)) or "none"
            raise InvalidModel(
                f"Config {config} names {name}, which is no column that the state stores as it is "
                "shown",
                hint=f"Possible are {possible}.",
            )
    return tuple(visible.stored[name.lower()] for name in names)


def _must_not_be_null(name: str, kind: str) -> bool:
    """Whether Delta keeps several values of a type as NULL: of texts the empty one, too.

    Raises:
        InvalidModel: If values of a type are not kept as they are, or in too many partitions.
    """
    if _EXACT.fullmatch(kind):
        return False
    if _TEXT.fullmatch(kind):
        return True
    raise InvalidModel(
        f"Config {PARTITIONS} names {name}, which is of type {kind}",
        hint="Partitions are by whole numbers, decimals, dates, booleans and texts. Use "
        f"{CLUSTERS}, or a column of the date.",
    )


class _Unchecked(Exception):
    """A check that cannot be made of a state's rows."""


def _condition(text: str, visible: Visible) -> str:
    """A condition on a view's row as one on the state's."""
    if not visible.complete:
        raise _Unchecked("the state also has rows that the view leaves out")
    try:
        tree: exp.Expr = exp.maybe_parse(text, dialect=DIALECT)
    except SqlglotError:
        raise _Unchecked("the planner cannot read it") from None
    if tree.find(exp.Query, exp.AggFunc, exp.Window):
        raise _Unchecked("it is about more than one row")
    edits = []
    for column in tree.find_all(exp.Column):
        name = column.this
        stored = visible.stored.get(name.name.lower())
        if stored is None or len(column.parts) > 1:
            raise _Unchecked(f"the state has no column {column.sql(dialect=DIALECT)}")
        if stored.lower() != name.name.lower():
            edits.append((name.meta["start"], name.meta["end"] + 1, quoted_name((stored,))))
    for start, end, name in sorted(edits, reverse=True):
        text = text[:start] + name + text[end:]
    return text


def columns_clause(names: tuple[str, ...]) -> str:
    """Columns in parentheses, as partitions and clustering are written; NONE if there are none."""
    return f"({', '.join(quoted_name((name,)) for name in names)})" if names else "NONE"
