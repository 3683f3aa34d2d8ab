"""What a model reads: tables get their full names, and views are replaced by their queries.

Both happens to the text and to its tree. The text stays the user's to the letter but for these
names; Spark runs it for full rebuilds and for the consistency test. The planner binds the tree; its
positions are those in the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlglot import exp

from python_ivm.errors import InvalidModel, NotYetImplemented
from python_ivm.parse.marks import AS_OF_LAST, Mark, mark_at
from python_ivm.parse.parser import (
    TableReference,
    parse,
    quoted_name,
    reference,
    table_key,
    table_nodes,
    without_terminator,
)

_DEEPEST = 100
"""How deep views may be nested; Spark's own default (spark.sql.view.maxNestedViewDepth)."""

_MOST = 500
"""How many views one model may read, each counted wherever it is named."""


@dataclass(frozen=True)
class View:
    """A view, as the catalog knows it.

    Attributes:
        text: Its query.
        namespace: Catalog and schema of the names in its text that have none.
        columns: Its columns' names and types.
        shown: The names of the query's columns that it shows, in the same order; empty where the
            catalog does not say.
        settings: The session settings under which its text is read, as far as they are kept; None
            if the catalog does not tell them.
        collation: That of the texts that its query makes; empty for Spark's own.
    """

    text: str
    namespace: tuple[str, ...]
    columns: Mapping[str, str]
    shown: tuple[str, ...] = ()
    settings: Mapping[str, str] | None = field(default_factory=dict)
    collation: str = ""


@dataclass(frozen=True)
class Relation:
    """What a name means.

    Attributes:
        name: Its full name.
        view: The view that it is; None for a table, and for a view that stays as it is.
        adapt: What becomes of the tree of the view's query.
    """

    name: tuple[str, ...]
    view: View | None = None
    adapt: Callable[[exp.Query], exp.Query] = lambda tree: tree


class Catalog(Protocol):
    """Answers questions about names."""

    strict_casts: bool
    """Whether CAST fails where a value does not fit, as the casts of views always do."""

    def relation(self, parts: tuple[str, ...], namespace: tuple[str, ...] | None) -> Relation:
        """What a name means that stands in the model (no namespace) or in a view."""

    def previous(self, found: TableReference) -> Relation:
        """What a name means that is to be read as it was before the run."""

    def new(self, found: TableReference) -> Relation:
        """What a name means of which only the rows are to be read that came since the last step."""

    def describe(self, sql: str) -> Sequence[tuple[str, str]]:
        """Names and types of a query's columns."""

    def keep(self, relation: Relation, why: str) -> None:
        """Note that a view cannot be taken apart."""


@dataclass(frozen=True)
class InlinedQuery:
    """A query over tables alone.

    Attributes:
        text: The query's text.
        tree: Its tree, in which each table has its full name.
        tables: The tables, once for each place; a view that cannot be taken apart is one of them.
        views: The views that were taken apart.
    """

    text: str
    tree: exp.Query
    tables: tuple[TableReference, ...]
    views: Mapping[str, View]

    @property
    def distinct_tables(self) -> list[TableReference]:
        """Each table once, at the place that names it first."""
        return list({table.key: table for table in reversed(self.tables)}.values())[::-1]


def read(sql: str, catalog: Catalog) -> InlinedQuery:
    """Resolve the names of a model's text, and take its views apart.

    Args:
        sql: The model's compiled SQL.
        catalog: Says what a name means.

    Raises:
        InvalidModel: If the text is not one query, or if views are nested too deep.
    """
    return _Reader(catalog).read(sql, None, 0)


class _Reader:
    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.number = 0

    def read(
        self, sql: str, namespace: tuple[str, ...] | None, depth: int, last: bool = False
    ) -> InlinedQuery:
        tree = parse(sql)
        sql = without_terminator(sql)
        edits: list[tuple[int, int, str]] = []
        tables: list[TableReference] = []
        views: dict[str, View] = {}
        bare: set[str] = set()
        for node in table_nodes(tree):
            found = reference(node)
            mark = mark_at(sql, found.end) if namespace is None else None
            found = replace(found, previous=mark is Mark.PREVIOUS, last=last or mark is Mark.LAST)
            if mark is Mark.PREVIOUS:
                relation = self.catalog.previous(found)
            elif mark is Mark.NEW:
                relation = self.catalog.new(found)
            else:
                relation = self.catalog.relation(found.parts, namespace)
            inner = None
            if relation.view is not None and not found.pinned:
                inner = self._view(relation, relation.view, depth + 1, found.last)
            if inner is None and found.last:
                text = f"{quoted_name(relation.name)} {Mark.LAST.comment}"
                edits.append((found.start, found.end, text))
                _rename(node, (*relation.name[:-1], relation.name[-1] + AS_OF_LAST))
                tables.append(replace(found, parts=relation.name))
                continue
            if inner is None:
                if [p.lower() for p in found.parts] != [p.lower() for p in relation.name]:
                    edits.append((found.start, found.end, quoted_name(relation.name)))
                _rename(node, relation.name)
                tables.append(replace(found, parts=relation.name))
                continue
            named = "" if node.alias else f" AS {quoted_name(found.parts[-1:])}"
            edits.append((found.start, found.end, f"(\n{inner.text}\n){named}"))
            bare |= set() if node.alias else {found.parts[-1].lower()}
            _replace(node, inner.tree, found)
            views |= inner.views
            tables += [
                replace(
                    t, line=found.line, column=found.column, previous=found.previous or t.previous
                )
                for t in inner.tables
            ]
        edits += _qualifiers(tree, bare)
        return InlinedQuery(_edited(sql, edits), tree, tuple(tables), views)

    def _view(
        self, relation: Relation, view: View, depth: int, last: bool = False
    ) -> InlinedQuery | None:
        """A view's query under the view's column names; None if it has to stay as it is."""
        self.number += 1
        if depth > _DEEPEST or self.number > _MOST:
            raise InvalidModel(
                f"Views are nested too deep, or too many, at {'.'.join(relation.name)}",
                hint="Store one of the views below the model as a table.",
            )
        try:
            inner = self.read(view.text, view.namespace or None, depth, last)
            items, names = self._columns(relation, view, inner)
        except (InvalidModel, NotYetImplemented) as error:
            self.catalog.keep(relation, error.message)
            return None
        tree = relation.adapt(inner.tree)
        text = inner.text
        if items:
            alias = quoted_name(relation.name[-1:]) + (f"({names})" if names else "")
            text = f"SELECT {items} FROM (\n{text}\n) AS {alias}"
            outer = parse(f"SELECT {items} FROM (SELECT 1) AS {alias}")
            subquery = outer.find(exp.Subquery)
            assert subquery is not None
            subquery.set("this", tree)
            tree = outer
        key = table_key(relation.name)
        return InlinedQuery(text, tree, inner.tables, {key: view, **inner.views})

    def _columns(self, relation: Relation, view: View, inner: InlinedQuery) -> tuple[str, str]:
        """How a view's columns come from those of its query.

        Returns:
            The items of a SELECT, and the names under which they name the query's columns where
            these are not its own; empty if the view's columns are the query's.
        """
        described = list(self.catalog.describe(inner.text))
        names = [name.lower() for name, _ in described]
        shown = [name.lower() for name in view.shown] or names
        stored = list(view.columns.items())
        if _types(described) != _types(stored):
            stored = list(self.catalog.describe(f"SELECT * FROM {quoted_name(relation.name)}"))
        listed = shown == names and not inner.tree.is_star  # a star has other columns some day
        if len(shown) != len(stored) or not (listed or all(names.count(n) == 1 for n in shown)):
            raise NotYetImplemented("its query has other columns than when it was made")
        if listed and _alike(described, stored):
            return "", ""
        items = []
        for number, (name, kind) in enumerate(stored):
            position = number if listed else names.index(shown[number])
            column = quoted_name((name if listed else described[position][0],))
            if described[position][1] != kind:
                if not self.catalog.strict_casts:
                    raise NotYetImplemented(f"its column {name} was {kind} when it was made")
                column = f"CAST({column} AS {kind})"
            items.append(f"{column} AS {quoted_name((name,))}")
        return ", ".join(items), ", ".join(quoted_name((n,)) for n, _ in stored) if listed else ""


def no_rows(columns: Mapping[str, str | None]) -> str:
    """A query of no rows; a column of an unknown type is of Spark's type of NULL."""
    items = [
        ("NULL" if kind is None else f"CAST(NULL AS {kind})") + f" AS {quoted_name((name,))}"
        for name, kind in columns.items()
    ]
    return f"SELECT {', '.join(items)} WHERE FALSE"


def _alike(some: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]]) -> bool:
    return [(name.lower(), kind) for name, kind in some] == [(n.lower(), k) for n, k in others]


def _types(columns: Sequence[tuple[str, str]]) -> list[str]:
    return [kind for _, kind in columns]


def _rename(node: exp.Table, name: tuple[str, ...]) -> None:
    """Give a table its full name; it keeps the place, and the alias that its short name was."""
    if [p.name for p in node.parts] == list(name):
        return
    *spaces, last = (exp.to_identifier(part, quoted=True) for part in name)
    for part in (*spaces, last):
        part.meta.update(node.parts[0].meta)
    node.set("this", last)
    node.set("db", spaces[-1] if spaces else None)
    node.set("catalog", spaces[-2] if len(spaces) > 1 else None)


def _replace(node: exp.Table, tree: exp.Query, place: TableReference) -> None:
    """Put a query where a view was named; all of it then stands where the name stood."""
    for part in tree.walk():
        for key in ("line", "col", "start", "end"):
            part.meta.pop(key, None)
        if isinstance(part, exp.Identifier) and place.line is not None:
            part.meta.update(line=place.line, col=place.column, start=0, end=0)
    subquery = exp.Subquery(this=tree)
    for key, value in list(node.args.items()):
        if value and key not in ("this", "db", "catalog"):
            subquery.set(key, value)
    if not node.alias:
        subquery.set("alias", exp.TableAlias(this=exp.to_identifier(place.parts[-1], quoted=True)))
    node.replace(subquery)


def _qualifiers(tree: exp.Query, names: set[str]) -> list[tuple[int, int, str]]:
    """Cuts of the schema before columns of what is no relation of that schema any more."""
    cuts = []
    for column in tree.find_all(exp.Column):
        table = column.args.get("table")
        first = column.args.get("catalog") or column.args.get("db")
        if table is None or first is None or table.name.lower() not in names:
            continue
        if "start" in first.meta and "start" in table.meta and first.meta["end"]:
            cuts.append((first.meta["start"], table.meta["start"], ""))
    return cuts


def _edited(sql: str, edits: list[tuple[int, int, str]]) -> str:
    for start, end, text in sorted(edits, reverse=True):
        sql = sql[:start] + text + sql[end:]
    return sql
