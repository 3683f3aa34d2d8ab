"""What models with steps, logs or rows of the run before must not do."""

from __future__ import annotations

from typing import Protocol

from sqlglot import exp

from python_ivm.errors import InvalidModel, NotYetImplemented
from python_ivm.loops.program import program_of
from python_ivm.parse.parser import TableReference
from python_ivm.parse.views import InlinedQuery
from python_ivm.refresh.metadata.cached_warehouse import CachedWarehouse
from python_ivm.refresh.metadata.catalog import same_name
from python_ivm.refresh.options import Output, StepMode
from python_ivm.refresh.request import Request


class Delayed(Protocol):
    """What is asked of a model."""

    request: Request
    warehouse: CachedWarehouse
    reading: InlinedQuery
    named: list[TableReference]

    @property
    def delayed(self) -> bool:
        """Whether it reads rows of the run before."""

    def full_name(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """A table's name with its catalog and schema."""


def refuse_loop_of_runs(model: Delayed, parsed: exp.Query) -> None:
    """Rounds of a loop and steps of a model are not brought together.

    Raises:
        NotYetImplemented: If a model has both.
    """
    options = model.request.options
    in_steps = model.delayed or options.step is not StepMode.REFRESH or options.order is not None
    if not in_steps and model.request.options.output is Output.ROWS:
        return
    if program_of(parsed) is not None:
        raise NotYetImplemented(
            "A loop in a model that keeps a log, is refreshed step by step, or reads rows of "
            "the run before",
            hint="Give the loop a maintained model of its own, and read that one.",
        )


def refuse_reading_itself(model: Delayed) -> None:
    """Its own rows are read by its own name, and by no other way.

    Raises:
        InvalidModel: If its state is named, or a view that reads the model.
    """
    own = [model.full_name(n) for n in (model.request.view, model.request.state)]
    places = {(found.line, found.column) for found in model.named}
    for table in model.reading.tables:
        if (table.line, table.column) in places:
            continue
        if any(same_name(table.parts, name) for name in own):
            raise InvalidModel(
                f"The model reads itself ({'.'.join(table.parts)})",
                line=table.line,
                column=table.column,
                hint="Its own rows as of the last refresh are {{ this }}, named in the model "
                "itself and without a version. is_incremental() logic is not needed.",
            )


def refuse_log_of_itself(model: Delayed) -> None:
    """What a log's query was before follows from the sources alone.

    Raises:
        NotYetImplemented: If it reads the log.
    """
    if model.named and model.request.options.output is Output.INSERTED:
        raise NotYetImplemented(
            "{{ this }} in a model with ivm_output: inserted",
            line=model.named[0].line,
            column=model.named[0].column,
            hint="Give the query that reads its own rows a model of its own, and keep the log "
            "in a second one: select * from {{ ref('…') }}.",
        )


def refuse_two_times(model: Delayed) -> None:
    """A source is read at one version.

    Raises:
        InvalidModel: If a model is read both as it is and as it was before the run.
    """
    now = {table.key for table in model.reading.tables if not table.previous}
    for table in model.reading.tables:
        if table.previous and table.key in now:
            raise InvalidModel(
                f"{table.key} is read both as it is now and as it was before the run",
                line=table.line,
                column=table.column,
                hint="Read one of the two in a maintained model of its own.",
            )


def refuse_paths_apart_by_case(model: Delayed) -> None:
    """The planner knows a table by its name in lower case, also where that is a path.

    Raises:
        NotYetImplemented: If two paths differ by case alone: one of them would never be read.
    """
    paths: dict[str, str] = {}
    for table in model.reading.tables:
        path = table.parts[-1]
        if "/" in path and paths.setdefault(table.key, path) != path:
            raise NotYetImplemented(
                f"Two paths that differ by case alone, {paths[table.key]} and {path}",
                line=table.line,
                column=table.column,
                hint="Create a table over one of them (CREATE TABLE … LOCATION …), and read that.",
            )


def refuse_new_rows_of_no_history(model: Delayed) -> None:
    """What came since the last step is known of Delta tables alone.

    Raises:
        InvalidModel: If ivm_new names something else.
    """
    for table in model.reading.tables:
        if table.last and not model.warehouse.history(table.parts, 1):
            raise InvalidModel(
                f"{table.key_now} is no Delta table, so that it is not known which of its rows "
                "are new",
                line=table.line,
                column=table.column,
                hint="ivm_new takes a Delta table, or a view or a maintained model over such.",
            )
