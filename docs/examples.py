"""Fills the examples of these pages with the SQL that the planner really emits (`make docs`).

A page marks a place by ``<!-- example: name -->`` and ``<!-- end -->``; what stands between them is
written by this script. Neither Spark nor a database is needed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import sqlglot
from sqlglot import exp

from python_ivm.algebra.normal_form import normal_forms
from python_ivm.explain import maintenance_graph
from python_ivm.optimize.cost import Execution
from python_ivm.parse.parser import parse
from python_ivm.parse.views import View
from python_ivm.refresh.maintainability import Maintained, maintained
from python_ivm.refresh.model import Model
from python_ivm.refresh.plan import Refresh, Strategy
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement import StatementKind
from python_ivm.refresh.strategy import plan_refresh
from python_ivm.render.plan_text import tree
from python_ivm.sources.clock import Instant
from python_ivm.sources.history import Commit, Detail

DOCS = Path(__file__).parent
OPERATORS = (exp.Select, exp.SetOperation, exp.Join, exp.Table)
BEGIN, END = "<!-- example: ", "<!-- end -->"

TABLES: Mapping[str, Mapping[str, str]] = {
    "orders": {
        "id": "bigint", "customer_id": "bigint", "day": "date", "status": "string",
        "total": "decimal(12,2)", "weight": "double",
    },
    "parcels": {"order_id": "bigint", "items": "array<struct<sku:string,pieces:bigint>>"},
    "customers": {"id": "bigint", "name": "string", "nation": "string"},
    "returns": {"order_id": "bigint", "customer_id": "bigint", "total": "decimal(12,2)"},
    "pings": {
        "k": "bigint", "v": "bigint", "t": "timestamp", "day": "date", "local": "timestamp_ntz",
        "text": "string",
    },
    "devices": {"k": "bigint", "name": "string"},
    "r": {
        "id": "bigint", "k": "bigint", "v": "bigint", "m": "map<string,int>",
        "n": "struct<mm:map<string,array<map<int,string>>>>",
        "st": "array<struct<a:int,m:map<string,int>>>", "j": "variant", "s": "string",
    },
    "sessions": {"s": "struct<start:timestamp,end:timestamp>", "k": "bigint", "n": "bigint"},
    **{f"t{n}": {"k": "bigint", "v": "bigint"} for n in range(17)},  # for chains of joins
}  # fmt: skip
TYPES = {name: kind for columns in TABLES.values() for name, kind in columns.items()}


class Catalog:
    """A warehouse of the tables above; a refresh's bookmark becomes the state's only commit."""

    def __init__(self) -> None:
        """Every source stands at version 5, on the first of May."""
        self.today = "2024-05-01"
        self.commits = {name: [Commit(5, f"{name}-5", "WRITE", "Append")] for name in TABLES}

    def history(self, parts: tuple[str, ...], limit: int | None) -> Sequence[Commit] | None:
        """The commits, newest first."""
        commits = self.commits.get(parts[-1])
        return None if commits is None else commits[:limit]

    def history_now(self, parts: tuple[str, ...], limit: int) -> Sequence[Commit] | None:
        """The commits, newest first."""
        return self.history(parts, limit)

    def columns(self, parts: tuple[str, ...]) -> Mapping[str, str] | None:
        """A source's columns."""
        return TABLES.get(parts[-1])

    def properties(self, parts: tuple[str, ...]) -> Mapping[str, str]:
        """Every source has a change feed."""
        return {"delta.enableChangeDataFeed": "true"}

    def detail(self, parts: tuple[str, ...]) -> Detail | None:
        """The newest commit's time, and no size."""
        commits = self.history(parts, 1)
        return Detail(commits[0].timestamp, None) if commits else None

    def namespace(self) -> tuple[str, str]:
        """Where names without a schema are looked up."""
        return "spark_catalog", "shop"

    def instant(self) -> Instant:
        """The time of the refresh."""
        return Instant(self.today, f"{self.today} 08:00:00+00:00", f"{self.today} 08:00:00")

    def definition(self, parts: tuple[str, ...]) -> View | None:
        """There are no views."""
        return None

    def describe(self, sql: str) -> Sequence[tuple[str, str]]:
        """Names and types of a query's columns, as far as the examples need them."""
        query = parse(sql)
        every = [c for t in query.find_all(exp.Table) for c in TABLES.get(t.name, {})]
        shown = [[exp.column(c) for c in every] if i.is_star else [i] for i in query.selects]
        return [
            (item.alias_or_name, TYPES.get(item.unalias().name, "bigint"))
            for items in shown
            for item in items
        ]

    def texts(
        self, sql: str, execution: Execution = Execution.USUAL
    ) -> Sequence[Sequence[str | None]]:
        """The keys of a change: two orders of two days; and how Spark would group by a session."""
        if sql.startswith("EXPLAIN"):
            return [["MergingSessions"]]
        rows: list[list[str | None]] = []
        for change in sqlglot.parse_one(sql, read="spark").find_all(exp.Subquery):
            which, *values = change.this.selects
            columns = [value.find(exp.Column) for value in values if value.alias != "seen"]
            for day, number in (("2024-04-28", "1041"), ("2024-05-01", "1043")):
                texts = [
                    (day if TYPES.get(column.name) == "date" else number) if column else None
                    for column in columns
                ]
                rows.append([which.this.name, *texts, *["true"] * (len(values) - len(texts))])
        return rows

    def user_functions(self) -> Sequence[str]:
        """None."""
        return ()

    def enable_change_feed(self, parts: tuple[str, ...]) -> None:
        """Nothing to do."""


@dataclass(frozen=True)
class Example:
    """A model and a change of its sources.

    Attributes:
        sql: The model.
        changed: The operation that made version 6 of each changed source.
        today: The date of the refresh, which follows the build of the first of May.
        show: What the page shows of it: model, plan, graphs, state, merge or view.
    """

    sql: str
    changed: Mapping[str, str]
    show: tuple[str, ...] = ("model", "merge")
    today: str = "2024-05-01"

    def request(self) -> Request:
        """The model as the adapter would ask for it."""
        return Request("revenue", self.sql, ("shop", "revenue"), ("shop", "revenue__ivm_state"))

    def plan(self) -> str:
        """The logical plan."""
        how = maintained(Model(self.request(), Catalog()), None)
        assert isinstance(how, Maintained)
        return tree(how.query.plan)

    def graphs(self) -> str:
        """The normal form of its outer joins, and the maintenance graph of the changed source."""
        how = maintained(Model(self.request(), Catalog()), None)
        assert isinstance(how, Maintained)
        shown = []
        for form in normal_forms(how.query.plan):
            shown.append(f"```text\n{maintenance_graph.text(form)}\n```")
            for relation, source in form.sources.items():
                if source.split(".")[-1] in self.changed:
                    graph = maintenance_graph.mermaid(form, relation)
                    shown.append(f"```mermaid\n{graph}\n```")
        return "\n\n".join(shown)

    def refreshes(self) -> tuple[Refresh, Refresh]:
        """The first build and the refresh after the change."""
        catalog = Catalog()
        first = plan_refresh(self.request(), catalog)
        build = next(s for s in first.statements if s.kind is StatementKind.BUILD)
        catalog.commits["revenue__ivm_state"] = [
            Commit(0, "state-0", "CREATE TABLE AS SELECT", user_metadata=build.bookmark)
        ]
        catalog.today = self.today
        for table, operation in self.changed.items():
            mode = "Append" if operation == "WRITE" else ""
            catalog.commits[table].insert(0, Commit(6, f"{table}-6", operation, mode))
        second = plan_refresh(self.request(), catalog)
        if second.strategy is not Strategy.INCREMENTAL:
            raise ValueError(f"{self.sql}: {second.reason}: {second.explanation}")
        return first, second

    def text(self) -> str:
        """The Markdown between the marks."""
        first, second = self.refreshes()
        shown = {
            "model": lambda: _sql(self.sql),
            "graphs": self.graphs,
            "plan": lambda: f"```text\n{self.plan()}\n```",
            "state": lambda: _sql(_of(first, StatementKind.BUILD)),
            "view": lambda: _sql(_of(first, StatementKind.CREATE_VIEW)),
            "merge": lambda: _sql(_of(second, StatementKind.MERGE)),
        }
        return "\n\n".join(shown[part]() for part in self.show)


def _of(refresh: Refresh, kind: StatementKind) -> str:
    return next(s.sql for s in refresh.statements if s.kind is kind)


def _sql(text: str) -> str:
    return f"```sql\n{text}\n```"


REVENUE = """select c.nation, count(*) as orders, sum(o.total) as revenue
from shop.orders o join shop.customers c on o.customer_id = c.id
group by c.nation"""
UPDATE, APPEND = "UPDATE", "WRITE"

EXAMPLES: dict[str, Example] = {
    "plan": Example(REVENUE, {"orders": UPDATE}, ("plan",)),
    "state": Example(REVENUE, {"orders": UPDATE}, ("state",)),
    "view": Example(REVENUE, {"orders": UPDATE}, ("view",)),
    "merge of one source": Example(REVENUE, {"orders": UPDATE}, ("merge",)),
    "merge of an append": Example(REVENUE, {"orders": APPEND}, ("merge",)),
    "generate": Example("select p.order_id, i.sku, i.pieces from shop.parcels p "
                        "lateral view explode(p.items) l as i", {"parcels": UPDATE}),
    "generate below a group": Example("select i.sku, sum(i.pieces) as pieces from shop.parcels p "
                                      "lateral view explode(p.items) l as i group by i.sku",
                                      {"parcels": APPEND}),
    "time windows": Example("select window.start as week, status, max(total) as dearest "
                            "from shop.orders group by window(day, '7 days'), status",
                            {"orders": UPDATE}),
    "sessions": Example("select k, session_window(t, '30 minutes') as visit, count(*) as pages "
                        "from shop.pings group by k, visit", {"pings": UPDATE}, ("model", "plan")),
    "pivot": Example("select customer_id, open, paid from (select customer_id, status, "
                     "total from shop.orders) pivot "
                     "(sum(total) for status in ('open', 'paid' as paid))",
                     {"orders": UPDATE}, ("model", "plan")),
    "unpivot": Example("select id, what, amount from (select id, total, weight from shop.orders) "
                       "unpivot (amount for what in (total, weight as kilos))",
                       {"orders": UPDATE}, ("model", "plan")),
    "for all bindings": Example("select c.name, l.n from shop.customers c, lateral (\n"
                                "  select count(*) as n from (\n"
                                "    select total from shop.orders where customer_id = c.id\n"
                                "    union select total from shop.returns) d) l",
                                {"orders": UPDATE}, ("model", "plan")),
    "lateral": Example("select c.name, o.id, o.total from shop.customers c, lateral (select id, "
                       "total from shop.orders where customer_id = c.id order by total desc "
                       "limit 1) o", {"orders": UPDATE}, ("model", "plan")),
    "recursion": Example("with recursive chain as (\n"
                         "  select k, 0 as depth from shop.t0 where v is null\n"
                         "  union all\n"
                         "  select t.k, c.depth + 1 from shop.t0 t join chain c on t.v = c.k)\n"
                         "select k, depth from chain", {"t0": UPDATE}),
    "scan": Example("select status, total from shop.orders", {"orders": UPDATE}),
    "clock": Example("select customer_id, count(*) as orders from shop.orders\n"
                     "where day >= current_date() - interval 30 days group by customer_id",
                     {}, today="2024-05-02"),
    "filter": Example("select id, total from shop.orders where status = 'open'",
                      {"orders": APPEND}),
    "project": Example("select upper(status) as s, total * 2 as t from shop.orders",
                       {"orders": APPEND}),
    "join": Example("select o.id, c.name from shop.orders o "
                    "join shop.customers c on o.customer_id = c.id",
                    {"orders": UPDATE, "customers": UPDATE}),
    "delta first": Example(
        "select c.name, r.total from shop.customers c join shop.orders o on o.customer_id = c.id "
        "join shop.returns r on r.order_id = o.id", {"returns": APPEND}),
    "union_all": Example("select customer_id, total from shop.orders "
                         "union all select customer_id, -total from shop.returns",
                         {"orders": APPEND, "returns": APPEND}),
    "aggregate at the top": Example(
        "select status, max(total) as dearest from shop.orders group by status",
        {"orders": UPDATE}),
    "aggregate below": Example(
        "select n, count(*) as customers from (select customer_id, count(*) as n "
        "from shop.orders group by customer_id) per_customer group by n", {"orders": UPDATE}),
    "sort": Example("select nation, count(*) as n from shop.customers group by nation "
                    "order by n desc, nation limit 3", {"customers": UPDATE}, ("model", "view")),
    "sort below": Example(
        "select t.status, c.name from (select customer_id, status from shop.orders "
        "order by total desc limit 10) t join shop.customers c on t.customer_id = c.id",
        {"orders": UPDATE}),
    "left_join": Example("select o.id, c.name from shop.orders o "
                         "left join shop.customers c on o.customer_id = c.id",
                         {"customers": UPDATE}),
    "maintenance graph": Example(
        "select c.name, o.id, r.total from shop.customers c "
        "full join shop.orders o on o.customer_id = c.id "
        "left join shop.returns r on r.order_id = o.id", {"orders": UPDATE}, ("model", "graphs")),
    "full join": Example("select o.id, r.total from shop.orders o "
                         "full join shop.returns r on r.order_id = o.id",
                         {"orders": UPDATE}),
    "semi_join": Example("select o.id, o.total from shop.orders o where not exists "
                         "(select 1 from shop.returns r where r.order_id = o.id)",
                         {"returns": UPDATE}),
    "not in": Example("select o.id from shop.orders o where o.id not in "
                      "(select r.order_id from shop.returns r)",
                      {"returns": UPDATE}, ("model", "plan")),
    "mark": Example("select o.id, exists (select 1 from shop.returns r where r.order_id = o.id) "
                    "as returned from shop.orders o", {"returns": UPDATE}),
    "in as a mark": Example("select o.id from shop.orders o where o.status = 'open' "
                            "or o.id in (select r.order_id from shop.returns r)",
                            {"returns": UPDATE}, ("model", "plan")),
    "scalar": Example("select o.id from shop.orders o "
                      "where o.total > (select max(r.total) from shop.returns r)",
                      {"returns": UPDATE}, ("model", "plan")),
    "scalar, correlated": Example(
        "select c.name, (select count(*) from shop.orders o where o.customer_id = c.id) as n "
        "from shop.customers c", {"orders": UPDATE}, ("model", "plan")),
    "window": Example("select customer_id, id from shop.orders "
                      "qualify row_number() over (partition by customer_id order by day desc) = 1",
                      {"orders": UPDATE}),
    "window at the top": Example(
        "select nation, count(*) as n, rank() over (order by count(*) desc) as place "
        "from shop.customers group by nation", {"customers": UPDATE}, ("model", "plan")),
    "repeat": Example("select customer_id from shop.orders "
                      "except all select customer_id from shop.returns",
                      {"returns": UPDATE}),
    "set_operations": Example("select customer_id, total from shop.orders "
                              "intersect select customer_id, total from shop.returns",
                              {"returns": APPEND}, ("model", "plan", "merge")),
    "grouping_sets": Example("select status, customer_id, count(*) as n from shop.orders "
                             "group by rollup (status, customer_id)",
                             {"orders": APPEND}, ("model", "plan", "merge")),
    "grouping_id": Example("select nation, grouping(nation) as all_nations, count(*) as n "
                           "from shop.customers group by cube (nation)",
                           {"customers": UPDATE}, ("model", "view")),
    "bag view": Example("select status, total from shop.orders",
                        {"orders": UPDATE}, ("model", "view")),
    "float": Example("select status, sum(weight) as weight from shop.orders group by status",
                     {"orders": UPDATE}),
    "pipes": Example("from shop.orders |> where status = 'open' |> left join shop.customers c "
                     "on customer_id = c.id |> extend total * 2 as twice "
                     "|> aggregate sum(twice) as twice, count(*) as n group by nation",
                     {"customers": UPDATE}, ("model", "plan")),
    "average": Example("select status, avg(total) as mean from shop.orders group by status",
                       {"orders": UPDATE}, ("model", "view")),
}  # fmt: skip


def growth() -> str:
    """How the MERGE grows with the number of nested aggregates."""
    lines = [
        "| aggregates, one above the other | length of the MERGE (characters) | CTEs "
        "| tables read, with every CTE inlined | SELECTs, with every CTE inlined |",
        "|---|---|---|---|---|",
    ]
    for depth in range(1, 9):
        query = nested_aggregates(depth)
        merge = _of(Example(query, {"orders": UPDATE}).refreshes()[1], StatementKind.MERGE)
        ctes, reads = _inlined(merge, exp.Table)
        selects = _inlined(merge, exp.Select)[1]
        lines.append(f"| {depth} | {len(merge)} | {ctes} | {reads} | {selects} |")
    return "\n".join(lines)


def join_growth() -> str:
    """How the MERGE grows with the number of joined tables, of which one or all change."""
    lines = [
        "| joined inputs | one changed: length | one changed: tables read "
        "| all changed: length | all changed: tables read |",
        "|---|---|---|---|---|",
    ]
    for number in (2, 4, 8):
        joined = " join ".join(
            f"shop.orders o{n}" + (f" on o{n}.id = o{n - 1}.id" if n else "") for n in range(number)
        )
        rest = joined.replace("shop.orders o0", "shop.returns o0").replace("o0.id", "o0.order_id")
        row = [str(number)]
        for query in (f"select o1.id from {rest}", f"select o1.id from {joined}"):
            changed = "returns" if query.endswith(rest) else "orders"
            merge = _of(Example(query, {changed: UPDATE}).refreshes()[1], StatementKind.MERGE)
            row += [str(len(merge)), str(_inlined(merge, exp.Table)[1])]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def chain(kind: str, number: int) -> tuple[str, list[str]]:
    """A query that joins ``number + 1`` tables to one another, and the tables."""
    tables = [f"t{n}" for n in range(number + 1)]
    columns = ", ".join(f"{name}.v as v_{name}" for name in tables)
    joins = "".join(
        f" {kind} join shop.{name} on {former}.k = {name}.k" for former, name in pairwise(tables)
    )
    return f"select {columns} from shop.{tables[0]}{joins}", tables


def nested_aggregates(depth: int) -> str:
    """A query of aggregates one above the other."""
    query = "select customer_id as k, count(*) as n from shop.orders group by customer_id"
    for _ in range(depth - 1):
        query = f"select n % 7 as k, count(*) as n from ({query}) q group by n % 7"
    return query


def plan_size(query: str, changed: Sequence[str]) -> tuple[int, int]:
    """The MERGE's characters, and its operators with every CTE inlined, for changed tables."""
    merge = _of(Example(query, dict.fromkeys(changed, UPDATE)).refreshes()[1], StatementKind.MERGE)
    return len(merge), _inlined(merge, OPERATORS)[1]


def plan_sizes() -> str:
    """How the MERGE grows with chains of joins, and with nested aggregates."""
    lines = [
        "| query | first changed: length | first changed: operators | last changed: length "
        "| last changed: operators | all changed: length | all changed: operators |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind in ("inner", "left", "full"):
        for number in (2, 4, 8, 16):
            query, tables = chain(kind, number)
            row = [f"{number} {kind} joins"]
            for changed in ([tables[0]], [tables[-1]], tables):
                row += [str(n) for n in plan_size(query, changed)]
            lines.append(f"| {' | '.join(row)} |")
    for depth in (2, 4, 8):
        sizes = [str(n) for n in plan_size(nested_aggregates(depth), ["orders"])]
        lines.append(f"| {depth} nested aggregates | {' | '.join(sizes * 3)} |")
    return "\n".join(lines)


def _inlined(merge: str, counted: type[exp.Expr] | tuple[type[exp.Expr], ...]) -> tuple[int, int]:
    """The number of CTEs, and of nodes of a type were each CTE inlined wherever it is named."""
    using = sqlglot.parse_one(merge, read="spark").args["using"].this
    ctes = {cte.alias: cte.this for cte in using.find_all(exp.CTE)}
    kinds = counted if isinstance(counted, tuple) else (counted,)
    for cte in list(using.find_all(exp.With)):
        cte.pop()

    @cache
    def count(name: str) -> int:
        query = ctes[name] if name else using
        named = [t.name for t in query.find_all(exp.Table) if t.name in ctes and not t.db]
        own = len(list(query.find_all(*kinds)))
        return own - (len(named) if exp.Table in kinds else 0) + sum(count(n) for n in named)

    return len(ctes), count("")


TABLES_OF_NUMBERS: dict[str, Callable[[], str]] = {
    "growth": growth,
    "join growth": join_growth,
    "plan sizes": cache(plan_sizes),
}


def filled(page: str) -> str:
    """A page's text with its examples written anew."""
    lines: list[str] = []
    inside = False
    for line in page.splitlines():
        if line.startswith(BEGIN):
            name = line.removeprefix(BEGIN).removesuffix(" -->")
            made = TABLES_OF_NUMBERS.get(name)
            lines += [line, "", made() if made else EXAMPLES[name].text(), ""]
            inside = True
        elif line == END:
            inside = False
        if not inside:
            lines.append(line)
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write every page whose examples changed; with ``--check`` only name them."""
    stale = 0
    for path in sorted(DOCS.rglob("*.md")):
        text = path.read_text()
        new = filled(text)
        if new != text:
            stale += 1
            print(path.relative_to(DOCS.parent))
            if "--check" not in sys.argv:
                path.write_text(new)
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
