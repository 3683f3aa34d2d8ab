"""A small lake on DuckDB: versioned tables with a change feed, on which emitted Spark SQL runs.

The planner's Spark SQL is transpiled by sqlglot; reads of a version and of a change feed become
reads of plain tables that the lake keeps for each version. So thousands of refreshes are executed
in seconds, and their results compared with the user's own query.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp

from python_ivm.algebra.nodes import FEED_COLUMNS
from python_ivm.loops.run import Rounds
from python_ivm.loops.signed_rounds import NotFollowed
from python_ivm.optimize.cost import Execution
from python_ivm.parse import clock_calls as clock
from python_ivm.parse.modifiers import without_limit
from python_ivm.parse.parser import DIALECT
from python_ivm.parse.views import View as SourceView
from python_ivm.refresh.consistency import one_of_several
from python_ivm.refresh.options import Options
from python_ivm.refresh.plan import Refresh, Strategy
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement import Statement, StatementKind
from python_ivm.refresh.strategy import plan_refresh
from python_ivm.render.renderer import union_all
from python_ivm.rows.circuit import Result
from python_ivm.sources.clock import Instant
from python_ivm.sources.history import Commit, DataFile, Detail, SourceVersion
from tests.planner import generators

Row = tuple[Any, ...]
_OWN_SYNTAX = re.compile(r"\|>|identifier\(|>>>|values \d|\bfrom \S+ join\b.*\bselect\b", re.DOTALL)
"""What sqlglot's own Spark does not read."""


_LOWEST_MODE = """create macro lowest_mode(x) as list_min(list_transform(
    list_filter(map_entries(histogram(x)), lambda e: e.value = list_max(map_values(histogram(x)))),
    lambda e: e.key))"""


_FEEDS = ("table_changes", "table_changes_by_path")

_OPERATIONS = {
    StatementKind.BUILD: "CREATE OR REPLACE TABLE AS SELECT",
    StatementKind.INSERT: "WRITE",
    StatementKind.REWRITE: "WRITE",
    StatementKind.MERGE: "MERGE",
}
_MODES = {StatementKind.INSERT: "Append", StatementKind.REWRITE: "Overwrite"}


class Lake:
    """Versioned source tables and the maintained models on them."""

    without_passes: frozenset[str] = frozenset()
    """The passes of the optimizer that are left out."""
    ansi: bool = False
    """Whether a division by zero is an error."""

    def __init__(self, *without: str) -> None:
        """An empty lake, whose DuckDB does without some optimizers."""
        self.db = duckdb.connect(":memory:", config={"threads": 1})
        # DuckDB 1.5.5 pushes a join's filter below a LIMIT, which then keeps other rows.
        disabled = ",".join(("join_filter_pushdown", *without))
        self.db.execute(f"set disabled_optimizers = '{disabled}'")
        self.db.execute("create schema s")
        self.db.execute("create macro raise_error(message) as error(message)")
        self.db.execute(  # the hash of -1 as HUGEINT is that of 0
            "create macro hash_of(value) as "
            "if(regexp_matches(typeof(value), 'INT(EGER)?$'), hash(value::varchar), hash(value))"
        )
        self.db.execute(_LOWEST_MODE)
        self.rows: dict[str, list[list[Row]]] = {}
        self.types: dict[str, dict[str, str]] = {}
        self.commits: dict[str, list[Commit]] = {}
        self.views: dict[str, SourceView] = {}
        self.kept: dict[str, dict[str, str]] = {}
        self.partitioned: set[str] = set()
        self.session_settings: dict[str, str] = {}
        self.functions_of: dict[str, Sequence[str]] = {}
        self.models: dict[str, str] = {}
        self.now = instant("2024-05-01 12:00:00")
        self.executed: list[Statement] = []
        self.looped = Result()
        self.asked: list[str] = []
        self.functions: list[str] = []
        self.defined: dict[str, tuple[str, str]] = {}
        self._translated: dict[str, str] = {}
        self.size_of: Callable[[str], int | None] = lambda name: None
        self.milliseconds = 0
        self.between_commits = 3_600_001

    # -- sources ---------------------------------------------------------------------------

    def create(self, name: str, columns: Mapping[str, str], rows: Iterable[Row] = ()) -> None:
        """Create table ``s.<name>`` at version 0."""
        self.types[name] = dict(columns)
        self.rows[name] = [list(rows)]
        self.commits[name] = [Commit(0, self._time(), "CREATE TABLE AS SELECT")]
        self._write(f"{name}", self.rows[name][0], columns)
        self._write(f"{name}@0", self.rows[name][0], columns)

    def change(self, name: str, *, delete: Sequence[Row] = (), insert: Sequence[Row] = ()) -> None:
        """Commit a change: the given rows (each one copy) go, the others come.

        An update is a deletion and an insertion in one commit.
        """
        before = self.rows[name][-1]
        remaining = Counter(_key(r) for r in delete)
        after, gone = [], []
        for row in before:
            if remaining[_key(row)] > 0:
                remaining[_key(row)] -= 1
                gone.append(row)
            else:
                after.append(row)
        after += list(insert)
        version = len(self.rows[name])
        self.rows[name].append(after)
        columns = self.types[name]
        self._write(name, after, columns)
        self._write(f"{name}@{version}", after, columns)
        feed = [(*r, "delete", version) for r in gone] + [(*r, "insert", version) for r in insert]
        if not FEED_COLUMNS.intersection(column.lower() for column in columns):
            self._write(
                f"{name}@feed{version}", feed,
                {**columns, "_change_type": "string", "_commit_version": "bigint"},
            )  # fmt: skip
        if delete:
            metrics = {"numDeletedRows": str(max(len(gone), len(insert)))}
            commit = Commit(version, self._time(), "DELETE", metrics=metrics)
        else:
            metrics = {"numOutputRows": str(len(insert))}
            commit = Commit(version, self._time(), "WRITE", mode="Append", metrics=metrics)
        self.commits[name].insert(0, commit)

    def optimize(self, name: str) -> None:
        """A commit that changes no row."""
        version = len(self.rows[name])
        self.rows[name].append(self.rows[name][-1])
        self._write(f"{name}@{version}", self.rows[name][-1], self.types[name])
        feed = {**self.types[name], "_change_type": "string", "_commit_version": "bigint"}
        self._write(f"{name}@feed{version}", [], feed)
        self.commits[name].insert(0, Commit(version, self._time(), "OPTIMIZE"))

    def _time(self) -> str:
        """The time of the next commit."""
        self.milliseconds += self.between_commits
        return str(self.milliseconds)

    def _write(self, table: str, rows: Sequence[Row], columns: Mapping[str, str]) -> None:
        body = ", ".join(
            f'"{name}" {exp.DataType.build(kind, dialect="spark").sql("duckdb")}'
            for name, kind in columns.items()
        )
        self.db.execute(f'create or replace table s."{table}" ({body})')
        if rows:
            marks = ", ".join(f"({', '.join('?' for _ in columns)})" for _ in rows)
            values = [value for row in rows for value in row]
            self.db.execute(f'insert into s."{table}" values {marks}', values)

    def define(self, name: str, sql: str, *names: str, **more: Any) -> None:
        """Create or replace view ``s.<name>``, with column names of its own if they are given."""
        listed = f" ({', '.join(names)})" if names else ""
        self.db.execute(f"create or replace view s.{name}{listed} as {self.duck(sql)}")
        self.defined[name] = (sql, listed)
        shown = self.describe(sql)
        columns = self.describe(f"select * from s.{name}")
        view = SourceView(sql, ("spark_catalog", "s"), dict(columns), tuple(n for n, _ in shown))
        more.setdefault("settings", {"spark.sql.ansi.enabled": str(self.ansi).lower()})
        self.views[name] = replace(view, **more)

    # -- models ----------------------------------------------------------------------------

    def run(self, model: str, sql: str, **request: Any) -> Refresh:
        """Refresh a model as a ``dbt run`` would."""
        self.models[model] = sql
        refresh = plan_refresh(self.request(model, sql, **request), self)
        try:
            for statement in refresh.statements:
                self.execute(model, statement)
        except NotFollowed as error:
            forced = Reason("RECURSION_LIMIT", str(error))
            refresh = plan_refresh(self.request(model, sql, **request), self, forced)
            for statement in refresh.statements:
                self.execute(model, statement)
        if refresh.again:
            return self.run(model, sql, **{**request, "full_refresh": None})
        return refresh

    def request(self, model: str, sql: str, **more: Any) -> Request:
        """The request of a model."""
        options = more.pop("options", Options())
        exists = f"{model}__ivm_state" in self.commits
        more.setdefault("view_exists", exists)
        shown = self.views.get(model)
        more.setdefault("view_text", shown.text if shown is not None else None)
        more.setdefault("without_passes", self.without_passes)
        more.setdefault("state", ("s", f"{model}__ivm_state"))
        if self.ansi:
            more.setdefault("settings", {"spark.sql.ansi.enabled": "true"})
        return Request(model, sql, ("s", model), options=options, **more)

    def execute(self, model: str, statement: Statement) -> None:
        """Run one of a refresh's statements and commit it to the state's history."""
        self.executed.append(statement)
        state = f"{model}__ivm_state"
        if statement.loop is not None:
            self.show_loop(statement.loop)
        elif statement.kind is StatementKind.REWRITE:
            self._rewrite(state, statement.sql)
        elif statement.kind not in (
            StatementKind.KEEP_VIEW,
            StatementKind.TUNE,
            StatementKind.ALTER,
        ):
            self.db.execute(self.duck(statement.sql))
        if statement.kind is StatementKind.CREATE_VIEW:
            self._note_view(model, statement.sql)
        if statement.kind is StatementKind.BUILD:
            self.kept[state] = _properties(statement.sql)
        if statement.kind is StatementKind.ALTER and "TBLPROPERTIES" in statement.sql:
            self.kept.setdefault(state, {}).update(_properties(statement.sql))
        if statement.writes_data:
            commits = self.commits.setdefault(state, [])
            operation = _OPERATIONS[statement.kind]
            version = len(commits)
            metrics = self._keep_version(state, version, statement.kind)
            commit = Commit(
                version,
                self._time(),
                operation,
                _MODES.get(statement.kind, ""),
                metrics,
                user_metadata=statement.bookmark,
            )
            commits.insert(0, commit)
            names = [c[0] for c in self.db.execute(f"describe s.{state}").fetchall()]
            if "__ivm_count__" in names and "delta.constraints" not in statement.sql:
                least = self.db.execute(f"select min(__ivm_count__) from s.{state}").fetchone()[0]
                assert least is None or least >= 0, "negative multiplicity in the state"

    @staticmethod
    def given(rows: list[Row]) -> list[Row]:
        """What a loop is given for a query."""
        return rows

    def show_loop(self, loop: Rounds) -> None:
        """Run a loop, and show its rows as tables."""
        relations, self.looped = loop.run(
            lambda sql: self.given(self.db.execute(self.duck(sql)).fetchall())
        )
        for relation in relations:
            body = ", ".join(
                f'"{name}" {exp.DataType.build(str(kind), dialect="spark").sql("duckdb")}'
                for name, kind in relation.columns
            )
            self.db.execute(f'create or replace temp table "{relation.name}" ({body})')
            rows = relation.all_rows
            marks = f"({', '.join('?' for _ in relation.columns)})"
            for start in range(0, len(rows), 1000):
                some = rows[start : start + 1000]
                self.db.execute(
                    f'insert into "{relation.name}" values {", ".join([marks] * len(some))}',
                    [value for row in some for value in row],
                )

    def _note_view(self, model: str, statement: str) -> None:
        text = statement.split(" AS\n", 1)[1]
        columns = self.describe(text)
        names = tuple(name for name, _ in columns)
        kept = {"spark.sql.ansi.enabled": str(self.ansi).lower()}
        self.views[model] = SourceView(text, ("spark_catalog", "s"), dict(columns), names, kept)

    def _rewrite(self, state: str, sql: str) -> None:
        """Write the rows of ``INSERT OVERWRITE t BY NAME q``, which may read what it replaces."""
        first, query = sql.split("\n", 1)
        assert first == f"INSERT OVERWRITE s.{state} BY NAME"
        self.db.execute(f"create or replace temp table written as {self.duck(query)}")
        self.db.execute(f"delete from s.{state}")
        self.db.execute(f"insert into s.{state} by name from written")

    def _keep_version(self, state: str, version: int, kind: StatementKind) -> dict[str, str]:
        """Keep a state's contents and, where it was not replaced, what changed; the metrics."""
        self.types[state] = {n: _spark_type(t) for n, t, *_ in
                             self.db.execute(f"describe s.{state}").fetchall()}  # fmt: skip
        self.db.execute(f'create or replace table s."{state}@{version}" as from s.{state}')
        parts = [
            f"select *, '{change}' as _change_type, {version} as _commit_version from "
            f'(from s."{state}@{first}"{unless})'
            for change, first, second in (
                ("delete", version - 1, version),
                ("insert", version, version - 1),
            )
            for unless in [
                f' except all from s."{state}@{second}"'
                if kind is not StatementKind.REWRITE
                else ""
            ]
        ]
        if kind is StatementKind.BUILD:
            return {}
        body = " union all ".join(parts)
        self.db.execute(f'create or replace table s."{state}@feed{version}" as {body}')
        counts = self.db.execute(
            "select count(*) filter (_change_type = 'insert'), "
            "count(*) filter (_change_type = 'delete') "
            f'from s."{state}@feed{version}"'
        ).fetchone()
        if kind is StatementKind.REWRITE:
            return {"numOutputRows": str(counts[0])}
        names = ("numTargetRowsInserted", "numTargetRowsDeleted", "numTargetRowsUpdated")
        return dict(zip(names, map(str, (*counts, 0)), strict=True))

    def duck(self, sql: str) -> str:
        """Spark SQL as DuckDB's, reading versions and change feeds from plain tables."""
        if sql not in self._translated:
            self._translated[sql] = self._translate(sql)
        return self._translated[sql]

    def _translate(self, sql: str) -> str:
        tree = sqlglot.parse(sql, read=DIALECT if _OWN_SYNTAX.search(sql) else "spark")[0]
        assert tree is not None
        for table in list(tree.find_all(exp.Table)):
            if table.catalog.lower() == "spark_catalog":
                table.set("catalog", None)
            version = table.args.get("version")
            if version is not None:
                if not table.alias:
                    table.set("alias", exp.TableAlias(this=table.this.copy()))
                name = exp.to_identifier(f"{table.name}@{version.expression.name}", quoted=True)
                table.set("this", name)
                table.set("version", None)
            elif isinstance(table.this, exp.Anonymous) and table.this.name.lower() in _FEEDS:
                table.replace(self._feed(table.this.expressions))
        for call in list(tree.find_all(exp.Anonymous)):
            if call.name.lower() == "xxhash64":
                call.set("this", "hash")
                parts = [exp.Anonymous(this="hash_of", expressions=[e]) for e in call.expressions]
                call.set("expressions", parts)
        for table in list(tree.find_all(exp.Table)):
            _name_column_of_range(table)
        for kind, name in ((exp.ArgMax, "arg_max_null"), (exp.ArgMin, "arg_min_null")):
            for call in list(tree.find_all(kind)):  # else DuckDB skips values that are NULL
                call.replace(exp.Anonymous(this=name, expressions=[call.this, call.expression]))
        for call in list(tree.find_all(exp.Mode)):
            if call.args.get("deterministic"):
                call.replace(exp.Anonymous(this="lowest_mode", expressions=[call.this]))
        for call in list(tree.find_all(exp.GenerateSeries)):
            # The sum of a DuckDB BIGINT is a HUGEINT, which generate_series does not take.
            if not isinstance(call.args.get("step"), exp.Interval):
                call.set("end", exp.cast(call.args["end"], "bigint"))
        if isinstance(tree, exp.Create):
            tree.set("properties", None)
        if self.ansi:
            _fail_at_divisions_by_zero(tree)
        if isinstance(tree, exp.Merge):
            _raise_for_its_own_rows(tree)
        generators.as_joins(tree)
        return tree.sql("duckdb")

    def _feed(self, arguments: Sequence[exp.Expression]) -> exp.Expression:
        name, first, last = (a.name for a in arguments)
        table = re.split(r"[./]", name.replace("`", ""))[-1]
        parts = [
            exp.select("*").from_(exp.table_(f"{table}@feed{version}", db="s", quoted=True))
            for version in range(int(first), int(last) + 1)
        ]
        return union_all(list(parts)).subquery("feed")

    # -- what a test asks --------------------------------------------------------------------

    def view(self, model: str) -> Counter[Row]:
        """The rows of a public view, as a bag."""
        return bag(self.db.execute(f"select * from s.{model}").fetchall())

    def without_order(self, model: str) -> Counter[Row]:
        """The rows of a public view without the ORDER BY and LIMIT at its top, as a bag."""
        text = without_limit(self.views[model].text)
        assert text is not None
        return bag(self.db.execute(self.duck(text)).fetchall())

    def recomputed(self, sql: str) -> Counter[Row]:
        """The rows of a query over the sources now, as a bag."""
        for name, (text, listed) in self.defined.items():
            self.db.execute(f"create or replace view s.{name}{listed} as {self._here(text)}")
        return bag(self.db.execute(self._here(sql)).fetchall())

    def _here(self, sql: str) -> str:
        """A query for DuckDB, at the time that a test sets."""
        return self.duck(clock.at(sql, self.now))

    def chosen(self, sql: str) -> Counter[Row] | None:
        """The rows of the planner's form of a query that has several results, without its LIMIT."""
        versions = {f"s.{t}": SourceVersion(c[0].version, "") for t, c in self.commits.items()}
        form = one_of_several(sql, versions, self)
        return None if form is None else bag(self.db.execute(self.duck(form)).fetchall())

    def check(self, model: str) -> None:
        """Fail unless a view equals its query."""
        view, query = self.view(model), self.recomputed(self.models[model])
        assert view == query, f"missing {query - view}, too many {view - query}"

    def refresh_and_check(self, model: str, sql: str, strategy: Strategy | None = None) -> Refresh:
        """Run a model and compare it with its query."""
        refresh = self.run(model, sql)
        if strategy is not None:
            assert refresh.strategy is strategy, f"{refresh.reason}: {refresh.explanation}"
        self.check(model)
        return refresh

    # -- the Warehouse protocol --------------------------------------------------------------

    def history(self, parts: tuple[str, ...], limit: int | None) -> Sequence[Commit] | None:
        """The commits, newest first; as a statement does, a few more than asked for."""
        assert all(parts), "Spark fails on a table without a name"
        commits = self.commits.get(parts[-1].lower())
        most = None if limit is None else max(limit, 8)
        return None if commits is None else commits[:most]

    def files(self, parts: tuple[str, ...]) -> Sequence[DataFile] | None:
        """It has none."""
        return None

    def history_now(self, parts: tuple[str, ...], limit: int) -> Sequence[Commit] | None:
        """The commits, newest first."""
        return Lake.history(self, parts, limit)

    def columns(self, parts: tuple[str, ...]) -> Mapping[str, str] | None:
        """A source's or a view's columns."""
        name = parts[-1].lower()
        return self.views[name].columns if name in self.views else self.types.get(name)

    def properties(self, parts: tuple[str, ...]) -> Mapping[str, str]:
        """Every source has a change feed, and every state its query."""
        return {"delta.enableChangeDataFeed": "true", **self.kept.get(parts[-1].lower(), {})}

    def location(self, parts: tuple[str, ...]) -> str:
        """Where a table lies."""
        return f"file:/lake/{parts[-1].lower()}"

    def is_partitioned(self, parts: tuple[str, ...]) -> bool:
        """Whether a table has partitions."""
        return parts[-1].lower() in self.partitioned

    def namespace(self) -> tuple[str, str]:
        """Where names without a schema are looked up."""
        return "spark_catalog", "s"

    def instant(self) -> Instant:
        """The time, as a test sets it."""
        return self.now

    def definition(self, parts: tuple[str, ...]) -> SourceView | None:
        """A view, of the user or of a maintained model."""
        return self.views.get(parts[-1].lower())

    def describe(self, sql: str) -> Sequence[tuple[str, str]]:
        """Names and Spark types of a query's columns."""
        rows = self.db.execute(f"describe {self.duck(sql)}").fetchall()
        return [(name, _spark_type(kind)) for name, kind, *_ in rows]

    def detail(self, parts: tuple[str, ...]) -> Detail | None:
        """The newest commit's time, and the size that a test gives the table."""
        name = parts[-1].lower()
        commits = self.commits.get(name)
        return Detail(commits[0].timestamp, self.size_of(name)) if commits else None

    def texts(
        self, sql: str, execution: Execution = Execution.USUAL
    ) -> Sequence[Sequence[str | None]]:
        """The rows of a query whose columns are texts."""
        self.asked.append(sql)
        return self.db.execute(self.duck(sql)).fetchall()

    def doubles_quotes(self) -> bool:
        """As since Spark 4.0."""
        return True

    def user_functions(self, schema: tuple[str, ...] | None = None) -> Sequence[str]:
        """What a test says that users made."""
        return self.functions if schema is None else self.functions_of.get(schema[-1], ())

    def setting(self, key: str) -> str | None:
        """What a test says that is set."""
        return self.session_settings.get(key)

    def enable_change_feed(self, parts: tuple[str, ...]) -> None:
        """Nothing to do."""


def instant(time: str) -> Instant:
    """A time in UTC, in a session whose time zone is UTC."""
    return Instant(time[:10], f"{time}+00:00", time)


def _properties(build: str) -> dict[str, str]:
    """The table properties that a statement sets."""
    tree = sqlglot.parse_one(build, read="spark")
    return {p.name: p.args["value"].name for p in tree.find_all(exp.Property)
            if type(p) is exp.Property}  # fmt: skip


def _spark_type(duck: str) -> str:
    if duck.endswith("[]"):
        return f"array<{_spark_type(duck[:-2])}>"
    if "MAP(" in duck or "STRUCT(" in duck:
        return exp.DataType.build(duck, dialect="duckdb").sql("spark").lower()
    known = {"HUGEINT": "bigint", "INTEGER": "int", "VARCHAR": "string", '"NULL"': "void"}
    return known.get(duck, duck.lower())


def _key(row: Row) -> str:
    return repr(row)


def bag(rows: Iterable[Row]) -> Counter[Row]:
    """Rows with their multiplicities; numbers of one value are equal whatever their type."""
    return Counter(tuple(_plain(v) for v in row) for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        if value != value:
            return "NaN"
        return float(f"{value:.10g}") + 0.0
    if isinstance(value, list):
        return tuple(_plain(v) for v in value)
    if isinstance(value, dict):
        return tuple((k, _plain(v)) for k, v in value.items())
    return value


def _name_column_of_range(table: exp.Table) -> None:
    """The column of Spark's range() is ``id``, whatever alias it has."""
    call = table.this
    if isinstance(call, exp.Func) and call.sql().upper().startswith("RANGE("):
        alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier("range"))
        if not alias.columns:
            alias.set("columns", [exp.to_identifier("id")])
        table.set("alias", alias)


def _fail_at_divisions_by_zero(tree: exp.Expr) -> None:
    for division in list(tree.find_all(exp.Div)):
        by = division.expression
        if not isinstance(by, exp.Literal):
            zero = exp.EQ(this=exp.paren(by.copy()), expression=exp.Literal.number(0))
            told = exp.Literal.string("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012")
            error = exp.Anonymous(this="raise_error", expressions=[told])
            division.set("expression", exp.paren(exp.Case().when(zero, error).else_(by.copy())))


def _raise_for_its_own_rows(merge: exp.Merge) -> None:
    """DuckDB computes what a clause sets for all rows, and not for its own only."""
    before: list[exp.Expr] = []
    for clause in merge.args["whens"].expressions:
        condition = clause.args.get("condition")
        if clause.args["matched"]:
            others = [exp.func("coalesce", exp.Not(this=exp.paren(c)), exp.true()) for c in before]
            its_own = exp.and_(merge.args["on"], condition, *others)
            before.append(condition if condition is not None else exp.true())
        else:
            its_own = exp.and_(exp.Not(this=exp.column("__found", table="change")), condition)
        calls = [c for c in clause.args["then"].find_all(exp.Anonymous)
                 if c.name.lower() == "raise_error"]  # fmt: skip
        for call in calls:
            call.replace(exp.Case().when(its_own.copy(), call.copy()))
        if calls and not clause.args["matched"]:
            _mark_found(merge)


def _mark_found(merge: exp.Merge) -> None:
    """Let the rows of a MERGE say whether there is a row that they match."""
    stored = merge.this.copy()
    match = exp.select("1").from_(stored).where(merge.args["on"].copy())
    found = exp.alias_(exp.Exists(this=match), "__found")
    rows = exp.select("change.*", found).from_(merge.args["using"].copy())
    merge.set("using", rows.subquery("change"))
