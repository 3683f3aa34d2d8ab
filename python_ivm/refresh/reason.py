"""Why a model is rebuilt in full."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """Why a model is rebuilt in full.

    Attributes:
        code: A stable code.
        text: The same in words, with what the user can do.
        fallback: Whether it stands in for a refresh that the user expects to be incremental; a
            first build or one that was asked for does not.
    """

    code: str
    text: str
    fallback: bool = True
