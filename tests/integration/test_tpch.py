"""The TPC-H project as its user runs it: build, change the sources, build again, compare."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass

import pytest
import yaml

from integration_tests.tpch import changes, load
from tests.helpers.dbt_project import DbtProject, DbtResult
from tests.integration import views

thorough = pytest.mark.thorough

SCALE, QUICK_SCALE = 0.01, 0.004
SEED = 7
SOURCES = "tpch_sources"
STATE = "__ivm_state"

QUICK_ROUND = "the auditors come"
"""The round of the default run, which changes most tables; all run with ``--ivm-all-on-spark``."""

OTHER_MODELS = frozenset(
    {f"q{number:02}" for number in range(1, 23)} - {"q01", "q03", "q05", "q09", "q13", "q19"}
    | {"balances", "brands_bought", "customer_orders", "joint_shipments", "order_frequency"}
)
"""Models that only ``--ivm-all-on-spark`` builds; on DuckDB all follow all rounds by default."""

FEW_MODELS = {"q03", "q13"}
"""Models that the default run compares with their SQL by something else than `ivm_consistent`."""

RANKED = {
    "q02": ("s_acctbal", "n_name", "s_name", "p_partkey"),
    "q03": ("revenue", "o_orderdate"),
    "q10": ("revenue",),
    "q18": ("o_totalprice", "o_orderdate"),
    "q21": ("numwait", "s_name"),
}
"""Models with a LIMIT, and by what they are ordered."""


@dataclass
class Tpch:
    """The project, its sources, what the first build said, and the options that choose models."""

    project: DbtProject
    business: changes.Business
    first: DbtResult
    chosen: tuple[str, ...]

    def sources_of(self) -> dict[str, set[str]]:
        """The source tables that each model reads."""
        manifest = json.loads((self.project.root / "target" / "manifest.json").read_text())
        return {
            node["name"]: {
                name.split(".")[-1]
                for name in node["depends_on"]["nodes"]
                if name.startswith("source.")
            }
            for node in manifest["nodes"].values()
            if node["resource_type"] == "model" and node["name"] not in self.chosen
        }

    def source_versions(self) -> dict[str, int]:
        """The version of each source table."""
        return {table: self.business.version(table) for table in load.TABLES}

    def changed_since(self, versions: dict[str, int]) -> set[str]:
        """The source tables with commits that are more than a compaction."""
        return {
            table
            for table, version in versions.items()
            for commit in self.business.sql(f"describe history {table}")
            if commit["version"] > version and commit["operation"] != "OPTIMIZE"
        }


@pytest.fixture(scope="module")
def tpch(
    tmp_path_factory: pytest.TempPathFactory,
    spark_settings: dict[str, str],
    pytestconfig: pytest.Config,
) -> Tpch:
    """The project of integration_tests/, built once in a schema of its own."""
    root = tmp_path_factory.mktemp("tpch")
    compiled = {"spark.sql.codegen.factoryMode": "FALLBACK"}  # thousands of rows are worth it
    project = DbtProject(root, "tpch", spark_settings, threads=2, settings=compiled)
    unwanted = shutil.ignore_patterns(".*", "target", "logs", "profiles.yml")
    shutil.copytree(load.PROJECT, root, ignore=unwanted, dirs_exist_ok=True)
    profile = {"tpch": {"target": "test", "outputs": {"test": project.target}}}
    project.write({"profiles.yml": yaml.safe_dump(profile)})

    data = root / "data"
    everything = pytestconfig.getoption("ivm_all_on_spark")
    load.generate(SCALE if everything else QUICK_SCALE, data)
    session = project.session.newSession()
    load.load(load.sql_of(session), data, SOURCES)
    chosen = () if everything else ("--exclude", *sorted(OTHER_MODELS))
    first = project.dbt("run", *chosen)  # compared below, and by `dbt build` in each round
    assert first.success, first.log or first.exception
    business = changes.Business(changes.in_schema(session, SOURCES), SEED)
    return Tpch(project, business, first, chosen)


def assert_equal_to_their_sql(project: DbtProject, models: set[str]) -> None:
    found = {model: views.differences(project, model) for model in sorted(models)}
    assert not any(found.values()), {m: d for m, d in found.items() if d}
    for model in sorted(models & RANKED.keys()):
        shown, ordered = views.ranks(project, model, RANKED[model])
        assert shown == ordered, model


def test_the_comparison_itself_notices_differences(tpch: Tpch) -> None:
    ones = "select * from values (1, 'a'), (1, 'a'), (null, 'b') as t(x, y)"
    for other in (
        "values (1, 'a'), (null, 'b')",
        "values (1, 'a'), (1, 'a'), (1, 'a'), (null, 'b')",
        "values (1, 'a'), (1, 'a'), (2, 'b')",
    ):
        assert views.unbalanced(tpch.project, ones, f"select * from {other} as t(x, y)")
    assert not views.unbalanced(tpch.project, ones, ones)


def test_the_first_build_shows_the_queries_results(tpch: Tpch) -> None:
    models = set(tpch.sources_of())
    assert {f"q{number:02}" for number in range(1, 23)} - set(tpch.chosen) <= models
    for model in models:
        assert tpch.first.response(model)["reason"] == "FIRST_BUILD", model
    assert_equal_to_their_sql(tpch.project, models if not tpch.chosen else FEW_MODELS)
    # A test on empty results would show nothing.
    empty = {m for m in models if not tpch.project.sql(f"select 1 from {m} limit 1")}
    assert not empty


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[] if n == QUICK_ROUND else thorough) for n in changes.ROUNDS],
)
def test_views_follow_a_round_of_changes(tpch: Tpch, name: str) -> None:
    project, readers = tpch.project, tpch.sources_of()
    before = {model: views.fingerprint(project, model) for model in readers}
    states, sources = views.versions(project), tpch.source_versions()

    changes.ROUNDS[name](tpch.business)
    result = project.dbt("build", *tpch.chosen)
    assert result.success, result.log or result.exception

    changed = tpch.changed_since(sources)
    affected = {model for model, tables in readers.items() if tables & changed}
    strategies = {model: result.response(model)["strategy"] for model in readers}
    for model, strategy in strategies.items():
        expected = {"incremental", "recompute"} if model in affected else {"noop"}
        assert strategy in expected, (model, result.message(model))

    # One commit for each refreshed model, and none elsewhere in the schema.
    grown = {f"{m}{STATE}": 1 for m, strategy in strategies.items() if strategy != "noop"}
    now = views.versions(project)
    assert {t: v - states[t] for t, v in now.items() if v != states[t]} == grown

    # `dbt build` has just compared each view with its query by `ivm_consistent`, which must not be
    # the only judge of itself.
    if tpch.chosen:
        assert_equal_to_their_sql(project, FEW_MODELS)
    elif name == list(changes.ROUNDS)[-1]:
        assert_equal_to_their_sql(project, set(readers))
    unmoved = {m for m in affected if views.fingerprint(project, m) == before[m]}
    assert len(unmoved) <= len(affected) // 3, unmoved


def test_a_run_without_changes_writes_nothing(tpch: Tpch) -> None:
    before = views.versions(tpch.project)
    result = tpch.project.run(*tpch.chosen)
    assert {result.response(model)["strategy"] for model in tpch.sources_of()} == {"noop"}
    assert views.versions(tpch.project) == before


@thorough
def test_full_refresh_rebuilds_and_goes_on_incrementally(tpch: Tpch) -> None:
    project, models = tpch.project, {"q06", "q12", "customer_orders"}
    states = views.versions(project)
    rebuilt = project.run("--full-refresh", "--select", *sorted(models))
    for model in models:
        assert rebuilt.response(model)["reason"] == "FULL_REFRESH"
        assert views.versions(project)[model + STATE] == states[model + STATE] + 1
    assert_equal_to_their_sql(project, models)

    tpch.business.cancel("cancelled after the rebuild")
    again = project.run("--select", *sorted(models))
    for model in models:
        assert again.response(model)["strategy"] in ("incremental", "recompute")
    assert_equal_to_their_sql(project, models)


@thorough
def test_empty_moves_no_bookmark(tpch: Tpch) -> None:
    project, models = tpch.project, {"q06", "customer_orders"}
    tpch.business.cancel("cancelled before an empty run")
    states = views.versions(project)
    before = {model: views.fingerprint(project, model) for model in models}
    project.run("--empty", "--select", *sorted(models))
    assert views.versions(project) == states
    assert {model: views.fingerprint(project, model) for model in models} == before

    after = project.run("--select", *sorted(models))
    for model in models:
        assert after.response(model)["strategy"] in ("incremental", "recompute")
    assert_equal_to_their_sql(project, models)
