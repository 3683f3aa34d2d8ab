"""How a model is maintained, in words, as a plan and as SQL."""

from __future__ import annotations

from dataclasses import replace

from python_ivm.algebra.printer import tree
from python_ivm.delta.compile import delta
from python_ivm.delta.term import Changes
from python_ivm.errors import IvmError
from python_ivm.refresh import emit, sources
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.request import Request, Warehouse
from python_ivm.refresh.strategy import Maintained, Planner
from python_ivm.sources.history import Change, SourceChange, SourceVersion
from python_ivm.state.bookmark import Found
from python_ivm.state.layout import Layout


def explain(request: Request, warehouse: Warehouse) -> str:
    """Explain a model's maintenance; runs only metadata queries.

    Args:
        request: The model.
        warehouse: Answers questions about tables.

    Returns:
        Text: the logical plan, what is stored, the bookmark, and for a change of each source what
        would be done and by which SQL.

    Raises:
        InvalidModel: If the model is wrong.
        Unsupported: If the query cannot be maintained at all.
    """
    try:
        planner = Planner(request, warehouse)
        found = sources.state_history(warehouse, request.state)
        maintained = planner.maintained(None)
        title = f"{request.model}: {emit.relation_name(request.view)}"
        parts = [title, "=" * len(title), _now(found)]
        if isinstance(maintained, Reason):
            told = f"Every change rebuilds the view in full ({maintained.code}): {maintained.text}"
            return "\n\n".join([*parts, told]) + "\n"
        current = sources.current_versions(warehouse, planner.distinct_references())
        parts += [
            _section("Logical plan", tree(maintained.query.plan)),
            _section("Stored", _stored(request, maintained.layout)),
            *_on_changes(request, maintained, current, found),
            _section("Build and view", _build(request, maintained, current)),
        ]
        return "\n\n".join(parts) + "\n"
    except IvmError as error:
        error.model = error.model or request.model
        raise


def _section(title: str, body: str) -> str:
    return f"{title}\n{'-' * len(title)}\n{body}"


def _now(found: Found) -> str:
    if found.bookmark is None:
        return "Not built yet."
    read = ", ".join(f"{key}@{v.version}" for key, v in found.bookmark.sources.items())
    return f"Shows {read} (refresh {found.bookmark.refresh})."


def _stored(request: Request, layout: Layout) -> str:
    what = "the bag of its rows" if layout.is_bag else "one row for each group"
    if layout.is_global:
        what = "one row"
    lines = [f"{emit.relation_name(request.state)} holds {what}:"]
    lines += [f"  {key.name} = {emit.text(key.expression)}" for key in layout.keys]
    for counter in layout.counters:
        note = ""
        if counter.recomputable:
            note = "  (recomputed in groups that lose it)"
            if counter.lost() is not None and not counter.contributions(emit.table(("x",)), False):
                note = "  (recomputed in every changed group)"
        lines.append(f"  {counter.name} = {_one_line(counter.build())}{note}")
    return "\n".join(lines)


def _one_line(expression: object) -> str:
    return " ".join(emit.text(expression).split())  # type: ignore[arg-type]


def _on_changes(
    request: Request,
    maintained: Maintained,
    current: dict[str, SourceChange],
    found: Found,
) -> list[str]:
    """For each source: the terms of the delta and the MERGE, as if its next commit had come."""
    sections = []
    for key in maintained.query.sources:
        now = current[key].post
        pre = found.bookmark.sources.get(key, now) if found.bookmark else now
        post = now if now.version > pre.version else SourceVersion(pre.version + 1, "")
        changed = {
            **current,
            key: SourceChange(current[key].parts, pre, post, Change.GENERAL),
        }
        changes = Changes({key: False})
        terms = delta(maintained.layout.input, changes)
        listed = "\n".join(f"  {term.title}" for term in terms)
        statement = emit.merge_statement(request, maintained.layout, terms, changes, changed, "", 0)
        body = f"Terms of the delta:\n{listed}\n\n{statement.sql}"
        sections.append(_section(f"When {key} changes", body))
    return sections


def _build(request: Request, maintained: Maintained, current: dict[str, SourceChange]) -> str:
    quiet = replace(request, table_in_the_way=False)
    statements = emit.build_statements(quiet, maintained.layout, current, "", 0)
    return ";\n\n".join(statement.sql for statement in statements)
