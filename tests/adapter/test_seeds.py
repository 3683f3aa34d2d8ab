"""Seeds on a real Spark: every value arrives, and a changed file changes the rows that differ."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.conftest import MakeProject
from tests.helpers.dbt_project import DbtProject, DbtResult

IVM = "{{ config(materialized='incremental_ivm') }}\n"


def seed(project: DbtProject, *args: str) -> DbtResult:
    result = project.dbt("seed", *args)
    assert result.success, result.log or result.exception
    return result


def csv(project: DbtProject, *lines: str, name: str = "s") -> None:
    project.write({f"seeds/{name}.csv": "".join(line + "\n" for line in lines)})


def config(project: DbtProject, text: str) -> None:
    project.write({"seeds/properties.yml": f"seeds: [{{name: s, config: {{{text}}}}}]"})


def bag(project: DbtProject, relation: str = "s") -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in project.sql(f"select * from {relation}"))


def types(project: DbtProject, relation: str = "s") -> dict[str, str]:
    return {row[0]: row[1] for row in project.sql(f"describe {relation}") if row[1]}


def commits(project: DbtProject, relation: str = "s") -> list[str]:
    """The operations on a table, oldest first."""
    return [row["operation"] for row in project.sql(f"describe history {relation}")][::-1]


def test_every_value_arrives_as_its_type(project: DbtProject) -> None:
    texts = [
        "O'Neil",
        "50% %s ?",
        "back\\slash \\n \\u0041",
        'say "x"',
        "Zürich 🚲",
        "${hivevar:x}",
    ]
    texts += ["two\nlines", "tab\there", " blank ", "true story"]
    header = "First Name,big,ratio,day,moment,flag,nothing,`odd`"
    lines = [
        '"{}",{},{}.5,2024-02-{:02},2024-02-03 04:05:{:02},{},,x'.format(
            text.replace('"', '""'), 9007199254740993 + n, n, n + 1, n, "true" if n else "false"
        )
        for n, text in enumerate(texts)
    ]
    csv(project, header, *lines, ",,,,,,,")
    assert seed(project).message("s") == "INSERT 11"
    assert types(project) == {
        **{"First Name": "string", "big": "bigint", "ratio": "double", "day": "date"},
        **{"moment": "timestamp", "flag": "boolean", "nothing": "bigint", "`odd`": "string"},
    }
    rows = project.sql("select * from s where big is not null order by big")
    assert [row["First Name"] for row in rows] == texts
    assert [row["big"] for row in rows] == [9007199254740993 + n for n in range(len(texts))]
    last = rows[-1]
    assert (last["ratio"], str(last["day"]), str(last["moment"]), last["flag"]) == (
        *(9.5, "2024-02-10", "2024-02-03 04:05:09", True),
    )
    assert project.sql("select * from s where `First Name` is null") == [(None,) * 8]


def test_types_of_the_users(project: DbtProject) -> None:
    csv(project, "zip,price,code,note", "00501,1.10,ab,x", "10001,20,abc,")
    config(project, "column_types: {zip: string, price: 'numeric(9, 2)', code: VarChar(3)}")
    seed(project)
    # Spark calls it a string, and keeps to its length.
    expected = {"zip": "string", "price": "decimal(9,2)", "code": "string", "note": "string"}
    assert types(project) == expected
    first = bag(project)
    assert {(row[0], str(row[1])) for row in first} == {("00501", "1.10"), ("10001", "20.00")}
    assert seed(project).message("s") == "no row differs"
    assert commits(project) == ["CREATE TABLE", "WRITE"]
    csv(project, "zip,price,code,note", "00501,1.10,abcd,x")
    assert not project.dbt("seed").success
    assert bag(project) == first
    config(project, "column_types: {zip: string, price: 'numeric(9, 2)', code: VarChar(4)}")
    assert seed(project).message("s") == "INSERT 1"


def test_a_changed_file_changes_the_rows_that_differ(project: DbtProject) -> None:
    grouped = "select k, count(*) as n, sum(v) as total from {} group by k"
    project.models(m=IVM + grouped.format("{{ ref('s') }}"))
    others = [(k, v) for k in range(1, 30) for v in range(3)]
    same = [f"{k},{v}" for k, v in others]
    csv(project, "k,v", "0,1", "0,1", "0,1", "0,2", ",", *same)
    assert project.dbt("build").success

    csv(project, "k,v", "0,1", "0,3", ",", ",", *same)
    again = project.dbt("build")
    assert again.message("s") == "+2 -3 rows"
    assert commits(project) == ["CREATE TABLE", "WRITE", "MERGE"]
    # Two of three copies are gone: a MERGE deletes all, and writes one.
    feed = Counter(
        (row["_change_type"], row["k"], row["v"])
        for row in project.sql("select * from table_changes('s', 2)")
    )
    assert feed == {
        ("delete", 0, 1): 3, ("insert", 0, 1): 1, ("delete", 0, 2): 1, ("insert", 0, 3): 1,
        ("insert", None, None): 1,
    }  # fmt: skip
    assert bag(project) == Counter([(0, 1), (0, 3), (None, None), (None, None), *others])
    response = again.response("m")
    assert (response["strategy"], response["reason"]) == ("incremental", "CHANGED"), response
    assert bag(project, "m") == bag(project, f"({grouped.format('s')})")

    csv(project, "k,v", "0,1", "0,3", ",", ",", "0,3", *same)
    assert seed(project).message("s") == "+1 -0 rows"
    assert commits(project)[3:] == ["WRITE"]
    unchanged = project.dbt("build")
    assert unchanged.message("s") == "no row differs"
    unchanged = project.dbt("build")
    assert unchanged.response("m")["strategy"] == "noop"
    assert len(commits(project)) == 4


@pytest.mark.thorough
def test_header_only_and_back(project: DbtProject) -> None:
    config(project, "column_types: {k: int, v: string}")
    csv(project, "k,v")
    assert seed(project).message("s") == "INSERT 0"
    assert bag(project) == Counter() and types(project) == {"k": "int", "v": "string"}
    csv(project, "k,v", "1,a", "1,a")
    seed(project)
    assert bag(project) == Counter({(1, "a"): 2})
    csv(project, "k,v")
    assert seed(project).message("s") == "+0 -2 rows"
    assert bag(project) == Counter()
    assert commits(project) == ["CREATE TABLE", "WRITE", "MERGE"]


def test_other_columns_or_a_full_refresh_replace_the_table(project: DbtProject) -> None:
    csv(project, "k,v", "1,2")
    seed(project)
    csv(project, "k,v", "1,two")
    seed(project)
    assert types(project) == {"k": "bigint", "v": "string"}
    csv(project, "k,w", "1,two")
    seed(project)
    assert bag(project) == Counter({(1, "two"): 1}) and list(types(project)) == ["k", "w"]
    replacing = ["CREATE OR REPLACE TABLE", "WRITE"]
    assert commits(project) == ["CREATE TABLE", "WRITE", *replacing, *replacing]
    assert seed(project, "--full-refresh").message("s") == "CREATE 1"
    assert commits(project)[-2:] == replacing


@pytest.mark.thorough
def test_properties_are_kept_and_a_format_of_the_users(project: DbtProject) -> None:
    csv(project, "k,part", "1,1", "2,2")
    config(project, 'tblproperties: {note: "it\'s \\\\ mine"}, partition_by: part')
    seed(project)
    shown = {row[0]: row[1] for row in project.sql("show tblproperties s")}
    assert shown["note"] == "it's \\ mine"
    assert "delta.enableChangeDataFeed" not in shown  # nothing reads it
    assert project.sql("describe detail s")[0]["partitionColumns"] == ["part"]
    config(project, "tblproperties: {note: other, delta.appendOnly: true}, partition_by: part")
    assert seed(project).message("s") == "no row differs"
    shown = {row[0]: row[1] for row in project.sql("show tblproperties s")}
    assert (shown["note"], shown["delta.appendOnly"]) == ("other", "true")

    config(project, "file_format: parquet, partition_by: k")
    for _ in range(2):
        assert seed(project).message("s") == "INSERT 2"
    assert bag(project) == Counter({(1, 1): 1, (2, 2): 1})
    provider = [row[1] for row in project.sql("describe extended s") if row[0] == "Provider"]
    assert provider == ["parquet"]


def test_a_value_that_is_not_of_its_type_leaves_the_rows(make_project: MakeProject) -> None:
    project = make_project(settings={"spark.sql.ansi.enabled": True})
    config(project, "column_types: {v: int}")
    csv(project, "k,v", "1,1")
    seed(project)
    csv(project, "k,v", "1,1", "2,two")
    result = project.dbt("seed")
    assert not result.success
    assert "'two'" in result.message("s") and "INT" in result.message("s")
    assert len(result.message("s")) < 2000
    assert bag(project) == Counter({(1, 1): 1})


def test_a_file_without_columns(project: DbtProject) -> None:
    project.write({"seeds/s.csv": ""})
    result = project.dbt("seed")
    assert not result.success
    assert "no columns" in result.message("s")


@pytest.mark.thorough
def test_seeds_side_by_side(make_project: MakeProject) -> None:
    project = make_project(threads=4)
    for name in "abcd":
        csv(project, "who,n", *(f"{name},{n}" for n in range(50)), name=name)
    seed(project)
    for name in "abcd":
        csv(project, "who,n", *(f"{name},{n}" for n in range(1, 51)), name=name)
    result = seed(project)
    for name in "abcd":
        assert result.message(name) == "+1 -1 rows"
        assert bag(project, name) == Counter((name, n) for n in range(1, 51))
