"""The queries by which the planner asks about changed rows and about types."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from python_ivm.algebra.columns import Named
from python_ivm.algebra.nodes import Aggregate, Node, Project
from python_ivm.algebra.term import Changes
from python_ivm.optimize.context import Question
from python_ivm.render.renderer import Renderer, stored_as, union_all
from python_ivm.render.sources import change_feed, text
from python_ivm.sources.history import SourceChange

_SEEN = "seen"


def keys_query(questions: Sequence[Question], most: int, renderer: Renderer) -> str:
    """A query that answers several questions.

    Args:
        questions: What is asked.
        most: How many rows of each are wanted; those that the model's query sees come first.
        renderer: Renders the questions.

    Returns:
        A query of these columns, all texts: the question's number, its keys in order, as many as
        the question with most of them has, and ``true`` if the model's query sees such rows.
    """
    width = max(len(question.keys) for question in questions)
    selects: list[exp.Query] = []
    for number, question in enumerate(questions):
        texts: list[exp.Expr] = [exp.cast(key.expression(), "string") for key in question.keys]
        texts += [exp.null() for _ in range(width - len(texts))]
        keys = [Named(f"v{place}", value) for place, value in enumerate(texts, 1)]
        if question.seen is None:
            seen, measures = [Named(_SEEN, _text("true"))], []
        else:
            told = exp.cast(exp.Max(this=question.seen), "string")
            seen, measures = [], [Named(_SEEN, told)]
        which = Named("which", _text(str(number)))
        found = Aggregate(question.rows, "found", (which, *keys, *seen), tuple(measures))
        query = renderer.query(found)
        if measures:
            query = query.order_by(exp.Ordered(this=exp.column(_SEEN), desc=True), copy=False)
        selects.append(query)
    return text(renderer.with_ctes(_some(selects, most)))


def range_query(changes: Sequence[tuple[SourceChange, Sequence[str]]]) -> str:
    """A query of one row for each change: which change's, each column's lowest and highest text.

    Args:
        changes: Changes, each with columns that are asked about.
    """
    values = [
        [
            exp.cast(value, "string")
            for name in names
            for value in (exp.Min(this=_stored(source, name)), exp.Max(this=_stored(source, name)))
        ]
        for source, names in changes
    ]
    width = max(map(len, values))
    selects: list[exp.Query] = []
    for number, ((source, _), own) in enumerate(zip(changes, values, strict=True)):
        padded = [*own, *(exp.null() for _ in range(width - len(own)))]
        named = [exp.alias_(value, f"v{place}") for place, value in enumerate(padded, 1)]
        selects.append(change_feed(source).select(exp.alias_(_text(str(number)), "which"), *named))
    return text(union_all(selects))


def _stored(source: SourceChange, column: str) -> exp.Expr:
    return stored_as(column, source.stored).unalias()


def _some(queries: Sequence[exp.Query], most: int) -> exp.Query:
    """The first `most` rows of each of several queries."""
    found = [query.limit(most).subquery("found") for query in queries]
    return union_all([exp.Select().select("*").from_(rows) for rows in found])


def _text(value: str) -> exp.Expr:
    return exp.Literal.string(value)


def probe_query(rows: Node, arguments: tuple[Named, ...], renderer: Renderer) -> str:
    """A query whose column types are those of expressions over a plan's rows."""
    node: Node = Project(Changes({}).post(rows), "probe", arguments)
    return text(renderer.with_ctes(renderer.query(node)))
