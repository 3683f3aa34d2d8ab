"""The constraints of a contract, as dbt tells them."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from python_ivm.parse.parser import quoted_name


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

    @property
    def condition(self) -> str | None:
        """What is true of every row, which Delta can check; None of what is about several rows."""
        if self.kind == "not_null" and self.columns:
            quoted = (quoted_name((column,)) for column in self.columns)
            return " AND ".join(f"{column} IS NOT NULL" for column in quoted)
        return self.expression or None if self.kind == "check" else None

    def name_beside(self, taken: Container[str]) -> str:
        """A name that no other constraint has, in lower case as Delta keeps it."""
        name = (self.name or "_".join((self.kind, *self.columns))).lower()
        name = re.sub(r"\W+", "_", name).strip("_")
        number = 2
        free = name
        while free in taken:
            free, number = f"{name}_{number}", number + 1
        return free


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
