"""The lake with a second schema, `ci`, whose tables and models are clones of those of `s`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sqlglot
from sqlglot import exp

from python_ivm.parse.parser import DIALECT
from python_ivm.refresh.lifecycle.cloned import plan_clone, plan_table_clone
from python_ivm.refresh.options import Options
from python_ivm.refresh.plan import Refresh
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement import Statement, StatementKind
from python_ivm.refresh.strategy import plan_refresh
from python_ivm.sources.history import Commit
from tests.planner.lake import Lake, bag

CI = "ci"


class TwoSchemas(Lake):
    """A lake that keeps `ci.x` as `s.ci__x`."""

    def duck(self, sql: str) -> str:
        tree: Any = sqlglot.parse_one(sql, read=DIALECT)
        for table in list(tree.find_all(exp.Table)):
            if table.db.lower() == CI:
                made = isinstance(table.parent, exp.Create)
                if not table.alias and not made:
                    table.set("alias", exp.TableAlias(this=table.this.copy()))
                table.set("this", exp.to_identifier(_inner((CI, table.name)), quoted=True))
                table.set("db", exp.to_identifier("s"))
        for feed in tree.find_all(exp.Anonymous):
            if feed.name.lower() == "table_changes":
                name = feed.expressions[0].name.replace("`", "")
                feed.expressions[0].set("this", f"s.{_inner(tuple(name.split('.')))}")
        return super().duck(tree.sql(DIALECT))

    # -- clones ------------------------------------------------------------------------------

    def clone_table(self, name: str) -> None:
        """``dbt clone`` of a table."""
        statement, cloned = plan_table_clone((CI, name), ("s", name), self)
        assert statement.sql.startswith(f"CREATE TABLE {CI}.{name} SHALLOW CLONE s.{name} VERSION")
        self._clone(name, cloned.version.version, statement)
        self.rows[_inner((CI, name))] = [self.rows[name][cloned.version.version]]

    def clone_model(self, name: str, **request: Any) -> list[Statement]:
        """``dbt clone`` of a maintained model."""
        planned = plan_clone(self.request_in_ci(name, "", **request), ("s", name), self)
        assert planned is not None
        for statement in planned.statements:
            if statement.kind is StatementKind.DROP_STATE:
                del self.commits[_inner((CI, f"{name}__ivm_state"))]
            else:
                self._clone(f"{name}__ivm_state", planned.of.version.version, statement)
        view = f"CREATE OR REPLACE VIEW {CI}.{name} AS\n{planned.view}"
        self.execute(_inner((CI, name)), Statement(StatementKind.CREATE_VIEW, view))
        return list(planned.statements)

    def _clone(self, name: str, version: int, statement: Statement) -> None:
        inner = _inner((CI, name))
        for target in (inner, f"{inner}@0"):
            self.db.execute(f'create or replace table s."{target}" as from s."{name}@{version}"')
        self.types[inner] = dict(self.types[name])
        self.commits[inner] = [Commit(0, self._time(), "CLONE", user_metadata=statement.bookmark)]

    # -- models of the second schema -------------------------------------------------------------

    def request_in_ci(self, name: str, sql: str, **more: Any) -> Request:
        """The request of a model there."""
        more.setdefault("options", Options())
        more.setdefault("view_exists", _inner((CI, name)) in self.views)
        return Request(name, sql, (CI, name), (CI, f"{name}__ivm_state"), **more)

    def run_in_ci(self, name: str, sql: str, **request: Any) -> Refresh:
        """Refresh a model there, and compare it with its query."""
        refresh = plan_refresh(self.request_in_ci(name, sql, **request), self)
        for statement in refresh.statements:
            self.execute(_inner((CI, name)), statement)
        shown = bag(self.db.execute(self.duck(f"select * from {CI}.{name}")).fetchall())
        expected = self.recomputed(sql)
        assert shown == expected, f"missing {expected - shown}, too many {shown - expected}"
        return refresh

    def change_in_ci(self, name: str, **rows: Any) -> None:
        """Commit a change to a cloned table."""
        self.change(_inner((CI, name)), **rows)

    # -- the Warehouse protocol ------------------------------------------------------------------

    def history(self, parts, limit):  # type: ignore[no-untyped-def]
        return super().history(("s", _inner(parts)), limit)

    def history_now(self, parts, limit):  # type: ignore[no-untyped-def]
        return self.history(parts, limit)

    def columns(self, parts):  # type: ignore[no-untyped-def]
        return super().columns(("s", _inner(parts)))

    def detail(self, parts):  # type: ignore[no-untyped-def]
        return super().detail(("s", _inner(parts)))

    def definition(self, parts):  # type: ignore[no-untyped-def]
        return super().definition(("s", _inner(parts)))

    def made_anew(self, name: str) -> None:
        """Drop a table, and create it with the same rows in as many commits."""
        later = self._time()
        self.commits[name] = [
            replace(commit, timestamp=str(int(later) + commit.version))
            for commit in self.commits[name]
        ]


def _inner(parts: tuple[str, ...]) -> str:
    return f"ci__{parts[-1]}" if len(parts) > 1 and parts[-2].lower() == CI else parts[-1]
