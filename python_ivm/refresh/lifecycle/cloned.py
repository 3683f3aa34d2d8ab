"""Clones of maintained models: made from another schema's, and taken over by their first refresh.

A clone's state holds what the origin's query gave for the tables that the origin reads. In the
clone's schema the same query reads other tables, clones of those, whose versions are others. A
refresh may go on from such a state where all is known that makes it right: that the query is the
same but for the schemas of its tables, and which version of each table there equals the one of
the bookmark. Where the first is not known, the view is rebuilt; where the second is not, the query
is computed anew, and what differs is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from python_ivm.errors import InvalidModel
from python_ivm.parse.parser import parse, table_key, table_references, with_tables
from python_ivm.refresh import statement_builders
from python_ivm.refresh.lifecycle.ownership import (
    refuse_foreign_table,
    refuse_state_of_another_model,
)
from python_ivm.refresh.lifecycle.public_view import fingerprint
from python_ivm.refresh.metadata.cached_warehouse import CachedWarehouse
from python_ivm.refresh.metadata.catalog import Catalog
from python_ivm.refresh.metadata.versions import clone_of, state_history
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.model import Model
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement import Statement, StatementKind
from python_ivm.render.sources import relation_name
from python_ivm.sources.cloned import Cloned
from python_ivm.sources.history import Change, SourceVersion, is_commit_of, since
from python_ivm.state.bookmark import Bookmark


@dataclass(frozen=True)
class TakenOver:
    """A clone's bookmark in the names of its own schema.

    Attributes:
        bookmark: The bookmark.
        differs: Why the state need not be what the query gives for any version of its tables.
    """

    bookmark: Bookmark
    differs: Reason | None


def taken_over(model: Model, bookmark: Bookmark) -> TakenOver | None:
    """Read a clone's bookmark as one of the model's own query and tables.

    Returns:
        None where there is nothing to take over: the state is no clone, its bookmark is in these
        names already, or it is of another query.
    """
    if bookmark.clone is None or bookmark.unversioned or bookmark.shape != model.shape:
        return None
    keys = [table.key for table in model.tables]
    known = (bookmark.query, list(bookmark.sources), dict(bookmark.views))
    if not model.shape or known == (model.query_hash, keys, model.views):
        return None
    current = model.sources.current_versions()
    if len(current) < len(keys):
        return None
    sources: dict[str, SourceVersion] = {}
    unknown: list[str] = []
    for table, (former, version) in zip(model.tables, bookmark.sources.items(), strict=True):
        equal = _equal_version(model.warehouse, table.parts, former, version)
        if equal is None:
            unknown.append(f"{table.key} may differ from {former} at version {version.version}")
        sources[table.key] = equal or current[table.key].post
    after = replace(bookmark, query=model.query_hash, views=model.views, sources=sources)
    if not unknown:
        return TakenOver(after, None)
    details = "the state that was cloned was computed from that version"
    return TakenOver(after, Reason("SOURCE_DIFFERS", ", ".join(unknown), details=details))


def _equal_version(
    warehouse: Warehouse, parts: tuple[str, ...], former: str, version: SourceVersion
) -> SourceVersion | None:
    """The version of a table that has the rows of a version of another one, if that is known."""
    if table_key(parts) == former:
        return version
    found = clone_of(warehouse, parts)
    if found is None:
        return None
    commit, cloned = found
    if cloned.key != former or not _same_rows(warehouse, cloned, version):
        return None
    return SourceVersion(commit.version, commit.timestamp)


def _same_rows(warehouse: Warehouse, cloned: Cloned, version: SourceVersion) -> bool:
    """Whether a table had the same rows and columns when it was cloned as at another version."""
    first, last = sorted((cloned.version, version), key=lambda v: v.version)
    if first.version == last.version:
        return is_commit_of(first, last) or is_commit_of(last, first)
    newest = next(iter(warehouse.history(cloned.parts, 1) or ()), None)
    if newest is None or newest.version < last.version:
        return False
    commits = warehouse.history(cloned.parts, newest.version - first.version + 1) or []
    between = [c for c in commits if first.version <= c.version <= last.version]
    change = since(cloned.parts, first, between)
    if change is None or change.change is not Change.NONE:
        return False
    return is_commit_of(change.post, last)


@dataclass(frozen=True)
class StateClone:
    """How a maintained model is cloned.

    Attributes:
        statements: What makes its state, in order.
        view: The text of its public view.
        of: The state that is cloned, at its version.
        told: What the clone is, in words.
    """

    statements: tuple[Statement, ...]
    view: str
    of: Cloned
    told: str


def plan_clone(request: Request, other: tuple[str, ...], warehouse: Warehouse) -> StateClone | None:
    """Plan the clone of a maintained model.

    Args:
        request: The model in the clone's schema; its SQL is not read.
        other: The public view of the model that is cloned.
        warehouse: Answers questions about tables.

    Returns:
        None if the other view is none of a maintained model, or shows a former version of the
        state.

    Raises:
        InvalidModel: If something else has the place of the clone's state; if that is the state
            that is cloned.
    """
    try:
        return _plan_clone(request, other, CachedWarehouse(warehouse))
    except InvalidModel as error:
        error.model = error.model or request.model
        raise


def _plan_clone(request: Request, other: tuple[str, ...], asked: Warehouse) -> StateClone | None:
    view = asked.definition(other)
    state = _state_of(view.text) if view is not None else None
    if view is None or state is None or statement_builders.QUERY not in _properties(asked, state):
        return None
    if table_key(state[-2:]) == table_key(request.state[-2:]):
        raise InvalidModel(
            f"{relation_name(other)} is the model itself, which cannot be its own clone",
            hint="Clone into a target with another schema.",
        )
    cloned = _as_it_is(state, asked)
    told = f"clone of {relation_name(other)} at version {cloned.version.version} of its state"
    shown = with_tables(view.text, {table_key(state): relation_name(request.state)})
    made, number = _room(request, asked)
    bookmark = _bookmark(asked, state, other)
    own = bookmark is not None and bookmark.view == fingerprint(view.text)
    if bookmark is None:
        told += ", which no refresh left so: its first run builds it anew"
    else:
        bookmark = replace(
            bookmark,
            model=".".join(request.view),
            project=request.project,
            state=table_key(request.state),
            refresh=number,
            clone=cloned,
            sizes={},
            # One that is not the state's own in the other schema is none here, too.
            view=fingerprint(shown) if own else bookmark.view,
        )
    text = bookmark.text() if bookmark is not None else None
    made += statement_builders.create_schema(request)
    made.append(statement_builders.clone_state(request, state, cloned.version.version, text))
    return StateClone(tuple(made), shown, cloned, told)


def _bookmark(
    warehouse: Warehouse, state: tuple[str, ...], view: tuple[str, ...]
) -> Bookmark | None:
    """The bookmark of a view's state; None if the state is not what a refresh of it wrote."""
    found = state_history(warehouse, state)
    if found.bookmark is None or not found.intact:
        return None
    return found.bookmark if found.bookmark.model.lower() == table_key(view[-2:]) else None


def _as_it_is(parts: tuple[str, ...], warehouse: Warehouse) -> Cloned:
    """A Delta table's newest version."""
    newest = next(iter(warehouse.history(parts, 1) or ()))
    version = SourceVersion(newest.version, newest.timestamp)
    return Cloned(Catalog(warehouse, {}).full_name(parts), version)


def _state_of(text: str) -> tuple[str, ...] | None:
    """The table that a public view shows: the only one, and not a former version of it."""
    try:
        references = table_references(parse(text))
    except InvalidModel:
        return None
    pinned = any(reference.pinned for reference in references)
    if pinned or len({reference.key for reference in references}) != 1:
        return None
    return references[0].parts


def _properties(warehouse: Warehouse, state: tuple[str, ...]) -> Mapping[str, str]:
    return warehouse.properties(state) if warehouse.history(state, 1) else {}


def _room(request: Request, warehouse: Warehouse) -> tuple[list[Statement], int]:
    """What makes room for a clone, as Delta clones into no table that has rows.

    Returns:
        The statements, and a refresh number that no commit of the table has.
    """
    found = state_history(warehouse, request.state)
    if found.bookmark is None:
        refuse_foreign_table(request, warehouse)
    else:
        refuse_state_of_another_model(request, found.bookmark)
    if found.version is None:
        return [], 1
    name = relation_name(request.state)
    if not request.location:
        return [Statement(StatementKind.DROP_STATE, f"DROP TABLE {name}")], 1
    # The files of a table with a location outlive it, and with them its commits.
    return [Statement(StatementKind.DROP_STATE, f"TRUNCATE TABLE {name}")], found.version + 3


def plan_table_clone(
    parts: tuple[str, ...], other: tuple[str, ...], warehouse: Warehouse
) -> tuple[Statement, Cloned]:
    """Plan the clone of a Delta table.

    Args:
        parts: The clone's name, which nothing has yet.
        other: The name of the table.
        warehouse: Answers questions about tables.

    Returns:
        The statement, whose commit tells what was cloned; and that.
    """
    cloned = _as_it_is(other, warehouse)
    return statement_builders.clone_table(parts, other, cloned), cloned


def is_still_there(warehouse: Warehouse, cloned: Cloned) -> bool:
    """Whether a table has the version that was cloned, and was not made anew meanwhile."""
    newest = next(iter(warehouse.history(cloned.parts, 1) or ()), None)
    if newest is None or newest.version < cloned.version.version:
        return False
    commits = warehouse.history(cloned.parts, newest.version - cloned.version.version + 1) or []
    commits = [c for c in commits if c.version >= cloned.version.version]
    return since(cloned.parts, cloned.version, commits) is not None
