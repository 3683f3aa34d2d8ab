"""The constraints of a contract, as dbt tells them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Constraint:
    """One constraint of a model.

    Attributes:
        kind: dbt's name of the kind.
        columns: The columns that it is about.
        name: What the user calls it; may be empty.
        expression: The condition of a check; may be empty.
        warns: Whether dbt is to warn where it is not enforced.
    """

    kind: str
    columns: tuple[str, ...]
    name: str
    expression: str
    warns: bool


def constraints(model: Mapping[str, Any]) -> Iterator[Constraint]:
    """The constraints of a model and of its columns.

    Args:
        model: The node, as dbt gives it to Jinja.
    """
    for column in (model.get("columns") or {}).values():
        for told in column.get("constraints") or ():
            yield _constraint(told, (column["name"],))
    for told in model.get("constraints") or ():
        yield _constraint(told, tuple(told.get("columns") or ()))


def _constraint(told: Mapping[str, Any], columns: tuple[str, ...]) -> Constraint:
    kind = told["type"]
    return Constraint(
        str(getattr(kind, "value", kind)),
        columns,
        str(told.get("name") or ""),
        str(told.get("expression") or ""),
        bool(told.get("warn_unenforced", True)),
    )
