"""Why a model has no bookmark, in words."""

from __future__ import annotations

from python_ivm.state.bookmark import Found


def unbuilt(found: Found) -> str:
    """Why there is no bookmark of a state, and what to do.

    Args:
        found: What the state's history says; it has no bookmark.
    """
    if found.newer:
        return (
            "its state was written by a newer version of dbt-sparkivm: install that one, or the "
            "next run builds it anew"
        )
    if found.version is None:
        return "it is not built yet"
    return "it was built by --empty or --sample, or its log was cleaned; the next run builds it"
