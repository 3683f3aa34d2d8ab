"""A model's configuration: what its user allows, and how the values are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from python_ivm.errors import InvalidModel
from python_ivm.loops.run import OnLimit
from python_ivm.rows.circuit import Limits

_Choice = TypeVar("_Choice", bound=Enum)


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


class StepMode(Enum):
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
    step: StepMode = StepMode.REFRESH
    order: str | None = None
    max_steps: int = 1_000
    output: Output = Output.ROWS
    limits: Limits = field(default_factory=Limits)
    on_limit: OnLimit = OnLimit.ERROR

    @staticmethod
    def of(config: Mapping[str, object]) -> Options:
        """Read and validate a model's config.

        Args:
            config: Its values by their names, those of dbt's own among them.

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
        enable = _true_or_false(config, "ivm_enable_change_feed")
        maintain = _true_or_false(config, "ivm_auto_maintain")
        learn = _true_or_false(config, "ivm_learn")
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
            step=StepMode.REFRESH if order is not None else _choice(StepMode, "ivm_step", step),
            order=order,
            max_steps=_number("ivm_max_steps", config.get("ivm_max_steps"), Options.max_steps),
            limits=Limits(
                _number("ivm_max_rounds", config.get("ivm_max_rounds"), Limits.rounds),
                _number("ivm_max_rows", config.get("ivm_max_rows"), Limits.rows),
            ),
            on_limit=_choice(OnLimit, "ivm_on_limit", config.get("ivm_on_limit") or "error"),
        )


def _true_or_false(config: Mapping[str, object], name: str) -> object:
    """What a config says that is true, false, or left out.

    Raises:
        InvalidModel: If it is anything else.
    """
    value = config.get(name)
    if value not in (None, True, False):
        raise InvalidModel(f"Config {name} is true or false")
    return value


def _order(step: object) -> str | None:
    """The column that a config names for a step; None if it is one of the words.

    Raises:
        InvalidModel: If it is neither.
    """
    if isinstance(step, StepMode) or step in {word.value for word in StepMode}:
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


def _choice(kind: type[_Choice], name: str, value: object) -> _Choice:
    if isinstance(value, Enum):
        value = value.value
    try:
        return kind(str(value))
    except ValueError as error:
        allowed = ", ".join(member.value for member in kind)
        raise InvalidModel(f"Config {name} is {value!r}", hint=f"Allowed are {allowed}.") from error
