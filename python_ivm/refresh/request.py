"""What a refresh is asked to do, and what the planner may ask the warehouse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from python_ivm.errors import InvalidModel
from python_ivm.loops.run import OnLimit
from python_ivm.optimize.cost import Execution
from python_ivm.parse.views import View
from python_ivm.rows.circuit import Limits
from python_ivm.sources.clock import Instant
from python_ivm.sources.history import Commit, DataFile, Detail
from python_ivm.state.storage import Storage


class Policy(Enum):
    """What the user allows."""

    AUTO = "auto"
    """Incremental where possible, else from all rows."""
    INCREMENTAL = "incremental"
    """As auto, with a warning at every fallback."""
    STRICT = "strict"
    """An error instead of a fallback."""
    FULL = "full"
    """Always a full rebuild."""


class OnConfigurationChange(Enum):
    """What happens when the query or its settings changed; dbt's config of the same name."""

    APPLY = "apply"
    CONTINUE = "continue"
    FAIL = "fail"


class Step(Enum):
    """What one step of a model takes of what is pending."""

    REFRESH = "refresh"
    """All of it."""
    COMMIT = "commit"
    """One commit of the sources, in the order of their times."""


class Output(Enum):
    """What a model's table holds."""

    ROWS = "rows"
    """The query's rows."""
    INSERTED = "inserted"
    """A log of the rows that came into the query's result, each with the step at which it did."""


@dataclass(frozen=True)
class Options:
    """A model's configuration.

    Attributes:
        policy: Config ``ivm_policy``.
        on_configuration_change: dbt's config of the same name.
        enable_change_feed: Config ``ivm_enable_change_feed``: whether the change feed of sources
            may be switched on.
        deterministic_functions: Config ``ivm_deterministic_functions``, in lower case: functions of
            users that give the same result for the same arguments whenever they are called.
        learn: Config ``ivm_learn``: whether all rows of a small state are written where the state's
            own history, or what would be read, tells that this is faster.
        auto_maintain: Config ``ivm_auto_maintain``: whether a refresh is followed by what the state
            needs.
        step: Config ``ivm_step``: what of what is pending one step takes: all of it (``refresh``),
            or one commit of the sources (``commit``).
        order: The same config where it names a column of the sources: a step is then one value of
            that column, and ``step`` does not matter.
        max_steps: Config ``ivm_max_steps``: how many values may be pending.
        output: Config ``ivm_output``: what the model's table holds.
        limits: Configs ``ivm_max_rounds`` and ``ivm_max_rows``: how far a loop may go.
        on_limit: Config ``ivm_on_limit``: what happens then.
    """

    policy: Policy = Policy.AUTO
    on_configuration_change: OnConfigurationChange = OnConfigurationChange.APPLY
    enable_change_feed: bool = False
    deterministic_functions: frozenset[str] = frozenset()
    learn: bool = True
    auto_maintain: bool = False
    step: Step = Step.REFRESH
    order: str | None = None
    max_steps: int = 1_000
    output: Output = Output.ROWS
    limits: Limits = field(default_factory=Limits)
    on_limit: OnLimit = OnLimit.ERROR

    @staticmethod
    def of(config: Mapping[str, object]) -> Options:
        """Read and validate a model's config.

        Raises:
            InvalidModel: For an unknown ``ivm_`` key or a value that is not allowed.
        """
        known = {
            "ivm_policy",
            "ivm_enable_change_feed",
            "ivm_state_schema",
            "ivm_state_suffix",
            "ivm_deterministic_functions",
            "ivm_auto_maintain",
            "ivm_learn",
            "ivm_step",
            "ivm_max_steps",
            "ivm_output",
            "ivm_max_rounds",
            "ivm_max_rows",
            "ivm_on_limit",
        }
        unknown = sorted(k for k in config if k.startswith("ivm_") and k not in known)
        if unknown:
            raise InvalidModel(
                f"Unknown config {unknown[0]}", hint=f"Known are {', '.join(sorted(known))}."
            )
        enable = config.get("ivm_enable_change_feed")
        if enable not in (None, True, False):
            raise InvalidModel("Config ivm_enable_change_feed is true or false")
        maintain = config.get("ivm_auto_maintain")
        if maintain not in (None, True, False):
            raise InvalidModel("Config ivm_auto_maintain is true or false")
        learn = config.get("ivm_learn")
        if learn not in (None, True, False):
            raise InvalidModel("Config ivm_learn is true or false")
        functions = config.get("ivm_deterministic_functions") or []
        if not isinstance(functions, (list, tuple)):
            raise InvalidModel("Config ivm_deterministic_functions is a list of names")
        policy = _choice(Policy, "ivm_policy", config.get("ivm_policy") or "auto")
        output = _choice(Output, "ivm_output", config.get("ivm_output") or "rows")
        if policy is Policy.FULL and output is Output.INSERTED:
            raise InvalidModel(
                "Config ivm_output is inserted, and ivm_policy is full",
                hint="A log grows by what changed; a rebuild at each run would leave one step of "
                "it. Leave one of the two out.",
            )
        step = config.get("ivm_step") or "refresh"
        order = _order(step)
        if policy is Policy.FULL and order is not None:
            raise InvalidModel(
                f"Config ivm_step is {order!r}, and ivm_policy is full",
                hint="A rebuild has no steps. Leave one of the two out.",
            )
        return Options(
            policy=policy,
            output=output,
            on_configuration_change=_choice(
                OnConfigurationChange,
                "on_configuration_change",
                config.get("on_configuration_change") or "apply",
            ),
            enable_change_feed=bool(enable),
            deterministic_functions=frozenset(str(name).lower() for name in functions),
            learn=learn is not False,
            auto_maintain=bool(maintain),
            step=Step.REFRESH if order is not None else _choice(Step, "ivm_step", step),
            order=order,
            max_steps=_number("ivm_max_steps", config.get("ivm_max_steps"), Options.max_steps),
            limits=Limits(
                _number("ivm_max_rounds", config.get("ivm_max_rounds"), Limits.rounds),
                _number("ivm_max_rows", config.get("ivm_max_rows"), Limits.rows),
            ),
            on_limit=_choice(OnLimit, "ivm_on_limit", config.get("ivm_on_limit") or "error"),
        )


def _order(step: object) -> str | None:
    """The column that a config names for a step; None if it is one of the words.

    Raises:
        InvalidModel: If it is neither.
    """
    if isinstance(step, Step) or step in {word.value for word in Step}:
        return None
    if isinstance(step, str) and step.strip():
        return step.strip().strip("`")
    raise InvalidModel(
        f"Config ivm_step is {step!r}",
        hint="It is refresh, commit, or the name of a column of the sources.",
    )


def _number(name: str, value: object, otherwise: int) -> int:
    if value is None:
        return otherwise
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidModel(f"Config {name} is {value!r}", hint="It is a whole number above 0.")
    return value


def _choice(kind: type, name: str, value: object):  # type: ignore[no-untyped-def]
    if isinstance(value, Enum):
        value = value.value
    try:
        return kind(str(value))
    except ValueError as error:
        allowed = ", ".join(member.value for member in kind)  # type: ignore[attr-defined]
        raise InvalidModel(f"Config {name} is {value!r}", hint=f"Allowed are {allowed}.") from error


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
        without_passes: Names of passes of the optimizer to leave out, for tests and to find out
            what one gains.
    """

    model: str
    sql: str
    view: tuple[str, ...]
    state: tuple[str, ...]
    options: Options = Options()
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
    without_passes: frozenset[str] = frozenset()


class Warehouse(Protocol):
    """What the planner asks; all but `texts` of the catalog, by one cheap metadata query.

    `texts` reads a change, and `enable_change_feed` is a commit to a source.
    """

    def history(self, parts: tuple[str, ...], limit: int | None) -> Sequence[Commit] | None:
        """A table's commits, newest first; None if it is missing or not a Delta table.

        Args:
            parts: The table's name.
            limit: How many are asked for; more may be told. None means all.
        """

    def history_now(self, parts: tuple[str, ...], limit: int) -> Sequence[Commit] | None:
        """The same as of now, even if the run sees an older version of the table."""

    def columns(self, parts: tuple[str, ...]) -> Mapping[str, str] | None:
        """A relation's columns and their Spark types, in order; None if it is missing."""

    def properties(self, parts: tuple[str, ...]) -> Mapping[str, str]:
        """A Delta table's properties."""

    def location(self, parts: tuple[str, ...]) -> str:
        """Where a Delta table lies."""

    def detail(self, parts: tuple[str, ...]) -> Detail | None:
        """A Delta table's newest version; None if it cannot be told."""

    def files(self, parts: tuple[str, ...]) -> Sequence[DataFile] | None:
        """A Delta table's files; None if they cannot be told cheaply, or are many."""

    def namespace(self) -> tuple[str, str]:
        """Catalog and schema of names that have none."""

    def instant(self) -> Instant:
        """The time by the session's clock and in its time zone."""

    def definition(self, parts: tuple[str, ...]) -> View | None:
        """A view; None if there is no such view."""

    def describe(self, sql: str) -> Sequence[tuple[str, str]]:
        """Names and types of a query's columns."""

    def texts(
        self, sql: str, execution: Execution = Execution.USUAL
    ) -> Sequence[Sequence[str | None]]:
        """The rows of a query whose columns are texts, executed so."""

    def doubles_quotes(self) -> bool:
        """Whether two quotes inside a text are one of its characters."""

    def user_functions(self) -> Sequence[str]:
        """The functions that users made and that can be named without a schema, in lower case."""

    def enable_change_feed(self, parts: tuple[str, ...]) -> None:
        """Switch a source's change feed on."""
