"""Correlated subqueries over bindings: what becomes of them, and what is refused."""

from __future__ import annotations

import pytest
from sqlglot import parse_one

from python_ivm.bind.binder import bind
from python_ivm.bind.subqueries.unnest import unnest
from python_ivm.errors import NotYetImplemented
from python_ivm.parse.parser import DIALECT, parse
from python_ivm.qualify.schema import TableSchema


def unnested(sql: str) -> str:
    """A subquery that names a relation ``o`` around it, over bindings."""
    return unnest(parse_one(sql, dialect=DIALECT), "asked").tree.sql(dialect=DIALECT)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT b.w AS w FROM b WHERE b.k < o.k",
            "SELECT b.w AS w, `asked`.`asked_k` AS `asked_k` FROM `asked` AS `asked` CROSS JOIN b "
            "WHERE b.k < `asked`.`asked_k`",
        ),
        (
            "SELECT d.w AS w FROM (SELECT b.w AS w FROM b WHERE b.k = o.k) AS d",
            "SELECT d.w AS w, `d`.`asked_k` AS `asked_k` FROM (SELECT b.w AS w, `asked`.`asked_k` "
            "AS `asked_k` FROM `asked` AS `asked` CROSS JOIN b WHERE b.k = `asked`.`asked_k`) AS d",
        ),
        (
            "SELECT b.w AS w FROM b GROUP BY b.w HAVING MAX(b.k) > o.k",
            "SELECT b.w AS w, `asked`.`asked_k` AS `asked_k` FROM `asked` AS `asked` CROSS JOIN b "
            "GROUP BY b.w, `asked`.`asked_k` HAVING MAX(b.k) > `asked`.`asked_k`",
        ),
        (
            "SELECT b.w AS w FROM b WHERE b.k > MIN(o.v)",
            "SELECT b.w AS w, `asked`.`asked_min` AS `asked_min` FROM `asked` AS `asked` CROSS "
            "JOIN b WHERE b.k > `asked`.`asked_min`",
        ),
        (
            "SELECT 1 AS one UNION ALL SELECT o.k AS k",
            "SELECT 1 AS one, `asked`.`asked_k` AS `asked_k` FROM `asked` AS `asked` UNION ALL "
            "SELECT `asked`.`asked_k` AS k, `asked`.`asked_k` AS `asked_k` FROM `asked` AS `asked`",
        ),
    ],
)
def test_each_select_joins_and_shows_the_bindings(sql: str, expected: str) -> None:
    assert unnested(sql) == expected


def test_counts_of_a_binding_without_rows_are_0() -> None:
    sql = "SELECT COUNT(*) + 1 AS n FROM b WHERE b.k = o.k HAVING MAX(b.w) > o.v LIMIT 1"
    text = unnested(sql)
    assert "COALESCE(`asked_groups`.`value_1`, 0) + 1 AS n" in text
    assert "FROM `asked` AS `asked` LEFT JOIN (SELECT COUNT(*) AS `value_1`" in text
    assert text.endswith("WHERE `asked_groups`.`value_2` > `asked`.`asked_v`")


def test_first_rows_are_those_of_a_binding() -> None:
    text = unnested("SELECT b.w AS w FROM b WHERE b.k < o.k ORDER BY b.w LIMIT 2 OFFSET 1")
    assert "ROW_NUMBER() OVER (PARTITION BY `asked`.`asked_k` ORDER BY b.w)" in text
    assert "`asked_rank` > 1 AND `asked_ranked`.`asked_rank` <= 3" in text


def test_a_name_that_the_subquery_has_is_not_taken() -> None:
    made = unnest(parse_one("SELECT o.k AS asked_k FROM b WHERE b.asked_k_2 = 1"), "asked")
    assert made.names == ("asked_k_3",)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT b.w AS w FROM b FULL JOIN (SELECT o.k AS k) AS c ON b.k = c.k",
        "SELECT b.w AS w FROM b RIGHT JOIN c ON b.k = o.k",
        "SELECT COUNT(*) AS n FROM b WHERE b.k = o.k OFFSET 1",
        "SELECT COUNT(*) AS n FROM b WHERE b.k = o.k LIMIT 0",
        "SELECT SUM(MAX(b.w)) OVER () AS n FROM b WHERE b.k = o.k",
        "SELECT b.w AS w FROM b WHERE b.k < o.k LIMIT 1 + 1",
        "SELECT MAX(o.k) AS k FROM b",
        "SELECT b.w AS w FROM b WHERE b.k > o.k QUALIFY RANK() OVER (ORDER BY b.w) = 1 LIMIT 1",
        "SELECT DISTINCT b.w AS w FROM b WHERE b.k > o.k ORDER BY b.k LIMIT 1",
        "SELECT b.w AS w FROM b WHERE b.k > o.k GROUP BY b.k, b.w GROUPING SETS ((b.w), ())",
        "SELECT b.w AS w FROM b WHERE b.k > o.k GROUP BY ROLLUP(b.w)",
        "SELECT b.w AS w FROM b WHERE b.k > o.k GROUP BY b.w WITH CUBE",
        "SELECT COUNT_MIN_SKETCH(b.w, 0.5, 0.5, 1) AS s FROM b WHERE b.k < o.k",
        "WITH q AS (SELECT o.k AS k) SELECT b.w AS w FROM b WHERE EXISTS(SELECT 1 FROM q)",
        "WITH RECURSIVE q AS (SELECT o.k AS k) SELECT q.k AS k FROM q",
    ],
)
def test_what_cannot_be_done_for_each_binding_is_refused(sql: str) -> None:
    with pytest.raises(NotYetImplemented):
        unnested(sql)


@pytest.mark.parametrize(
    "list_",
    [
        "select w from s.b where b.k = a.k",
        "select w from (select w from s.b where b.k > a.k) d",
        "select w from s.b where b.k = a.k union select 1",
    ],
)
def test_a_text_in_a_list_of_numbers_is_refused_in_every_shape(list_: str) -> None:
    """The refusal was taken for a shape without a rule, for which there is this one."""
    tables = (
        TableSchema(("s", "a"), {"k": "int", "v": "string"}),
        TableSchema(("s", "b"), {"k": "int", "w": "int"}),
    )
    schemas = {table.key: table for table in tables}
    with pytest.raises(NotYetImplemented, match="IN between a text"):
        bind(parse(f"select k from s.a where v in ({list_})"), schemas)


def test_the_order_of_distinct_rows_is_that_of_what_it_names() -> None:
    """A column was taken for the output of its name."""
    text = unnested(
        "SELECT DISTINCT b.k AS w, b.w AS k FROM b WHERE b.k > o.k ORDER BY b.k, k DESC LIMIT 1"
    )
    assert "ORDER BY `asked_rows`.`w`, `asked_rows`.`k` DESC" in text
