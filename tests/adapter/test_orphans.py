"""The state that a model leaves behind when it is built otherwise, around dbt's hooks."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.bridge import orphans
from dbt.adapters.sparkivm.bridge.orphans import OrphansMixin
from dbt.adapters.sparkivm.bridge.relations import state_name
from python_ivm.parse.views import View
from python_ivm.refresh.lifecycle.public_view import fingerprint
from python_ivm.sources.history import Commit
from python_ivm.state.bookmark import Bookmark

OWN = "SELECT k, t FROM s.m__ivm_state"
OTHER = "select 1 as one"


class Base:
    """What dbt-spark's adapter does beside."""

    def pre_model_hook(self, config: Any) -> str:
        return "others"

    def post_model_hook(self, config: Any, context: Any) -> None:
        assert context == "others"


class Adapter(OrphansMixin, Base):
    """A schema s with a view m over a state, which a project `shop` built.

    Attributes:
        listed: The view's text as dbt knew it when the run began; None if there is no view.
        text: The same as of now.
        table: Whether a table m stands now.
        dropped: What was dropped.
        asked: The tables whose histories were asked for.
    """

    def __init__(self, listed: str | None = OWN) -> None:
        self.config = SimpleNamespace(project_name="shop")
        self.listed = self.text = listed
        self.table = False
        self.fails = False
        self.dropped: list[tuple[str, str]] = []
        self.asked: list[str] = []
        bookmark = Bookmark("q", "f", 1, {}, model="s.m", project="shop")
        self.commits = {"m__ivm_state": [Commit(0, "t", "WRITE", user_metadata=bookmark.text())]}

    def get_relation(self, database: None, schema: str, identifier: str) -> Any:
        if self.listed is None:
            return None
        return SimpleNamespace(
            information=f"Type: VIEW\nView Text: {self.listed}\nView Original Text: x\n"
        )

    def _ivm_warehouse(self) -> Any:
        return self

    def _ivm_state(self, model: Any, view: tuple[str, str], config: Any) -> tuple[str, str]:
        return config.get("ivm_state_schema", "s"), state_name(view[1], config)

    def history(self, parts: tuple[str, ...], limit: int | None) -> list[Commit] | None:
        self.asked.append(parts[-1])
        return self.commits.get(parts[-1])

    def definition(self, parts: tuple[str, ...]) -> View | None:
        return None if self.text is None else View(self.text, ("spark_catalog", "s"), {})

    def columns(self, parts: tuple[str, ...]) -> Mapping[str, str] | None:
        return {"k": "int"} if self.table or self.text is not None else None

    def properties(self, parts: tuple[str, ...]) -> Mapping[str, str]:
        return {}

    def _ivm_relation(self, parts: tuple[str, str], kind: object) -> tuple[str, str]:
        return parts

    def drop_relation(self, relation: tuple[str, str]) -> None:
        if self.fails:
            raise DbtRuntimeError("it is locked")
        self.dropped.append(relation)

    def build(self, config: Any, text: str | None, *, table: bool = False) -> None:
        """What dbt does around a model."""
        context = self.pre_model_hook(config)
        self.text, self.table = text, table
        self.post_model_hook(config, context)


class Config(dict):  # type: ignore[type-arg]
    """A node's config."""

    materialized = property(lambda self: self["materialized"])


def node(kind: str = "table", resource_type: str = "model", **config: str) -> Any:
    settings = Config(materialized=kind, **config)
    model = SimpleNamespace(
        resource_type=resource_type, database=None, schema="s", alias="m", config=settings
    )
    return SimpleNamespace(model=model)


@pytest.fixture(autouse=True)
def flags(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """dbt's flags: a command has those of its own options alone."""
    given = SimpleNamespace(WHICH="run", EMPTY=False, SAMPLE=None)
    monkeypatch.setattr(orphans, "get_flags", lambda: given)
    monkeypatch.setattr(orphans, "say", lambda text: None)
    return given


@pytest.mark.parametrize(
    ("built", "text", "table"),
    [
        (node("table"), None, True),
        (node("incremental"), None, True),
        (node("seed", "seed"), None, True),
        (node("view"), OTHER, False),
        (node("incremental_ivm", ivm_state_suffix="_kept"), "select k from s.m_kept", False),
        (
            node("incremental_ivm", ivm_state_schema="states"),
            "select k from states.m__ivm_state",
            False,
        ),
    ],
)
def test_the_former_state_is_dropped_after_the_build(
    built: Any, text: str | None, table: bool
) -> None:
    adapter = Adapter()
    adapter.build(built, text, table=table)
    assert adapter.dropped == [("s", "m__ivm_state")]


@pytest.mark.parametrize("text", [None, OWN, f"{OWN} VERSION AS OF 3"])
def test_it_stays_where_the_build_failed(text: str | None) -> None:
    adapter = Adapter()
    adapter.build(node("table"), text)
    assert adapter.dropped == []


@pytest.mark.parametrize(
    ("listed", "built"),
    [
        (OWN, node("incremental_ivm")),
        (OTHER, node("view")),
        (None, node("table")),
        ("select * from s.a join s.m_b using (i)", node("view")),
        (OWN, node("test", "test")),
        (OWN, SimpleNamespace()),
    ],
)
def test_nothing_is_asked_where_no_state_is_left(listed: str | None, built: Any) -> None:
    adapter = Adapter(listed)
    adapter.build(built, OTHER)
    assert (adapter.dropped, adapter.asked) == ([], [])


@pytest.mark.parametrize(
    "commits",
    [
        None,
        [Commit(0, "t", "WRITE")],
        [Commit(0, "t", "WRITE", user_metadata=Bookmark(
            "q", "f", 1, {}, model="s.other", project="shop").text())],
        [Commit(0, "t", "WRITE", user_metadata=Bookmark(
            "q", "f", 1, {}, model="s.m", project="bank").text())],
    ],
    ids=["no table of Delta's", "no state", "another model's", "another project's"],
)  # fmt: skip
def test_what_is_not_the_models_own_stays(commits: list[Commit] | None) -> None:
    adapter = Adapter()
    adapter.commits = {} if commits is None else {"m__ivm_state": commits}
    adapter.build(node("table"), None, table=True)
    assert adapter.dropped == []
    assert set(adapter.asked) == {"m__ivm_state"}


@pytest.mark.parametrize(
    ("given", "dropped"),
    [
        ({"WHICH": "seed"}, True),
        ({"WHICH": "snapshot", "EMPTY": False}, True),
        ({"WHICH": "run", "EMPTY": True, "SAMPLE": None}, False),
        ({"WHICH": "build", "EMPTY": False, "SAMPLE": "3 days"}, False),
        ({"WHICH": "clone"}, False),
    ],
)
def test_commands_that_build_all_rows(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], dropped: bool
) -> None:
    """Not every command has the flags `empty` and `sample`."""
    monkeypatch.setattr(orphans, "get_flags", lambda: SimpleNamespace(**given))
    adapter = Adapter()
    adapter.build(node("table"), None, table=True)
    assert bool(adapter.dropped) is dropped


def test_a_state_that_cannot_be_dropped_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model was built; and an error here would hide one of its own."""
    told: list[str] = []
    monkeypatch.setattr(orphans, "warn", told.append)
    adapter = Adapter()
    adapter.fails = True
    adapter.build(node("table"), None, table=True)
    assert told == ["s.m__ivm_state is no longer used, and could not be dropped: it is locked"]


class Lake(OrphansMixin):
    """Schemas, each with the state of a view `m` that the project `shop` built there.

    Attributes:
        schemas: Their names; the target's is `shop`.
        dropped: What was dropped.
    """

    def __init__(self, *schemas: str) -> None:
        self.config = SimpleNamespace(
            project_name="shop", credentials=SimpleNamespace(schema="shop")
        )
        self.schemas = schemas
        self.dropped: list[tuple[str, ...]] = []

    def _ivm_query(self, sql: str) -> list[dict[str, str]]:
        assert sql == "SHOW SCHEMAS"
        return [{"namespace": schema} for schema in self.schemas]

    def _ivm_delta_tables(self, schema: str) -> Any:
        return [SimpleNamespace(schema=schema, identifier="m__ivm_state")]

    def _ivm_state(self, model: Any, view: tuple[str, str], config: Any) -> tuple[str, str]:
        return config.get("ivm_state_schema", view[0]), state_name(view[1], config)

    def _ivm_warehouse(self) -> Any:
        return self

    def history(self, parts: tuple[str, ...], limit: int | None) -> list[Commit]:
        text = f"SELECT k FROM {parts[0]}.m__ivm_state"
        bookmark = Bookmark(
            "q", "f", 1, {}, model=f"{parts[0]}.m", project="shop", view=fingerprint(text)
        )
        return [Commit(0, "t", "WRITE", user_metadata=bookmark.text())]

    def definition(self, parts: tuple[str, ...]) -> View:
        text = f"SELECT k FROM {parts[0]}.m__ivm_state"
        return View(text, ("spark_catalog", parts[0]), {})

    def _ivm_relation(self, parts: tuple[str, ...], kind: object) -> tuple[str, ...]:
        return parts

    def drop_relation(self, relation: tuple[str, ...]) -> None:
        self.dropped.append(relation)


def in_graph(schema: str, name: str, **config: str) -> dict[str, Any]:
    """A maintained model as dbt gives it to Jinja."""
    settings = {"materialized": "incremental_ivm", **config}
    return {"resource_type": "model", "schema": schema, "name": name, "config": settings}


def both(schema: str) -> list[tuple[str, str]]:
    return [(schema, "m"), (schema, "m__ivm_state")]


@pytest.mark.parametrize(
    ("models", "named", "dropped"),
    [
        ([], [], both("shop")),
        ([("shop", "m", {})], [], []),
        ([("shop", "m", {}), ("shop_prod", "other", {})], [], both("shop_prod")),
        (
            [("shop", "n", {"ivm_state_schema": "shop_prod"})],
            [],
            [*both("shop"), *both("shop_prod")],
        ),
        ([("shop", "m", {})], ["SHOP_PROD"], both("shop_prod")),
        ([("shop", "m", {})], "Shop_Prod", both("shop_prod")),
        ([("Shop", "m", {}), ("Shop_Prod", "m", {})], [], []),
        ([("shop", "m", {})], ["no_such"], []),
    ],
)
def test_what_another_target_may_keep_up_stays(
    models: list[tuple[str, str, dict[str, str]]],
    named: list[str] | str,
    dropped: list[tuple[str, str]],
) -> None:
    """`shop_prod` may be the schema of another target, or a custom one of the target `shop`."""
    lake = Lake("shop", "shop_prod", "shopping", "default")
    graph = {"nodes": {f"{s}.{n}": in_graph(s, n, **config) for s, n, config in models}}
    lines = lake.ivm_orphans(graph, drop=True, schemas=named)
    assert lake.dropped == dropped
    kept = [line for line in lines if line.startswith("kept ") and "shop_prod" in line]
    kept_up = any(schema.lower() == "shop_prod" and name == "m" for schema, name, _ in models)
    assert len(kept) == (("shop_prod", "m") not in dropped and not kept_up)
    assert all("schemas: [shop_prod]" in line for line in kept)


def test_a_listing_says_what_would_be_dropped() -> None:
    lake = Lake("shop", "shop_prod")
    *_, last = lake.ivm_orphans({"nodes": {}})
    assert last == "1 of 2 can be dropped: dbt run-operation ivm_orphans --args '{drop: true}'"
    *_, last = lake.ivm_orphans({"nodes": {}}, schemas=["shop_prod"])
    assert last.startswith("2 of 2 can be dropped")
    assert last.endswith("--args '{drop: true, schemas: [shop_prod]}'")
    assert lake.dropped == []
