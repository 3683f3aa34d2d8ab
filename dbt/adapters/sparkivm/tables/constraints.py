"""The constraints of a contract, on the Delta tables of dbt's own materializations.

Delta enforces NOT NULL and CHECK, and takes both only for a table that stands, with its rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import md5
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.meta import AdapterMeta, available
from dbt_common.exceptions import DbtDatabaseError

from dbt.adapters.sparkivm.configs.constraints import Constraint, constraints
from dbt.adapters.sparkivm.log import warn
from python_ivm.parse.parser import quoted_name

_MADE = ("CREATE", "REPLACE")


class ConstraintsMixin(metaclass=AdapterMeta):
    """The adapter's method for the constraints of tables."""

    @available.parse(lambda *a, **k: None)
    def ivm_add_constraints(self, relation: BaseRelation, model: Mapping[str, Any]) -> None:
        """Add a contract's constraints to a table that this model has just made.

        Where the new rows violate one, the table gets its former rows back; a new table is dropped.

        Args:
            relation: The table, whose newest commits are this model's.
            model: The node, as dbt gives it to Jinja.

        Raises:
            DbtDatabaseError: If a row violates a constraint, or an expression is wrong.
        """
        table = quoted_name((relation.schema, relation.identifier))
        found = list(constraints(model))
        for constraint in found:
            if constraint.warns and not clauses(constraint):
                warn(
                    f"{model['name']}: Delta does not enforce the constraint {constraint.kind} "
                    f"({', '.join(constraint.columns)}). Test it by a data test, and set "
                    "warn_unenforced: false."
                )
        try:
            for clause in dict.fromkeys(each for one in found for each in clauses(one)):
                self._ivm_query(f"ALTER TABLE {table} {clause}")  # type: ignore[attr-defined]
        except DbtDatabaseError as error:
            raise DbtDatabaseError(f"{error.msg}\n{self._take_back(relation)}") from error

    def _take_back(self, relation: BaseRelation) -> str:
        """Undo the table's newest creation; returns what was done."""
        parts = (relation.schema, relation.identifier)
        commits = self._ivm_warehouse().history(parts, None) or ()  # type: ignore[attr-defined]
        made = next(each.version for each in commits if each.operation.startswith(_MADE))
        if made > 0:
            restored = f"RESTORE TABLE {quoted_name(parts)} TO VERSION AS OF {made - 1}"
            self._ivm_query(restored)  # type: ignore[attr-defined]
            return f"{relation} has its former rows again."
        self.drop_relation(relation)  # type: ignore[attr-defined]
        return f"{relation} was dropped again."


def clauses(constraint: Constraint) -> list[str]:
    """What ALTER TABLE adds a constraint by; nothing if Delta has no such constraint."""
    columns, expression = constraint.columns, constraint.expression
    if constraint.kind == "not_null":
        return [f"ALTER COLUMN {quoted_name((each,))} SET NOT NULL" for each in columns]
    if constraint.kind == "check" and expression:
        name = constraint.name or md5(f"{columns};{expression}".encode()).hexdigest()
        return [f"ADD CONSTRAINT {quoted_name((name,))} CHECK ({expression})"]
    return []
