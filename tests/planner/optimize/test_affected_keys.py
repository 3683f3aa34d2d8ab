"""Which rows a change may touch: all that it does, without looking up whether it does."""

from __future__ import annotations

import pytest

from tests.planner.lake import Lake
from tests.planner.stories import View


@pytest.fixture
def shop(lake: Lake) -> Lake:
    """Customers, one of which has no orders, orders, one of which has no customer, and lines."""
    lake.create("c", {"k": "int", "city": "string"}, [(1, "x"), (2, "y"), (3, "y")])
    lake.create("o", {"id": "int", "k": "int", "v": "int"}, [(1, 1, 5), (2, 1, 6), (3, 9, 7)])
    lake.create("l", {"id": "int", "q": "int"}, [(1, 1), (1, 2), (2, 5), (3, 0)])
    return lake


def read(view: View, table: str) -> int:
    """How often the next MERGE reads a table's states."""
    return view.planned().sql.count(f"s.{table} VERSION AS OF")


def test_groups_of_an_outer_joins_left_side_are_found_without_looking_up_matches(
    shop: Lake,
) -> None:
    counts = "select c.k, count(o.id) as n from s.c left join s.o on c.k = o.k group by c.k"
    view = View(shop, f"select n, count(*) as customers from ({counts}) group by n")
    shop.change("o", insert=[(4, 3, 1), (5, 3, 1)])
    assert (read(view, "o"), read(view, "c")) == (2, 3)
    view.refresh()
    shop.change("o", delete=[(4, 3, 1), (5, 3, 1), (1, 1, 5)])
    shop.change("c", delete=[(2, "y")], insert=[(9, "z")])
    view.refresh()
    view.shows((1, 2), (0, 1))


@pytest.mark.parametrize("kind", ["left", "right", "full"])
@pytest.mark.parametrize("key", ["c.city", "o.v", "coalesce(o.k, c.k)", "c.k + o.v"])
def test_groups_of_either_side_of_an_outer_join(shop: Lake, kind: str, key: str) -> None:
    """A row that loses its only match moves to the group of NULLs, and back."""
    counts = f"select {key} as g, count(*) as n from s.c {kind} join s.o on c.k = o.k group by g"
    view = View(shop, f"select n, count(*) as groups, count(g) as named from ({counts}) group by n")
    shop.change("o", delete=[(1, 1, 5), (2, 1, 6)])
    view.refresh()
    shop.change("o", insert=[(7, 2, 5), (8, 9, 5)])
    view.refresh()
    shop.change("c", delete=[(2, "y")], insert=[(9, None), (9, "x")])
    view.refresh()
    shop.change("c", delete=[(9, "x")], insert=[(2, "z")])
    shop.change("o", delete=[(3, 9, 7)], insert=[(3, 2, 7)])
    view.refresh()


@pytest.mark.parametrize("word", ["in", "not in"])
def test_what_a_having_asks_is_not_computed_to_find_the_rows_that_ask(
    shop: Lake, word: str
) -> None:
    large = "select id from s.l where id is not null group by id having sum(q) > 4"
    view = View(shop, f"select id, v from s.o where id {word} ({large})")
    shop.change("l", insert=[(1, 3), (3, 1)])
    assert read(view, "l") == 2
    view.refresh()
    shop.change("l", delete=[(1, 3), (2, 5)])
    assert read(view, "l") == 2
    view.refresh()


def test_what_a_correlated_subquery_computes_is_not_computed_to_find_the_rows_that_ask(
    shop: Lake,
) -> None:
    most = "select max(q) from s.l where l.id = o.id"
    view = View(
        shop,
        f"select k, count(*) as n from (select k, v from s.o where v > 2 * ({most}) group by k, v) "
        "group by k",
    )
    shop.change("l", insert=[(1, 3), (3, 9)])
    view.refresh()
    shop.change("l", delete=[(1, 3), (3, 9), (3, 0)], insert=[(2, 1)])
    shop.change("o", insert=[(2, 1, 60)])
    view.refresh()


def test_a_table_at_the_end_of_a_chain_is_not_read_to_find_groups(shop: Lake) -> None:
    joined = "s.l join s.o on l.id = o.id join s.c on o.k = c.k"
    sums = f"select l.id, sum(l.q) as q from {joined} group by l.id"
    view = View(shop, f"select q, count(*) as n from ({sums}) group by q")
    shop.change("l", insert=[(1, 7), (3, 7)])
    assert (read(view, "o"), read(view, "c")) == (2, 2)  # for the groups' rows, now and before
    view.refresh()
    shop.change("c", insert=[(9, "z")])
    assert read(view, "o") == 3  # and from the customers to the lines
    view.refresh()


def test_a_table_that_filters_is_read_to_find_groups(shop: Lake) -> None:
    joined = "s.l join s.o on l.id = o.id and o.v > 5"
    sums = f"select l.id, sum(l.q) as q from {joined} group by l.id"
    view = View(shop, f"select q, count(*) as n from ({sums}) group by q")
    shop.change("l", insert=[(1, 7), (3, 7)])
    assert read(view, "o") == 3
    view.refresh()


MARKED = "exists (select 1 from s.l where l.id = o.id and l.q > 3)"


@pytest.mark.parametrize(
    "counts",
    [
        f"select k as g, count_if({MARKED}) as n from s.o group by k",
        f"select {MARKED} as g, max(v) as n from s.o group by g",
        f"select v as g, count(*) as n from s.o where {MARKED} or k = 9 group by v",
    ],
    ids=["beside the mark", "by the mark", "filtered by the mark"],
)
def test_groups_of_rows_that_are_marked(shop: Lake, counts: str) -> None:
    view = View(shop, f"select n, count(*) as groups from ({counts}) group by n")
    shop.change("l", insert=[(1, 4)], delete=[(2, 5)])
    view.refresh()
    shop.change("l", delete=[(1, 4)], insert=[(3, 8)])
    shop.change("o", insert=[(3, 2, 5)])
    view.refresh()


@pytest.mark.parametrize("word", ["except all", "intersect all", "except", "union"])
def test_groups_of_set_operations(shop: Lake, word: str) -> None:
    both = f"select id, q % 2 as v from s.l {word} select id, v % 2 from s.o"
    counts = f"select id, count(*) as n from ({both}) group by id"
    view = View(shop, f"select n, count(*) as groups from ({counts}) group by n")
    shop.change("l", insert=[(1, 1), (1, 1), (3, 7)])
    view.refresh()
    shop.change("o", delete=[(3, 9, 7)], insert=[(1, 9, 7), (1, 8, 7)])
    shop.change("l", delete=[(2, 5)])
    view.refresh()


def test_partitions_of_rows_of_an_outer_join(shop: Lake) -> None:
    view = View(
        shop,
        "select city, v, rank() over (partition by city order by v, c.k) as r, "
        "sum(v) over (partition by o.k) as s from s.c full join s.o on c.k = o.k",
    )
    shop.change("o", delete=[(1, 1, 5), (2, 1, 6)], insert=[(4, 2, 2)])
    view.refresh()
    shop.change("o", insert=[(5, 1, 6)])
    shop.change("c", insert=[(9, "y")], delete=[(2, "y")])
    view.refresh()


def test_windows_that_filter_below_groups(shop: Lake) -> None:
    ranked = "select *, row_number() over (partition by k order by v desc, id) as r from s.o"
    counts = f"select k, max(v) as v from ({ranked}) where r <= 1 group by k"
    view = View(shop, f"select v, count(*) as n from ({counts}) group by v")
    shop.change("o", insert=[(4, 1, 7), (5, 9, 1)])
    assert read(view, "o") == 2
    view.refresh()
    shop.change("o", delete=[(4, 1, 7), (3, 9, 7)])
    view.refresh()


def test_groups_by_a_column_that_a_generator_makes(lake: Lake) -> None:
    lake.create("t", {"k": "int", "tags": "array<string>"}, [(1, ["a", "b"]), (2, ["b"])])
    lake.create("u", {"k": "int"}, [(1,)])
    made = "select explode(tags) as tag, k from s.t where k not in (select k from s.u)"
    counts = f"select tag, count(*) as n from ({made}) group by tag"
    view = View(lake, f"select n, count(*) as tags from ({counts}) group by n")
    lake.change("u", delete=[(1,)])
    view.refresh()
    lake.change("t", insert=[(3, ["b", "c"])], delete=[(1, ["a", "b"])])
    lake.change("u", insert=[(2,)])
    view.refresh()


def test_a_groups_key_is_not_told_by_another_row_that_is_equal_to_it(lake: Lake) -> None:
    lake.create("t", {"d": "double", "v": "int"}, [(0.0, 1), (1.0, 2)])
    groups = "select d, count(*) as c from s.t group by d"
    counted = f"select cast(d as string) as s, c from ({groups})"
    named = f"select s, sum(c) as c from ({counted}) group by s"
    view = View(lake, f"select c, max(s) as s from ({named}) group by c")
    lake.change("t", insert=[(-0.0, 1)])
    view.refresh()
    view.shows((2, "0.0"), (1, "1.0"))


def test_a_groups_key_that_is_only_compared_is_told_by_any_of_its_rows(shop: Lake) -> None:
    counts = "select k, count(*) as n from s.o group by k having k <> 9"
    cities = f"select c.city, sum(n) as n from s.c left join ({counts}) o on c.k = o.k group by 1"
    view = View(shop, f"select n, count(*) as cities from ({cities}) group by n")
    shop.change("o", insert=[(4, 3, 1)])
    assert read(view, "o") == 2
    view.refresh()
