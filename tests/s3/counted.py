"""How often an object store was asked, kept in `requests.json`; docs/s3.md is written from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

FILE = Path(__file__).with_name("requests.json")

Counted = dict[str, dict[str, dict[str, int]]]
"""How often, by the number of sources, by what was run, by the kind of request."""


def recorded() -> Counted:
    """What the last run counted."""
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def record(sources: int, asked: Mapping[str, Mapping[str, int]]) -> None:
    """Keep what a run counted."""
    known = recorded()
    known[str(sources)] = {name: dict(kinds) for name, kinds in asked.items()}
    FILE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
