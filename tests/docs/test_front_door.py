"""README, package and the files around them agree."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
import yaml

from benchmarks.ratios_page import Pair, is_slower, pairs
from dbt.adapters.sparkivm.__version__ import version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
REPOSITORY = PROJECT["project"]["urls"]["Source"]
PAGES = sorted(
    page
    for page in (ROOT / "docs").rglob("*.md")
    if not {"decisions", "benchmarks"} & set(page.relative_to(ROOT / "docs").parts[:-1])
)


def test_the_readme_is_for_one_minute() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_one_version_is_told_everywhere() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == version
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert newest is not None
    assert newest[1] == version


def test_one_repository_is_told_everywhere() -> None:
    hook = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    told = [each["replacement"] for each in hook["substitutions"]]
    site = re.search(r"^repo_url: (\S+)", (ROOT / "mkdocs.yml").read_text(), re.M)
    assert site is not None
    assert site[1] == REPOSITORY
    assert f"]({REPOSITORY}/blob/main/" in told[1]
    assert REPOSITORY.removeprefix("https://github.com") in told[0]


def test_the_index_gets_a_readme_without_relative_links() -> None:
    text = (ROOT / "README.md").read_text()
    hook = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    for each in hook["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 10
    assert all(link.startswith("https://") for link in links)


def test_the_base_install_has_no_spark() -> None:
    base = " ".join(PROJECT["project"]["dependencies"])
    assert "pyspark" not in base and "delta" not in base
    extras = PROJECT["project"]["optional-dependencies"]
    assert {"session", "connect", "thrift", "http", "odbc"} <= extras.keys()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_begins_with_what_it_is_about(page: Path) -> None:
    lines = page.read_text().splitlines()
    assert lines[0].startswith("# ")
    assert lines[1] == ""
    assert re.match(r"[\w`*]", lines[2]), lines[2]


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda p: p.name)
def test_forms_and_workflows_are_yaml(path: Path) -> None:
    assert yaml.safe_load(path.read_text())


def test_the_workflow_runs_targets_of_the_makefile() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    targets = [step["run"].removeprefix("make ").split()[0] for step in steps if "run" in step]
    assert set(targets) == {"check", "test", "test-matrix", "docs-site", "dist"}
    makefile = (ROOT / "Makefile").read_text()
    assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets)


def _measured(scale: str) -> list[Pair]:
    found = json.loads((ROOT / f"docs/benchmarks/ratios-sf{scale}.json").read_text())
    return pairs(found["samples"])


def test_the_readme_has_the_figures_of_the_ratios() -> None:
    readme = " ".join((ROOT / "README.md").read_text().split())
    large, one = _measured("10"), _measured("1")
    no_slower, lose = sum(p.times <= 1 for p in large), sum(p.loses for p in large)
    assert f"{no_slower} of {len(large)} refreshes are no slower" in readme
    assert f"and {lose} are notably slower" in readme
    order = [p for p in large if not p.ratio]
    assert round(sum(p.refresh for p in order) / sum(p.table for p in order), 1) == 0.1
    assert f"takes {min(p.table for p in one):.1f} to {max(p.table for p in one):.0f} s" in readme
    slower = sum(p.times > 1.1 for p in one)
    most = max(p.times for p in one)
    assert f"Of {len(one)}, {slower} take more than 1.1 times" in readme
    assert f"at most {most:.1f} times" in readme
    assert f"For {sum(p.loses for p in one)}, a seventh" in readme
    forced = [p for p in one if p.loses and p.forced is not None]
    noise = sum(not is_slower(p.forced, p.table) for p in forced if p.forced is not None)
    assert "measured twice about half are noise" in readme
    assert 0.4 < noise / len(forced) < 0.6
