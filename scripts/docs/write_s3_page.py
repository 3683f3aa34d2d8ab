"""Writes the table of `docs/s3.md` from what an S3 endpoint was asked (`make docs`)."""

from __future__ import annotations

from scripts.docs import DOCS
from scripts.docs.marked_blocks import filled
from tests.s3.counted import recorded

PAGE = DOCS / "s3.md"
KINDS = ("LIST", "HEAD", "GET", "PUT", "DELETE")
RUNS = {
    "first build": "the first build",
    "a row": "a row of one source",
    "another row": "one more row",
    "nothing": "nothing changed",
}


def page(text: str) -> str:
    """The page's text with the counts of the last run."""
    return filled(text, {"requests": requests()}.__getitem__)


def requests() -> str:
    """What each run asked, as a table."""
    lines = [f"| sources | run | {' | '.join(KINDS)} | all |", "|---" * 8 + "|"]
    for sources, runs in sorted(recorded().items(), key=lambda item: int(item[0])):
        for run, told in RUNS.items():
            kinds = runs.get(run, {})
            numbers = [str(kinds.get(kind, 0)) for kind in KINDS]
            lines.append(f"| {sources} | {told} | {' | '.join(numbers)} | {sum(kinds.values())} |")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
