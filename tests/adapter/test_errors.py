"""What remains of Spark's error messages."""

from __future__ import annotations

import pytest
from dbt.adapters.exceptions import FailedToConnectError
from dbt_common.exceptions import DbtDatabaseError

from dbt.adapters.sparkivm.diagnostics.errors import (
    advised,
    as_dbt_error,
    is_hopeless,
    message_of,
    render,
    trace_of,
)


def test_the_plan_goes_and_the_position_stays() -> None:
    message = "[UNRESOLVED_COLUMN] `x` ... SQLSTATE: 42703; line 1 pos 7;\n'Project ['x]\n+- Scan\n"
    assert render(message) == "[UNRESOLVED_COLUMN] `x` ... SQLSTATE: 42703; line 1 pos 7"


def test_a_plan_without_position_goes_too() -> None:
    assert render("[A] b. SQLSTATE: 1;\nProject [x#1]\n+- Scan") == "[A] b. SQLSTATE: 1"


def test_a_long_statement_is_cut_to_the_lines_around_the_position() -> None:
    sql = [f"line {n}" for n in range(1, 9)]
    sql.insert(5, "---^^^")
    message = "[PARSE_SYNTAX_ERROR] near. (line 5, pos 3)\n\n== SQL ==\n" + "\n".join(sql)
    assert render(message).splitlines()[3:] == [
        *("...", "line 4", "line 5", "---^^^", "line 6", "..."),
    ]


def test_a_short_statement_is_shown_whole_even_if_it_looks_like_a_plan() -> None:
    message = "[E] near. (line 2, pos 0)\n\n== SQL ==\nSELECT 1;\nSELECT 2\n^^^"
    assert render(message) == message


def test_javas_stack_goes() -> None:
    message = (
        "Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent "
        "failure: Lost task 0.0 in stage 1.0 (TID 1) (localhost executor driver): "
        "java.lang.IllegalStateException: the cause\n"
        "\tat org.apache.spark.A.b(A.scala:1)\n"
        "\tat java.base/java.lang.Thread.run(Thread.java:840)\n"
        "\t... 3 more\n\n"
        "Driver stacktrace:"
    )
    assert render(message) == "the cause"


def test_what_javas_close_failed_with_as_well_goes() -> None:
    message = (
        "org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 2.0 "
        "failed 1 times, most recent failure: Lost task 1.0 in stage 2.0 (TID 7) (localhost "
        "executor driver): java.io.IOException: the cause\n"
        "\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)\n"
        "\tSuppressed: java.io.IOException: the cause\n"
        "\t\t... 13 more\n"
        "Driver stacktrace:"
    )
    assert render(message) == "the cause"


def test_a_users_own_text_with_at_stays() -> None:
    assert (
        render("[USER_RAISED_EXCEPTION] boo\n at here") == "[USER_RAISED_EXCEPTION] boo\n at here"
    )


def test_any_error_becomes_one_of_the_database() -> None:
    error = as_dbt_error(ValueError("100% wrong"))
    assert isinstance(error, DbtDatabaseError)
    assert error.msg == "100% wrong"


@pytest.mark.parametrize("error", [DbtDatabaseError("x"), FailedToConnectError("y")])
def test_dbts_own_errors_stay(error: DbtDatabaseError) -> None:
    assert as_dbt_error(error) is error


@pytest.mark.parametrize(
    "name", ["a.b.SomeException: ", "(a.b.SomeException) ", "a.FSError: java.io.IOException: "]
)
def test_the_class_of_an_error_goes(name: str) -> None:
    assert render(f"{name}[CODE] what happened") == "[CODE] what happened"


def test_an_error_of_spark_connect_keeps_its_trace_apart() -> None:
    from pyspark.errors.exceptions.connect import SparkConnectGrpcException

    error = SparkConnectGrpcException(
        "[CODE] what", server_stacktrace="x\n\tat y", display_server_stacktrace=True
    )
    assert message_of(error) == "[CODE] what"
    assert trace_of(error) == "x\n\tat y"


def test_what_failed_in_a_writing_task_is_shown() -> None:
    error = ValueError("[TASK_WRITE_FAILED] Task failed while writing rows to x. SQLSTATE: 58030")
    error._stackTrace = (  # type: ignore[attr-defined]
        "org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows\n"
        "\tat org.apache.spark.A.b(A.scala:1)\n"
        "Caused by: org.apache.spark.SparkException: in between\n"
        "\tat org.apache.spark.A.b(A.scala:1)\n"
        "\t... 3 more\n"
        "Caused by: org.apache.spark.SparkArithmeticException: [DIVIDE_BY_ZERO] Division by zero.\n"
        "== SQL (line 1, position 8) ==\n"
        "select 1 / id\n"
        "       ^^^^^^\n"
        "\tat org.apache.spark.C.d(C.scala:1)\n"
        "\t... 9 more\n"
    )
    assert as_dbt_error(error).msg == (
        "[TASK_WRITE_FAILED] Task failed while writing rows to x. SQLSTATE: 58030\n"
        "[DIVIDE_BY_ZERO] Division by zero.\n"
        "== SQL (line 1, position 8) ==\n"
        "select 1 / id\n"
        "       ^^^^^^"
    )


FULL = "No space left on device"
ADVICE = "The disk is full ({}): make room for Spark's tables, or for its temporary files "


def test_a_full_disk_is_told_in_front() -> None:
    told = as_dbt_error(ValueError(f"a.b.FSError: java.io.IOException: {FULL}")).msg
    assert told.startswith(ADVICE.format(FULL))
    assert told.endswith(f"\n{FULL}")
    assert advised(told) == told
    assert advised("[CODE] what") == "[CODE] what"


def test_a_full_disk_that_only_the_trace_tells_of() -> None:
    error = ValueError("HiveException: unable to alter table")
    derby = "please check if the disk is full, or if a file system limit has been exceeded"
    error._stackTrace = f"HiveException: ...\nCaused by: ERROR XSDG1: {derby}\n"  # type: ignore[attr-defined]
    assert as_dbt_error(error).msg.startswith(ADVICE.format("check if the disk is full"))


def test_why_a_file_cannot_be_read_is_shown() -> None:
    error = ValueError("[TASK_WRITE_FAILED] Task failed while writing rows to x. SQLSTATE: 58030")
    error._stackTrace = (  # type: ignore[attr-defined]
        "Caused by: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error "
        "while reading file file:/r/a.parquet.  SQLSTATE: KD001\n"
        "\tat org.apache.spark.A.b(A.scala:1)\n"
        "Caused by: java.lang.RuntimeException: file:/r/a.parquet is not a Parquet file\n"
        "\tat org.apache.spark.A.b(A.scala:1)\n"
    )
    assert as_dbt_error(error).msg.splitlines()[1:] == [
        "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:/r/a.parquet.  "
        "SQLSTATE: KD001",
        "file:/r/a.parquet is not a Parquet file",
    ]


def test_a_spark_that_is_gone() -> None:
    import grpc
    from py4j.protocol import Py4JNetworkError

    class Unavailable(grpc.RpcError):
        def code(self) -> grpc.StatusCode:
            return grpc.StatusCode.UNAVAILABLE

    for error in (Unavailable(), ConnectionRefusedError(111, "refused"), Py4JNetworkError("empty")):
        assert as_dbt_error(error).msg.startswith("Spark does not answer any more: its process")


@pytest.mark.parametrize(
    "told",
    [
        "PERMISSION_DENIED: User does not have SELECT on Table 'a'.",
        "[INSUFFICIENT_PERMISSIONS] Insufficient privileges: no. SQLSTATE: 42501",
        'Permission denied: user=dbt, access=WRITE, inode="/warehouse"',
        "s3a://b/t: getFileStatus: AccessDenied",
    ],
)
def test_a_missing_privilege_is_explained(told: str) -> None:
    shown = advised(told)
    assert shown.startswith(told) and "grant what is missing, and run again" in shown
    assert advised(shown) == shown
    assert is_hopeless(told)


def test_other_errors_get_no_advice() -> None:
    assert advised("[DIVIDE_BY_ZERO] no. SQLSTATE: 22012") == "[DIVIDE_BY_ZERO] no. SQLSTATE: 22012"
    assert not is_hopeless("[DIVIDE_BY_ZERO] no. SQLSTATE: 22012")


def test_a_lack_of_memory_keeps_its_name() -> None:
    told = (
        "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 "
        "failed 1 times, most recent failure: Lost task 0.0 in stage 1.0 (TID 1) (host executor "
        "0): java.lang.OutOfMemoryError: Java heap space\n\tat java.base/x.Y.z(Y.java:1)"
    )
    assert render(told) == "java.lang.OutOfMemoryError: Java heap space"
