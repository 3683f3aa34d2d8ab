"""Columns and types of the relations in FROM, before the names of a query are resolved."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from python_ivm.errors import InvalidModel, NotYetImplemented
from python_ivm.parse.ctes import visible_ctes
from python_ivm.parse.parser import DIALECT

UNKNOWN = exp.DataType.build("unknown")


@dataclass(frozen=True)
class Relations:
    """Answers from the schemas of the tables.

    Attributes:
        tables: For each table its columns' types, all names in lower case.
    """

    tables: Mapping[str, Mapping[str, str]]

    @cached_property
    def schema(self) -> MappingSchema:
        """The tables as they are: parsing every name again to fold its case takes long."""
        return MappingSchema(dict(self.tables), dialect=DIALECT, normalize=False)

    def columns(self, around: exp.Select) -> list[str]:
        """The names of all columns that a SELECT's FROM shows, in lower case.

        Raises:
            InvalidModel: If a name in it cannot be resolved.
            NotYetImplemented: As :func:`refuse_unnamed_join`.
        """
        try:
            return list(self._qualified(around, exp.Star()).named_selects)
        except SqlglotError as error:
            refuse_unnamed_join(error)
            raise InvalidModel(str(error).split(" Line:")[0]) from error

    def shown(self, around: exp.Select, star: exp.Expr) -> list[exp.Expr]:
        """The columns that a star, ``*`` or ``a.*``, shows of a SELECT's FROM.

        Raises:
            InvalidModel: If a name in it cannot be resolved.
        """
        try:
            return [item.unalias().copy() for item in self._qualified(around, star.copy()).selects]
        except SqlglotError as error:
            raise InvalidModel(str(error).split(" Line:")[0]) from error

    def type_of(self, around: exp.Select, expression: exp.Expr) -> exp.DataType:
        """The type of an expression over a SELECT's FROM; unknown where sqlglot cannot tell."""
        try:
            qualified = self._qualified(around, exp.alias_(expression.copy(), "asked"))
            _write_laterals_as_tables(qualified)
        except SqlglotError:
            return UNKNOWN
        found = qualified.selects[0].type if self.annotate(qualified) else None
        return found if isinstance(found, exp.DataType) else UNKNOWN

    def annotate(self, tree: exp.Query) -> bool:
        """Give the expressions of a qualified query their types, in place, if sqlglot can."""
        views = [(v, v.this) for v in tree.find_all(exp.Lateral) if isinstance(v.this, exp.Explode)]
        for view, call in views:
            view.set("this", _with_typed_columns(call, view.alias_column_names))
        try:
            annotate_types(tree, schema=self.schema, dialect=DIALECT)
        except SqlglotError:
            return False
        finally:
            for view, call in views:
                view.set("this", call)
                call.set("this", call.this)  # it has another parent meanwhile
        return True

    def _qualified(self, around: exp.Select, shown: exp.Expr) -> exp.Select:
        probe = exp.Select().select(shown)
        for clause in ("from_", "joins", "laterals"):
            value = around.args.get(clause)
            if value is not None:
                copied = [v.copy() for v in value] if isinstance(value, list) else value.copy()
                probe.set(clause, copied)
        outermost_first = reversed(list(visible_ctes(around)))
        if visible := [cte for seen in outermost_first for cte in seen]:
            recursive = any(cte.parent.args.get("recursive") for cte in visible if cte.parent)
            ctes = [cte.copy() for cte in visible]
            probe.set("with_", exp.With(expressions=ctes, recursive=recursive))
        return qualify(probe, schema=self.schema, dialect=DIALECT)


def _with_typed_columns(call: exp.Explode, names: list[str]) -> exp.Expr:
    """``explode(xs) as x`` as a generator of structs, of which sqlglot knows the fields.

    To sqlglot ``x`` has the type of ``xs``. What a map has in it, it does not know.
    """
    values = names[1:] if isinstance(call, exp.Posexplode) else names
    if len(values) != 1:
        return exp.Anonymous(this="explode", expressions=[call.this])
    element = exp.Bracket(this=call.this, expressions=[exp.Literal.number(0)])
    columns = {names[0]: exp.Literal.number(0), values[0]: element}
    fields = [exp.PropertyEQ(this=exp.to_identifier(n), expression=v) for n, v in columns.items()]
    return exp.Explode(this=exp.array(exp.Struct(expressions=fields), dialect=DIALECT))


def _write_laterals_as_tables(tree: exp.Select) -> None:
    """Write LATERAL subqueries as derived tables, whose columns' types sqlglot looks up."""
    for lateral in list(tree.find_all(exp.Lateral)):
        if isinstance(lateral.this, exp.Subquery):
            alias = lateral.args.get("alias")
            lateral.replace(exp.Subquery(this=lateral.this.this, alias=alias))


def refuse_unnamed_join(error: SqlglotError) -> None:
    """Tell of a join in parentheses, which has no name, where sqlglot seeks columns in it.

    Raises:
        NotYetImplemented: If the error is of that kind.
    """
    if re.match(r"Unknown table: (Line|$)", str(error)):
        raise NotYetImplemented(
            "USING, NATURAL, SEMI or ANTI JOIN in or beside a join in parentheses",
            operator="JOIN",
            hint="Write the join as a derived table.",
        ) from error
