"""Bad input: the type of the error, where it is, and what to do."""

from __future__ import annotations

import pytest

from python_ivm.errors import InvalidModel, IvmError, Unsupported
from python_ivm.parse.parser import parse
from python_ivm.qualify.checks.determinism import check_deterministic
from python_ivm.refresh.strategy import plan_refresh
from tests.planner.lake import Lake


@pytest.fixture
def shop(lake: Lake) -> Lake:
    lake.create("x", {"i": "int", "v": "int"}, [(1, 1)])
    lake.create("y", {"i": "int", "Größe": "int"}, [(1, 1)])
    return lake


def error(lake: Lake, sql: str) -> IvmError:
    with pytest.raises(IvmError) as caught:
        plan_refresh(lake.request("m", sql), lake)
    assert lake.executed == []
    assert caught.value.model == "m"
    assert str(caught.value).startswith(f"[{caught.value.code}] model m")
    return caught.value


@pytest.mark.parametrize(
    ("sql", "line", "column", "message", "hint"),
    [
        ("select i\nfrm s.x", 2, None, "does not parse", "Correct the model's SQL"),
        ("select i from s.x where", 1, None, "does not parse", "Correct the model's SQL"),
        ("select i,\n  count(* from s.x", 2, None, "does not parse", "Correct the model's SQL"),
        (
            "select i,\n 'open from s.x",
            2,
            2,
            "what ' opens here is never closed",
            "Close the quote",
        ),
        ("select i from s.x /* open", None, None, "does not parse", "unclosed quote or comment"),
        ("", None, None, "0 statements", "exactly one SELECT"),
        ("select i from s.x; select v from s.x", None, None, "2 statements", "exactly one"),
        ("insert into s.x select 1, 2", None, None, "INSERT, not a query", "one SELECT"),
        ("select nope from s.x", 1, 8, "Column nope does not exist", "Check the spelling"),
        ("select i,\n  x.nope\nfrom s.x", 2, 5, "Column nope does not exist", "Check the"),
        ("select i from s.x where größe > 1", 1, 25, "Column größe does not", "Check the"),
        ("select i from s.x join s.y on x.i = y.i", 1, 8, "i is ambiguous", "Qualify"),
        ("select x.i from s.x, s.x", 1, 24, "Two relations in FROM are named x", "with AS"),
        ("select X.i from s.x join s.y as X on true", 1, None, "are named x", "another name"),
        ("select x.i from s.x q", 1, 10, "nothing in FROM is named x", "named by that alone"),
        ("select i from s.nope", 1, 15, "Table s.nope does not exist", "run the model"),
        ("select x.i\nfrom s.x\n  join s.`Nö pe` n on true", 3, 8, "s.Nö pe does not", "Check"),
        ("select i, v as I from s.x", 1, None, "Two output columns are named i", "AS"),
        ("select x.i, y.i from s.x join s.y on x.i = y.i", 1, None, "Two output columns", "AS"),
        ("select * from s.x join s.y on x.i = y.i", None, None, "named i", "another name"),
        ("select i, i from s.x union all select i, v from s.x", 1, None, "named i", "AS"),
        ("select i, v from s.x group by i", 1, 11, "v is neither grouped", "GROUP BY"),
        ("select i, count(*) c from s.x", 1, 8, "i is neither grouped", "GROUP BY"),
        ("select i from s.x where sum(v) > 1", 1, 25, "aggregate in WHERE", "HAVING"),
        ("select x.i from s.x join s.y on sum(v) = 1", 1, 33, "join condition", "HAVING"),
        ("select sum(count(*)) n from s.x", 1, 8, "inside an aggregate", "derived table"),
        ("select count(*) from s.x group by sum(v)", 1, 35, "aggregate in GROUP BY", "HAVING"),
        ("select i from s.x union all select i, v from s.x", 1, None, "1 and 2 columns", None),
        ("select i from s.x order by 5", None, None, "5", None),
        ("select x.i from s.x join s.y using (nope)", None, None, "nope", None),
        ("select * from S.`M`", 1, 15, "its columns are not known", "data_type"),
        ("select i from s.x\nunion all select k from s.m", 2, 25, "without them", "data_type"),
        ("select k from s.m__ivm_state", 1, 15, "reads itself", "{{ this }}"),
    ],
)
def test_a_wrong_model(
    shop: Lake, sql: str, line: int | None, column: int | None, message: str, hint: str | None
) -> None:
    found = error(shop, sql)
    assert isinstance(found, InvalidModel)
    assert message.lower() in found.message.lower()
    if line is not None:
        assert found.line == line
        assert f"line {line}, column {found.column}" in str(found)
    if column is not None:
        assert found.column == column
    if hint is not None:
        assert found.hint is not None and hint in found.hint


@pytest.mark.parametrize(
    ("sql", "line", "column", "operator"),
    [
        ("select i, rand() r from s.x", 1, 11, "rand()"),
        ("select i,\n uuid() u from s.x", 2, 2, "uuid()"),
        ("select i from s.x where v > random()", 1, 29, "rand()"),
        ("select i from s.x\nwhere current_time() > i", 2, None, "current_time()"),
        ("select i from s.x where cast('today' as date) > '2024-01-01'", 1, None, "today"),
        ("select count(*) c from s.x group by shuffle(array(i))", 1, 37, "shuffle()"),
        ("select i from s.x where\ncast(v as date) >= 'today'", 2, None, "today"),
        ("select i from s.x where try_reflect('java.util.UUID', 'randomUUID') = 'a'", 1, 25, None),
        ("select current_path() p from s.x", 1, 8, "current_path()"),
        ("select aes_encrypt(v, '0000111122223333') e from s.x", 1, 8, "aes_encrypt()"),
        ("select aes_encrypt(v, '0000111122223333', 'CBC') e from s.x", 1, 8, None),
        ("select _metadata.file_path p from s.x", 1, 18, "_metadata"),
        ("select i from s.x where x._metadata.file_size > 5", 1, 37, "_metadata"),
        ("select monotonically_increasing_id() m from s.x", 1, 8, None),
        ("select input_file_name() f from s.x", 1, 8, "input_file_name()"),
        ("select current_user() u, i from s.x", 1, 8, "current_user()"),
        ("select current_timezone() z from s.x", 1, 8, "current_timezone()"),
        ("select i from s.x tablesample (10 percent)", 1, None, "TABLESAMPLE"),
        ("with c as (select rand() r from s.x) select count(*) n from c", 1, 19, "rand()"),
        ("select i from (select i, unix_timestamp() u from s.x) q where u > i", 1, None, None),
    ],
)
def test_a_function_that_its_sources_do_not_decide(
    shop: Lake, sql: str, line: int, column: int | None, operator: str | None
) -> None:
    found = error(shop, sql)
    assert isinstance(found, Unsupported)
    assert found.line == line
    if column is not None:
        assert found.column == column
    if operator is not None:
        assert found.operator == operator
    assert found.hint is not None
    assert "materialized='table'" in found.hint or "current_timestamp()" in found.hint


@pytest.mark.parametrize(
    "sql",
    [
        "select to_date('2024-01-01') as d, i from s.x",
        "select i as `rand`, v as now from s.x",
        "select 'now()' as word, i from s.x -- rand()",
        "select date_add(date '2024-01-01', i) d from s.x",
        "select xxhash64(i) h from s.x",
        "select case when i > 1 then 'today' else 'later' end as day from s.x",
        "select i from (select i, if(i > 1, 'today', 'later') as w from s.x) q where w = 'today'",
        "select i from s.x where cast(v as string) in ('now', 'later')",
    ],
)
def test_must_not_fire_for_what_only_looks_so(shop: Lake, sql: str) -> None:
    assert plan_refresh(shop.request("m", sql), shop).statements


def test_after_an_error_the_last_good_view_stays_and_goes_on(shop: Lake) -> None:
    sql = "select i, count(*) n from s.x group by i"
    shop.run("m", sql)
    before = shop.view("m")
    shop.change("x", insert=[(2, 2)])
    for wrong in ("select i frm s.x", "select nope from s.x", "select i from s.nope"):
        with pytest.raises(InvalidModel):
            shop.run("m", wrong)
        assert shop.view("m") == before
    shop.refresh_and_check("m", sql)


def test_encryption_with_a_vector_of_its_own_or_none_is_deterministic() -> None:
    key = "'0000111122223333'"
    for arguments in (f"v, {key}, 'ECB'", f"v, {key}, 'GCM', 'DEFAULT', unhex('00')"):
        check_deterministic(parse(f"select aes_encrypt({arguments}) e from s.x"))


def test_a_column_may_be_named_like_the_one_of_files(lake: Lake) -> None:
    lake.create("z", {"i": "int", "_metadata": "string"}, [(1, "a")])
    assert plan_refresh(lake.request("m", "select _metadata from s.z"), lake).statements
