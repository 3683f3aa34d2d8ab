"""The planner's errors as dbt's."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from dbt_common.exceptions import CompilationError, DbtRuntimeError

from python_ivm.errors import InvalidModel, IvmError


@contextmanager
def as_dbt_errors(model: str | None) -> Generator[None, None, None]:
    """Turn the planner's errors into dbt's, to which dbt adds the model's file.

    Args:
        model: The model's name, unless dbt tells it anyway.
    """
    try:
        yield
    except IvmError as error:
        error.model = error.model or model
        dbt_error = CompilationError if isinstance(error, InvalidModel) else DbtRuntimeError
        raise dbt_error(str(error)) from error
