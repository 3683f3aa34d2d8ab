"""Texts that Spark changes before it reads them, by the session's settings."""

from __future__ import annotations

import pytest

from python_ivm.errors import Unsupported
from python_ivm.qualify.checks.substitution import refuse_substitution
from tests.planner.lake import Lake

SWITCH = "spark.sql.variable.substitute"


@pytest.mark.parametrize(
    "sql",
    [
        "select * from s.x where region = '${spark.app.region}'",
        "select ${env:USER} as who from s.x",
        'select "${system:user.name}" from s.x',
        "select * from s.${hivevar:t}",
    ],
)
def test_a_setting_in_a_text_is_refused(sql: str) -> None:
    with pytest.raises(Unsupported, match="Spark puts a value for"):
        refuse_substitution(sql, lambda key: None if key == SWITCH else "EU")
    refuse_substitution(sql, lambda key: "false" if key == SWITCH else "EU")


@pytest.mark.parametrize(
    "sql",
    [
        "select '$' || '{name}', '${}', '$ {x}' from s.x",
        "select 1 -- ${spark.app.region}\nfrom s.x /* ${spark.app.region} */",
    ],
)
def test_other_braces_are_texts(sql: str) -> None:
    refuse_substitution(sql, lambda key: None if key == SWITCH else "EU")


def test_what_no_setting_is_named_like_is_a_text() -> None:
    sql = "select regexp_replace(a, '(?<y>[0-9]+)-', '${y}/'), concat('${', a, '}') from s.x"
    refuse_substitution(sql, lambda key: None)


def test_the_error_tells_where_and_how_else(lake: Lake) -> None:
    lake.create("x", {"v": "int"}, [(1,)])
    lake.session_settings["spark.app.region"] = "EU"
    with pytest.raises(Unsupported) as refused:
        lake.run("m", "select v\nfrom s.x where '${spark.app.region}' = 'EU'")
    assert (refused.value.line, refused.value.column) == (2, 17)
    assert "'$' || '{spark.app.region}'" in str(refused.value)
