"""Writes what the pages show of code and tests (`make docs`), and reads the pages' code blocks."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
