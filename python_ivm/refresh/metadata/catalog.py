"""What the names in a model mean, as the warehouse's catalog has it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from sqlglot import exp

from python_ivm.errors import InvalidModel, IvmError, ReadOtherwise
from python_ivm.parse.marks import AS_OF_LAST, Mark
from python_ivm.parse.parser import (
    TableReference,
    parse,
    quoted_name,
    table_key,
    table_references,
)
from python_ivm.parse.views import Relation, View, no_rows
from python_ivm.qualify.checks.session_settings import (
    other_setting,
    refuse_other_reading,
)
from python_ivm.qualify.checks.user_functions import named_alone
from python_ivm.refresh.metadata.versions import is_delta, state_history
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.request import Previous
from python_ivm.state.public import hidden_columns, over_hidden_columns

SESSION_CATALOG = "spark_catalog"
"""Spark's own catalog, which full names leave out."""


def same_name(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two full names mean the same relation."""
    return table_key(one) == table_key(other)


class Catalog:
    """Resolves names for one model.

    Attributes:
        strict_casts: Whether CAST fails where a value does not fit.
        opaque: Why each view that stays as it is cannot be taken apart, by key.
        hidden: For each state of another model the stored names of its hidden columns, by the
            names that the planner gives them.
    """

    def __init__(
        self,
        warehouse: Warehouse,
        settings: Mapping[str, str],
        steady: Collection[str] = (),
        own: tuple[tuple[str, ...], View] | None = None,
        previous: Mapping[str, Previous] | None = None,
    ) -> None:
        """Take what is asked.

        Args:
            warehouse: Knows the names.
            settings: Those under which the model's text is read.
            steady: The tables that have probably not changed since the last refresh, by key.
            own: What the model's own name means where the model itself has it: full name and view.
            previous: The models that are read as before the run, as the request has them.
        """
        self._previous = previous or {}
        self._own = own
        self._warehouse = warehouse
        self._settings = settings
        self._steady = steady
        self.strict_casts = settings.get("spark.sql.ansi.enabled") == "true"
        self.opaque: dict[str, str] = {}
        self.hidden: dict[str, Mapping[str, str]] = {}

    def full_name(
        self, parts: tuple[str, ...], namespace: tuple[str, ...] | None = None
    ) -> tuple[str, ...]:
        """A relation's name with its schema, and with its catalog unless that is Spark's own.

        Args:
            parts: The name as it is written.
            namespace: Catalog and schema of names that have none; None means the session's.
        """
        own = self._warehouse.namespace()
        missing = max(0, 3 - len(parts))
        name = (*(namespace or own)[:missing], *parts)
        if name[0].lower() == SESSION_CATALOG and own[0].lower() == SESSION_CATALOG:
            return name[1:]
        return name

    def relation(self, parts: tuple[str, ...], namespace: tuple[str, ...] | None) -> Relation:
        """What a name means that stands in the model (no namespace) or in a view."""
        name = self.full_name(parts, namespace)
        if self._own is not None and namespace is None and same_name(name, self._own[0]):
            return Relation(name, self._own[1], partial(self._adapted, name))
        # A temporary view comes before a table of its name, but not in the text of a view.
        asked = parts if namespace is None and len(parts) == 1 else name
        if is_delta(self._warehouse, asked, table_key(name) in self._steady):
            return Relation(name)
        view = self._warehouse.definition(asked)
        if view is None and asked != name and self._hides(asked, name):
            self.opaque[table_key(parts)] = "it is a temporary view without a text"
            return Relation(parts)
        if view is None:
            return Relation(name)
        if not view.namespace:
            self.opaque[table_key(parts)] = "it is a temporary view"
            return Relation(parts)
        if view.settings is None and not self._is_public(name, view):
            told = "the catalog does not tell under which settings it was made"
            self.keep(Relation(name), told)
            return Relation(name)
        differs = self._read_otherwise(view)
        if differs is not None:
            self.keep(Relation(name), differs)
            return Relation(name)
        return Relation(name, view, partial(self._adapted, name))

    def _read_otherwise(self, view: View) -> str | None:
        """Why a view's text has another meaning than in the model, or than the planner knows."""
        if view.settings is not None:
            key = other_setting(view.settings, self._settings)
            if key is not None:
                return f"it was made under another {key}"
        if view.collation.upper() not in ("", "UTF8_BINARY"):
            return f"its texts have the collation {view.collation}"
        function = self._function_elsewhere(view)
        if function is not None:
            return f"it calls {function}(), a function of {'.'.join(view.namespace)}"
        try:
            refuse_other_reading(view.text, self._settings, self._warehouse.doubles_quotes)
        except ReadOtherwise as error:
            return error.message
        return None

    def _function_elsewhere(self, view: View) -> str | None:
        """A function that a view names without its schema, where the session has another one."""
        if [n.lower() for n in view.namespace] == [n.lower() for n in self._warehouse.namespace()]:
            return None
        try:
            names = named_alone(parse(view.text))
        except IvmError:  # of which the reader tells more
            return None
        if not names:
            return None
        made = {*self._warehouse.user_functions(view.namespace), *self._warehouse.user_functions()}
        return min(names & made, default=None)

    def previous(self, found: TableReference) -> Relation:
        """What a name means that is to be read as it was before the run.

        Raises:
            InvalidModel: If it is no maintained model's, or its columns cannot be told.
        """
        relation = self.relation(found.parts, None)
        name = table_key(relation.name[-2:])
        other = self._previous.get(name)
        if other is None:
            raise InvalidModel(
                f"{name} is no maintained model of this project, so that its rows before the run "
                "are not known",
                hint="ivm_previous takes the name of a model that is materialized as "
                "incremental_ivm.",
                line=found.line,
                column=found.column,
            )
        stands = bool(self._warehouse.history(other.state, 1))
        if stands and relation.view is not None:
            return relation
        if stands:
            raise InvalidModel(
                f"{name} is not there, though its state is",
                hint=f"Run that model first: dbt run --select {found.parts[-1]}",
                line=found.line,
                column=found.column,
            )
        if not other.columns:
            raise InvalidModel(
                f"{name} was not built before this run, and its columns are not known",
                hint="List all of its columns with their data_type in its YAML: it then counts as "
                "empty until it is built.",
                line=found.line,
                column=found.column,
            )
        text = no_rows(other.columns)
        return Relation(relation.name, View(text, ("", ""), dict(self.describe(text))))

    def new(self, found: TableReference) -> Relation:
        """What a name means of which only the rows are to be read that came since the last step."""
        name = quoted_name(found.parts)
        text = f"SELECT * FROM {name} EXCEPT ALL SELECT * FROM {name} {Mark.LAST.comment}"
        columns = dict(self.describe(f"SELECT * FROM {name}"))
        return Relation(self.full_name(found.parts), View(text, (), columns))

    def _hides(self, asked: tuple[str, ...], name: tuple[str, ...]) -> bool:
        """Whether a bare name means something else than the relation of the schema so named."""
        if self._warehouse.columns(asked) is None:
            return False
        return bool(self._warehouse.history(name, 1)) or self._warehouse.columns(name) is None

    def describe(self, sql: str) -> Sequence[tuple[str, str]]:
        """Names and types of a query's columns."""
        return self._warehouse.describe(sql)

    def keep(self, relation: Relation, why: str) -> None:
        """Note that a view cannot be taken apart."""
        self.opaque[table_key(relation.name)] = why

    def _adapted(self, name: tuple[str, ...], tree: exp.Query) -> exp.Query:
        """The tree of a view; of a maintained model's public view, one over its state's rows."""
        parts = self._state_below(name, tree)
        if parts is None:
            return tree
        hidden = hidden_columns(self._warehouse.columns(parts) or ())
        self.hidden[table_key(parts)] = hidden
        return over_hidden_columns(tree, hidden)

    def _is_public(self, name: tuple[str, ...], view: View) -> bool:
        """Whether a view is a maintained model's, which is made under the settings of its build."""
        try:
            return self._state_below(name, parse(view.text)) is not None
        except IvmError:
            return False

    def _state_below(self, name: tuple[str, ...], tree: exp.Query) -> tuple[str, ...] | None:
        """The state that a maintained model's public view shows as of now; None for others."""
        tables = {reference.key: reference for reference in table_references(tree)}
        if len(tables) != 1:
            return None
        (state,) = tables.values()
        if state.pinned:
            return None
        parts = (*state.parts[:-1], state.parts[-1].removesuffix(AS_OF_LAST))
        if not hidden_columns(self._warehouse.columns(parts) or ()):
            return None  # the whole history of another table would have no bookmark
        bookmark = state_history(self._warehouse, parts).bookmark
        if bookmark is None or bookmark.model.lower() != table_key(name[-2:]):
            return None
        return parts
