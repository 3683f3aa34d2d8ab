"""Values in statements, and the metastore's lock: what needs no Spark."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.exceptions import FailedToConnectError
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.connection import metastore
from dbt.adapters.sparkivm.connection.metastore import check_free, is_locked
from dbt.adapters.sparkivm.connection.session import bind, literal


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (12345678901234567890, "12345678901234567890"),
        (Decimal("1E+3"), "1000"),
        (Decimal("1.10"), "1.10"),
        (1.5, "'1.5'"),
        ("O'Neil", r"'O\'Neil'"),
        ("a\\b", r"'a\\b'"),
        (dt.date(2024, 2, 29), "'2024-02-29'"),
        (dt.datetime(2024, 2, 29, 1, 2, 3), "'2024-02-29 01:02:03'"),
    ],
)
def test_literals(value: Any, text: str) -> None:
    assert literal(value) == text


def test_a_value_with_a_placeholder_is_just_text() -> None:
    assert bind("insert into t values (%s, %s)", ["%s", 1]) == "insert into t values ('%s', 1)"


def test_a_doubled_percent_sign_is_one() -> None:
    assert bind("select %s like 'a%%'", ["a"]) == "select 'a' like 'a%'"


def test_too_few_values() -> None:
    with pytest.raises(DbtRuntimeError, match="2 bindings, given are 1"):
        bind("%s %s", [1])


HOLD = """
import fcntl, sys
file = open(sys.argv[1], "wb")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_metastore_that_another_process_holds(tmp_path: Path) -> None:
    url = f"jdbc:derby:;databaseName={tmp_path};create=true"
    lock = tmp_path / "dbex.lck"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(FailedToConnectError, match="Another process") as caught:
            check_free(url)
        assert "\n" not in caught.value.msg
        assert str(tmp_path) in caught.value.msg
        assert holder.stdin is not None
        holder.stdin.close()
    check_free(url)  # the file is still there, as after a crash


def test_other_metastores_are_not_looked_at() -> None:
    check_free("jdbc:postgresql://host/metastore")
    check_free("")


def test_a_metastore_on_a_full_disk_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hive waited for it for ever."""
    url = f"jdbc:derby:;databaseName={tmp_path / 'new' / 'metastore'};create=true"
    left = [100_000, 10_000_000]
    monkeypatch.setattr(metastore.shutil, "disk_usage", lambda _: SimpleNamespace(free=left.pop(0)))
    with pytest.raises(FailedToConnectError, match="The disk is full: 97 KB are left for the meta"):
        check_free(url)
    check_free(url)


def test_derbys_error_is_known() -> None:
    assert is_locked("... Caused by: ERROR XSDB6: Another instance of Derby may have already ...")
    assert not is_locked("something else")
