"""Models that are read as they were before the run: `{{ ivm_previous('other') }}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.base.meta import AdapterMeta, available
from dbt.flags import get_flags
from dbt_common.exceptions import CompilationError

from dbt.adapters.sparkivm.bridge.relations import IVM
from dbt.adapters.sparkivm.bridge.this_run import this_run
from dbt.adapters.sparkivm.configs.maintained import typed_columns
from python_ivm.parse.parser import quoted_name, table_key
from python_ivm.parse.previous import MARK
from python_ivm.refresh.request import Previous


class PreviousMixin(metaclass=AdapterMeta):
    """The adapter's part of `ivm_previous`."""

    @available.parse(lambda *a, **k: "")
    def ivm_previous(
        self,
        graph: Mapping[str, Any],
        name: str,
        package: str | None = None,
        version: str | float | None = None,
    ) -> str:
        """The name of a model's view, marked to be read as before the run.

        Args:
            graph: The project's, as dbt gives it to Jinja.
            name: The other model's name.
            package: Its package, if several have a model of this name.
            version: Its version, if it has some; None means the latest, as in ``ref``.

        Raises:
            CompilationError: If there is no such model, or it is not maintained.
        """
        node = _model(graph, name, package, version)
        view = (str(node["schema"]), str(node["alias"]))
        state = self._ivm_state(node, view, node["config"])  # type: ignore[attr-defined]
        elsewhere = node.get("defer_relation")
        if elsewhere and get_flags().DEFER and not self._is_here(view):
            deferred = (str(elsewhere["schema"]), str(elsewhere["alias"]))
            schema = deferred[0] if state[0] == view[0] else state[0]
            view, state = deferred, (schema, state[1].replace(view[1], deferred[1], 1))
        this_run().previous[table_key(view)] = Previous(state, typed_columns(node))
        return f"{quoted_name(view)} {MARK}"

    def _is_here(self, view: tuple[str, str]) -> bool:
        """Whether dbt would read a relation of the target's schema, and defer no more."""
        there = self.get_relation(None, *view) is not None  # type: ignore[attr-defined]
        return there and not get_flags().FAVOR_STATE


def _model(
    graph: Mapping[str, Any], name: str, package: str | None, version: str | float | None
) -> Mapping[str, Any]:
    named = [
        node
        for node in graph["nodes"].values()
        if node["resource_type"] == "model"
        and node["name"] == name
        and package in (None, node["package_name"])
    ]
    if not named:
        raise CompilationError(f"ivm_previous('{name}'): there is no model of this name")
    found = [node for node in named if _is_version(node, version)]
    if not found:
        versions = sorted(str(v) for node in named if (v := node.get("version")) is not None)
        raise CompilationError(
            f"ivm_previous('{name}', version={version}): the model has no such version. "
            f"It has {', '.join(versions) or 'none'}."
        )
    if len(found) > 1:
        packages = ", ".join(sorted(str(node["package_name"]) for node in found))
        raise CompilationError(
            f"ivm_previous('{name}'): several packages have such a model ({packages}). Say which: "
            f"ivm_previous('{name}', package='…')"
        )
    materialized = found[0]["config"].get("materialized")
    if materialized != IVM:
        raise CompilationError(
            f"ivm_previous('{name}'): that model is materialized as '{materialized}', so that its "
            f"rows before the run are not known. Only those of '{IVM}' models are."
        )
    return found[0]


def _is_version(node: Mapping[str, Any], version: str | float | None) -> bool:
    """Whether a node is the version that is asked for: the latest, if none is."""
    own = node.get("version")
    if version is None:
        return own is None or str(own) == str(node.get("latest_version"))
    return own is not None and str(own) == str(version)
