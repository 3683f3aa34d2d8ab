"""Every code block of the pages is checked: SQL is planned, YAML read, commands looked up.

Blocks that scripts write are checked elsewhere (`test_pages.py`), and so is the worked example
of a new operator (`test_new_operator.py`). The projects of the quick start and of the switch are
run in `tests/spark/test_projects_of_pages.py`.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import duckdb
import jinja2
import pytest
import sqlglot
import yaml
from click.testing import CliRunner
from dbt.cli.main import cli as dbt
from sqlglot import exp

from dbt.adapters.sparkivm import SparkIvmCredentials
from dbt.adapters.sparkivm.cli import main as dbt_sparkivm
from dbt.adapters.sparkivm.operations.history_query import query
from python_ivm.explain.explain import explain
from python_ivm.parse.marks import Mark
from python_ivm.refresh.request import Previous, Request
from scripts.docs.example_catalog import Catalog
from scripts.docs.marked_blocks import BLOCK
from scripts.docs.snippets import Snippet, snippets
from tests.planner.lake import Lake

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "integration_tests" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
ELSEWHERE = {ROOT / "docs" / "contributing" / "new-operator.md"}
LANGUAGES = {"", "console", "csv", "diff", "mermaid", "python", "sql", "text", "yaml"}

TABLES = {
    "orders": {
        "id": "bigint", "order_id": "bigint", "customer": "bigint", "customer_id": "bigint",
        "total": "decimal(12,2)", "account": "int",
    },
    "customers": {
        "id": "bigint", "customer": "bigint", "customer_id": "bigint", "country": "string",
        "nation": "string",
    },
    "prices": {"product": "string", "price": "decimal(12,2)"},
    "payments": {"account": "int", "amount": "decimal(18,2)", "day": "date"},
    "allowed": {"account": "int", "amount": "decimal(18,2)"},
}  # fmt: skip
"""The tables of the pages' queries."""
EARLIER_ROWS = re.compile(r"\{\{ this \}\}|ivm_new\(|ivm_previous\(|ref\('allowed'\)")


class Tables(Catalog):
    """The tables of the pages' queries, as the planner sees them."""

    def columns(self, parts: tuple[str, ...]) -> Mapping[str, str] | None:
        """A table's columns."""
        return TABLES.get(parts[-1])


def written_by_hand(page: Path) -> Iterator[Snippet]:
    """A page's blocks but those that scripts write."""
    text = page.read_text(encoding="utf-8")
    made = [
        range(text.count("\n", 0, m.start()) + 1, text.count("\n", 0, m.end()) + 2)
        for m in BLOCK.finditer(text)
    ]
    return (s for s in snippets(page) if not any(s.line in lines for lines in made))


def every(language: str) -> list[Snippet]:
    """The blocks of a language."""
    pages = [page for page in PAGES if page not in ELSEWHERE]
    return [s for page in pages for s in written_by_hand(page) if s.language == language]


def rendered(sql: str, *, later: bool = False) -> tuple[str, dict[str, object]]:
    """A model's SQL as dbt renders it, at its first or a later run, and its config."""
    config: dict[str, object] = {}

    def note(**given: object) -> str:
        config.update(given)
        return ""

    text = jinja2.Template(sql, undefined=jinja2.StrictUndefined).render(
        config=note,
        ref=lambda name: f"shop.{name}",
        source=lambda _, name: f"shop.{name}",
        is_incremental=lambda: later,
        ivm_delay=lambda name: f"ivm_delay.{name}",
        this="shop.m",
        ivm_new=lambda relation: f"{relation} {Mark.NEW.comment}",
        ivm_previous=lambda name: f"shop.{name} {Mark.PREVIOUS.comment}",
        ivm_history=lambda: query([], {}),
    )
    return text, config


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_are_of_a_kind_that_is_checked(page: Path) -> None:
    assert {snippet.language for snippet in snippets(page)} <= LANGUAGES


@pytest.mark.parametrize("snippet", every("sql"), ids=str)
def test_sql_is_planned(snippet: Snippet) -> None:
    for model in re.split(r"^(?=-- models/)", snippet.text, flags=re.M):
        if model.strip():
            check_sql(model, str(snippet))


def check_sql(model: str, place: str) -> None:
    """Plan a model, and run it over empty tables; read it, if it reads rows of earlier runs."""
    sql, config = rendered(model)
    if place.startswith("delays.md") and re.match(r"\s*(--.*\n|\s)*(select|with)\b", sql, re.I):
        refreshed(sql.replace("shop.", "s."))
    elif EARLIER_ROWS.search(model):  # what they do is run by tests of their own
        assert sqlglot.parse_one(sql, dialect="spark").find(exp.Select)
    elif not re.match(r"\s*(--.*\n|\s)*(select|with)\b", sql, re.I):
        assert sqlglot.parse_one(sql, dialect="spark").key == "alter"
    elif config.get("materialized") == "incremental":  # dbt's own
        for later in (False, True):
            run(rendered(model, later=later)[0])
    else:
        if "ivm_delay." not in sql:  # what Spark does not run, either
            run(sql)
        told = explain(Request("m", sql, ("shop", "m"), ("shop", "m__ivm_state")), Tables())
        assert "MERGE" in told
        assert "Every change rebuilds the view in full" not in told


def test_sql_with_a_column_that_no_page_has_is_found() -> None:
    with pytest.raises(duckdb.BinderException, match="county"):
        run("select county from shop.customers")


def refreshed(sql: str) -> None:
    """Refresh a model that reads rows of the run before, twice."""
    lake = Lake()
    for name, columns in TABLES.items():
        lake.create(name, columns)
    spent = Previous(("s", "spent__ivm_state"), {"account": "int", "amount": "decimal(28, 2)"})
    for _ in range(2):
        lake.run("m", sql, previous={"s.spent": spent})


def run(sql: str) -> None:
    """Run a query over empty tables."""
    database = duckdb.connect(":memory:")
    database.execute("create schema shop; use shop")
    for name, columns in TABLES.items():
        listed = ", ".join(f"{column} {kind}" for column, kind in columns.items())
        database.execute(f"create table {name} ({listed})".replace(" string", " varchar"))
    database.execute(sqlglot.transpile(sql, read="spark", write="duckdb")[0])


@pytest.mark.parametrize("snippet", every("yaml"), ids=str)
def test_yaml_is_read(snippet: Snippet) -> None:
    def env_var(name: str) -> str:
        return name

    found = yaml.safe_load(jinja2.Template(snippet.text).render(env_var=env_var))
    assert isinstance(found, dict)
    for target in targets(found):
        method = target.pop("type")
        assert method == "sparkivm"
        SparkIvmCredentials.validate(target)
        SparkIvmCredentials.from_dict(target)
    models = found.get("models", [])
    for model in models if isinstance(models, list) else ():  # those of dbt_project.yml are none
        assert model["name"]
        assert set(model) <= {"name", "config", "data_tests", "columns", "description"}


def targets(found: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """The targets of a profile, at any depth."""
    if "type" in found:
        yield dict(found)
    for value in found.values():
        if isinstance(value, dict):
            yield from targets(value)


@pytest.mark.parametrize("snippet", every("python"), ids=str)
def test_python_is_compiled(snippet: Snippet) -> None:
    compile(snippet.text, str(snippet), "exec")


@pytest.mark.parametrize("file", sorted((ROOT / "docs" / "scheduling").iterdir()), ids=str)
def test_scheduling_examples_are_read(file: Path) -> None:
    if file.suffix == ".py":
        compile(file.read_text(), str(file), "exec")
        return
    jobs = [line for line in file.read_text().splitlines() if line and line[0] != "#"]
    for job in jobs:
        *_, command = re.split(r"&& flock .*?\.lock ", job.partition(" >>")[0])
        check(shlex.split(command))
    assert len(jobs) == 2


def commands(snippet: Snippet) -> Iterator[str]:
    """The commands of a block, without comments and continuation lines."""
    for line in snippet.text.replace("\\\n", " ").splitlines():
        command = re.split(r"\s+#\s", line)[0].strip()
        if command:
            yield command


EVERY_COMMAND = [(s, command) for s in every("console") for command in commands(s)]


@pytest.mark.parametrize(
    ("snippet", "command"), EVERY_COMMAND, ids=[f"{s}-{c[:40]}" for s, c in EVERY_COMMAND]
)
def test_a_command_is_one_that_there_is(snippet: Snippet, command: str) -> None:
    check(shlex.split(command))


def test_there_are_commands_to_check() -> None:
    assert {c.split()[0] for _, c in EVERY_COMMAND} >= {"dbt", "make", "pip", "dbt-sparkivm"}


@pytest.mark.parametrize(
    "command",
    [
        "make no-such-target",
        "make bench NO_SUCH=1",
        "dbt rnu",
        "dbt run --selekt m",
        "dbt run-operation ivm_explane",
        "dbt-sparkivm server sart",
        "pip install 'dbt-sparkivm[sesion]'",
        "no-such-command",
    ],
)
def test_a_command_that_there_is_not_is_found(command: str) -> None:
    with pytest.raises(AssertionError):
        check(shlex.split(command))


def check(words: list[str]) -> None:
    """Make sure that a command exists with its options.

    Raises:
        AssertionError: it does not, or it does not take these options.
    """
    name, *arguments = words
    if name == "make":
        makefile = (ROOT / "Makefile").read_text()
        for argument in arguments:
            variable, assigned, _ = argument.partition("=")
            pattern = rf"\$\(.*\b{variable}\b" if assigned else rf"^{re.escape(argument)}:"
            assert re.search(pattern, makefile, re.M), argument
    elif name == "dbt":
        parsed(dbt, arguments)
        if arguments[0] == "run-operation":
            macros = "\n".join(path.read_text() for path in (ROOT / "macros").rglob("*.sql"))
            assert re.search(rf"macro {arguments[1]}\(", macros), arguments[1]
    elif name == "dbt-sparkivm":
        parsed(dbt_sparkivm, arguments)
    elif name == "pip":
        assert arguments[0] == "install"
        extras = re.findall(r"^([a-z]+) = \[$", (ROOT / "pyproject.toml").read_text(), re.M)
        for found in re.findall(r"\[([\w,]+)\]", " ".join(arguments)):
            assert set(found.split(",")) <= set(extras), found
    else:
        assert shutil.which(name) or name in ("cd", "export"), name


def parsed(command: click.Command, arguments: list[str]) -> None:
    """Let click read a command line, and run nothing: the help comes after the options' names."""
    result = CliRunner().invoke(command, [*arguments, "--help"])
    assert result.exit_code == 0, result.output
