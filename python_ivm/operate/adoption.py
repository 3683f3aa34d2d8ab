"""A table that equals a model's query becomes its state, instead of being computed anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from python_ivm.bind.query import NO_HINTS
from python_ivm.errors import InvalidModel, IvmError, Unsupported
from python_ivm.operate.adopted_rows import ADOPTED, Derived, derived, repeated, rows
from python_ivm.parse.parser import table_key
from python_ivm.refresh import policy, statement_builders
from python_ivm.refresh.consistency import difference
from python_ivm.refresh.lifecycle import public_view
from python_ivm.refresh.lifecycle.ownership import (
    refuse_foreign_table,
    refuse_state_of_another_model,
)
from python_ivm.refresh.lifecycle.storing import to_build
from python_ivm.refresh.maintainability import Maintained, maintained
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.planning.builds import refuse_duplicates
from python_ivm.refresh.planning.commits import PlannerBase
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement import Statement
from python_ivm.render.renderer import Renderer
from python_ivm.render.sources import relation_name, source_relations, table, text
from python_ivm.sources.history import Change, SourceChange, SourceVersion
from python_ivm.state.bookmark import Bookmark, Told
from python_ivm.state.layout import Layout
from python_ivm.state.rows import VIEW

Name = tuple[str, ...]

STRATEGY = "adopt"
"""What history calls it."""
_WHY = Reason("ADOPTED", "a table became the state", False)
_TRUSTED = "taken over from a table that was trusted to equal the query"
_CHECKED = "taken over from a table that equals the query"


@dataclass(frozen=True)
class Adoption:
    """How a table becomes a state.

    Attributes:
        difference: The query of the rows in which the table and the model's query differ.
        repeated: The query of the groups that the table has more than once; None if any row may
            be there more than once.
        statements: What to run, in order.
        table: The table.
        version: Its version that is taken.
        sources: The versions of the sources that it stands for, by name.
        computed: The state's columns that are computed from the query.
        warning: What to warn of, if anything.
    """

    difference: str
    repeated: str | None
    statements: tuple[Statement, ...]
    table: Name
    version: int
    sources: Mapping[str, int]
    computed: tuple[str, ...]
    warning: str | None = None

    @property
    def told(self) -> str:
        """What is done, in words."""
        read = ", ".join(f"{name}@{version}" for name, version in self.sources.items())
        said = f"{relation_name(self.table)} is its state now, as of {read or 'no table'}"
        if self.computed:
            said += f"; computed from the query: {', '.join(self.computed)}"
        return said


def adoption(
    request: Request,
    warehouse: Warehouse,
    adopted: Name,
    *,
    versions: Mapping[str, int] | None = None,
    trusted: bool = False,
) -> Adoption:
    """How a table becomes a model's state; runs only metadata queries.

    Args:
        request: The model.
        warehouse: Answers questions about tables.
        adopted: The table's name with its schema: mostly that of the public view.
        versions: The versions of sources that the table stands for, by their names with or
            without a schema; of the others it is the present one.
        trusted: Whether it is not to be compared.

    Raises:
        InvalidModel: If the model has a state, if there is no such Delta table, or its columns are
            not the query's.
        Unsupported: If what the state needs does not follow from the table.
    """
    try:
        return _Adopting(request, warehouse).plan(adopted, versions or {}, trusted)
    except IvmError as error:
        error.model = error.model or request.model
        raise


class _Adopting(PlannerBase):
    """Plans an adoption."""

    def plan(self, adopted: Name, versions: Mapping[str, int], trusted: bool) -> Adoption:
        self._refuse()
        number = self._number_of_rebuild(None)
        version = self._version_of(adopted)
        feeds = policy.check_change_feeds(self.request, self.warehouse, self.model.tables)
        sources = self._at(versions)
        how = maintained(self.model, None)
        columns = self.warehouse.describe(self.request.sql)
        refuse_duplicates([name for name, _ in columns])
        described = dict(columns)
        names = self._columns_of(adopted, described)
        after = self._bookmark_of_build(number, sources)
        request, first, warnings = to_build(self.request, self.warehouse, how)
        table_read = {ADOPTED: SourceChange(adopted, version, version, Change.NONE)}
        again: str | None = None
        computed: tuple[str, ...] = ()
        if isinstance(how, Maintained):
            found = derived(how.layout, how.types.get(VIEW, {}), names)
            computed = tuple(counter.name for counter in found.counted)
            after = replace(after, fingerprint=how.fingerprint, types=how.types)
            shown = statement_builders.public_view(self.request, how.layout, self.model.clock(None))
            body = self._body(how.layout, found, {**sources, **table_read})
            again = _repeated(how.layout, found, table_read)
            checked = statement_builders.checked(request, how.layout)
            layout = replace(how.layout, hints=NO_HINTS)  # of the query, which is not run
            build = self._state(checked, body, after, shown, layout)
        else:
            after = replace(after, maintained=False)
            shown = statement_builders.plain_view(self.request, list(described))
            build = self._state(request, _plain(names, adopted, version), after, shown, None)
        planned = [
            *statement_builders.create_schema(request),
            *first,
            build,
            *statement_builders.drop_table(self.request),
            statement_builders.create_view(self.request, shown),
        ]
        told = _told(request, how, trusted, number)
        planned = [
            replace(s, bookmark=replace(b, told=told).text())
            if s.bookmark and (b := Bookmark.of(s.bookmark)) is not None
            else s
            for s in planned
        ]
        told_of_feeds = policy.warning(self.request, _WHY, feeds, "")
        return Adoption(
            difference(
                self.model.reading.text,
                after,
                text(_rows(names, adopted, version)),
                described,
                self.warehouse,
            ),
            again,
            tuple(planned),
            adopted,
            version.version,
            {key: change.post.version for key, change in sources.items()},
            computed,
            "; ".join([*([told_of_feeds] if told_of_feeds else []), *warnings]) or None,
        )

    def _refuse(self) -> None:
        bookmark = self.model.found.bookmark
        if bookmark is not None:
            refuse_state_of_another_model(self.request, bookmark)
            raise InvalidModel(
                f"The model has a state already, {relation_name(self.request.state)}",
                hint="Run it. To take the rows of a table instead, drop the state first.",
            )
        refuse_foreign_table(self.request, self.warehouse)
        if self.model.delayed or self.model.program is not None:
            raise Unsupported(
                "It has a loop, or reads rows of the run before, which do not follow from a table",
                hint="Run it, which builds it.",
            )
        if self.is_log:
            raise Unsupported(
                "Its rows are those that came at each step, which do not follow from a table",
                hint="Run it, which begins its log.",
            )

    def _version_of(self, adopted: Name) -> SourceVersion:
        """The present version of the table.

        Raises:
            InvalidModel: If it is no Delta table.
        """
        commits = self.warehouse.history(adopted, 1)
        if commits:
            return SourceVersion(commits[0].version, commits[0].timestamp)
        missing = self.warehouse.columns(adopted) is None
        raise InvalidModel(
            f"{relation_name(adopted)} {'does not exist' if missing else 'is no Delta table'}",
            hint="Run the model, which builds it."
            if missing
            else "Only Delta tables can be adopted, at a version. Run the model, which builds it.",
        )

    def _at(self, versions: Mapping[str, int]) -> dict[str, SourceChange]:
        """The sources at the versions that the table stands for.

        Raises:
            InvalidModel: If there is no such source, or it has no such version.
        """
        current = self.model.sources.current_versions()
        for name, version in versions.items():
            wanted = table_key(tuple(name.replace("`", "").split(".")))
            keys = [key for key in current if f".{key}".endswith(f".{wanted}")]
            if len(keys) != 1:
                raise InvalidModel(
                    f"{name} names {'several' if keys else 'none'} of its sources",
                    hint=f"They are {', '.join(current) or 'no Delta tables'}.",
                )
            change = current[keys[0]]
            back = change.post.version - version
            commits = self.warehouse.history(change.parts, back + 1) if back >= 0 else ()
            found = next((c for c in commits or () if c.version == version), None)
            if found is None:
                raise InvalidModel(f"{keys[0]} has no version {version}, or forgot it")
            then = SourceVersion(version, found.timestamp)
            current[keys[0]] = replace(change, pre=then, post=then)
        return current

    def _columns_of(self, adopted: Name, described: Mapping[str, str]) -> list[str]:
        """The table's columns, in the query's order.

        Raises:
            InvalidModel: If they are not the query's.
        """
        columns = self.warehouse.columns(adopted) or {}
        own = {name.lower(): (name, kind) for name, kind in columns.items()}
        wanted = {name.lower(): kind for name, kind in described.items()}
        wrong = [f"{name} is missing" for name in wanted if name not in own]
        wrong += [f"the query has no {name}" for name in own if name not in wanted]
        wrong += [
            f"{name} is {own[name][1]} and not {kind}"
            for name, kind in wanted.items()
            if name in own and own[name][1].lower() != kind.lower()
        ]
        if wrong:
            raise InvalidModel(
                f"{relation_name(adopted)} does not have the columns of the query: "
                f"{', '.join(wrong)}",
                hint="Bring query and table together, or run the model, which builds it.",
            )
        return [own[name][0] for name in wanted]

    def _body(self, layout: Layout, found: Derived, read: Mapping[str, SourceChange]) -> str:
        """The query of the state's rows.

        Raises:
            Unsupported: If they are not of the types that a build gives.
        """
        clock = self.model.clock(None)
        renderer = Renderer(source_relations(read, clock))
        body = text(renderer.with_ctes(renderer.query(rows(layout, found))))
        built = statement_builders.state_query(layout, read, clock)
        types, wanted = (dict(self.warehouse.describe(sql)) for sql in (body, built))
        if types != wanted:
            differing = [name for name in wanted if types.get(name) != wanted[name]]
            raise Unsupported(
                f"The table's values are of other types than those of a state ({differing[0]})",
                hint="Run the model, which builds it.",
            )
        return body

    def _state(
        self, request: Request, body: str, after: Bookmark, shown: str, layout: Layout | None
    ) -> Statement:
        after = replace(after, view=public_view.fingerprint(shown))
        sql = self.model.reading.text
        return statement_builders.create_state(
            request, sql, body, after.text(), after.refresh, layout
        )


def _rows(names: list[str], adopted: Name, version: SourceVersion) -> exp.Select:
    """The table's rows, in the order of the query's columns."""
    columns = [exp.column(name, quoted=True) for name in names]
    return exp.Select().from_(table(adopted, version.version)).select(*columns)


def _plain(names: list[str], adopted: Name, version: SourceVersion) -> str:
    """The rows of a state that is the plain result of a query."""
    columns = [
        exp.alias_(exp.column(name, quoted=True), statement_builders.PLAIN_COLUMN.format(place))
        for place, name in enumerate(names, 1)
    ]
    return text(exp.Select().from_(table(adopted, version.version)).select(*columns))


def _repeated(layout: Layout, found: Derived, read: Mapping[str, SourceChange]) -> str | None:
    plan = repeated(layout, found)
    if plan is None:
        return None
    renderer = Renderer(source_relations(read, None))
    return text(renderer.with_ctes(renderer.query(plan)))


def _told(request: Request, how: Maintained | Reason, trusted: bool, number: int) -> Told:
    return Told(
        STRATEGY,
        _WHY.code,
        _TRUSTED if trusted else _CHECKED,
        request.began,
        is_bag=isinstance(how, Maintained) and how.layout.is_bag,
        optimized=number,
        vacuumed=request.began,
    )
