"""Runs planned refreshes: statements in order, bookmark and fence around those that write."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt.adapters.sparkivm import log
from dbt.adapters.sparkivm.bridge import spark_errors
from dbt.adapters.sparkivm.bridge.conf import (
    USER_METADATA,
    Conf,
    by_listed_keys,
    changed,
    exact,
    executed,
    only_now,
)
from dbt.adapters.sparkivm.bridge.dbt_status import count_warnings
from dbt.adapters.sparkivm.bridge.response import RefreshResponse
from dbt.adapters.sparkivm.bridge.warehouse import Query, Row, SparkWarehouse
from dbt.adapters.sparkivm.diagnostics import errors
from python_ivm.errors import Conflict
from python_ivm.loops.run import Ask, Relation, Rounds
from python_ivm.loops.signed_rounds import NotFollowed
from python_ivm.refresh.metadata.versions import shows_state
from python_ivm.refresh.plan import Counts, Refresh, Strategy, combine
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement import Statement, StatementKind
from python_ivm.refresh.strategy import plan_refresh
from python_ivm.state.bookmark import cut_off

logger = AdapterLogger("SparkIvm")

_ATTEMPTS = 3
_APPLICATION = "spark.databricks.delta.write.txnAppId"
_NUMBER = "spark.databricks.delta.write.txnVersion"
_CONSTRAINTS = "spark.sql.constraintPropagation.enabled"


@dataclass(frozen=True)
class Outcome:
    """What a refresh did.

    Attributes:
        refresh: The plan that was carried out in the end.
        response: What dbt is told.
    """

    refresh: Refresh
    response: RefreshResponse


class Refresher:
    """Carries out refreshes on one dbt connection.

    Args:
        query: Runs a statement and gives its rows.
        conf: The session's settings.
        warehouse: Answers the planner's questions.
        drop_table: Drops the table under the view's name, and lets dbt know.
        show: Makes a temporary view of a loop's rows; None writes them into a statement.
        tuples: Runs a query of maybe many rows, and gives their values.
        observe: Is told of each statement while it runs.
    """

    def __init__(
        self,
        query: Query,
        conf: Conf,
        warehouse: SparkWarehouse,
        drop_table: Callable[[], None],
        show: Callable[[Relation], None] | None = None,
        tuples: Ask | None = None,
        observe: Callable[[StatementKind], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """Take what runs statements."""
        self._tuples = tuples or (lambda sql: [tuple(row.values()) for row in query(sql)])
        self._observe = observe
        self._show = show or (lambda relation: query(relation.view()))
        self._query = query
        self._conf = conf
        self._warehouse = warehouse
        self._drop_table = drop_table

    def refresh(self, request: Request, idle: Refresh | None = None) -> Outcome:
        """Refresh a model, in as many steps as are planned.

        Args:
            request: The model and its configuration.
            idle: Its refresh, if it is known to have nothing to do.

        Raises:
            IvmError: If the model is wrong or the policy forbids what would have to be done.
            Conflict: If other runs won every time.
            EventCompilationError: Instead of a warning, before anything is written, where dbt is
                to make warnings errors.
            DbtRuntimeError: Spark's errors.
        """
        with _full_disk(request.model):
            steps = [self._carry_out(request, idle) if idle is not None else self._step(request)]
            while steps[-1][0].again:
                begun = None if request.full_refresh else request.full_refresh
                request = replace(self._looked_at_again(request), full_refresh=begun)
                steps.append(self._step(request))
        refresh = combine([refresh for refresh, _ in steps]) if len(steps) > 1 else steps[0][0]
        counts = [written for _, written in steps if written is not None]
        written = sum(counts, Counts()) if counts else None
        return Outcome(refresh, _response(refresh, written))

    def _step(self, request: Request) -> tuple[Refresh, Counts | None]:
        """One step.

        A run that lost against another one plans again from where the other got. Where a change
        feed turns out to have a gap, the query is recomputed. An error of a value leads to a
        rebuild: a change is computed from old and new rows side by side, which the query never
        sees together. If the query fails too, the rebuild raises its error.
        """
        forced: Reason | None = None
        rebuild = False
        lost = 0
        warned: set[str] = set()
        while lost < _ATTEMPTS:
            refresh = plan_refresh(request, self._warehouse, forced, rebuild=rebuild)
            _warn(refresh, warned)
            try:
                with _conflicts(request.model):
                    return self._carry_out(request, refresh)
            except NotFollowed as error:
                forced = forced or Reason("RECURSION_LIMIT", str(error))
            except Conflict:
                logger.debug(f"{request.model}: another run was faster; planning again")
                lost += 1
                forced, rebuild = None, False  # the other one may have seen to it
                request = self._looked_at_again(request)
            except DbtRuntimeError as error:
                found = spark_errors.fallback(error.msg)
                found = found or spark_errors.too_many_rounds(refresh, error.msg)
                # A state that cannot be computed anew is not rebuilt, whatever is asked for.
                last = rebuild or refresh.strategy is Strategy.FULL
                if last and spark_errors.is_of_value(error.msg):
                    raise _failed(request.model, error) from error
                if found is None or last or errors.is_hopeless(error.msg):
                    file = spark_errors.unreadable_file(error.msg)
                    if file is None:
                        raise
                    raise self._unreadable(request, refresh, file, error) from error
                forced = forced or found
                rebuild = refresh.strategy is Strategy.RECOMPUTE
        raise Conflict(
            "Another run keeps refreshing this model at the same time",
            model=request.model,
            hint="Let only one run at a time refresh it, then run again.",
        )

    def _unreadable(
        self, request: Request, refresh: Refresh, file: str, error: DbtRuntimeError
    ) -> DbtDatabaseError:
        """The error of a file that is gone or broken, with the table that it belongs to."""
        sources = [tuple(read.source.split(".")) for read in refresh.reads]
        table = next((t for t in (request.state, *sources) if self._has(t, file)), None)
        if table == request.state:
            what, advice = "the state", "rebuild it by --full-refresh"
        else:
            what = ".".join(table) if table else "a source"
            advice = f"bring the file back, or write {what} anew, and run again"
        return DbtDatabaseError(
            f"{request.model}: a file of {what} cannot be read. Nothing was written, and a view "
            f"that stood stays as it was: {advice}. {error.msg}"
        )

    def _has(self, table: tuple[str, ...], file: str) -> bool:
        """Whether a file lies in a table's folder."""
        try:
            return file.startswith(f"{self._warehouse.location(table)}/")
        except DbtRuntimeError:  # no such table yet
            return False

    def run(self, request: Request, statements: Iterable[Statement]) -> None:
        """Carry out what is no refresh.

        Raises:
            Conflict: If another run refreshed the model meanwhile.
            DbtRuntimeError: Spark's errors.
        """
        with _conflicts(request.model):
            for statement in statements:
                logger.debug(f"{request.model}: {statement.kind.value}")
                if statement.writes_data:
                    self._commit(request, statement)
                elif statement.kind is StatementKind.DROP_TABLE:
                    self._drop_table()
                else:
                    with executed(self._conf, statement.execution):
                        self._query(statement.sql)

    def _looked_at_again(self, request: Request) -> Request:
        """The request with what stands under the view's name now."""
        view = self._warehouse.definition(request.view)
        return replace(
            request,
            view_exists=view is not None and shows_state(view.text, request.state[-1]),
            view_text=view.text if view is not None else None,
            table_in_the_way=request.table_in_the_way and view is None,
        )

    def _carry_out(self, request: Request, refresh: Refresh) -> tuple[Refresh, Counts | None]:
        logger.debug(
            f"{request.model}: {refresh.strategy.value} ({refresh.reason}): {refresh.explanation}"
        )
        written: Counts | None = None
        cut = False
        for statement in refresh.statements:
            logger.debug(f"{request.model}: {statement.kind.value}")
            if cut and statement.bookmark is not None:
                statement = replace(statement, bookmark=cut_off(statement.bookmark))
            with self._observe(statement.kind):
                if statement.kind is StatementKind.DROP_TABLE:
                    self._drop_table()
                elif statement.loop is not None:
                    with exact(self._conf), executed(self._conf, statement.execution):
                        cut, told = self._run_loop(statement.loop)
                    refresh = refresh.noted(told, refresh.reason)
                elif statement.writes_data:
                    written = self._commit(request, statement) or written
                else:
                    self._query(statement.sql)
        return refresh, written

    def _run_loop(self, loop: Rounds) -> tuple[bool, str]:
        """Run a loop, and show its rows to the statements that follow.

        Returns:
            Whether a limit cut it off, and what to say of it.
        """
        relations, result = loop.run(self._tuples)
        for relation in relations:
            self._show(relation)
        told = loop.told(result)
        if result.ended:
            return False, told
        told += ", cut off by a limit: the view shows what there was, and the next run goes anew"
        log.warn(f"{loop.model}: {told}")
        count_warnings()
        return True, told

    def _commit(self, request: Request, statement: Statement) -> Counts | None:
        """Run a writing statement in one commit with its bookmark.

        Returns:
            The rows that it wrote; None if Delta does not tell.

        Raises:
            Conflict: If another run committed a refresh of this number before.
        """
        with (
            only_now(self._conf, _commit_settings(statement)),
            exact(self._conf),
            by_listed_keys(self._conf),
            executed(self._conf, statement.execution),
        ):
            rows = self._run(statement.sql)
        if statement.fence is None:
            return None
        if statement.kind is StatementKind.MERGE:
            if not rows:
                raise Conflict("The refresh was committed by another run", model=request.model)
            told = (rows[0][f"num_{what}_rows"] for what in ("inserted", "updated", "deleted"))
            return Counts(*(int(number or 0) for number in told))
        newest = self._warehouse.history(request.state, 1)
        if not newest or newest[0].user_metadata != statement.bookmark:
            raise Conflict("The state was rebuilt by another run", model=request.model)
        rows_built = newest[0].metrics.get("numOutputRows")
        return None if rows_built is None else Counts(inserted=int(rows_built))

    def _run(self, sql: str) -> list[Row]:
        """Run a statement, without the part of the optimizer that is known to fail if it does."""
        try:
            return self._query(sql)
        except DbtRuntimeError as error:
            if not spark_errors.is_of_constraints(str(error)):
                raise
        with changed(self._conf, {_CONSTRAINTS: "false"}):
            return self._query(sql)


def _warn(refresh: Refresh, warned: set[str]) -> None:
    """Warn of what a refresh is going to do, unless that was warned of."""
    if refresh.warning and refresh.warning not in warned:
        warned.add(refresh.warning)
        log.warn(refresh.warning)
        count_warnings()


def _response(refresh: Refresh, written: Counts | None) -> RefreshResponse:
    """What dbt is told of a refresh that was carried out."""
    response = RefreshResponse(
        _message=refresh.summary(written),
        code=refresh.strategy.value,
        strategy=refresh.strategy.value,
        reason=refresh.reason,
        explanation=refresh.explanation,
        warning=refresh.warning,
        sources=list(refresh.ranges),
        fallback=refresh.fallback,
        reads=[asdict(read) for read in refresh.reads],
    )
    if refresh.writes_all and written is not None:
        response.rows_affected = written.total
    if refresh.strategy.merges and not refresh.writes_all:
        counts = refresh.counts(written or Counts())
        response.rows_affected = counts.total
        response.rows_inserted = counts.inserted
        response.rows_updated = counts.updated
        response.rows_deleted = counts.deleted
    return response


@contextmanager
def _conflicts(model: str) -> Generator[None, None, None]:
    """Tell Delta's errors of two runs at once from others."""
    try:
        yield
    except DbtRuntimeError as error:
        if spark_errors.is_conflict(str(error)):
            raise Conflict(str(error), model=model) from error
        raise


@contextmanager
def _full_disk(model: str) -> Generator[None, None, None]:
    """Say of a disk that ran full what it costs."""
    try:
        yield
    except DbtRuntimeError as error:
        if not errors.tells_of_full_disk(error.msg):
            raise
        raise DbtDatabaseError(
            f"{model}: nothing is half-written: readers see either the old rows or all of the new "
            f"ones. {errors.advised(error.msg)}"
        ) from error


def _failed(model: str, error: DbtRuntimeError) -> DbtDatabaseError:
    """The error of a query that fails itself, with the expression that Spark shows."""
    return DbtDatabaseError(
        f"{model}: an expression in the query fails on the data that it now reads. Nothing "
        f"was written, and a view that stood stays as it was. {error.msg}"
    )


def _commit_settings(statement: Statement) -> dict[str, str]:
    """What Delta puts into the commit; it must not be left to the next statement."""
    settings: dict[str, str] = {}
    if statement.bookmark is not None:
        settings[USER_METADATA] = statement.bookmark
    if statement.fence is not None:
        settings[_APPLICATION] = statement.fence[0]
        settings[_NUMBER] = str(statement.fence[1])
    return settings
