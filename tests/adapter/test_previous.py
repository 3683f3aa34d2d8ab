"""Which model `ivm_previous` means."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from dbt.adapters.sparkivm.configs.previous import _model


def node(alias: str, name: str = "m", package: str = "shop", **more: Any) -> dict[str, Any]:
    """A model as dbt gives it to Jinja."""
    config = {"materialized": more.pop("materialized", "incremental_ivm")}
    made = {"resource_type": "model", "name": name, "package_name": package, "alias": alias}
    return {**made, "config": config, **more}


GRAPH = {
    "nodes": {
        alias: node(alias, **more)
        for alias, more in {
            "m_v1": {"version": 1, "latest_version": 2},
            "m_v2": {"version": 2, "latest_version": 2},
            "only": {"name": "only"},
            "twice": {"name": "twice"},
            "twice_b": {"name": "twice", "package": "bank"},
            "t": {"name": "t", "materialized": "table"},
        }.items()
    }
}


@pytest.mark.parametrize(
    ("name", "package", "version", "alias"),
    [
        ("m", None, None, "m_v2"),
        ("m", None, 1, "m_v1"),
        ("m", "shop", "2", "m_v2"),
        ("only", None, None, "only"),
        ("twice", "bank", None, "twice_b"),
    ],
)
def test_the_model_that_is_meant(
    name: str, package: str | None, version: str | int | None, alias: str
) -> None:
    """Two versions of one model counted as two packages' models."""
    assert _model(GRAPH, name, package, version)["alias"] == alias


@pytest.mark.parametrize(
    ("name", "version", "told"),
    [
        ("m", 3, "no such version. It has 1, 2"),
        ("only", 1, "no such version. It has none"),
        ("twice", None, r"several packages have such a model \(bank, shop\)"),
        ("nobody", None, "no model of this name"),
        ("t", None, "materialized as 'table'"),
    ],
)
def test_what_is_no_such_model(name: str, version: int | None, told: str) -> None:
    with pytest.raises(CompilationError, match=told):
        _model(GRAPH, name, None, version)
