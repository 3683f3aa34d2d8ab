"""What is known of the relations that a project builds."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from dbt.adapters.sparkivm.bridge.relations import built, state_name, view_text
from python_ivm.refresh.lifecycle.orphans import Built

TEXT = "SELECT\n  `k`,\n  'View Text: x' AS c\nFROM s.m__ivm_state"
LISTED = f"""\
Catalog: spark_catalog
Type: VIEW
View Text: {TEXT}
View Original Text: {TEXT}
View Schema Mode: COMPENSATION
Schema: root
 |-- k: integer (nullable = true)
"""


@pytest.mark.parametrize(
    ("listed", "text"),
    [
        (LISTED, TEXT),
        (LISTED.replace(f"View Original Text: {TEXT}\n", ""), TEXT),
        ("Catalog: spark_catalog\nType: MANAGED\nSchema: root\n", None),
        ("", None),
    ],
)
def test_a_views_text_in_what_spark_lists(listed: str, text: str | None) -> None:
    assert view_text(listed) == text


def test_what_a_project_builds() -> None:
    def node(
        name: str, materialized: str, kind: str = "model", **more: object
    ) -> dict[str, object]:
        config = {"materialized": materialized, **more}
        return {"resource_type": kind, "schema": "S", "name": name, "alias": name, "config": config}

    nodes = [
        node("A", "incremental_ivm"),
        node("b", "incremental_ivm", ivm_state_suffix="_kept"),
        node("c", "table"),
        node("d", "seed", "seed"),
        node("e", "test", "test"),
    ]

    def state_of(node: object, view: tuple[str, str], config: Mapping[str, str]) -> tuple[str, str]:
        return config.get("ivm_state_schema", view[0]), state_name(view[1], config)

    nodes.append(node("f", "incremental_ivm", ivm_state_schema="apart"))
    assert built({"nodes": {str(n["name"]): n for n in nodes}}, state_of) == {
        "s.a": Built("incremental_ivm", ("S", "A__ivm_state")),
        "s.b": Built("incremental_ivm", ("S", "b_kept")),
        "s.c": Built("table"),
        "s.d": Built("seed"),
        "s.f": Built("incremental_ivm", ("apart", "f__ivm_state")),
    }
