"""A model that got another name: its state moves along, instead of being built anew."""

from __future__ import annotations

from dataclasses import replace

from python_ivm.errors import InvalidModel
from python_ivm.parse.parser import table_key
from python_ivm.refresh import statement_builders
from python_ivm.refresh.lifecycle.orphans import reads_state
from python_ivm.refresh.lifecycle.ownership import shown_table
from python_ivm.refresh.metadata.versions import state_history
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement import Statement, StatementKind
from python_ivm.render.sources import relation_name
from python_ivm.state.bookmark import Bookmark, no_refresh

Name = tuple[str, ...]
REASON = "RENAMED"
"""Why the commit is there, in the histories of states."""


def renaming(former: Name, request: Request, warehouse: Warehouse, suffix: str) -> list[Statement]:
    """What moves the state of a model's former name to its present one.

    A run that was killed in between is gone on with: the state then has its new name, and its
    bookmark still the former model's.

    Args:
        former: The public view's former name, with its schema.
        request: The model under its present name.
        warehouse: Answers questions about tables.
        suffix: What the name of a state ends with where the former view is gone.

    Returns:
        The statements, in order. The next run makes the public view.

    Raises:
        InvalidModel: If there is no such state, or something has its new place; if the model reads
            its own rows.
    """
    state = _state_of(former, warehouse, suffix)
    planned: list[Statement] = []
    found = state_history(warehouse, request.state)
    bookmark = found.bookmark
    if bookmark is None or bookmark.model.lower() != table_key(former):
        found = state_history(warehouse, state)
        bookmark = _checked(former, found.bookmark, request)
        if statement_builders.VIEW in warehouse.properties(state):
            raise InvalidModel(
                f"{relation_name(former)} reads its own rows, by its name: under another one it "
                "would be another query, and would begin without rows",
                hint=f"Give the model the config alias: {former[-1]}. So its file may have "
                "another name, and its rows stay.",
            )
        planned.append(_move(state, request, warehouse))
    view = warehouse.definition(former)
    if view is not None and reads_state(view.text, state):
        planned.append(Statement(StatementKind.DROP_VIEW, f"DROP VIEW {relation_name(former)}"))
    told = bookmark.told
    after = replace(
        bookmark,
        refresh=bookmark.refresh + 1,
        told=no_refresh(found, told, REASON) if told is not None else None,
        model=".".join(request.view),
        state=table_key(request.state),
        view="",
        project=request.project or bookmark.project,
    )
    kept = replace(
        statement_builders.keep_bookmark(request),
        bookmark=after.text(),
        fence=statement_builders.fence(request, after.refresh),
    )
    return [*planned, kept]


def _state_of(former: Name, warehouse: Warehouse, suffix: str) -> Name:
    view = warehouse.definition(former)
    shown = shown_table(view.text, former[-2]) if view is not None else None
    return shown or (former[-2], former[-1] + suffix)


def _checked(former: Name, found: Bookmark | None, request: Request) -> Bookmark:
    if found is None or found.model.lower() != table_key(former):
        raise InvalidModel(
            f"{relation_name(former)} has no state of a maintained model",
            hint="Name the relation that the model had before: schema.name.",
        )
    if found.project not in ("", request.project):
        raise InvalidModel(f"{relation_name(former)} is of the project {found.project}")
    return found


def _move(state: Name, request: Request, warehouse: Warehouse) -> Statement:
    if warehouse.columns(request.state) is not None:
        raise InvalidModel(
            f"{relation_name(request.state)} is there already",
            hint="Drop it, or keep it and drop the former state by ivm_orphans.",
        )
    if table_key(state[:-1]) != table_key(request.state[:-1]):
        raise InvalidModel(
            f"Spark renames no table from the schema {state[-2]} to {request.state[-2]}",
            hint="Set ivm_state_schema so that the state stays in its schema.",
        )
    names = relation_name(state), relation_name(request.state)
    return Statement(StatementKind.ALTER, f"ALTER TABLE {names[0]} RENAME TO {names[1]}")
