"""The page as one HTML file: data, styles, code and graph library are all in it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Any

from dbt_common.events.functions import env_secrets, scrub_secrets
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dbt.adapters.sparkivm.__version__ import version

_PACKAGE = "dbt.adapters.sparkivm.operations.report"
_LIBRARIES = ("vendor/cytoscape.min.js", "vendor/cytoscape-dagre.min.js")
_CODE = ("web/words.js", "web/drawing.js", "web/details.js", "web/page.js")


def html(title: str, contents: Mapping[str, Any], secrets: Sequence[str] = ()) -> str:
    """The page.

    The browser runs no other code and loads nothing: the page's policy says so, with the hash of
    each script. Secrets are starred out, and so are the values of dbt's secret environment
    variables (``DBT_ENV_SECRET…``).

    Args:
        title: What the page is about.
        contents: What it shows, as `contents.contents` collects it.
        secrets: Texts that it must not show.
    """
    hidden = [secret for secret in (*secrets, *env_secrets()) if secret]
    scripts = [_file(name) for name in (*_LIBRARIES, *_CODE)]
    environment = Environment(
        loader=PackageLoader(_PACKAGE, "web"), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("page.html.j2").render(
        title=without(title, hidden),
        contents=without(contents, hidden),
        scripts=[Markup(script) for script in scripts],
        style=Markup(_file("web/page.css")),
        hashes=[_hash(script) for script in scripts],
        version=version,
    )


def without(shown: Any, secrets: Sequence[str]) -> Any:
    """The same, with each secret in its texts starred out."""
    if isinstance(shown, str):
        return scrub_secrets(shown, list(secrets))
    if isinstance(shown, Mapping):
        return {without(key, secrets): without(value, secrets) for key, value in shown.items()}
    if isinstance(shown, (list, tuple)):
        return [without(value, secrets) for value in shown]
    return shown


def _file(name: str) -> str:
    return files(_PACKAGE).joinpath(name).read_text(encoding="utf-8").strip()


def _hash(script: str) -> str:
    return f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}"
