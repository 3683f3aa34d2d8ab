"""What a run did, as dbt's run_results.json tells it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from python_ivm.state.timings import FASTER


@dataclass(frozen=True)
class DbtRun:
    """A run.

    Attributes:
        at: When it ended, as dbt tells it.
        results: What it did to each node, by unique id: ``status``, ``strategy``, ``reason``,
            ``seconds``, ``message``, ``inserted``, ``updated``, ``deleted``, ``written``.
    """

    at: str
    results: Mapping[str, Mapping[str, Any]]


def read(file: Path) -> DbtRun:
    """Read what dbt wrote.

    Args:
        file: A run_results.json.

    Raises:
        ClickException: If it is none.
    """
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        results = {one["unique_id"]: _result(one) for one in told["results"]}
        return DbtRun(str(told["metadata"]["generated_at"]), results)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        told = f"{file} is no run_results.json that can be read: {error}"
        raise click.ClickException(told) from None


def _result(told: Mapping[str, Any]) -> dict[str, Any]:
    answer = told.get("adapter_response") or {}
    status = str(told["status"])
    broken = status in ("error", "fail")
    wrote_all = answer.get("strategy") == "full" or answer.get("reason") == FASTER
    return {
        "status": status,
        "strategy": "error" if broken else str(answer.get("strategy", "")),
        "reason": str(answer.get("reason", "")),
        "seconds": told.get("execution_time"),
        "message": str(told.get("message") or ""),
        "inserted": answer.get("rows_inserted"),
        "updated": answer.get("rows_updated"),
        "deleted": answer.get("rows_deleted"),
        "written": answer.get("rows_affected") if wrote_all else None,
    }
