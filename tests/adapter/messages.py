"""What a user should and should not see of an error of Spark's."""

from __future__ import annotations

import pytest

from tests.helpers.dbt_project import DbtResult


def assert_shown_without_a_trace(
    result: DbtResult, model: str, capfd: pytest.CaptureFixture[str]
) -> str:
    """Check that a model's error is Spark's message, and the Java trace in the debug log alone.

    Returns:
        The message.
    """
    message = result.message(model)
    assert f"Database Error in model {model} (models/{model}.sql)" in message
    assert "Project [" not in message
    printed = capfd.readouterr()
    for text in (message, result.log, printed.out, printed.err):
        assert "at org.apache" not in text
        assert "Unhandled error" not in text
    assert "at org.apache" in result.debug_log
    return message
