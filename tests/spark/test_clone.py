"""`dbt clone` on a real Spark and Delta, and what is built in the clone's schema afterwards."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from dbt.adapters.sparkivm.bridge.conf import StatementConf
from dbt.adapters.sparkivm.bridge.delta_log import DeltaLogs
from dbt.adapters.sparkivm.bridge.warehouse import SparkWarehouse
from dbt.adapters.sparkivm.commands.cloning import Cloner
from python_ivm.refresh.consistency import consistency_query
from tests.conftest import MakeProject
from tests.helpers.dbt_project import DbtProject, DbtResult
from tests.spark.workbench import Bench, View

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
IVM = "{{ config(materialized='incremental_ivm') }}\n"
MODELS = {
    "totals": IVM + "select customer, sum(amount) as total from {{ ref('orders') }} group by 1",
    "staged": "{{ config(materialized='view') }}\nselect id, upper(name) as name from "
    "{{ ref('customers') }}",
    "by_name": IVM
    + "select s.name, count(*) as n, sum(t.total) as total from {{ ref('totals') }} t "
    "join {{ ref('staged') }} s on s.id = t.customer group by s.name",
    "copied": "{{ config(materialized='table') }}\nselect * from {{ ref('orders') }}",
    "parquet": "{{ config(materialized='table', file_format='parquet') }}\n"
    "select * from {{ ref('orders') }}",
}
ORDERS = "id,customer,amount\n1,1,10\n2,1,5\n3,2,7\n"
CUSTOMERS = "id,name\n1,ann\n2,bob\n"


class Lanes:
    """One project with the targets `prod` and `ci`, each with its schema."""

    def __init__(self, project: DbtProject) -> None:
        self.project = project
        self.prod, self.ci = f"{project.schema}_prod", f"{project.schema}_ci"
        outputs = {
            name: {**project.target, "schema": schema}
            for name, schema in (("prod", self.prod), ("ci", self.ci))
        }
        profile = {"project": {"target": "prod", "outputs": outputs}}
        project.write({"profiles.yml": yaml.safe_dump(profile)})
        self.state = project.root / "state"

    def build(self) -> None:
        """Build prod, and keep its manifest as the state."""
        result = self.project.dbt("build")
        assert result.success, result.log
        self.state.mkdir(exist_ok=True)
        shutil.copy(self.project.root / "target" / "manifest.json", self.state)

    def in_ci(self, *args: str) -> DbtResult:
        """Run a dbt command with the target `ci`, which has to succeed."""
        result = self.project.dbt(*args, "--target", "ci", "--state", str(self.state))
        assert result.success, result.log or result.exception
        return result

    def rows(self, schema: str, relation: str) -> list[tuple]:  # type: ignore[type-arg]
        found = self.project.sql(f"select * from {schema}.{relation}")
        return sorted((tuple(row) for row in found), key=repr)

    def version(self, table: str) -> int:
        return int(self.project.sql(f"describe history {table} limit 1")[0]["version"])


@pytest.fixture
def lanes(make_project: MakeProject) -> Lanes:
    project = make_project(
        config={
            "models": {"+file_format": "delta"},
            "seeds": {"+file_format": "delta"},
        }
    )
    project.models(**MODELS)
    project.write({"seeds/orders.csv": ORDERS, "seeds/customers.csv": CUSTOMERS})
    lanes = Lanes(project)
    lanes.build()
    return lanes


@pytest.mark.thorough
def test_slim_ci(lanes: Lanes) -> None:
    prod_states = [f"{lanes.prod}.{name}__ivm_state" for name in ("totals", "by_name")]
    before = [lanes.version(state) for state in prod_states]
    cloned = lanes.in_ci("clone")
    assert "clone of" in cloned.message("by_name")
    assert "view with the query of" in cloned.message("staged")
    assert cloned.message("copied").startswith("clone of")
    assert cloned.message("parquet").startswith("copy of")
    for name in (*MODELS, "orders", "customers"):
        assert lanes.rows(lanes.ci, name) == lanes.rows(lanes.prod, name), name
    again = lanes.in_ci("clone")
    assert set(again.statuses.values()) == {"success"}
    assert f"Relation {lanes.ci}.by_name already exists" in again.log

    noop = lanes.in_ci("run", "--select", "totals", "by_name")
    assert noop.message("by_name") == noop.message("totals") == "noop: no source changed"

    lanes.project.write({"seeds/orders.csv": ORDERS.replace("2,1,5", "2,2,5")})
    built = lanes.in_ci("build", "--select", "state:modified+", "--defer")
    assert set(built.results) == {"orders", "totals", "by_name", "copied", "parquet"}
    for name in ("totals", "by_name"):
        assert built.response(name)["strategy"] == "incremental", built.message(name)
    assert lanes.rows(lanes.ci, "by_name") == [("ANN", 1, 10), ("BOB", 1, 12)]
    assert [lanes.version(state) for state in prod_states] == before
    assert lanes.rows(lanes.prod, "by_name") == [("ANN", 1, 15), ("BOB", 1, 7)]


def commands(page: Path) -> list[list[str]]:
    """The commands that a page shows, each in its words."""
    blocks = re.findall(r"```console\n(.*?)```", page.read_text(), re.S)
    return [shlex.split(line) for line in "".join(blocks).splitlines()]


@pytest.mark.thorough
def test_the_commands_that_the_page_shows(lanes: Lanes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(lanes.project.root)

    def run(command: list[str]) -> DbtResult | None:
        if command[0] != "dbt":
            subprocess.run(command, check=True)
            return None
        result = lanes.project.dbt(*command[1:])
        assert result.success, (command, result.log or result.exception)
        return result

    *in_production, clone, build, clone_again = commands(ROOT / "docs/ci.md")
    for command in in_production:
        run(command)
    cloned = run(clone)
    assert cloned is not None and set(cloned.results) == {*MODELS, "orders", "customers"}

    # The pull request changes a query, and leaves the one below it as it is.
    states = [f"{lanes.prod}.{name}__ivm_state" for name in ("totals", "by_name")]
    before = [lanes.version(state) for state in states]
    changed = MODELS["by_name"].replace("sum(t.total) as total", "max(t.total) as largest")
    lanes.project.models(by_name=changed)
    built = run(build)
    assert built is not None and set(built.results) == {"by_name"}
    assert built.response("by_name")["reason"] == "QUERY_CHANGED"
    assert lanes.rows(lanes.ci, "by_name") == [("ANN", 1, 15), ("BOB", 1, 7)]
    assert [lanes.version(state) for state in states] == before

    again = run(clone_again)
    assert again is not None and "clone of" in again.message("by_name")
    assert lanes.rows(lanes.ci, "by_name") == lanes.rows(lanes.prod, "by_name")
    noop = lanes.in_ci("run", "--select", "totals")
    assert noop.response("totals")["strategy"] == "noop"


def consistent(view: View) -> None:
    """The test `ivm_consistent` finds no difference."""
    query = consistency_query((view.bench.schema, view.name), SparkWarehouse(view.bench.query))
    assert view.bench.sql(query) == []


# -- without dbt around it -----------------------------------------------------------------

VIEWS = (
    "select k, sum(v) as t, min(v) as lo from x group by k having count(*) > 0",
    "select x.k, x.v, y.w from x left join y on x.k = y.k",
    "select w, count(*) as n from shown group by w",
    "select v, count(*) as n from x group by v order by n desc, v limit 2",
)


class Twin:
    """A schema, and its clone."""

    def __init__(self, bench: Bench, views: tuple[str, ...] = VIEWS) -> None:
        self.prod, self.ci = bench, Bench(bench.new_session, f"{bench.schema}_ci")
        bench.table("x", "k int, v int", "(1, 1)", "(1, 2)", "(2, 5)", "(2, 5)", "(null, 7)")
        bench.table("y", "k int, w string", "(1, 'a')", "(2, 'b')", "(2, null)")
        bench.sql("create view shown (k comment 'key', w) as select y.k, upper(w) as w from y")
        self.originals = [bench.view(sql) for sql in views]
        query = self.ci.query
        logs = DeltaLogs(self.ci.handle)
        warehouse = SparkWarehouse(query, logs)
        self.cloner = Cloner(query, StatementConf(query), warehouse)

    def clone(self, *tables: str) -> list[View]:
        """Clone tables, the view, and all models."""
        for name in tables or ("x", "y"):
            self.ci.sql(f"drop table if exists {name}")
            self.cloner.table((self.ci.schema, name), (self.prod.schema, name), is_delta=True)
        self.cloner.view((self.ci.schema, "shown"), (self.prod.schema, "shown"))
        return [self.model(view) for view in self.originals]

    def model(self, original: View) -> View:
        view = View(self.ci, original.name, original.sql)
        other = (self.prod.schema, original.name)
        drop = f"drop view if exists {self.ci.schema}.{original.name}"
        assert self.cloner.model(view.request(), other, lambda: self.ci.sql(drop)) is not None
        assert view.rows() == original.rows()
        return view


@pytest.fixture
def twin(bench: Bench) -> Twin:
    return Twin(bench)


def reads_the_other_schema(view: View) -> bool:
    """A cloned view means what the other one means: it reads the tables of that one's schema."""
    return "shown" in view.sql


def changed(bench: Bench) -> None:
    bench.sql("delete from x where v = 1", "insert into x values (1, 3), (3, null), (3, null)")
    bench.sql("update x set v = 6 where v = 5", "update y set k = 3 where w = 'b'")


@pytest.mark.thorough
def test_clones_follow_what_changes_in_their_own_schema(twin: Twin) -> None:
    before = [view.bench.history(view.state)[0]["version"] for view in twin.originals]
    views = twin.clone()
    for view in views:
        consistent(view)  # by the other schema's tables, which the state was computed from
    changed(twin.ci)
    for view in views:
        if reads_the_other_schema(view):
            view.refresh("noop")
            continue
        told = view.refresh("incremental").refresh
        assert told.reason == "CHANGED"
        consistent(view)
        view.refresh("noop")
    assert [v.bench.history(v.state)[0]["version"] for v in twin.originals] == before
    for original in twin.originals:
        original.refresh("noop")


@pytest.mark.thorough
def test_what_happens_to_the_cloned_schema_is_not_seen(twin: Twin) -> None:
    views = twin.clone()
    changed(twin.prod)
    for original, view in zip(twin.originals, views, strict=True):
        original.refresh("incremental")
        view.refresh("incremental" if reads_the_other_schema(view) else "noop")
    for view in twin.clone():  # again, over what stands there
        view.refresh("noop")
    twin.ci.sql("insert into x values (1, 1)", "insert into y values (1, 'a')")
    for view in views:
        view.refresh("noop" if reads_the_other_schema(view) else "incremental")


@pytest.mark.thorough
def test_a_table_that_was_cloned_later_is_compared(twin: Twin) -> None:
    twin.prod.sql("insert into x values (1, 100)")
    views = twin.clone()
    outcome = views[0].refresh("recompute").refresh
    assert outcome.reason == "SOURCE_DIFFERS" and "may differ" in outcome.explanation
    views[0].refresh("noop")


def test_views_are_cloned_as_they_were_made(twin: Twin) -> None:
    prod, ci = twin.prod, twin.ci
    prod.sql("create view star as select * from y", "create view odd as select 1 as `a b`")
    prod.sql("set spark.sql.ansi.enabled = true")
    prod.sql("create view strict as select cast(w as int) as i from y")
    prod.sql("alter table y add columns (more int)")
    told = {
        name: twin.cloner.view((ci.schema, name), (prod.schema, name))._message
        for name in ("star", "odd", "strict", "shown")
    }
    assert told.pop("star") == f"view over {prod.schema}.star"
    assert set(told.values()) == {f"view with the query of {prod.schema}.{n}" for n in told}
    assert ci.handle.session.table("star").columns == ["k", "w"]
    assert ci.handle.session.table("odd").columns == ["a b"]
    comment = ci.query("describe table shown")[0]["comment"]
    assert comment == "key"
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        ci.sql("select i from strict")
    assert ci.query("show current namespace")[0]["namespace"] == ci.schema


@pytest.mark.thorough
@pytest.mark.parametrize("loss", ["vacuum", "drop"])
def test_a_clone_whose_files_are_gone_is_built_anew(bench: Bench, loss: str) -> None:
    """A shallow clone has no files of its own, before it is written to."""
    twin = Twin(bench, VIEWS[:1])
    (view,) = twin.clone()
    original = twin.originals[0]
    if loss == "drop":
        bench.sql(f"drop table {original.state}")
    else:
        bench.sql("insert into x values (1, 9), (2, 9), (null, 9)")
        original.refresh("incremental")
        bench.sql("set spark.databricks.delta.retentionDurationCheck.enabled = false")
        bench.sql(f"vacuum {original.state} retain 0 hours")
    with pytest.raises(Exception, match="FILE_NOT_EXIST"):
        view.rows()
    twin.ci.sql("insert into x values (1, 1)")
    assert view.refresh("full").refresh.reason == "CHANGE_FEED_GAP"


@pytest.mark.thorough
def test_a_state_at_a_location(twin: Twin, tmp_path: Path) -> None:
    original = twin.originals[0]
    view = View(twin.ci, original.name, original.sql)
    other = (twin.prod.schema, original.name)
    request = replace(view.request(), location=str(tmp_path / "ci" / view.state))
    for _ in range(2):
        assert twin.cloner.model(request, other, lambda: None) is not None
        assert view.rows() == original.rows()
    twin.cloner.table((twin.ci.schema, "x"), (twin.prod.schema, "x"), is_delta=True)
    twin.ci.sql("insert into x values (1, 1)")
    view.refresh("incremental")
    detail = twin.ci.query(f"describe detail {view.state}")[0]
    assert detail["location"] == f"file:{tmp_path}/ci/{view.state}"
