"""The planner's front door: which strategy refreshes a model, and by which statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from python_ivm.algebra.nodes import Filter, Project, Sort
from python_ivm.algebra.printer import tree
from python_ivm.delta.compile import delta
from python_ivm.delta.term import Changes
from python_ivm.errors import InvalidModel, IvmError, NotYetImplemented, Unsupported
from python_ivm.refresh import emit, sources
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.remembering import Remembering
from python_ivm.refresh.request import OnConfigurationChange, Policy, Request, Warehouse
from python_ivm.refresh.statements import Refresh, Statement, Strategy
from python_ivm.sources.history import Change, SourceChange
from python_ivm.sql.bind import Query, bind
from python_ivm.sql.determinism import check_deterministic
from python_ivm.sql.parse import DIALECT, TableReference, parse, pin_versions, table_references
from python_ivm.sql.render import Renderer
from python_ivm.state.bookmark import Bookmark, digest
from python_ivm.state.layout import Layout, arguments_to_type, layout

Types = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Maintained:
    """A query that the planner can maintain."""

    query: Query
    layout: Layout
    types: Types
    fingerprint: str


def plan_refresh(request: Request, warehouse: Warehouse, forced: Reason | None = None) -> Refresh:
    """Plan a model's refresh.

    Args:
        request: The model and its configuration.
        warehouse: Answers questions about tables.
        forced: A reason for a rebuild that showed only when the planned statement was run.

    Returns:
        The strategy, its reason and the statements.

    Raises:
        InvalidModel: If the model or its configuration is wrong.
        Unsupported: If the query cannot be maintained, or not under the user's policy.
    """
    try:
        return Planner(request, warehouse).plan(forced)
    except IvmError as error:
        error.model = error.model or request.model
        raise


class Planner:
    """Plans one refresh, from the cheapest question to the dearest."""

    def __init__(self, request: Request, warehouse: Warehouse) -> None:
        """Parse the model and refuse what no rebuild would cure."""
        self.request = request
        self.warehouse = Remembering(warehouse)
        parsed = parse(request.sql)
        check_deterministic(parsed)
        self.references = table_references(parsed)
        self._refuse_reading_itself()
        text = parsed.sql(dialect=DIALECT, comments=False)
        self.query_hash = digest(text, dict(request.settings))

    def plan(self, forced: Reason | None) -> Refresh:
        """The refresh."""
        if self.request.partial:
            return self._partial()
        found = sources.state_history(self.warehouse, self.request.state)
        bookmark = found.bookmark
        reason = forced or self._reason_to_rebuild(bookmark, found.intact)
        if reason is not None or bookmark is None:
            return self._full(reason or _FIRST, bookmark)
        if self.query_hash != bookmark.query:
            return self._query_changed(bookmark)
        if not self.request.view_exists:
            return self._full(Reason("VIEW_MISSING", "the public view was gone", False), bookmark)
        changes = self._source_changes(bookmark)
        if isinstance(changes, Reason):
            return self._full(changes, bookmark)
        moved = any(change.changed for change in changes.values())
        if not moved and not any(c.change is Change.COLUMNS for c in changes.values()):
            return Refresh(Strategy.NOOP, "UNCHANGED", "no source changed")
        return self._incremental(bookmark, changes)

    def _partial(self) -> Refresh:
        """For ``--empty`` and ``--sample``: check the query, and give a new view its columns.

        The state is written without a bookmark, so that the next run builds it; a state that
        stands already is left as it is.
        """
        columns = [name for name, _ in self.warehouse.describe(self.request.sql)]
        _refuse_duplicates(columns)
        if self.warehouse.history(self.request.state, 1):
            told = "the query was checked; --empty and --sample leave a built view as it is"
            return Refresh(Strategy.NOOP, "PARTIAL", told)
        statements = emit.plain_statements(self.request, self.request.sql, columns, None, 0)
        told = "built by --empty or --sample; the next run builds it from all rows"
        return Refresh(Strategy.FULL, "PARTIAL", told, tuple(statements))

    # -- reasons ---------------------------------------------------------------------------

    def _refuse_reading_itself(self) -> None:
        own = {_key(parts) for parts in (self.request.view, self.request.state)}
        for reference in self.references:
            parts = reference.parts
            if len(parts) == 3 and parts[0].lower() == "spark_catalog":
                parts = parts[1:]
            if _key(parts) in own:
                raise InvalidModel(
                    f"The model reads itself ({'.'.join(reference.parts)})",
                    line=reference.line,
                    column=reference.column,
                    hint="A maintained view is a function of its sources; read those instead. "
                    "is_incremental() logic is not needed.",
                )

    def _reason_to_rebuild(self, bookmark: Bookmark | None, intact: bool) -> Reason | None:
        if self.request.options.policy is Policy.FULL:
            return Reason("POLICY_FULL", "ivm_policy is full", False)
        if self.request.full_refresh and bookmark is not None:
            return Reason("FULL_REFRESH", "asked for by full_refresh", False)
        if bookmark is None:
            return _FIRST
        if not intact:
            return Reason(
                "STATE_MODIFIED",
                f"{emit.relation_name(self.request.state)} was written by something else",
            )
        return None

    def _query_changed(self, bookmark: Bookmark) -> Refresh:
        what = "the query or a session setting that it depends on changed"
        choice = self.request.options.on_configuration_change
        if choice is OnConfigurationChange.FAIL or self.request.full_refresh is False:
            raise InvalidModel(
                what[0].upper() + what[1:] + ", and the configuration forbids a rebuild",
                hint="Run with --full-refresh, or set on_configuration_change: apply.",
            )
        if choice is OnConfigurationChange.CONTINUE:
            kept = "the view still shows the former query (on_configuration_change: continue)"
            return Refresh(
                Strategy.NOOP,
                "QUERY_CHANGED",
                kept,
                warning=f"{self.request.model}: {what}; {kept}",
            )
        return self._full(Reason("QUERY_CHANGED", what, False), bookmark)

    def _source_changes(self, bookmark: Bookmark) -> dict[str, SourceChange] | Reason:
        """What happened to each source, or why that cannot be told."""
        if bookmark.unversioned:
            return _not_delta(bookmark.unversioned[0])
        changes: dict[str, SourceChange] = {}
        for reference in self.distinct_references():
            if reference.key not in bookmark.sources:
                return Reason("SOURCE_NEW", f"{reference.key} was not read before")
            found = sources.change_since(
                self.warehouse, reference.parts, bookmark.sources[reference.key]
            )
            if isinstance(found, Reason):
                return found
            changes[reference.key] = found
        return changes

    def distinct_references(self) -> list[TableReference]:
        """The tables that the model reads, each once."""
        return list({reference.key: reference for reference in self.references}.values())

    # -- strategies ------------------------------------------------------------------------

    def _incremental(self, bookmark: Bookmark, changes: dict[str, SourceChange]) -> Refresh:
        moved = {key: change for key, change in changes.items() if change.changed}
        for key, change in moved.items():
            if change.change is Change.REPLACED:
                return self._full(
                    Reason("SOURCE_REPLACED", f"{key} was replaced as a whole"), bookmark
                )
        if not bookmark.maintained:
            return self._full(self._why_not_maintained(), bookmark)
        maintained = self.maintained(bookmark.types)
        if isinstance(maintained, Reason):
            return self._full(maintained, bookmark)
        if maintained.fingerprint != bookmark.fingerprint:
            return self._full(
                Reason("SCHEMA_CHANGED", "a column that the query reads changed its type"), bookmark
            )
        read = {key: change for key, change in moved.items() if key in maintained.query.sources}
        if not read:
            return Refresh(Strategy.NOOP, "UNCHANGED", "no row changed that the query reads")
        delta_changes = Changes(
            {key: change.change is Change.INSERTS for key, change in read.items()}
        )
        number = bookmark.refresh + 1
        after = replace(
            bookmark, refresh=number, sources={key: c.post for key, c in changes.items()}
        )
        try:
            terms = delta(maintained.layout.input, delta_changes)
            statement = emit.merge_statement(
                self.request, maintained.layout, terms, delta_changes, changes, after.text(), number
            )
        except Exception as error:
            return self._full(_planner_error(error), bookmark)
        ranges = tuple(
            f"{key.split('.')[-1]}@{bookmark.sources[key].version}→{change.post.version}"
            for key, change in read.items()
        )
        return Refresh(
            Strategy.INCREMENTAL,
            "CHANGED",
            "sources changed",
            (statement,),
            ranges,
        )

    def _full(self, reason: Reason, bookmark: Bookmark | None) -> Refresh:
        """A rebuild; under the policy ``strict`` an error instead of a fallback."""
        number = self._number_of_rebuild(bookmark)
        feeds = self._check_change_feeds()
        if feeds is not None and reason.code == "CHANGE_FEED_GAP":
            reason = feeds  # says what to do about it
        current = sources.current_versions(self.warehouse, self.distinct_references())
        opaque = [r.key for r in self.distinct_references() if r.key not in current]
        maintained = None if opaque else self.maintained(None)
        if opaque:
            reason = _lasting(reason, _not_delta(opaque[0]))
        elif isinstance(maintained, Reason):
            reason = _lasting(reason, maintained)
        reason = self._allow(reason, feeds)
        after = Bookmark(
            query=self.query_hash,
            fingerprint="",
            refresh=number,
            sources={key: change.post for key, change in current.items()},
            model=".".join(self.request.view),
            unversioned=tuple(opaque),
        )
        if isinstance(maintained, Maintained):
            after = replace(after, fingerprint=maintained.fingerprint, types=maintained.types)
            statements = emit.build_statements(
                self.request, maintained.layout, current, after.text(), number
            )
        else:
            after = replace(after, maintained=False)
            pinned = pin_versions(
                self.request.sql, {key: c.post.version for key, c in current.items()}
            )
            columns = [name for name, _ in self.warehouse.describe(self.request.sql)]
            _refuse_duplicates(columns)
            statements = emit.plain_statements(self.request, pinned, columns, after.text(), number)
        statements = self._keep_old_view(bookmark, after) + statements
        return Refresh(
            Strategy.FULL,
            reason.code,
            reason.text,
            tuple(statements),
            warning=self._warning(reason, feeds),
        )

    def _number_of_rebuild(self, bookmark: Bookmark | None) -> int:
        """A refresh number that no commit of the state has, even where its bookmark is lost.

        Each refresh is one commit, so that the newest number is at most the newest version plus 1.
        """
        commits = self.warehouse.history(self.request.state, 1)
        version = commits[0].version if commits else -1
        return max(bookmark.refresh if bookmark else 0, version + 1) + 1

    def _keep_old_view(self, bookmark: Bookmark | None, after: Bookmark) -> list[Statement]:
        """Pin the view to the old state where the new state has other columns."""
        if bookmark is None or not self.request.view_exists:
            return []
        if bookmark.fingerprint == after.fingerprint and bookmark.maintained:
            return []
        commits = self.warehouse.history(self.request.state, 1)
        text = self.warehouse.view_text(self.request.view)
        if not commits or not text:
            return []
        pinned = pin_versions(text, {_key(self.request.state): commits[0].version})
        return [emit.keep_view(self.request, pinned)] if pinned != text else []

    def _allow(self, reason: Reason, feeds: Reason | None) -> Reason:
        if self.request.options.policy is not Policy.STRICT:
            return reason
        refused = reason if reason.fallback else feeds
        if refused is not None:
            raise Unsupported(
                f"ivm_policy is strict, but the model would be rebuilt in full "
                f"({refused.code}): {refused.text}",
                hint="Change the model or its source, or run once with --full-refresh."
                if refused.code not in ("NOT_YET_IMPLEMENTED", "SOURCE_NOT_DELTA")
                else "Change the model, or set ivm_policy: auto.",
            )
        return reason

    def _warning(self, reason: Reason, feeds: Reason | None) -> str | None:
        told = []
        loud = self.request.options.policy is Policy.INCREMENTAL or reason.code in _ALWAYS_WARN
        if reason.fallback and loud:
            told.append(f"rebuilt in full ({reason.code}): {reason.text}")
        if feeds is not None and reason.code != feeds.code:
            told.append(feeds.text)
        return f"{self.request.model}: {'; '.join(told)}" if told else None

    # -- the query -------------------------------------------------------------------------

    def _check_change_feeds(self) -> Reason | None:
        """Switch missing change feeds on where that is allowed, else say what to do."""
        for reference in self.distinct_references():
            if sources.has_change_feed(self.warehouse, reference.parts):
                continue
            if self.request.options.enable_change_feed:
                self.warehouse.enable_change_feed(reference.parts)
                continue
            name = emit.relation_name(reference.parts)
            return Reason(
                "CHANGE_FEED_OFF",
                f"{name} has no change feed, so that each of its changes rebuilds the view; "
                f"run ALTER TABLE {name} SET TBLPROPERTIES (delta.enableChangeDataFeed = true), "
                "or set ivm_enable_change_feed: true in the model's config",
            )
        return None

    def _why_not_maintained(self) -> Reason:
        found = self.maintained(None)
        if isinstance(found, Reason):
            return found
        return Reason("NOW_MAINTAINED", "the planner has rules for the query now", False)

    def maintained(self, types: Types | None) -> Maintained | Reason:
        """Bind the query and decide its layout, or say why it cannot be maintained.

        Args:
            types: The types of summed arguments as they are stored; None asks the warehouse.
        """
        schemas = sources.schemas(self.warehouse, self.distinct_references())
        try:
            query = bind(self.request.sql, schemas)
            _refuse_own_names(query)
            building = types is None
            if types is None:
                types = self._types(query)
            decided = layout(query, types)
            if building:
                described = self.warehouse.describe(self.request.sql)
                decided = replace(decided, columns=tuple(name for name, _ in described))
                if decided.is_bag:
                    _refuse_incomparable(described)
                self._try(query, decided)
        except NotYetImplemented as error:
            return _not_yet(error)
        except InvalidModel as error:
            self._let_spark_judge(error)
            return _not_yet(error)
        except Unsupported:
            raise
        except Exception as error:
            return _planner_error(error)
        used = {
            node: {c: schemas[node].columns.get(schemas[node].spelling(c)) for c in columns}
            for node, columns in _used_columns(query).items()
        }
        stored = [(key.name, key.expression.sql(dialect=DIALECT)) for key in decided.keys]
        stored += [(c.name, c.build().sql(dialect=DIALECT)) for c in decided.counters]
        fingerprint = digest(stored, tree(query.plan), used)
        return Maintained(query, decided, types, fingerprint)

    def _try(self, query: Query, decided: Layout) -> None:
        """Plan a build and a change of every source, to know before anything is written."""
        current = sources.current_versions(self.warehouse, self.distinct_references())
        every = Changes({key: False for key in query.sources})
        terms = delta(decided.input, every)
        emit.build_statements(self.request, decided, current, "", 0)
        emit.merge_statement(self.request, decided, terms, every, current, "", 0)

    def _let_spark_judge(self, error: InvalidModel) -> None:
        """Raise an error of the planner's binding unless Spark takes the query.

        Raises:
            InvalidModel: If Spark refuses the query too, or names two columns alike.
        """
        try:
            described = self.warehouse.describe(self.request.sql)
        except Exception:
            raise error from None
        if len({name.lower() for name, _ in described}) < len(described):
            raise error

    def _types(self, query: Query) -> Types:
        found: dict[str, dict[str, str]] = {}
        current = sources.current_versions(self.warehouse, self.distinct_references())
        for relation, (rows, arguments) in arguments_to_type(query.plan).items():
            renderer = Renderer(emit.source_relations(current))
            described = self.warehouse.describe(emit.probe_query(rows, arguments, renderer))
            found[relation] = {
                argument.name: kind
                for argument, (_, kind) in zip(arguments, described, strict=True)
            }
        return found


_FIRST = Reason("FIRST_BUILD", "first build", False)
_ALWAYS_WARN = frozenset({"SOURCE_NOT_DELTA", "STATE_MODIFIED", "PLANNER_ERROR"})


def _key(parts: tuple[str, ...]) -> str:
    return ".".join(parts).lower()


def _not_delta(key: str) -> Reason:
    return Reason(
        "SOURCE_NOT_DELTA",
        f"{key} is not a Delta table, so that its changes cannot be read; read the Delta tables "
        "below it, or store it as one",
    )


def _lasting(reason: Reason, limit: Reason) -> Reason:
    """A lasting limit of the query or its sources, unless a rebuild was asked for anyway."""
    return reason if reason.code in ("POLICY_FULL",) else limit


def _used_columns(query: Query) -> dict[str, list[str]]:
    used: dict[str, set[str]] = {}
    for node in query.plan.walk():
        source = getattr(node, "source", None)
        if source is not None:
            used.setdefault(source, set()).update(getattr(node, "columns", ()))
    return {source: sorted(columns) for source, columns in used.items()}


def _refuse_own_names(query: Query) -> None:
    """Columns that could be taken for the planner's; those of the view itself may be so named."""
    top = query.plan
    while isinstance(top, (Sort, Filter, Project)):
        top = top.input
    for node in top.walk():
        for column in node.schema:
            if column.name.startswith("__ivm_"):
                raise NotYetImplemented(
                    f"A column named {column.name}",
                    hint="Give it a name that does not begin with __ivm_.",
                )


def _refuse_incomparable(columns: Sequence[tuple[str, str]]) -> None:
    """Rows of a bag are found again by comparing them, which Spark cannot do for some types."""
    for name, kind in columns:
        found = next((t for t in ("map<", "variant") if t in kind.lower()), None)
        if found is not None:
            raise NotYetImplemented(
                f"Column {name} of type {kind}, which Spark cannot compare,",
                hint="Show its entries as columns or as an array of structs.",
            )


def _not_yet(error: IvmError) -> Reason:
    place = f" at line {error.line}, column {error.column}" if error.line else ""
    return Reason(
        "NOT_YET_IMPLEMENTED",
        f"{error.message.rstrip('.')} is not maintained yet{place}"
        + (f"; {error.hint}" if error.hint else ""),
    )


def _planner_error(error: Exception) -> Reason:
    """A bug of the planner: the view is right all the same, and the bug is not hidden."""
    return Reason(
        "PLANNER_ERROR",
        f"the planner failed on this query ({type(error).__name__}: {error}); please report it",
    )


def _refuse_duplicates(columns: list[str]) -> None:
    seen: set[str] = set()
    for name in columns:
        if name.lower() in seen:
            raise InvalidModel(
                f"Two output columns are named {name}",
                hint="Give one of them another name with AS.",
            )
        seen.add(name.lower())
