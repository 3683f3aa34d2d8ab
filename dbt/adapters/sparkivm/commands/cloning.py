"""dbt's `clone`: tables, views and maintained models of another schema, without computing them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.bridge.comments import commented
from dbt.adapters.sparkivm.bridge.conf import USER_METADATA, Conf, changed, only_now
from dbt.adapters.sparkivm.bridge.warehouse import Query, SparkWarehouse
from python_ivm.parse.parser import quoted_name
from python_ivm.parse.views import View
from python_ivm.qualify.checks.session_settings import of_view
from python_ivm.refresh.lifecycle.cloned import is_still_there, plan_clone, plan_table_clone
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement import Statement, StatementKind
from python_ivm.sources.cloned import Cloned

logger = AdapterLogger("SparkIvm")

Name = tuple[str, ...]


class Cloner:
    """Clones relations on one dbt connection.

    Args:
        query: Runs a statement and gives its rows.
        conf: The session's settings.
        warehouse: Answers questions about tables, as of each question.
    """

    def __init__(self, query: Query, conf: Conf, warehouse: SparkWarehouse) -> None:
        """Take what runs statements."""
        self._query = query
        self._conf = conf
        self._warehouse = warehouse

    def model(
        self, request: Request, other: Name, make_room: Callable[[], None]
    ) -> AdapterResponse | None:
        """Clone a maintained model's state, and create the view over it.

        Args:
            request: The model in the clone's schema.
            other: The public view of the model that is cloned.
            make_room: Drops what has the view's name; called once nothing can be refused any more.

        Returns:
            What dbt is told; None if the other relation is no maintained model's.

        Raises:
            InvalidModel: If something else has the place of the clone's state.
            DbtRuntimeError: Spark's errors.
        """
        planned = plan_clone(request, other, self._warehouse)
        view = self._warehouse.definition(other)
        if planned is None or view is None:
            return None
        make_room()  # the view, too, which would show no rows while its state has none
        for statement in planned.statements:
            self._run(request.state, statement, planned.of)
        self._create_view(request.view, other, view, planned.view)
        return _told(planned.told)

    def table(self, this: Name, other: Name, *, is_delta: bool) -> AdapterResponse:
        """Clone a table; nothing has the clone's name.

        Args:
            this: The clone's name.
            other: The table's.
            is_delta: Whether it is a Delta table, of which a clone shares the files. Of another
                format the rows are copied.
        """
        if not is_delta:
            self._query(f"CREATE TABLE {quoted_name(this)} LIKE {quoted_name(other)}")
            self._query(f"INSERT INTO {quoted_name(this)} SELECT * FROM {quoted_name(other)}")
            return _told(f"copy of {'.'.join(other)}")
        statement, cloned = plan_table_clone(this, other, self._warehouse)
        self._run(this, statement, cloned)
        return _told(f"clone of {'.'.join(other)} at version {cloned.version.version}")

    def view(self, this: Name, other: Name) -> AdapterResponse:
        """Create a view with the query of another one; or over that, where its query is unclear.

        A maintained model above must find the tables of the view by the same text.
        """
        view = self._warehouse.definition(other)
        if view is not None and view.settings is not None and self._means_the_same(view):
            try:
                self._create_view(this, other, view, view.text)
                return _told(f"view with the query of {'.'.join(other)}")
            except DbtRuntimeError as error:
                logger.debug(f"The query of {'.'.join(other)} is not copied: {error}")
        self._query(
            f"CREATE OR REPLACE VIEW {quoted_name(this)} AS SELECT * FROM {quoted_name(other)}"
        )
        return _told(f"view over {'.'.join(other)}")

    def _means_the_same(self, view: View) -> bool:
        """Whether a view's query still has the columns that it had when the view was made."""
        try:
            with self._as_when_made(view):
                described = self._warehouse.describe(view.text)
        except DbtRuntimeError:
            return False
        names = [name for name, _ in described]
        types = [kind for _, kind in described]
        shown = list(view.shown) or list(view.columns)
        return names == shown and types == list(view.columns.values())

    def _create_view(self, this: Name, other: Name, view: View, text: str) -> None:
        columns, comment = commented(self._query, other)
        with self._as_when_made(view):
            self._query(f"CREATE OR REPLACE VIEW {quoted_name(this)} {columns}{comment} AS\n{text}")

    @contextmanager
    def _as_when_made(self, view: View) -> Generator[None, None, None]:
        """Let Spark read a view's text in the place and under the settings that it was made in."""
        catalog, schema = self._warehouse.namespace()
        settings = {} if view.settings is None else of_view(view.settings)
        there = view.namespace and view.namespace != (catalog, schema)
        with changed(self._conf, settings):
            if not there:
                yield
                return
            self._query(f"USE {quoted_name(view.namespace)}")
            try:
                yield
            finally:
                self._query(f"USE {quoted_name((catalog, schema))}")

    def _run(self, made: Name, statement: Statement, of: Cloned) -> None:
        """Run a statement of a clone; what was replaced while it was cloned is not kept.

        Raises:
            DbtRuntimeError: Spark's errors, and that one.
        """
        metadata = {USER_METADATA: statement.bookmark} if statement.bookmark is not None else {}
        with only_now(self._conf, metadata):
            self._query(statement.sql)
        if statement.kind is StatementKind.CLONE and not is_still_there(self._warehouse, of):
            self._query(f"DROP TABLE {quoted_name(made)}")
            raise DbtRuntimeError(
                f"{'.'.join(of.parts)} was replaced while it was cloned. Clone it again."
            )


def _told(message: str) -> AdapterResponse:
    return AdapterResponse(_message=message, code="CLONE")
