"""The project of many models: its layers read each other, and each model is maintained."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from benchmarks import many
from python_ivm.refresh.plan import Strategy
from tests.planner.lake import Lake

COLUMNS = dict.fromkeys(("k", "v", "w", "g"), "bigint")


def test_all_of_its_models_are_followed(tmp_path: Path) -> None:
    many.write(tmp_path / "p", models=60, sources=10)
    lake = Lake()
    for number in range(10):
        lake.create(f"s{number}", COLUMNS, [(i, i % 7, i * 3 % 5, i % 2) for i in range(9)])
    texts = {path.stem: path.read_text() for path in (tmp_path / "p" / "models").glob("m*.sql")}
    assert len(texts) == 60
    sql = {
        name: re.sub(r"\{\{ (?:source\('raw', |ref\()'(\w+)'\) \}\}", r"s.\1", text)
        for name, text in texts.items()
    }
    order = sorted(sql, key=lambda name: int(name[1:]))
    for name in order:
        lake.run(name, sql[name])
    lake.change("s1", insert=[(100, 4, 1, 1)])
    found = {name: lake.refresh_and_check(name, sql[name]).strategy for name in order}
    assert Strategy.FULL not in found.values() and Strategy.INCREMENTAL in found.values()
    assert sum("ref(" in text for text in texts.values()) == 24
    sources = yaml.safe_load((tmp_path / "p" / "models" / "sources.yml").read_text())
    assert len(sources["sources"][0]["tables"]) == 10
