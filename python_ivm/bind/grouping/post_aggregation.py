"""Expressions above GROUP BY, rewritten over the output columns of the aggregate."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named
from python_ivm.bind.grouping.canonical import same
from python_ivm.bind.grouping.grouping_sets import SET, GroupingSets
from python_ivm.bind.scope import PLACEHOLDER
from python_ivm.errors import InvalidModel, IvmError, NotYetImplemented
from python_ivm.functions.aggregates import core, is_aggregate_call
from python_ivm.functions.deterministic_choice import RowOrder, determined
from python_ivm.parse.trees import position, spelled
from python_ivm.qualify.struct_fields import same_but_for_case


@dataclass
class PostAggregation:
    """Rewrites an expression of a grouped query over the aggregate's output."""

    relation: str
    keys: list[Named]
    sets: GroupingSets | None = None
    measures: list[Named] = field(default_factory=list)
    order: RowOrder = field(default_factory=RowOrder)

    @property
    def grouped_by(self) -> tuple[Named, ...]:
        """The aggregate's keys."""
        return tuple(self.keys if self.sets is None else self.sets.keys(self.keys))

    def apply(self, expression: exp.Expr, wanted: str | None = None) -> exp.Expr:
        """Replace keys and aggregate calls by columns; collect the calls as measures."""

        def replacement(node: exp.Expr) -> exp.Expr:
            for key in self.keys:
                if same(node, key.expression):
                    return ColumnRef(self.relation, key.name).expression()
            if self.sets is not None and isinstance(node, (exp.Grouping, exp.GroupingId)):
                number = ColumnRef(self.relation, SET).expression()
                return self.sets.grouping(node, self.keys, number, same)
            if is_aggregate_call(node):
                self._refuse_nested(node)
                call = determined(node, self.order)
                name = self.measure(call, wanted if node is top else None)
                return ColumnRef(self.relation, name).expression()
            return node

        top = expression.copy()
        result = top.transform(replacement, copy=False)
        for column in result.find_all(exp.Column):
            if column.table not in (self.relation, PLACEHOLDER):
                raise self._ungrouped(column)
        return result

    def _ungrouped(self, column: exp.Column) -> IvmError:
        dot = column.find_ancestor(exp.Dot)
        while dot is not None and isinstance(dot.parent, exp.Dot):
            dot = dot.parent
        if dot is not None and any(same_but_for_case(dot, k.expression) for k in self.keys):
            return NotYetImplemented(
                "A field in another spelling than in GROUP BY, which might be a map's key",
                operator="GROUP BY",
                hint="Spell it as in GROUP BY.",
                **position(column),
            )
        function = column.find_ancestor(exp.Anonymous)
        if function is not None:
            return NotYetImplemented(
                f"The function {function.name.lower()}() in a grouped query",
                operator=f"{function.name.lower()}()",
                **position(column),
            )
        return InvalidModel(
            f"Column {column.name} is neither grouped nor inside an aggregate",
            hint="Add it to GROUP BY, or wrap it in any_value(), min() or max().",
            **position(column),
        )

    @staticmethod
    def _refuse_nested(call: exp.Expr) -> None:
        inner = core(call)
        if any(is_aggregate_call(node) for node in inner.walk() if node is not inner):
            raise InvalidModel(
                "An aggregate inside an aggregate",
                operator=spelled(inner),
                hint="Compute the inner one in a derived table or a CTE.",
                **position(call),
            )

    def measure(self, call: exp.Expr, wanted: str | None) -> str:
        """The measure that holds an aggregate call; equal calls share one."""
        for measure in self.measures:
            if measure.expression == call:
                return measure.name
        names = {item.name for item in (*self.keys, *self.measures)}
        function = core(call).key
        candidates = itertools.chain(
            [wanted] if wanted else [], (f"{function}_{n}" for n in itertools.count(1))
        )
        name = next(c for c in candidates if c not in names)
        self.measures.append(Named(name, call.copy()))
        return name
