"""The models that the pages show as examples, with the SQL that the planner really emits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from python_ivm.algebra.normal_form import normal_forms
from python_ivm.explain import maintenance_graph
from python_ivm.refresh.maintainability import Maintained, maintained
from python_ivm.refresh.model import Model
from python_ivm.refresh.plan import Refresh, Strategy
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement import StatementKind
from python_ivm.refresh.strategy import plan_refresh
from python_ivm.render.plan_text import tree
from python_ivm.sources.history import Commit
from scripts.docs.example_catalog import Catalog


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
            "state": lambda: _sql(statement(first, StatementKind.BUILD)),
            "view": lambda: _sql(statement(first, StatementKind.CREATE_VIEW)),
            "merge": lambda: _sql(statement(second, StatementKind.MERGE)),
        }
        return "\n\n".join(shown[part]() for part in self.show)


def statement(refresh: Refresh, kind: StatementKind) -> str:
    """The SQL of a refresh's first statement of a kind."""
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
