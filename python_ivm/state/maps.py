"""Maps in a bag: Spark cannot compare them, so that the state holds their sorted entries."""

from __future__ import annotations

from sqlglot import exp


def is_map(kind: str) -> bool:
    """Whether a Spark type is a map whose entries have an order."""
    head, _, inside = kind.lower().partition("<")
    return head == "map" and "map<" not in inside and "variant" not in inside


def entries(value: exp.Expr) -> exp.Expr:
    """A map as the array of its entries, which can be compared: two maps are equal if these are."""
    found = exp.Anonymous(this="map_entries", expressions=[value.copy()])
    return exp.Anonymous(this="sort_array", expressions=[found])


def of_entries(value: exp.Expr) -> exp.Expr:
    """The map that an array holds the entries of."""
    return exp.Anonymous(this="map_from_entries", expressions=[value.copy()])
