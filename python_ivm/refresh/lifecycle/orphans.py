"""States that no model keeps up any more: whose they are, and whether they may go.

A model leaves one behind where its ``ivm_state_suffix`` changed, where it is materialized
otherwise, or where it left the project. dbt drops no relation of a model that is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from python_ivm.errors import IvmError
from python_ivm.parse.parser import parse, table_key, table_references
from python_ivm.refresh.lifecycle.ownership import keeps_rows
from python_ivm.refresh.lifecycle.public_view import fingerprint
from python_ivm.refresh.metadata.versions import reads, state_history
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.render.sources import relation_name
from python_ivm.state.bookmark import Bookmark

Name = tuple[str, ...]


@dataclass(frozen=True)
class Built:
    """What the project builds under one name.

    Attributes:
        materialized: dbt's config of the same name.
        state: The state table, if it is a maintained model.
    """

    materialized: str
    state: Name | None = None


@dataclass(frozen=True)
class Orphan:
    """A state that no model of the project keeps up.

    Attributes:
        state: The table.
        model: The public view that it was made for.
        why: Why it is one, in words.
        keep: Why it must not be dropped, in words; empty if it may be.
        view: The public view to drop before it, as nothing else made or replaced it.
    """

    state: Name
    model: str
    why: str
    keep: str = ""
    view: Name | None = None

    def told(self) -> str:
        """All of it in one line."""
        line = f"{relation_name(self.state)}: state of {self.model}; {self.why}"
        return f"{line}; {self.keep}" if self.keep else line


def former_state(
    warehouse: Warehouse, state: Name, view: Name, project: str, current: Name | None
) -> bool:
    """Whether a table is the former state of what the project builds under a view's name.

    Not one whose rows no query gives again: that is left to ``ivm_orphans``, which the user calls.

    Args:
        warehouse: Is asked.
        state: The table.
        view: The name.
        project: The dbt project.
        current: The state that the model has now, if it is a maintained one.
    """
    if current is not None and table_key(state) == table_key(current):
        return False
    bookmark = state_history(warehouse, state).bookmark
    if bookmark is None or bookmark.model.lower() != table_key(view):
        return False
    return bookmark.project in ("", project) and not keeps_rows(warehouse, state, bookmark)


def reads_state(text: str, state: Name) -> bool:
    """Whether a view reads a state, or a former version of it; in doubt it does.

    Args:
        text: The view's text.
        state: The table; another schema may have one of the same name.
    """
    try:
        tables = [reference.parts for reference in table_references(parse(text))]
    except IvmError:
        return reads(text, state[-1])
    ends = [(table_key(parts[-1:]), table_key(parts[-2:-1])) for parts in tables]
    own = table_key(state[-1:])
    return any(name == own and schema in ("", table_key(state[-2:-1])) for name, schema in ends)


def orphan(
    warehouse: Warehouse, state: Name, project: str, built: Mapping[str, Built]
) -> Orphan | None:
    """What is to be said of a table; None if it is no state, or one that a model keeps up.

    Args:
        warehouse: Is asked for the table's newest commits, and for the view of an orphan.
        state: The table.
        project: The dbt project.
        built: What the project builds, by schema and name as a planner key.
    """
    kept = {table_key(b.state) for b in built.values() if b.state is not None}
    if table_key(state) in kept:
        return None
    bookmark = state_history(warehouse, state).bookmark
    if bookmark is None:
        return None
    now = built.get(bookmark.model.lower())
    why = _why(bookmark, now)
    if bookmark.project not in ("", project):
        return Orphan(state, bookmark.model, f"of the project {bookmark.project}", _LEFT)
    if bookmark.project == "" and now is None:
        return Orphan(state, bookmark.model, why, f"it does not say of which project, so {_LEFT}")
    view = tuple(bookmark.model.split("."))
    # One that does not know its own name lies beside its view.
    own = bookmark.state or table_key((view[0], state[-1]))
    if own != table_key(state[-2:]):
        return Orphan(state, bookmark.model, "a copy of a state of another schema", _LEFT)
    found = warehouse.definition(view)
    if found is None or not reads_state(found.text, state):
        return Orphan(state, bookmark.model, why)
    if now is not None:
        return Orphan(state, bookmark.model, why, f"{bookmark.model} reads it until its next run")
    if fingerprint(found.text) != bookmark.view:
        keep = f"{bookmark.model} still reads it, though it is another view now"
        return Orphan(state, bookmark.model, why, keep)
    return Orphan(state, bookmark.model, why, view=view)


def _why(bookmark: Bookmark, now: Built | None) -> str:
    if now is None:
        return "no model of this target has this name: it was deleted, renamed or disabled"
    if now.state is not None:
        return f"the model keeps its state in {relation_name(now.state)} now"
    return f"the model is materialized as {now.materialized} now"


_LEFT = "it is left alone"
