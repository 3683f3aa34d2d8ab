"""What a bag stores in place of values that Spark cannot compare, or that Delta cannot store."""

from __future__ import annotations

import re

from sqlglot import exp

from python_ivm.functions.comparable import comparable

_COLLATED = re.compile(r"string collate (\w+)\Z", re.IGNORECASE)


def has_stored_form(kind: str) -> bool:
    """Whether values of a Spark type are made again from the form that is stored."""
    return _is_map(kind) or _COLLATED.match(kind) is not None


def stored_form(value: exp.Expr, kind: str) -> exp.Expr:
    """A map as its sorted entries, a string with a collation as one without."""
    return comparable(value, kind)


def shown_form(stored: exp.Expr, kind: str) -> exp.Expr:
    """The value that a stored form was made of."""
    collated = _COLLATED.match(kind)
    if collated is None:
        return exp.Anonymous(this="map_from_entries", expressions=[stored.copy()])
    collation = exp.Literal.string(collated.group(1))
    return exp.Anonymous(this="collate", expressions=[stored.copy(), collation])


def _is_map(kind: str) -> bool:
    """Whether a type is a map whose entries have an order."""
    head, _, inside = kind.lower().partition("<")
    return head == "map" and not re.search(r"map<|variant|collate", inside)
