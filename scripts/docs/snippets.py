"""The code blocks of the documentation's pages, for the tests that run them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```\s*$",
    re.MULTILINE | re.DOTALL,
)
_TITLE = re.compile(r'title="([^"]+)"')


@dataclass(frozen=True)
class Snippet:
    """A code block.

    Attributes:
        page: its file.
        line: where it begins.
        language: as its fence names it; empty for the picture of a text.
        title: the file that it is, if its fence says so.
        text: its lines, without the indent of the fence.
    """

    page: Path
    line: int
    language: str
    title: str | None
    text: str

    def __str__(self) -> str:
        """Page and line."""
        return f"{self.page.name}:{self.line}"


def snippets(page: Path) -> Iterator[Snippet]:
    """The code blocks of a page, in their order."""
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        info = match["info"].strip()
        title = _TITLE.search(info)
        yield Snippet(
            page,
            text.count("\n", 0, match.start()) + 1,
            info.split()[0] if info else "",
            title[1] if title else None,
            textwrap.dedent(match["text"]),
        )


def write_project(page: Path, folder: Path) -> None:
    """Write the files that a page shows into a folder."""
    for snippet in snippets(page):
        if snippet.title is not None:
            file = folder / snippet.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(snippet.text, encoding="utf-8")


def commands(page: Path) -> list[str]:
    """The shell commands of a page, in their order, without comments."""
    lines = [
        line.partition(" # ")[0].strip()
        for snippet in snippets(page)
        if snippet.language == "console"
        for line in snippet.text.replace("\\\n", " ").splitlines()
    ]
    return [line for line in lines if line and not line.startswith("#")]
