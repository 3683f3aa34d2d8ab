"""The keys of a change's first joins bound the large table that is joined next."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from python_ivm.optimize.cost import FEW_ROWS, Cost, Execution
from python_ivm.refresh import changed_keys
from python_ivm.refresh.plan import Strategy
from python_ivm.sources.history import DataFile
from tests.planner.lake import Lake
from tests.planner.optimize.bounds import is_bounded, one_of, only_one_of

SALES = (
    "select n.name, sum(l.v) as t from s.n join s.p on p.nk = n.nk join s.l on l.sk = p.sk "
    "group by n.name"
)
KEYS = (1, 6, 11, 16)
"""The suppliers of the nation whose name changes."""


@pytest.fixture
def lake() -> Lake:
    """Nations, suppliers, and the lines of these: few of the former, many of the latter."""
    made = Lake()
    made.create("n", {"nk": "int", "name": "string"}, [(k, f"n{k}") for k in range(1, 6)])
    suppliers = [(k, k % 5 + 1) for k in range(1, 21)]
    made.create("p", {"sk": "int", "nk": "int"}, [*suppliers, (30, None), (None, 2), (None, 9)])
    lines = [(k, k % 25, k) for k in range(1, 60)]
    made.create("l", {"id": "int", "sk": "bigint", "v": "int"}, [*lines, (70, None, 7)])
    made.size_of = lambda name: 2**30 if name == "l" else 2**20
    return made


def merged(lake: Lake, sql: str, rows: int | None = 1) -> str:
    """The MERGE of a refresh after a nation's name changed, of so many; on one line."""
    lake.run("m", sql)
    lake.change("n", delete=[(2, "n2")], insert=[(2, "x")])
    counted(lake, "n", rows)
    lake.run("m", sql)
    lake.check("m")
    return " ".join(lake.executed[-1].sql.split())


def counted(lake: Lake, table: str, rows: int | None) -> None:
    """Let the history tell how many rows the last commit updated."""
    metrics = {"numUpdatedRows": str(rows)} if rows is not None else {}
    last = lake.commits[table][0]
    lake.commits[table][0] = replace(last, operation="UPDATE", metrics=metrics)


@pytest.mark.parametrize(
    ("sql", "bound"),
    [
        (SALES, only_one_of("l.sk", *KEYS)),
        (
            SALES.replace("l.sk = p.sk", "l.sk <=> p.sk"),
            only_one_of("l.sk", *KEYS, or_null=True),
        ),
        (
            "select n.name, l.v from s.n join s.p on p.nk = n.nk left join s.l on l.sk = p.sk",
            one_of("l.sk", *KEYS),
        ),
        (
            "select n.name, p.sk from s.n join s.p on p.nk = n.nk "
            "where not exists (select 1 from s.l where l.sk = p.sk)",
            one_of("subquery.sk", *KEYS),
        ),
        (
            "select n.name, g.t from s.n join s.p on p.nk = n.nk "
            "join (select sk, sum(v) as t from s.l group by sk) g on g.sk = p.sk",
            only_one_of("g.sk", *KEYS),
        ),
        (
            f"{SALES.replace('group', 'where p.sk in (select sk from s.l where v > 20) group')}",
            f"= ( subquery.sk ) AND {one_of('subquery.sk', *KEYS)}",
        ),
        (
            "select n.name, l.v, r.v as w from s.n join s.p on p.nk = n.nk join s.l on l.sk = p.sk "
            "left join s.l r on r.sk = l.sk and r.id <> l.id",
            one_of("r.sk", *KEYS),
        ),
    ],
    ids=["inner", "null safe", "left", "not exists", "grouped", "also in", "also left"],
)
def test_what_comes_next_is_bounded(lake: Lake, sql: str, bound: str) -> None:
    assert bound in merged(lake, sql)


@pytest.mark.parametrize(
    "condition",
    ["l.sk + 0 = p.sk", "l.sk > p.sk", "l.sk = p.sk + 1", "l.sk = p.sk or l.v = 3"],
)
def test_other_conditions_bound_nothing(lake: Lake, condition: str) -> None:
    assert not is_bounded(merged(lake, SALES.replace("l.sk = p.sk", condition)), "l.sk")


@pytest.mark.parametrize(
    ("rows", "lines", "suppliers", "pays"),
    [
        (FEW_ROWS, 2**30, 2**20, True),
        (FEW_ROWS + 1, 2**30, 2**20, False),
        (None, 2**30, 2**20, False),
        (1, 2**26, 2**20, False),
        (1, 2**30, 2**30, False),
        (1, None, 2**20, False),
        (1, 2**30, None, False),
    ],
    ids=[
        "it does",
        "much changed",
        "nobody knows how much",
        "a small table",
        "one as large as another",
        "of no known size",
        "after another of no known size",
    ],
)
def test_the_question_is_asked_where_it_pays(
    lake: Lake, rows: int | None, lines: int | None, suppliers: int | None, pays: bool
) -> None:
    lake.size_of = lambda name: {"l": lines, "p": suppliers}.get(name, 2**20)
    text = merged(lake, SALES.replace("p.nk = n.nk", "p.nk + 0 = n.nk"), rows)
    assert is_bounded(text, "l.sk") is pays


def test_what_the_keys_of_the_change_bound_is_not_asked_about(lake: Lake) -> None:
    sql = "select n.name, p.sk, l.v from s.n, s.p, s.l where p.nk = n.nk and l.id = n.nk"
    assert "l.id = 2" in merged(lake, sql)
    assert [sql for sql in lake.asked if "JOIN" in sql] == []


PARTS = (
    "select p.name, sum(l.v * c.cost) as t from s.l join s.p on p.pk = l.pk "
    "join s.c on c.pk = l.pk where p.name like '%7%' group by p.name"
)


@pytest.fixture
def parts() -> Lake:
    """Lines, their parts, and what these cost: a large table in the order of parts."""
    made = Lake()
    made.create("l", {"pk": "int", "v": "int"}, [(k, 1) for k in range(0, 100, 3)])
    made.create("p", {"pk": "int", "name": "string"}, [(k, f"p{k}") for k in range(100)])
    made.create("c", {"pk": "int", "cost": "int"}, [(k, k + 1) for k in range(100)])
    made.size_of = lambda name: 2**31 if name == "c" else 2**20
    made.files = lambda names: in_order if names[-1] == "c" else None  # type: ignore[method-assign]
    in_order = [DataFile(50_000, {"pk": n}, {"pk": n + 49}) for n in (0, 50)]
    return made


def repriced(lake: Lake, sql: str, lines: int = 12) -> str:
    """The MERGE of a refresh after the first lines changed; on one line."""
    lake.run("m", sql)
    keys = range(0, 3 * lines, 3)
    lake.change("l", delete=[(k, 1) for k in keys], insert=[(k, 2) for k in keys])
    counted(lake, "l", lines)
    lake.run("m", sql)
    lake.check("m")
    return " ".join(lake.executed[-1].sql.split())


def test_what_the_query_asks_of_a_change_leaves_fewer_of_its_keys(parts: Lake) -> None:
    """The keys of a thousand lines are all over the table; fifty of them have such a part."""
    merge = repriced(parts, PARTS)
    asked = re.findall(r"c\.pk (?:= |IN \( ?|BETWEEN )\d+", merge)
    assert asked == ["c.pk = 27"], "the others are of no use beside it"


def test_keys_that_are_no_fewer_are_not_written(parts: Lake) -> None:
    merge = repriced(parts, PARTS.replace("'%7%'", "'p%'"))
    assert [asked for asked in parts.asked if "JOIN" in asked] != []
    assert merge.count(one_of("c.pk", *range(0, 36, 3))) == 1


def test_a_table_of_which_nothing_is_bounded_comes_first(parts: Lake) -> None:
    parts.create("s", {"cost": "int", "name": "string"}, [(k, f"s{k}") for k in range(100)])
    parts.size_of = lambda name: 2**31 if name in "cs" else 2**20
    sql = PARTS.replace("where p.name", "join s.s on s.cost = c.cost where p.name")
    assert "s.cost = 28" in repriced(parts, sql)


def test_of_one_order_all_lines_lie_together(parts: Lake) -> None:
    """Another column bounds the table to a page, so that nothing is left to spare."""
    parts.create("o", {"pk": "int", "ok": "int"}, [(k, 1) for k in range(100)])
    spread = [DataFile(50_000, {"pk": n, "ok": n}, {"pk": n + 49, "ok": n + 49}) for n in (0, 50)]
    parts.size_of = lambda name: 2**31 if name == "o" else 2**20
    parts.files = lambda names: spread if names[-1] == "o" else None  # type: ignore[method-assign]
    asks_a_lot = "join s.o as c on c.pk = l.pk and c.ok = l.v"
    repriced(parts, PARTS.replace("join s.c on c.pk = l.pk", asks_a_lot).replace("c.cost", "1"))
    assert [asked for asked in parts.asked if "JOIN" in asked] == []


@pytest.mark.parametrize(
    ("tables", "asked"),
    [
        ("s.l left join (select * from s.p where name like '%7%') p on p.pk = l.pk", False),
        ("s.l left join s.p on p.pk = l.pk join s.p q on q.pk = l.pk and q.name like '%7%'", True),
        ("(select pk, v from s.l where v in (select pk from s.p)) l join s.p on p.pk = l.pk", True),
        ("(select pk, v * 2 as v from s.l) l join s.p on p.pk = l.pk and l.v < 9", False),
    ],
    ids=["of a right side", "of another table", "EXISTS", "of a change that is projected"],
)
def test_what_leaves_out_rows_of_a_change_is_told(parts: Lake, tables: str, asked: bool) -> None:
    sql = f"select p.name, sum(l.v * c.cost) as t from {tables} join s.c on c.pk = l.pk group by 1"
    repriced(parts, sql)
    assert ([sql for sql in parts.asked if "JOIN" in sql or "EXISTS" in sql] != []) is asked


@pytest.mark.parametrize(
    ("sql", "lines"),
    [
        (PARTS, 1),
        (PARTS.replace("where p.name like '%7%'", ""), 12),
        (PARTS.replace("where p.name like '%7%'", "where l.v < 9"), 12),
        (PARTS.replace("where p.name like '%7%'", "where c.cost > 9"), 12),
    ],
    ids=["few keys", "nothing asked", "of the lines themselves", "of the table itself"],
)
def test_where_it_cannot_spare_much_it_is_not_asked(parts: Lake, sql: str, lines: int) -> None:
    repriced(parts, sql, lines)
    assert [asked for asked in parts.asked if "JOIN" in asked] == []


def test_of_a_table_that_is_not_laid_out_by_them_it_is_not_asked(parts: Lake) -> None:
    spread = [DataFile(50_000, {"pk": 0}, {"pk": 99}) for _ in range(2)]
    parts.files = lambda names: spread  # type: ignore[method-assign]
    repriced(parts, PARTS)
    parts.files = lambda names: None  # type: ignore[method-assign]
    repriced(parts, PARTS.replace("group", "and p.pk < 90 group"))
    assert [asked for asked in parts.asked if "JOIN" in asked] == []


def test_many_keys_bound_nothing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed_keys, "_MOST_AHEAD", 3)
    assert not is_bounded(merged(lake, SALES), "l.sk")


def test_a_question_that_fails_bounds_nothing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = lake.texts

    def failing(sql: str, execution: Execution) -> list[list[str | None]]:
        if "JOIN" in sql:
            raise RuntimeError("no")
        return texts(sql, execution)

    monkeypatch.setattr(lake, "texts", failing)
    assert not is_bounded(merged(lake, SALES), "l.sk")


def test_the_keys_are_asked_in_the_states_that_the_join_reads(lake: Lake) -> None:
    """A supplier that moved into the nation in the same round has its lines there, too."""
    lake.run("m", SALES)
    lake.change("n", delete=[(2, "n2")], insert=[(2, "x")])
    lake.change("p", delete=[(7, 3)], insert=[(7, 2)])
    lake.change("l", insert=[(99, 7, 1000), (98, 1, 500)])
    for table in ("n", "p", "l"):
        counted(lake, table, 2)
    lake.run("m", SALES)
    lake.check("m")
    assert is_bounded(lake.executed[-1].sql, "l.sk")


def test_keys_that_are_all_null_by_construction_are_not_asked_about(lake: Lake) -> None:
    """A nation that is left alone has no supplier, and so no line."""
    sql = (
        "select n.name, p.sk, l.v from s.n full join s.p on p.nk = n.nk "
        "full join s.l on l.sk = p.sk"
    )
    lake.run("m", sql)
    lake.change("p", delete=[(7, 3)], insert=[(7, 2)])
    counted(lake, "p", 1)
    lake.run("m", sql)
    lake.check("m")
    assert "dangling rows" in lake.executed[-1].sql
    assert [sql for sql in lake.asked if "JOIN" in sql] == []


@pytest.mark.parametrize(
    ("join", "text"), [("join", "WHERE FALSE"), ("left join", "l.sk = p.sk AND FALSE")]
)
def test_where_no_key_is_found_nothing_is_read(lake: Lake, join: str, text: str) -> None:
    sql = f"select n.name, p.sk, l.v from s.n {join} s.p on p.nk = n.nk {join} s.l on l.sk = p.sk"
    lake.run("m", sql)
    lake.change("n", insert=[(8, "n8")])
    counted(lake, "n", 1)
    lake.run("m", sql)
    lake.check("m")
    assert text in " ".join(lake.executed[-1].sql.split())


@pytest.mark.parametrize(("equals", "nothing"), [("=", True), ("<=>", False)])
def test_keys_that_are_all_null_match_where_null_equals_null(
    lake: Lake, equals: str, nothing: bool
) -> None:
    sql = SALES.replace("l.sk = p.sk", f"l.sk {equals} p.sk")
    lake.change("p", insert=[(None, 8)])
    lake.run("m", sql)
    lake.change("n", insert=[(8, "n8")])
    counted(lake, "n", 1)
    lake.run("m", sql)
    lake.check("m")
    assert ("WHERE FALSE" in " ".join(lake.executed[-1].sql.split())) is nothing


def test_what_the_query_sees_is_asked_with_the_keys(lake: Lake) -> None:
    """In one query; a nation that it does not ask for is not followed."""
    merged(lake, SALES)
    (question,) = lake.asked
    assert "JOIN" in question and "seen" in question
    lake.asked.clear()
    sql = SALES.replace("group", "where n.name <> 'n4' group")
    lake.run("m2", sql)
    lake.change("n", delete=[(4, "n4")], insert=[(8, "n4")])
    counted(lake, "n", 1)
    assert lake.run("m2", sql).strategy is Strategy.NOOP
    lake.check("m2")
    assert len(lake.asked) == 1


@pytest.mark.parametrize(
    "rest",
    [
        "left join s.c on b.j = c.j left join s.d on b.j <=> d.j",
        "left join s.c on b.j = c.j left join s.d on c.j <=> d.j",
        "left anti join s.c on c.j = b.j left join s.d on b.j <=> d.j",
        "left join s.c on b.j = c.j left anti join s.d on d.j <=> b.j",
        "left join s.c on b.j = c.j left semi join s.d on d.j <=> b.j",
    ],
)
def test_keys_that_are_all_null_do_not_bound_a_join_where_null_equals_null(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, rest: str
) -> None:
    """It was taken for one without a match, as the join below it by the same key."""
    monkeypatch.setattr(Cost, "pays_to_ask", lambda *arguments: True)
    rows = {
        "a": [(1, 1, 1)],
        "b": [(1, None, 1), (2, None, 5)],
        "c": [(1, 1, 1), (2, 2, 2)],
        "d": [(1, None, 7), (2, 2, 2)],
    }
    for name, some in rows.items():
        lake.create(name, dict.fromkeys("kjv", "int"), some)
    shown = "d.v" if "left join s.d" in rest else "b.v"
    lake.run("m", f"select a.k, {shown} as v from s.a join s.b on a.k = b.k {rest}")
    lake.change("a", insert=[(2, 2, 2)])
    lake.run("m", lake.models["m"])
    lake.check("m")
