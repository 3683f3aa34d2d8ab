"""Fills the examples of the pages with the SQL that the planner really emits (`make docs`).

A page marks a place by ``<!-- example: name -->`` and ``<!-- end -->``. Needs neither Spark nor
a database.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache

from scripts.docs import DOCS, ROOT, marked_blocks
from scripts.docs.examples import EXAMPLES
from scripts.docs.plan_sizes import growth, join_growth, plan_sizes

TABLES_OF_NUMBERS: dict[str, Callable[[], str]] = {
    "growth": growth,
    "join growth": join_growth,
    "plan sizes": cache(plan_sizes),
}


def filled(page: str) -> str:
    """A page's text with its examples written anew."""
    return marked_blocks.filled(page, example, kind="example")


def example(name: str) -> str:
    """What the pages show as the example of a name."""
    made = TABLES_OF_NUMBERS.get(name)
    return made() if made else EXAMPLES[name].text()


def main() -> int:
    """Write every page whose examples changed; with ``--check`` only name them."""
    stale = 0
    for path in sorted(DOCS.rglob("*.md")):
        text = path.read_text()
        new = filled(text)
        if new != text:
            stale += 1
            print(path.relative_to(ROOT))
            if "--check" not in sys.argv:
                path.write_text(new)
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
