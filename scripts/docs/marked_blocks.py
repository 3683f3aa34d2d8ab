"""The parts of a page that scripts write.

A page marks such a part by a line ``<!-- kind: name -->`` and a line ``<!-- end -->``; the script
of this kind writes what stands between them. People write the rest, in the page itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable

BLOCK = re.compile(
    r"^<!-- (?P<kind>[a-z]+): (?P<name>[^\n]+) -->$.*?^<!-- end -->$", re.MULTILINE | re.DOTALL
)
MADE = "made"
"""The kind of a block that only one page has."""


def filled(page: str, text_of: Callable[[str], str], kind: str = MADE) -> str:
    """A page's text with its blocks of one kind written anew.

    Args:
        page: The page's text.
        text_of: The new text of a block, by its name.
        kind: Which blocks to write; those of other kinds stay as they are.
    """

    def block(found: re.Match[str]) -> str:
        if found["kind"] != kind:
            return found[0]
        return f"<!-- {kind}: {found['name']} -->\n\n{text_of(found['name'])}\n\n<!-- end -->"

    return BLOCK.sub(block, page)
