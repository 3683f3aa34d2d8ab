"""How a model's state is stored: as its configuration says, and what a change of that takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from python_ivm.errors import InvalidModel
from python_ivm.parse.parser import quoted_name
from python_ivm.refresh import policy
from python_ivm.refresh.maintainability import Maintained
from python_ivm.refresh.metadata.versions import CHANGE_FEED
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.options import OnConfigurationChange
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement import Statement, StatementKind
from python_ivm.refresh.statement_builders import PLAIN_COLUMN
from python_ivm.render.sources import relation_name, string
from python_ivm.state.bookmark import Bookmark
from python_ivm.state.storage import (
    CHECKED,
    PROPERTIES,
    Resolved,
    Storage,
    Visible,
    columns_clause,
    resolve,
)

_CLUSTERED = "delta.feature.clustering"
"""A property of tables that are or were clustered; Delta replaces none of them by a partitioned
one."""


def to_build(
    request: Request, warehouse: Warehouse, how: Maintained | Reason
) -> tuple[Request, list[Statement], list[str]]:
    """What a build of a state needs to know of how it is to be stored.

    Args:
        request: The model.
        warehouse: Answers questions about tables.
        how: How the query is maintained; a reason if the state is its plain result.

    Returns:
        The request, whose storage is in the state's names; what has to be done before; and what to
        warn of.

    Raises:
        InvalidModel: If the state cannot be stored as the configuration says.
    """
    found = _resolved(request, warehouse, how)
    first: list[Statement] = []
    there = found.storage.partition_by and warehouse.history(request.state, 1)
    if there and _CLUSTERED in warehouse.properties(request.state):
        first.append(
            Statement(StatementKind.DROP_STATE, f"DROP TABLE {relation_name(request.state)}")
        )
    return replace(request, storage=found.storage), first, _warnings(request, found)


@dataclass(frozen=True)
class Otherwise:
    """What it takes to store a state as the configuration says.

    Attributes:
        bookmark: The bookmark, with what is so afterwards.
        altered: The statements that alter the state; they can be run again if a later one fails.
        rebuild: Why the state is to be rebuilt instead.
        warnings: What to warn of.
    """

    bookmark: Bookmark
    altered: tuple[Statement, ...] = ()
    rebuild: Reason | None = None
    warnings: tuple[str, ...] = ()


def stored_otherwise(
    request: Request,
    warehouse: Warehouse,
    bookmark: Bookmark,
    how: Callable[[Bookmark], Maintained | Reason],
) -> Otherwise | None:
    """What it takes to store a state as the configuration says.

    Args:
        request: The model.
        warehouse: Answers questions about tables.
        bookmark: The state's bookmark.
        how: Tells how the state is maintained.

    Returns:
        None if it is stored so.

    Raises:
        InvalidModel: If it cannot be stored so, or the configuration forbids to change it.
    """
    before, wanted = Storage.of_value(bookmark.storage), request.storage
    properties = _properties(request, warehouse, bookmark)
    if before == wanted and properties == request.properties:
        return None
    what = (
        "what the configuration says of partitions, clustering, constraints or table properties "
        "changed"
    )
    choice = request.options.on_configuration_change
    fixed = [name for name in _differing(properties, request.properties) if _is_fixed(name)]
    rebuilt = before.partition_by != wanted.partition_by or bool(fixed)
    if choice is OnConfigurationChange.CONTINUE:
        kept = f"{what}; the state stays as it is (on_configuration_change: continue)"
        return Otherwise(bookmark, warnings=(kept,))
    if choice is OnConfigurationChange.FAIL or (rebuilt and request.full_refresh is False):
        raise InvalidModel(
            f"{what[0].upper()}{what[1:]}, and {policy.forbids(request)} to apply it",
            hint=policy.how_to_allow(request),
        )
    if rebuilt:
        changed = ", ".join(fixed) or "partition_by"
        return Otherwise(bookmark, rebuild=Reason("STORAGE_CHANGED", f"{changed} changed", False))
    maintained = how(bookmark)
    if isinstance(maintained, Reason) and bookmark.maintained:
        return Otherwise(bookmark, rebuild=maintained)
    found = _resolved(request, warehouse, maintained)
    altered = tuple(
        Statement(StatementKind.ALTER, f"ALTER TABLE {relation_name(request.state)} {change}")
        for change in (
            *_changes(before, wanted, found.storage),
            *_of_properties(properties, request.properties),
        )
    )
    after = replace(bookmark, storage=request.stored())
    return Otherwise(after, altered, warnings=tuple(_warnings(request, found)))


def _changes(before: Storage, wanted: Storage, resolved: Storage) -> list[str]:
    """What ALTER TABLE is told.

    Args:
        before: How the state is stored, in the view's names.
        wanted: How it is to be, in the view's names.
        resolved: The same in the state's names, without what cannot be checked.
    """
    changes = []
    if before.cluster_by != wanted.cluster_by:
        changes.append(f"CLUSTER BY {columns_clause(resolved.cluster_by)}")
    for name in {**before.checks, **wanted.checks}:
        if before.checks.get(name) == wanted.checks.get(name):
            continue
        constraint = quoted_name((name,))
        # A new one is there already if a run made it, and failed before it could tell.
        changes.append(f"DROP CONSTRAINT IF EXISTS {constraint}")
        if name in resolved.checks:
            changes.append(f"ADD CONSTRAINT {constraint} CHECK ({resolved.checks[name]})")
    return changes


def _properties(request: Request, warehouse: Warehouse, bookmark: Bookmark) -> dict[str, str]:
    """The user's table properties that the state has.

    Bookmarks of older versions, and of states built without any, do not tell them; then the table
    does, of those that are wanted.
    """
    told = bookmark.storage.get(PROPERTIES)
    if isinstance(told, Mapping):
        return dict(told)
    if not request.properties:
        return {}
    actual = warehouse.properties(request.state)
    return {name: actual[name] for name in request.properties if name in actual}


def _differing(before: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    """The properties that one of both has otherwise, or not at all."""
    return [name for name in {**before, **wanted} if before.get(name) != wanted.get(name)]


def _is_fixed(name: str) -> bool:
    """Whether Delta lets a property be set well only where a table is made."""
    return name.lower().startswith((CHECKED, "delta.columnmapping."))


def _of_properties(before: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    """What ALTER TABLE is told of table properties; of a state the change feed is on by default."""
    new = {name: value for name, value in wanted.items() if before.get(name) != value}
    gone = [name for name in before if name not in wanted]
    if CHANGE_FEED in gone:
        gone.remove(CHANGE_FEED)
        new[CHANGE_FEED] = "true"
    changes = []
    if new:
        pairs = ", ".join(f"{string(name)} = {string(value)}" for name, value in new.items())
        changes.append(f"SET TBLPROPERTIES ({pairs})")
    if gone:
        changes.append(f"UNSET TBLPROPERTIES IF EXISTS ({', '.join(map(string, gone))})")
    return changes


def _resolved(request: Request, warehouse: Warehouse, how: Maintained | Reason) -> Resolved:
    """What a model's storage is in its state's names."""
    if request.storage == Storage():
        return Resolved(Storage(), {})
    kinds: Mapping[str, str] = dict(warehouse.describe(request.sql))
    if isinstance(how, Maintained):
        visible = Visible.of(how.layout)
    else:
        names = enumerate(kinds, 1)
        visible = Visible({name.lower(): PLAIN_COLUMN.format(place) for place, name in names})
    return resolve(request.storage, visible, kinds)


def _warnings(request: Request, found: Resolved) -> list[str]:
    left_out = {**request.storage.unchecked, **found.unchecked}
    if not left_out:
        return []
    told = "; ".join(f"{name} ({why})" for name, why in left_out.items())
    return [
        f"these constraints of the contract are not enforced: {told}. Write tests for them, "
        "or set warn_unenforced: false on each"
    ]
