"""Leads links of the site's pages to files outside of `docs/` to the repository (a hook of MkDocs).

In the repository a page may link to any file. The site has the pages of `docs/` only.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_LINK = re.compile(r"(?<=\]\()(?!\w+:)(?P<path>[^)#\s]+)(?=[)#])")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """A page's text with its links as the site needs them (called by MkDocs)."""
    folder = DOCS / Path(page.file.src_uri).parent
    repository = str(config.repo_url).rstrip("/")
    return _LINK.sub(lambda link: site_link(link["path"], folder, repository), markdown)


def site_link(link: str, folder: Path, repository: str) -> str:
    """What a link of a page in `folder` is on the site.

    Args:
        link: as the page has it, without an anchor.
        folder: where the page lies.
        repository: the URL of the project.

    Returns:
        A folder's own page, for a folder of `docs/`; the file's address in the repository, for a
        file outside of `docs/` or a script; else `link`. What does not exist stays as it is, and
        MkDocs tells of it.
    """
    target = Path(os.path.normpath(folder / link))
    if not target.exists() or not target.is_relative_to(ROOT):
        return link
    if target.is_relative_to(DOCS):
        if (target / "README.md").exists():
            return f"{link.rstrip('/')}/README.md"
        if target.is_file() and target.suffix not in (".py", ".json"):
            return link
    kind = "tree" if target.is_dir() else "blob"
    return f"{repository}/{kind}/main/{target.relative_to(ROOT).as_posix()}"
