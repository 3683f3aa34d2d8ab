"""The benchmark's models are those of integration_tests, and what differs is as it should be."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from benchmarks import models
from benchmarks.catalog import PROJECT, QUERIES, Query
from integration_tests.tpch.load import PROJECT as TPCH

PARAMETERS = {"'90'": "'78'", "%green%": "%sandy%"}
TIES = {"q03": "l_orderkey", "q18": "o_orderkey"}


def test_every_query_has_a_model_of_its_own_or_of_tpch(tmp_path: Path) -> None:
    own = {path.stem for path in (PROJECT / "models" / "queries").glob("*.sql")}
    assert own.isdisjoint(models.OTHER)
    shutil.copytree(PROJECT, tmp_path, dirs_exist_ok=True)
    models.write(tmp_path)
    written = {path.stem for path in (tmp_path / "models" / "queries").glob("*.sql")}
    assert written == {query.name for query in QUERIES}


@pytest.mark.parametrize("name", models.OTHER)
def test_without_dbt_it_is_tpchs_query_by_other_parameters(name: str) -> None:
    there = (TPCH / "models" / "tpch" / f"{name}.sql").read_text()
    for old, new in PARAMETERS.items():
        there = there.replace(old, new)
    there = there.replace("{{ source('tpch', '", "s.").replace("') }}", "")
    wanted = sqlglot.parse_one(there, read="spark")
    if name in TIES:
        last = exp.Ordered(this=exp.column(TIES[name]), nulls_first=True)
        wanted.args["order"].append("expressions", last)
    assert sqlglot.parse_one(models.plain(name, "s"), read="spark") == wanted


@pytest.mark.parametrize("query", [query for query in QUERIES if query.stock], ids=lambda q: q.name)
def test_a_stock_model_has_a_key_the_newest_load_and_a_condition_on_it(query: Query) -> None:
    text = models.text(query.name)
    assert text.count("config(unique_key=") == 1
    assert "loaded') }}" in text or "loaded,') }}" in text
    assert text.count("{% if is_incremental() %}") == text.count("{% endif %}") == 1
    assert sqlglot.parse_one(models.plain(query.name, "s"), read="spark")


def test_a_text_that_changed_under_the_benchmark_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(models.OTHER, "q13", (("no such line", "x"),))
    with pytest.raises(ValueError, match=r"q13\.sql has not one line that ends in: no such line"):
        models.text("q13")


@pytest.fixture(scope="module")
def tpcds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    project = tmp_path_factory.mktemp("project")
    (project / "models").mkdir()
    names = models.write_all_of_tpcds(project)
    return {name: (project / "models" / "tpcds" / f"{name}.sql").read_text() for name in names}


def test_all_of_tpcds_reads_sources(tpcds: dict[str, str]) -> None:
    assert tuple(name.removeprefix("tpcds_") for name in tpcds) == models.ALL_OF_TPCDS
    declared = (PROJECT / "models" / "sources.yml").read_text()
    for name, text in tpcds.items():
        read = re.findall(r"{{ source\('tpcds', '(\w+)'\) }}", text)
        assert read, name
        assert all(f"      - name: {table}\n" in declared for table in read), name
        plain = sqlglot.parse_one(re.sub(r"{{[^}]*'(\w+)'\) }}", r"s.\1", text), read="spark")
        of_s = [table for table in plain.find_all(exp.Table) if table.db == "s"]
        assert len(of_s) == len(read), name


def test_a_table_of_tpcds_has_named_columns_and_a_limit_leaves_the_same_rows(
    tpcds: dict[str, str],
) -> None:
    def parsed(query: str) -> exp.Expression:
        text = re.sub(r"{{[^}]*'(\w+)'\) }}", r"s.\1", tpcds[f"tpcds_{query}"])
        return sqlglot.parse_one(text, read="spark")

    assert parsed("q08").named_selects == ["s_store_name", "column_2"]
    assert parsed("q41").named_selects == ["i_product_name"], "in brackets it has a name"
    order = parsed("q21").args["order"].expressions
    assert [by.this.name for by in order][2:] == ["1", "2", "3", "4"], "of a star, too"
    assert "1" not in [by.this.name for by in parsed("q02").args["order"].expressions]
