"""How the tests tell their stories: a view over given rows, changes, and what the view is then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from python_ivm.optimize.cost import Execution
from python_ivm.refresh.plan import Refresh, Strategy
from python_ivm.refresh.statement import Statement
from python_ivm.refresh.strategy import plan_refresh
from tests.planner.compare import assert_same
from tests.planner.lake import Lake, Row, bag


class View:
    """A maintained model ``m``; built at once, and compared with its query after every refresh.

    Args:
        lake: Where.
        sql: Its query.
        judged: Whether it is compared: not where DuckDB reads the query in another way than Spark.
    """

    def __init__(self, lake: Lake, sql: str, judged: bool = True) -> None:
        self.lake = lake
        self.sql = sql
        self.judged = judged
        first = lake.run("m", sql)
        assert first.strategy is Strategy.FULL
        assert first.reason == "FIRST_BUILD", first.explanation
        self.is_its_query()

    def keep_up(self) -> None:
        """Refresh, incrementally or not at all."""
        assert self.lake.run("m", self.sql).strategy is not Strategy.FULL
        self.is_its_query()

    def refresh(self, *strategies: Strategy) -> Refresh:
        """Refresh; by default it must be incremental: neither a rebuild nor a noop."""
        refresh = self.lake.run("m", self.sql)
        assert refresh.strategy in (strategies or (Strategy.INCREMENTAL,)), (
            f"{refresh.reason}: {refresh.explanation}"
        )
        self.is_its_query()
        return refresh

    def shows(self, *rows: Row) -> None:
        """The view's rows, in any order, each as often as it is given."""
        assert self.lake.view("m") == bag(rows)

    def planned(self) -> Statement:
        """The MERGE that the next refresh will run."""
        refresh = plan_refresh(self.lake.request("m", self.sql), self.lake)
        assert refresh.strategy is Strategy.INCREMENTAL, refresh.explanation
        (statement,) = refresh.statements
        return statement

    def is_its_query(self) -> None:
        """Fail unless the view equals its query, if DuckDB can judge that."""
        if self.judged:
            assert_same(self.lake, "m")

    def touched(self) -> list[Row]:
        """The rows of the next MERGE's source: the groups or rows that it will write."""
        return self.rows_of(None)

    def delta(self) -> tuple[list[str], list[Row]]:
        """The names and rows of the next MERGE's source."""
        return self._source(None)

    def rows_of(self, cte: str | None) -> list[Row]:
        """The rows of a CTE of the next MERGE's source, or of the source itself.

        Of a MERGE that would be run if it could not be asked whether the query sees a change.
        """
        return self._source(cte)[1]

    def _source(self, cte: str | None) -> tuple[list[str], list[Row]]:

        def unasked(sql: str, execution: Execution) -> Sequence[Sequence[str | None]]:
            raise AssertionError(sql)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.lake, "texts", unasked)
            tree: Any = sqlglot.parse_one(self.planned().sql, read="spark")
        source = tree.args["using"].this
        if cte is not None:
            source = _only(source, cte)
        result = self.lake.db.execute(self.lake.duck(source.sql("spark")))
        return [column[0] for column in result.description], result.fetchall()


def _only(source: exp.Query, cte: str) -> exp.Query:
    """``SELECT * FROM cte`` under a query's WITH clause."""
    select = exp.select("*").from_(cte)
    select.set("with_", source.args["with_"].copy())
    return select
