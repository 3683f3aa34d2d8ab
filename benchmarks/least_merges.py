"""`MERGE`s that do as little as one can: what Spark and Delta take for any."""

from __future__ import annotations

from benchmarks.workspace import TARGETS, Measured, Workspace

_SCHEMA = "bench_least"


class LeastMerges:
    """`MERGE`s into shallow clones of states, which have the states' files and properties.

    Args:
        workspace: where.
    """

    def __init__(self, workspace: Workspace) -> None:
        """Make room for the clones."""
        self._workspace = workspace
        self._rows: dict[str, tuple[str, str]] = {}
        workspace.sql(f"create schema if not exists {_SCHEMA}")

    def empty(self, model: str) -> Measured:
        """A `MERGE` that finds no row to change, which Spark does not know before it looks."""
        hashed, _ = self._row(model)
        return self._workspace.statement(
            f"merge into {_SCHEMA}.{model} as stored "
            f"using (select id from range(1) where id < 0) as nothing "
            f"on nothing.id = {hashed} when matched then delete"
        )

    def one_row(self, model: str) -> Measured:
        """A `MERGE` by hand that updates one row; an empty state has none."""
        hashed, number = self._row(model)
        column = self._columns(model)[-1]
        return self._workspace.statement(
            f"merge into {_SCHEMA}.{model} as stored using (select {number} as number) as change "
            f"on change.number = {hashed} when matched then update set {column} = stored.{column}"
        )

    def _columns(self, model: str) -> list[str]:
        columns = self._workspace.session.table(f"{_SCHEMA}.{model}").columns
        return [f"`{column}`" for column in columns]

    def _row(self, model: str) -> tuple[str, str]:
        """The hash of a state's rows, and that of one of them; clones it at the first time."""
        if model not in self._rows:
            state = f"bench_{TARGETS['refresh']}.{model}__ivm_state"
            clone = f"{_SCHEMA}.{model}"
            self._workspace.sql(f"create table {clone} shallow clone {state}")
            hashed = ", ".join(f"stored.{column}" for column in self._columns(model))
            found = self._workspace.sql(
                f"select cast(min(xxhash64({hashed})) as string) from {clone} as stored"
            )
            self._rows[model] = f"xxhash64({hashed})", f"{found[0][0] or 0}L"
        return self._rows[model]
