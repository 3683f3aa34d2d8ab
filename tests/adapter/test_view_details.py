"""A view as catalogs tell it, also those of engines that do not know JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.bridge.engine import Engine
from dbt.adapters.sparkivm.bridge.view_details import Kept
from dbt.adapters.sparkivm.bridge.warehouse import Row, SparkWarehouse
from python_ivm.parse.views import View

TEXT = "select k as a,\n ab from default.t"
COLUMNS = {"one": "int", "two": "int"}
DETAILS = (
    ("one", "int"),
    ("two", "int"),
    ("", ""),
    ("# Detailed Table Information", ""),
    ("Catalog", "spark_catalog"),
    ("Database", "a.b"),
    ("Table", "v"),
    ("Type", "VIEW"),
    ("Comment", "c\nView Text: x"),
    ("View Text", TEXT),
    ("View Catalog and Namespace", "spark_catalog.`a.b`"),
    ("View Query Output Columns", "[a, ab]"),
)
JSON = {
    "type": "VIEW",
    "view_text": TEXT,
    "view_catalog_and_namespace": "spark_catalog.`a.b`",
    "view_query_output_columns": ["a", "ab"],
    "view_creation_spark_configuration": {"spark.sql.ansi.enabled": "true"},
}
NO_JSON = "[PARSE_SYNTAX_ERROR] Syntax error at or near 'JSON': extra input 'JSON'.(line 1, pos 94)"


class Told:
    """Shortcuts that tell of views only."""

    columns = history = detail = files = staticmethod(lambda *_: None)

    @staticmethod
    def view(name: tuple[str, ...]) -> Kept:
        assert name == ("spark_catalog", "a.b", "v")  # also where a model names it without a schema
        return Kept(("a", "ab"), {"spark.sql.ansi.enabled": "true"})


def answering(details: tuple[tuple[str, str], ...], asked: list[str]) -> Callable[[str], list[Row]]:
    """An engine that describes a view in rows only."""

    def answer(sql: str) -> list[Row]:
        asked.append(sql)
        if sql.endswith("AS JSON"):
            raise DbtRuntimeError(NO_JSON)
        return [{"col_name": name, "data_type": kind, "comment": None} for name, kind in details]

    return answer


def definition(details: tuple[tuple[str, str], ...], shortcuts: Any = None) -> View | None:
    return SparkWarehouse(answering(details, []), shortcuts).definition(("a.b", "v"))


def test_rows_tell_what_json_does_but_the_settings() -> None:
    in_json = SparkWarehouse(
        lambda sql: (
            [{"json": json.dumps(JSON)}]
            if sql.endswith("AS JSON")
            else [{"col_name": name, "data_type": kind} for name, kind in COLUMNS.items()]
        )
    ).definition(("a.b", "v"))
    assert in_json == View(
        TEXT, ("spark_catalog", "a.b"), COLUMNS, ("a", "ab"), {"spark.sql.ansi.enabled": "true"}
    )
    assert definition(DETAILS, Told()) == in_json
    in_rows = definition(DETAILS)
    assert in_rows is not None and in_rows.settings is None
    assert (in_rows.text, in_rows.namespace, in_rows.shown) == (
        TEXT,
        in_json.namespace,
        ("a", "ab"),
    )


def test_rows_and_json_tell_the_collation_of_a_views_texts() -> None:
    found = definition((*DETAILS, ("Collation", "UTF8_LCASE")), Told())
    assert found is not None and found.collation == "UTF8_LCASE"
    told = {**JSON, "collation": "UTF8_LCASE"}
    in_json = SparkWarehouse(
        lambda sql: [{"json": json.dumps(told), "col_name": "", "data_type": ""}]
    )
    view = in_json.definition(("a.b", "v"))
    assert view is not None and view.collation == "UTF8_LCASE"


@pytest.mark.parametrize("listed", ["[a, b, ab]", "[]"])
def test_names_that_cannot_be_told_apart_are_left_out(listed: str) -> None:
    found = definition((*DETAILS[:-1], ("View Query Output Columns", listed)))
    assert found is not None and found.shown == ()


@pytest.mark.parametrize("kind", ["MANAGED", "EXTERNAL"])
def test_a_table_is_no_view(kind: str) -> None:
    assert definition((*DETAILS[:4], ("Type", kind), ("Provider", "delta"))) is None


def test_an_engine_is_asked_in_vain_once() -> None:
    asked: list[str] = []
    query, engine = answering(DETAILS, asked), Engine()
    for _ in range(3):
        SparkWarehouse(query, engine=engine).definition(("s", "v"))
    assert [sql.endswith("AS JSON") for sql in asked].count(True) == 1


def test_other_errors_are_raised() -> None:
    def fail(sql: str) -> list[Row]:
        raise DbtRuntimeError("[INSUFFICIENT_PERMISSIONS] no")

    with pytest.raises(DbtRuntimeError, match="INSUFFICIENT"):
        SparkWarehouse(fail).definition(("s", "v"))
