"""The emitted SQL, and what Spark makes of it, grow at worst with the square of the depth."""

from __future__ import annotations

from itertools import pairwise

import pytest

from scripts.docs.plan_sizes import chain, nested_aggregates, plan_size


@pytest.mark.parametrize("changed", ["first", "last", "all"])
@pytest.mark.parametrize("kind", ["inner", "left", "full"])
def test_chains_of_joins_grow_at_worst_quadratically(kind: str, changed: str) -> None:
    sizes = []
    for number in (4, 8, 16):
        query, tables = chain(kind, number)
        chosen = {"first": tables[:1], "last": tables[-1:], "all": tables}[changed]
        sizes.append(plan_size(query, chosen))
    for smaller, larger in pairwise(sizes):
        assert larger[0] < 4.2 * smaller[0], sizes
        assert larger[1] < 4.2 * smaller[1], sizes


def test_nested_aggregates_grow_at_worst_quadratically() -> None:
    small, large = (plan_size(nested_aggregates(depth), ["orders"]) for depth in (4, 8))
    assert large[0] < 4.2 * small[0]
    assert large[1] < 4.2 * small[1]


def test_a_chain_of_ctes_that_are_each_named_twice_is_written_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As text; Spark writes it out, so that such a refresh is not tried."""
    monkeypatch.setattr("python_ivm.refresh.incremental._MOST_OPERATORS", 10**6)
    ctes = ["c0 as (select customer_id as k, count(*) as n from shop.orders group by customer_id)"]
    for n in range(1, 9):
        former = f"c{n - 1}"
        ctes.append(
            f"c{n} as (select a.k, count(*) as n from {former} a join {former} b on a.k = b.n "
            "group by a.k)"
        )
    lengths = [
        plan_size(f"with {', '.join(ctes[: depth + 1])} select k, n from c{depth}", ["orders"])[0]
        for depth in (2, 4, 8)
    ]
    assert lengths[2] < 4.2 * lengths[1] < 4.2 * 4.2 * lengths[0], lengths


@pytest.mark.parametrize("changed", [["orders"], ["returns"], ["orders", "returns"]])
@pytest.mark.parametrize(
    "found",
    [
        "(select count(*) from shop.returns r where r.total > o.total + {n}) < {n}",
        "exists (select 1 from shop.returns r where r.total > o.total group by r.order_id "
        "having count(*) > {n})",
        "(o.id = {n} or exists (select 1 from shop.returns r where r.total > o.total "
        "group by r.order_id having count(*) > {n}))",
    ],
    ids=["values", "semi joins", "marks"],
)
def test_correlated_subqueries_side_by_side_grow_at_worst_quadratically(
    found: str, changed: list[str]
) -> None:
    sizes = []
    for number in (2, 4, 8):
        conditions = [found.replace("{n}", str(n)) for n in range(number)]
        query = f"select o.id from shop.orders o where {' and '.join(conditions)}"
        sizes.append(plan_size(query, changed))
    for smaller, larger in pairwise(sizes):
        assert larger[0] < 4.2 * smaller[0], sizes
        assert larger[1] < 4.2 * smaller[1], sizes
