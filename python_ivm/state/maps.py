"""Maps in a bag: Spark cannot compare them, so that the state holds their sorted entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from python_ivm.sql.bind import Query

VIEW = "__ivm_view__"
"""Under this name the types of the view's columns stand among those of relations."""


def is_map(kind: str) -> bool:
    """Whether a Spark type is a map whose entries have an order."""
    head, _, inside = kind.lower().partition("<")
    return head == "map" and "map<" not in inside and "variant" not in inside


def map_columns(query: Query, described: Sequence[tuple[str, str]]) -> dict[str, Mapping[str, str]]:
    """The columns of a query that are maps.

    Args:
        query: The bound query.
        described: Its columns' names and Spark types.

    Returns:
        Their types by the names that they have in the plan, under :data:`VIEW`; empty if there
        are none.
    """
    kinds = [kind for _, kind in described]
    columns = zip(query.plan.schema, kinds, strict=True)
    maps = {column.name: kind for column, kind in columns if is_map(kind)}
    return {VIEW: maps} if maps else {}


def entries(value: exp.Expr) -> exp.Expr:
    """A map as the array of its entries, which can be compared: two maps are equal if these are."""
    found = exp.Anonymous(this="map_entries", expressions=[value.copy()])
    return exp.Anonymous(this="sort_array", expressions=[found])


def of_entries(value: exp.Expr) -> exp.Expr:
    """The map that an array holds the entries of."""
    return exp.Anonymous(this="map_from_entries", expressions=[value.copy()])
