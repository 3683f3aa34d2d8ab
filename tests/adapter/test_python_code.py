"""The code of Python models: line numbers, errors, packages; what needs no Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError
from pyspark.errors import AnalysisException, PySparkException

from dbt.adapters.sparkivm.python_models.code import ModelCode
from dbt.adapters.sparkivm.python_models.job import SessionJob, Unsupported
from dbt.adapters.sparkivm.python_models.result import as_frame

OWN = """from __future__ import annotations


def divide(x: int):
    return 1 / x


def model(dbt, session):
    return divide(0)"""
DBTS = "\n\n\ndef ref(*args):\n    return {}[args]\n"


def code(root: Path, blank_lines: int = 0, package: str = "") -> ModelCode:
    folder = root / package / "models"
    folder.mkdir(parents=True)
    (folder / "m.py").write_text("\n" * blank_lines + OWN + "\n\n")
    name = package.rsplit("/", 1)[-1]
    model = {"raw_code": OWN, "original_file_path": "models/m.py", "package_name": name}
    return ModelCode.of(model, f"\n{OWN}{DBTS}", root)


def raised(made: ModelCode, call: str = "model") -> Exception:
    names: dict[str, Any] = {}
    exec(made.compiled(), names)
    with pytest.raises(Exception) as caught:
        names[call](None, None)
    return caught.value


@pytest.mark.parametrize(("blank_lines", "line"), [(0, 5), (4, 9)])
def test_an_error_names_file_and_line_although_dbt_strips_blank_lines(
    tmp_path: Path, blank_lines: int, line: int
) -> None:
    made = code(tmp_path, blank_lines)
    told = made.error(raised(made))
    assert not isinstance(told, DbtDatabaseError)
    assert told.msg == (
        "ZeroDivisionError: division by zero\n"
        f"  in model, models/m.py line {line + 4}: return divide(0)\n"
        f"  in divide, models/m.py line {line}: return 1 / x"
    )


def test_the_model_of_a_package_is_found(tmp_path: Path) -> None:
    made = code(tmp_path, 2, "dbt_packages/tools")
    assert made.file == tmp_path / "dbt_packages/tools/models/m.py"
    assert "models/m.py line 7: return 1 / x" in made.error(raised(made)).msg


def test_an_error_in_dbts_part_names_no_line_of_the_model(tmp_path: Path) -> None:
    made = code(tmp_path)
    assert made.error(raised(made, "ref")).msg == "KeyError: (None, None)"


def test_an_error_that_spark_finds_later_is_of_what_the_model_returns(tmp_path: Path) -> None:
    made = code(tmp_path)
    told = made.error(AnalysisException(message="[TABLE_OR_VIEW_NOT_FOUND] nope"))
    assert isinstance(told, DbtDatabaseError)
    assert "[TABLE_OR_VIEW_NOT_FOUND] nope" in told.msg
    assert "in what models/m.py returns" in told.msg


def test_of_a_workers_trace_the_models_lines_stay(tmp_path: Path) -> None:
    made = code(tmp_path)
    trace = (
        "An exception was thrown from the Python worker:\n"
        "Traceback (most recent call last):\n"
        '  File "/venv/lib/pyspark/python/lib/pyspark.zip/pyspark/worker.py", line 3602, in main\n'
        "    process()\n"
        "    ~~~~~~~^^\n"
        f'  File "{made.file}", line 5, in divide\n'
        "    return 1 / x\n"
        "ZeroDivisionError: division by zero"
    )
    told = made.error(PySparkException(message=trace)).msg
    assert "worker.py" not in told and "process()" not in told
    assert 'File "models/m.py", line 5, in divide\n    return 1 / x' in told


def test_an_error_of_ours_stays_as_it_is(tmp_path: Path) -> None:
    error = DbtRuntimeError("no DataFrame")
    assert code(tmp_path).error(error) is error


def job(*packages: str) -> None:
    SessionJob(object(), None, {"config": {"packages": list(packages)}})  # type: ignore[arg-type]


def test_packages_that_are_there() -> None:
    job("pandas", "numpy>=1", "dbt_core")


@pytest.mark.parametrize(
    ("package", "told"),
    [
        ("no-such-package>1", "no-such-package>1, which is not installed"),
        ("pyspark<1", "pyspark<1, which is installed as"),
        ("what is this", "Config packages has 'what is this'"),
    ],
)
def test_packages_that_are_not_there(package: str, told: str) -> None:
    with pytest.raises(DbtRuntimeError, match=told):
        job(package)


@pytest.mark.parametrize(
    ("returned", "told"), [(None, "returned nothing"), ([1], "returned a list")]
)
def test_a_result_that_is_no_frame(returned: Any, told: str) -> None:
    with pytest.raises(DbtRuntimeError, match=told):
        as_frame(None, returned)  # type: ignore[arg-type]


def test_a_thrift_server_takes_sql_only() -> None:
    class Credentials:
        method = "thrift"

    with pytest.raises(DbtRuntimeError, match="method: session or connect"):
        Unsupported({}, Credentials())
