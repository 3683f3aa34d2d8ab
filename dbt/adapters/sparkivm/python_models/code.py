"""A Python model's code, such that its errors name the model's file and line."""

from __future__ import annotations

import ast
import re
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.diagnostics import errors

# In a trace of Spark's Python workers: a frame of PySpark's own, with its lines of code.
_PYSPARKS_FRAME = re.compile(r'  File "[^"]*[/\\]pyspark[^"]*", line .*\n(?:    .*\n)*')

_PACKAGES = "dbt_packages"
"""Where dbt installs packages, unless the project says otherwise."""


@dataclass(frozen=True)
class ModelCode:
    """The code that dbt gives to be run for a Python model.

    Attributes:
        text: The model's own code, and dbt's.
        own: The model's own, as dbt keeps it: without blank lines at its ends.
        path: The model's file, as dbt names it.
        file: Where it is.
    """

    text: str
    own: str
    path: str
    file: Path

    @staticmethod
    def of(model: Mapping[str, Any], text: str, root: Path) -> ModelCode:
        """The code of a node.

        Args:
            model: The node, as dbt gives it to Jinja.
            text: What is to be run.
            root: The project's folder.
        """
        own, path = str(model["raw_code"]), str(model["original_file_path"])
        places = (root / path, root / _PACKAGES / str(model["package_name"]) / path)
        file = next((place for place in places if own in _content(place)), places[0])
        return ModelCode(text, own, path, file)

    def compiled(self) -> CodeType:
        """The code, of which the model's own has the line numbers of its file."""
        tree = ast.parse(self.text, str(self.file))
        ast.increment_lineno(tree, self._first_line() - 1 - self._lines_before())
        return compile(tree, str(self.file), "exec", dont_inherit=True)

    def error(self, error: Exception) -> DbtRuntimeError:
        """What dbt shows of an error that was raised while the code ran."""
        told = errors.as_dbt_error(error)
        if told is error:
            return told
        places = self._places(error)
        if not errors.is_sparks(error):
            told = DbtRuntimeError("".join(traceback.format_exception_only(error)).strip())
        elif not places:
            places = [f"  in what {self.path} returns, which Spark computes as it is written"]
        told.msg = self._shortened("\n".join([told.msg, *places]))
        return told

    def _first_line(self) -> int:
        """The line of the file in which the model's own code begins."""
        content = _content(self.file)
        return content[: max(content.find(self.own), 0)].count("\n") + 1

    def _lines_before(self) -> int:
        return self.text[: max(self.text.find(self.own), 0)].count("\n")

    def _places(self, error: Exception) -> list[str]:
        """Where in the model's own code an error came from, the innermost place last."""
        first = self._first_line()
        last = first + self.own.count("\n")
        return [
            f"  in {frame.name}, {self.path} line {frame.lineno}: {frame.line}"
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == str(self.file)
            and first <= (frame.lineno or 0) <= last
            # Of a function that ran in a worker, Spark's message has told.
            and f"line {frame.lineno}, in {frame.name}" not in str(error)
        ]

    def _shortened(self, text: str) -> str:
        """A message with the file as the project names it, and without PySpark's own frames."""
        return _PYSPARKS_FRAME.sub("", text).replace(str(self.file), self.path)


def _content(file: Path) -> str:
    """A file's text; nothing if it is not there."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
