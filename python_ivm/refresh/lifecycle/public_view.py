"""The public view: whether it stands as a refresh made it, and how it is made again.

It holds no rows, so that a view that somebody dropped or replaced says nothing against the state.
"""

from __future__ import annotations

from dataclasses import replace

from python_ivm.refresh import statement_builders
from python_ivm.refresh.maintainability import Maintained
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.model import Model
from python_ivm.refresh.request import Request
from python_ivm.state.bookmark import Bookmark, digest
from python_ivm.state.log import with_step


def fingerprint(text: str) -> str:
    """By what a view's text is known again; nothing where Spark may keep another text."""
    return "" if "${" in text else digest(text.strip())


def stands(request: Request, bookmark: Bookmark, warehouse: Warehouse) -> bool:
    """Whether the public view is the one that belongs to a state.

    The view's text as dbt lists it costs no question, but its form is not promised: so the
    catalog is asked before a view counts as another one.
    """
    if not request.view_exists:
        return False
    own = bookmark.view
    if not own or request.view_text is None or fingerprint(request.view_text) == own:
        return True
    view = warehouse.definition(request.view)
    return view is not None and fingerprint(view.text) == own


def what_happened(request: Request) -> str:
    """What stands in the place of a public view that does not stand."""
    if request.table_in_the_way:
        return "a table stood in the place of the public view, which is created again"
    what = "another one" if request.view_text is not None else "gone"
    return f"the public view was {what}, and is created again"


def made_again(model: Model, bookmark: Bookmark, how: Maintained | None) -> str | None:
    """The text that a build would give the public view now.

    Args:
        model: The model.
        bookmark: What its state holds.
        how: How it is maintained; None where its state is the plain result of the query.

    Returns:
        The text; None if the state does not have what such a view must show.
    """
    is_log = how is not None and how.layout.is_log
    sql = with_step(model.request.sql) if is_log else model.request.sql
    described = model.warehouse.describe(sql)
    columns = [name for name, _ in described]
    if how is None:
        stored = model.warehouse.columns(model.request.state) or ()
        if len(stored) != len(columns):
            return None
        text = statement_builders.plain_view(model.request, columns)
    else:
        layout = replace(how.layout, columns=tuple(columns))
        text = statement_builders.public_view(model.request, layout, model.clock(bookmark))
    return text if list(model.warehouse.describe(text)) == list(described) else None
