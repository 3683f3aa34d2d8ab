"""Sums over the models of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from python_ivm.operate.preview import Preview


def totals(found: Sequence[Preview]) -> dict[str, Any]:
    """What a run does in sum: models by strategy, seconds as far as they are known."""
    busy = [p for p in found if p.strategy != "noop"]
    known = [p.seconds for p in busy if p.seconds is not None]
    rebuilds = [p.rebuild_seconds for p in found if p.rebuild_seconds is not None]
    return {
        "models": len(found),
        "strategies": dict(sorted(Counter(p.strategy for p in found).items())),
        "fallbacks": sum(p.fallback for p in found),
        "seconds": sum(known) if known or not busy else None,
        "without_estimate": len(busy) - len(known),
        "rebuild_seconds": sum(rebuilds) if rebuilds else None,
    }
