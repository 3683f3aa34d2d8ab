"""Whether a view that a model reads is still the one that it was built over."""

from __future__ import annotations

from collections.abc import Sequence

from python_ivm.parse.views import View
from python_ivm.state.bookmark import digest


def said(view: View) -> str:
    """What is kept of a view: hashes of its query and of its columns, and their number."""
    columns = _columns(view)
    return f"{_query(view)} {len(columns)} {digest(*columns)}"


def is_still(view: View, kept: str) -> bool:
    """Whether a view is the one of which this was kept, or the same with more columns behind.

    A view of all columns of a table gets those that the table gets. What a model reads of a view's
    columns is in the fingerprint of its plan.

    Args:
        view: The view.
        kept: What :func:`said` gave of it; older states have one hash of all.
    """
    query, _, rest = kept.partition(" ")
    if not rest:
        return kept == _of_older_states(view)
    number, _, columns = rest.partition(" ")
    return query == _query(view) and columns == digest(*_columns(view)[: int(number)])


def _query(view: View) -> str:
    return digest(view.text, *view.namespace)


def _columns(view: View) -> Sequence[str]:
    kinds = [f"{name} {kind}" for name, kind in view.columns.items()]
    if len(view.shown) != len(kinds):
        return ["\n".join((*view.shown, *kinds))]
    return [f"{shown}\n{kind}" for shown, kind in zip(view.shown, kinds, strict=True)]


def _of_older_states(view: View) -> str:
    columns = (*view.shown, *(f"{name} {kind}" for name, kind in view.columns.items()))
    return digest("\n".join((view.text, *view.namespace, *columns)))
