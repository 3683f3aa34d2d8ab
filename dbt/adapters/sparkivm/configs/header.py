"""dbt's config `sql_header` of maintained models: statements that are run before all others.

What they set in the session is taken back after the model, for its thread goes on to others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from dbt.adapters.base.meta import AdapterMeta
from dbt.flags import get_flags

from dbt.adapters.sparkivm.bridge.conf import restored
from dbt.adapters.sparkivm.bridge.relations import IVM
from python_ivm.parse.parser import split_statements

_SETTING = re.compile(r"\s*SET\s+`?([\w.]+)`?\s*=", re.IGNORECASE)
_TIME_ZONE = re.compile(r"\s*SET\s+TIME\s+ZONE\b", re.IGNORECASE)


class HeaderMixin(metaclass=AdapterMeta):
    """The adapter's part of `sql_header`."""

    def pre_model_hook(self, config: Mapping[str, Any]) -> Any:
        """Before a maintained model is refreshed: run its header."""
        others = super().pre_model_hook(config)  # type: ignore[misc]
        header = config.get("sql_header") if config.get("materialized") == IVM else None
        if not header or get_flags().WHICH == "clone":
            return None, others
        with ExitStack() as afterwards:
            for statement in split_statements(str(header)):
                key = setting_of(statement)
                if key is not None:
                    afterwards.enter_context(restored(self._ivm_conf(), key))
                self._ivm_query(statement)
            return afterwards.pop_all(), others

    def post_model_hook(self, config: Mapping[str, Any], context: Any) -> None:
        """After it: take back what the header set."""
        afterwards, others = context
        try:
            super().post_model_hook(config, others)  # type: ignore[misc]
        finally:
            if afterwards is not None:
                afterwards.close()


def setting_of(statement: str) -> str | None:
    """The setting that a statement changes; None if it changes none."""
    if _TIME_ZONE.match(statement):
        return "spark.sql.session.timeZone"
    found = _SETTING.match(statement)
    return found[1] if found else None
