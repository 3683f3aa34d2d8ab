"""Which nodes of a project need a change feed."""

from __future__ import annotations

from typing import Any

from dbt.adapters.sparkivm.tables.feeds import followed, followed_in_run


def graph(**nodes: str) -> dict[str, Any]:
    """A project's graph: `name="materialized < parent parent"`."""
    made = {}
    for name, text in nodes.items():
        materialized, _, parents = text.partition("<")
        depends_on = {"macros": [], "nodes": parents.split()}
        made[name] = {"config": {"materialized": materialized.strip()}, "depends_on": depends_on}
    return {"nodes": made}


def test_what_a_maintained_model_reads_itself() -> None:
    found = followed(graph(s="seed", t="table < s", m="incremental_ivm < t source.shop.orders"))
    assert found == {"t"}


def test_views_and_ephemeral_models_are_read_through() -> None:
    found = followed(
        graph(
            s="seed", n="snapshot", v="view < s n", e="ephemeral < v i", i="incremental < deep",
            deep="table", own="my_materialization < c", c="table",
            m="incremental_ivm < e own", above="incremental_ivm < m",
        )
    )  # fmt: skip
    assert found & {"s", "n", "i", "deep", "c"} == {"s", "n", "i", "c"}


def test_a_source_that_a_seed_loads_is_that_seed() -> None:
    nodes = graph(
        loaded="seed", other="seed", v="view < source.shop.orders", m="incremental_ivm < v"
    )
    nodes["nodes"]["loaded"] |= {"schema": "RAW", "alias": "raw_orders"}
    nodes["nodes"]["other"] |= {"schema": "main", "alias": "raw_orders"}
    nodes["sources"] = {"source.shop.orders": {"schema": "raw", "identifier": "raw_orders"}}
    assert followed(nodes) == {"v", "loaded"}


def test_nothing_is_followed_without_maintained_models() -> None:
    assert followed(graph(s="seed", v="view < s", t="table < v")) == frozenset()


def test_seeds_have_no_parents_and_what_depends_on_itself_ends() -> None:
    nodes = graph(a="view < b", b="view < a", m="incremental_ivm < a s")
    nodes["nodes"]["s"] = {"config": {"materialized": "seed"}, "depends_on": {"macros": []}}
    assert followed(nodes) == {"a", "b", "s"}


def test_a_run_goes_through_its_graph_once() -> None:
    first = graph(t="table", m="incremental_ivm < t")
    assert followed_in_run(first, "one") == {"t"}
    assert followed_in_run(graph(), "one") == {"t"}
    assert followed_in_run(graph(), "two") == frozenset()
