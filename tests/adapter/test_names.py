"""Which names are checked, and in which catalogs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from dbt.adapters.sparkivm.bridge.names import NamesMixin
from dbt.adapters.sparkivm.diagnostics.errors import render

DELTA = "org.apache.spark.sql.delta.catalog.DeltaCatalog"


class Base:
    """What dbt-spark's adapter does beside."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def create_schema(self, relation: Any) -> None:
        self.done.append(relation.schema)

    def pre_model_hook(self, config: Any) -> str:
        self.done.append(config.model.alias)
        return "hooked"


class Adapter(NamesMixin, Base):
    """An adapter in a catalog.

    Attributes:
        catalog: The session's catalog, and the class that Spark's own one is extended by.
    """

    def __init__(self, catalog: str, implementation: str | None) -> None:
        super().__init__()
        self.catalog = catalog
        self.implementation = implementation

    def _ivm_warehouse(self) -> Any:
        return self

    def _ivm_conf(self) -> Any:
        return self

    def namespace(self) -> tuple[str, str]:
        if not self.catalog:
            raise DbtRuntimeError("it is away")
        return self.catalog, "default"

    def get(self, key: str) -> str:
        assert key == "spark.sql.catalog.spark_catalog"
        return self.implementation or "<undefined>"


def config(alias: str = "m", schema: str = "s", **of_model: Any) -> Any:
    settings = {"materialized": "view", **of_model}

    class Config(dict):  # type: ignore[type-arg]
        materialized = settings["materialized"]

    node = SimpleNamespace(
        resource_type=of_model.pop("resource_type", "model"),
        schema=schema,
        alias=alias,
        config=Config(settings),
    )
    return SimpleNamespace(model=node)


def own() -> Adapter:
    return Adapter("spark_catalog", DELTA)


@pytest.mark.parametrize(
    ("named", "told"),
    [
        (config(alias="a b"), "alias"),
        (config(schema="a b"), "schema"),
        (config(materialized="incremental_ivm", ivm_state_suffix="; drop"), "state table's name"),
        (config(alias="m" * 250, materialized="incremental_ivm"), "261 characters"),
        (config(alias="a b", resource_type="seed"), "alias"),
    ],
)
def test_a_name_is_refused_before_anything_is_done(named: Any, told: str) -> None:
    adapter = own()
    with pytest.raises(CompilationError, match=told):
        adapter.pre_model_hook(named)
    assert adapter.done == []


@pytest.mark.parametrize(
    "named",
    [
        config(),
        config(ivm_state_suffix="; drop"),  # of a model that has no state
        config(alias="m" * 250),
        config(alias="a b", resource_type="test"),  # a test's relation is the adapter's affair
    ],
)
def test_others_pass(named: Any) -> None:
    assert own().pre_model_hook(named) == "hooked"


def test_a_schema_is_refused_before_it_is_created() -> None:
    adapter = own()
    adapter.create_schema(SimpleNamespace(schema="s"))
    with pytest.raises(CompilationError, match="Set another schema in the profile"):
        adapter.create_schema(SimpleNamespace(schema="odd schema; drop"))
    assert adapter.done == ["s"]


@pytest.mark.parametrize(
    ("catalog", "implementation", "checked"),
    [
        ("spark_catalog", DELTA, True),
        ("spark_catalog", None, True),
        ("spark_catalog", "io.unitycatalog.spark.UCSingleCatalog", False),
        ("main", DELTA, False),
        ("", DELTA, False),
    ],
)
def test_another_catalog_may_take_more(
    catalog: str, implementation: str | None, checked: bool
) -> None:
    adapter = Adapter(catalog, implementation)
    if checked:
        with pytest.raises(CompilationError):
            adapter.pre_model_hook(config(alias="a b"))
    else:
        assert adapter.pre_model_hook(config(alias="a b")) == "hooked"


def test_the_engines_own_refusal_says_what_to_do() -> None:
    told = render("[INVALID_SCHEMA_OR_RELATION_NAME] `a b` is not a valid name. SQLSTATE: 42602")
    assert told.endswith("Give the model another alias or schema.")
