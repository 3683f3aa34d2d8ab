"""What a refresh is asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from python_ivm.refresh.options import Options
from python_ivm.state.storage import PROPERTIES, Storage


@dataclass(frozen=True)
class Previous:
    """What is known of another model that is read as it was before the run.

    Attributes:
        state: Its state's name.
        columns: As :attr:`Request.columns`.
    """

    state: tuple[str, ...]
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """One model to refresh.

    Attributes:
        model: The model's name, for messages.
        sql: Its compiled SQL.
        view: The public view's name: schema and identifier.
        state: The state table's name.
        options: Its configuration.
        settings: The session settings that can change a query's result, such as the time zone.
        full_refresh: Whether a rebuild is asked for; None says nothing either way. False forbids
            the rebuild of a changed query, but no fallback of an unchanged one.
        view_exists: Whether a public view stands that reads the state.
        view_text: The text of the view that stands, if it is known.
        partial: Whether the SQL reads no rows or a sample of them (``--empty``, ``--sample``), so
            that its result must not pass for the view's.
        table_in_the_way: Whether a table stands under the view's name.
        properties: Further table properties of the state.
        location: Where the state's files go; None leaves it to the catalog.
        project: The dbt project that the model is of.
        storage: How the state's rows are stored.
        began: When the refresh was asked for, in milliseconds since 1970; None if it is not known.
        columns: The types of the model's columns as the user says them, in order; empty unless
            those of all are said.
        previous: The models that are read as they were before the run, by the names of their
            views as planner keys.
        varying: What the model's text is rendered from that is another one at each run of dbt:
            ``run_started_at``, ``invocation_id``.
        without_passes: Names of passes of the optimizer to leave out, for tests and to find out
            what one gains.
    """

    model: str
    sql: str
    view: tuple[str, ...]
    state: tuple[str, ...]
    options: Options = field(default_factory=Options)
    settings: Mapping[str, str] = field(default_factory=dict)
    full_refresh: bool | None = None
    view_exists: bool = True
    view_text: str | None = None
    partial: bool = False
    table_in_the_way: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)
    location: str | None = None
    project: str = ""
    storage: Storage = field(default_factory=Storage)
    began: int | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    previous: Mapping[str, Previous] = field(default_factory=dict)
    varying: tuple[str, ...] = ()
    without_passes: frozenset[str] = frozenset()

    def stored(self) -> dict[str, object]:
        """How the state is stored, as a bookmark keeps it: :attr:`storage` and properties."""
        told = self.storage.value()
        return {**told, PROPERTIES: dict(self.properties)} if self.properties else told
