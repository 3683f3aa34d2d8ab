"""Time points that a column of the sources says (config ``ivm_step: <column>``).

A source that has the column shows at a time point the rows whose value is at it or before, and
those without a value. Each value is a step of its own, in ascending order: so the result follows
from the rows, and not from when they were written. What changed among the rows that were seen
already came late: it is a step of its own, before the next value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from python_ivm.errors import InvalidModel
from python_ivm.refresh.metadata import versions
from python_ivm.refresh.model import Model
from python_ivm.refresh.reason import Reason
from python_ivm.render.renderer import union_all
from python_ivm.render.sources import change_feed, table, text
from python_ivm.render.time_points import as_text, column, later
from python_ivm.sources.history import Change, SourceChange
from python_ivm.state.bookmark import Bookmark


@dataclass(frozen=True)
class Point:
    """The next step.

    Attributes:
        value: Up to which value of the column rows are seen.
        late: Whether it is for what changed among the rows that were seen before.
        pending: Whether anything is to be done.
    """

    value: str | None
    late: bool = False
    pending: bool = True


def first_point(model: Model) -> Point:
    """The first time point of all rows.

    Raises:
        InvalidModel: If there are too many.
    """
    return Point(_next(model, model.sources.current_versions(), None)[1])


def next_point(model: Model, bookmark: Bookmark) -> Point:
    """The step after a bookmark.

    Raises:
        InvalidModel: If there are too many.
    """
    ordered = model.sources.ordered
    reached = {bookmark.sources[key].until for key in ordered if key in bookmark.sources}
    before = next((until.value for until in reached if until is not None), None)
    late = Point(before, True)
    changes: dict[str, SourceChange] = {}
    for source in model.tables:
        if source.key in model.delayed_keys or source.previous:
            continue
        if source.key not in bookmark.sources:
            return late
        change = versions.change_since(
            model.warehouse, source.parts, bookmark.sources[source.key], False
        )
        if isinstance(change, Reason) or change.change is Change.REPLACED:
            return late
        if change.changed and (
            source.key not in ordered
            or versions.not_of_a_feed(model.warehouse, source.parts) is not None
            or not versions.has_change_feed(model.warehouse, source.parts)
        ):
            return late
        changes[source.key] = change
    came_late, value = _next(model, changes, before)
    if came_late:
        return late
    return Point(value) if value is not None else Point(before, pending=False)


def _next(
    model: Model, changes: Mapping[str, SourceChange], before: str | None
) -> tuple[bool, str | None]:
    """Whether a row that was seen changed, and the first value that was not seen."""
    parts: list[exp.Query] = []
    nothing = exp.cast(exp.Null(), "int")
    ordered = model.sources.ordered
    kind = next(iter(ordered.values())).kind
    for key, order in ordered.items():
        reached = replace(order, value=before)
        change = changes[key]
        source = table(change.parts, change.post.version)
        value = exp.alias_(column(order), "value")
        late = exp.alias_(nothing.copy(), "late")
        parts.append(exp.Select().from_(source).select(value, late).where(later(reached)))
        if change.changed:
            feed = change_feed(versions.seen_until(change, reached))
            none = exp.alias_(exp.cast(exp.Null(), kind), "value")
            one = exp.alias_(exp.Literal.number(1), "late")
            changed = feed.select(none, one).limit(1).subquery()
            parts.append(exp.Select().from_(changed).select("*"))
    values = exp.column("value")
    order = next(iter(ordered.values()))
    number_of = exp.Count(this=exp.Distinct(expressions=[values.copy()]))
    told = (
        exp.alias_(exp.cast(exp.Count(this=exp.column("late")), "string"), "late"),
        exp.alias_(as_text(order, exp.Min(this=values)), "value"),
        exp.alias_(exp.cast(number_of, "string"), "number"),
    )
    asked = exp.Select().from_(union_all(parts).subquery("pending")).select(*told)
    ((late_rows, first, number),) = model.warehouse.texts(text(asked))
    most = model.request.options.max_steps
    if int(number or 0) > most:
        raise InvalidModel(
            f"{int(number or 0):,} values of {order.column} are pending, each of which is a step, "
            f"and ivm_max_steps is {most:,}",
            hint="Order by a coarser column, such as a date, or allow more steps.",
        )
    return int(late_rows or 0) > 0, first
