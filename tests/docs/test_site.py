"""The documentation's site is built without a dead link."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.docs.site_links import DOCS, ROOT, site_link

REPOSITORY = "https://example.com/project"


def built(config: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(
        [*command, "--config-file", str(config), "--site-dir", str(site)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )


def test_the_site_is_built(tmp_path: Path) -> None:
    done = built(ROOT / "mkdocs.yml", tmp_path / "site")
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {page.relative_to(DOCS).with_suffix("") for page in DOCS.rglob("*.md")}
    for page in pages:
        folder = page.parent if page.name == "README" else page
        assert (tmp_path / "site" / folder / "index.html").exists(), page


@pytest.mark.parametrize("link", ["no_such_page.md", "quick-start.md#no-such-heading"])
def test_a_dead_link_fails_the_build(tmp_path: Path, link: str) -> None:
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    folder = tmp_path / "docs"
    folder.mkdir()
    hooks = tmp_path / "scripts" / "docs"
    hooks.mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "docs" / "site_links.py", hooks)
    shutil.copy(DOCS / "quick-start.md", folder)
    (folder / "README.md").write_text(f"# Start\n\n[there]({link})\n")
    done = built(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert done.returncode != 0
    assert link in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("link", "on_site"),
    [
        ("limits.md", "limits.md"),
        ("operators", "operators/README.md"),
        ("../CONTRIBUTING.md", f"{REPOSITORY}/blob/main/CONTRIBUTING.md"),
        (
            "../integration_tests/models/tpch",
            f"{REPOSITORY}/tree/main/integration_tests/models/tpch",
        ),
        ("../scripts/docs/examples.py", f"{REPOSITORY}/blob/main/scripts/docs/examples.py"),
        (
            "benchmarks/queries-sf1.json",
            f"{REPOSITORY}/blob/main/docs/benchmarks/queries-sf1.json",
        ),
        ("no_such_page.md", "no_such_page.md"),
        ("../../elsewhere.md", "../../elsewhere.md"),
    ],
)
def test_links_to_files_outside_of_the_pages_lead_to_the_repository(
    link: str, on_site: str
) -> None:
    assert site_link(link, DOCS, REPOSITORY) == on_site
