"""The constraints of a contract, on the Delta tables of dbt's own materializations.

Delta checks conditions, which it takes only for a table that stands, with its rows. It takes NOT
NULL for no column that stands, so that is a condition, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.meta import AdapterMeta, available
from dbt_common.exceptions import DbtDatabaseError

from dbt.adapters.sparkivm.configs.constraints import constraints
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
        checks: dict[str, str] = {}
        for constraint in constraints(model):
            if constraint.condition is not None:
                checks[constraint.name_beside(checks)] = constraint.condition
            elif constraint.warns:
                warn(
                    f"{model['name']}: Delta does not enforce the constraint {constraint.kind} "
                    f"({', '.join(constraint.columns)}). Test it by a data test, and set "
                    "warn_unenforced: false."
                )
        try:
            for name, condition in checks.items():
                added = f"ADD CONSTRAINT {quoted_name((name,))} CHECK ({condition})"
                self._ivm_query(f"ALTER TABLE {table} {added}")  # type: ignore[attr-defined]
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
