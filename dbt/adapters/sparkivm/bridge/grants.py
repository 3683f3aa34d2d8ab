"""dbt's config `grants`, on engines that may have no privileges at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any

from dbt.adapters.base.meta import AdapterMeta, available
from dbt_common.exceptions import DbtRuntimeError
from dbt_common.invocation import get_invocation_id

from dbt.adapters.sparkivm.log import warn
from python_ivm.parse.parser import quoted_name

Query = Callable[[str], list[dict[str, Any]]]

_WITHOUT_EFFECT = (
    "The config `grants` has no effect: this Spark has no GRANT, and whoever reaches its files "
    "reads them. Leave the config out for this target: "
    "+grants: \"{{ {…} if target.name == 'prod' else {} }}\" in dbt_project.yml."
)
# What a parser says of a statement that it does not know, and Databricks without table ACLs.
_NO_SUCH_STATEMENT = (
    "PARSE_SYNTAX_ERROR",
    "INVALID_STATEMENT_OR_CLAUSE",
    "Operation not allowed",
    "ParseException",
    "SQLSTATE: 42601",
    "Access Control is not enabled",
)
# Of Databricks, and of Hive.
_QUESTIONS = ("SHOW GRANTS ON SCHEMA {}", "SHOW GRANT ON DATABASE {}")


def has_grants(query: Query, schema: str) -> bool:
    """Whether an engine knows privileges: asked by statements that change nothing.

    Args:
        query: Runs a statement and gives its rows.
        schema: Any schema; it need not exist.
    """
    return any(_is_known(query, text.format(quoted_name((schema,)))) for text in _QUESTIONS)


def _is_known(query: Query, statement: str) -> bool:
    try:
        query(statement)
    except DbtRuntimeError as error:
        # Else it failed for another reason, such as a missing right: dbt's own statements tell.
        return not any(sign in error.msg for sign in _NO_SUCH_STATEMENT)
    return True


@dataclass
class _ThisRun:
    """What the threads of one run of dbt share.

    Attributes:
        lock: Held by who asks the engine, and warns.
        known: Whether it has grants; None until a model asks.
        warned: Whether the user was told that it has none.
    """

    lock: Lock = field(default_factory=Lock)
    known: bool | None = None
    warned: bool = False


@lru_cache(maxsize=1)
def _this_run(invocation: str) -> _ThisRun:
    return _ThisRun()


class GrantsMixin(metaclass=AdapterMeta):
    """The adapter's part of `grants`."""

    def pre_model_hook(self, config: Mapping[str, Any]) -> Any:
        """Before a model, seed or snapshot is built: warn if its grants will have no effect.

        Raises:
            EventCompilationError: Instead, where dbt is to make warnings errors.
        """
        if config.get("grants") and not self.ivm_has_grants():
            run = _this_run(get_invocation_id())
            with run.lock:
                if not run.warned:
                    warn(_WITHOUT_EFFECT)
                    run.warned = True
        return super().pre_model_hook(config)  # type: ignore[misc]

    @available.parse(lambda *a, **k: False)
    def ivm_has_grants(self) -> bool:
        """Whether the engine knows privileges; asked once in a run of dbt."""
        run = _this_run(get_invocation_id())
        with run.lock:
            if run.known is None:
                run.known = has_grants(self._ivm_query, self.config.credentials.schema)
            return run.known
