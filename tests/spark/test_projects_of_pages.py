"""The projects that pages of the documentation show do what the pages say, on a real Spark."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from scripts.docs.snippets import commands, snippets, write_project
from tests.helpers.dbt_project import DbtProject

DOCS = Path(__file__).parents[2] / "docs"


def told(project: DbtProject, page: str) -> str:
    """Do what a page says, in a project of the tests' own profile, and give what dbt logs."""
    profile = (project.root / "profiles.yml").read_text()
    own = (project.root / "dbt_project.yml").read_text()
    write_project(DOCS / page, project.root)
    project.write({"profiles.yml": profile, "dbt_project.yml": own})
    logs = []
    for command in commands(DOCS / page):
        if command.startswith(("pip ", "mkdir ", "cd ")):
            continue
        if command in ("dbt build", "dbt run"):
            result = project.dbt(command.split()[1])
            assert result.success, result.log
            logs.append(result.log)
        elif command.startswith(("sed ", "echo ")):
            subprocess.run(["bash", "-c", command], cwd=project.root, check=True)
    return "\n".join(logs)


def shown(page: str) -> list[str]:
    """The strategies and numbers of the models' lines that a page shows."""
    texts = [s.text for s in snippets(DOCS / page) if s.language == "text"]
    found = [re.findall(r"\[((?:full|incremental|noop)\b.*?)(?: in [\d.]+s)?\]", t) for t in texts]
    return [each for lines in found for each in lines]


def test_the_quick_start(project: DbtProject) -> None:
    log = told(project, "quick-start.md")
    lines = shown("quick-start.md")
    assert len(lines) == 3
    for line in lines:
        assert line in log, line
    assert log.count("PASS ivm_consistent_revenue_") == 3
    rows = {row["country"]: (row["orders"], row["revenue"]) for row in project.sql("table revenue")}
    assert rows == {"France": (2, 35), "Kenya": (1, 30), "Peru": (1, 60), None: (1, 5)}


@pytest.mark.thorough
def test_a_model_is_switched_and_switched_back(project: DbtProject) -> None:
    write_project(DOCS / "quick-start.md", project.root / "seeds_only")
    (project.root / "seeds_only" / "seeds").rename(project.root / "seeds")
    stock, ours = (s.text for s in snippets(DOCS / "switch.md") if s.title == "models/revenue.sql")

    def states() -> list[str]:
        return [r["tableName"] for r in project.sql("show tables") if "__ivm_" in r["tableName"]]

    def revenue() -> list[tuple[object, ...]]:
        return sorted(tuple(row) for row in project.sql("table revenue"))

    project.models(revenue=stock)
    assert project.dbt("build").success
    before = revenue()
    assert before == [("France", 2, 35), ("Kenya", 1, 40)]

    project.models(revenue=ours)
    switched = project.dbt("build", "--select", "+revenue")
    assert switched.success, switched.log
    assert switched.response("revenue")["reason"] == "FIRST_BUILD"
    assert revenue() == before
    assert states() == ["revenue__ivm_state"]
    project.sql("delete from orders where order_id = 103")
    assert project.run("--select", "revenue").response("revenue")["strategy"] == "incremental"
    assert revenue() == [("France", 2, 35)]

    project.models(revenue=stock)
    project.run("--select", "revenue", "--full-refresh")
    assert revenue() == [("France", 2, 35)]
    assert states() == []
    project.run("--select", "revenue")
    assert revenue() == [("France", 2, 35)]
