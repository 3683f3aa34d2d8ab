"""How a model is maintained, in words, as a plan and as SQL."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sqlglot import exp

from python_ivm.algebra.normal_form import normal_forms
from python_ivm.algebra.term import Changes, Term
from python_ivm.delta import delta
from python_ivm.errors import IvmError
from python_ivm.explain.layouts import layouts
from python_ivm.explain.loop_order import loop_order
from python_ivm.explain.maintenance_graph import text
from python_ivm.explain.recomputations import recomputations
from python_ivm.loops.run import LoopRun
from python_ivm.optimize import compiled
from python_ivm.optimize.analysis.provenance import Key
from python_ivm.optimize.context import Context
from python_ivm.optimize.cost import Cost
from python_ivm.optimize.data_skipping import keys_looked_up
from python_ivm.optimize.irrelevant_updates import relevant
from python_ivm.qualify.schema import kind_of
from python_ivm.refresh import statement_builders
from python_ivm.refresh.incremental import recomputing
from python_ivm.refresh.lifecycle.former import followed_request
from python_ivm.refresh.lifecycle.storing import to_build
from python_ivm.refresh.maintainability import Maintained, maintained
from python_ivm.refresh.metadata import versions
from python_ivm.refresh.metadata.cached_warehouse import CachedWarehouse
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.model import Model
from python_ivm.refresh.options import StepMode
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.request import Request
from python_ivm.render.plan_text import one_line, tree
from python_ivm.render.sources import relation_name
from python_ivm.render.sources import text as sql_text
from python_ivm.sources.clock import CLOCK
from python_ivm.sources.history import Change, SourceChange, SourceVersion
from python_ivm.state.bookmark import Found
from python_ivm.state.layout import CHECK, STEP, Layout
from python_ivm.state.recompute import recompute


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
        asked = CachedWarehouse(warehouse)
        given, request = request, followed_request(request, asked)
        found = versions.state_history(asked, request.state)
        model = Model(request, asked, found)
        how = maintained(model, None)
        title = f"{request.model}: {relation_name(request.view)}"
        parts = [title, "=" * len(title), _now(found)]
        if request.sql != given.sql:
            parts.append(_FORMER)
        if isinstance(how, Reason):
            told = f"Every change rebuilds the view in full ({how.code}): {how.words}"
            return "\n\n".join([*parts, told]) + "\n"
        current = model.sources.current_versions()
        run = model.loop_run()
        if run is not None:
            parts += _looped(request, model, how, run, current, found)
            return "\n\n".join(parts) + "\n"
        parts += [
            _section("Logical plan", tree(how.query.plan)),
            *(
                _section("Normal form, join graph and maintenance graph", text(form))
                for form in normal_forms(how.query.plan)
            ),
            _section("Stored", stored(request, how.layout)),
            *_recomputed(how.layout),
            _section("Read of the sources", read_of_sources(model, how.layout)),
            *_delays(model),
            *_of_the_clock(model, how),
            *_on_changes(model, how, current, found),
            *_recompute(model, how, current, found),
            _section("Build and view", _build(model, how, current)),
        ]
        return "\n\n".join(parts) + "\n"
    except IvmError as error:
        error.model = error.model or request.model
        raise


def _looped(
    request: Request,
    model: Model,
    how: Maintained,
    run: LoopRun,
    current: dict[str, SourceChange],
    found: Found,
) -> list[str]:
    """How a model with a loop is kept: a recursive set follows changes, others are run anew."""
    merge = recomputing(model, recompute(how.layout), current, model.clock(None))
    given = "\n\n".join(run.queries) or "  nothing"
    return [
        _section("Loop, in the order of a round", loop_order(run.loop)),
        _section("Given to the loop by Spark", given),
        _section("Logical plan behind the loop", tree(how.query.plan)),
        _section("Stored", stored(request, how.layout)),
        *(_on_changes(model, how, current, found) if how.layout.stores_set else ()),
        _section(_ANEW[how.layout.stores_set], merge.sql),
        _section("Build and view", _build(model, how, current)),
    ]


_ANEW = {
    False: "A change of any source runs the loop anew; then",
    True: "A change that is too large to follow runs the loop anew; then",
}

_FORMER = (
    "The query changed. This is the former one, which the view follows until it is built anew\n"
    "(on_configuration_change: continue)."
)


def _section(title: str, body: str) -> str:
    return f"{title}\n{'-' * len(title)}\n{body}"


def _now(found: Found) -> str:
    if found.bookmark is None:
        return "Not built yet."
    read = ", ".join(f"{key}@{v.version}" for key, v in found.bookmark.sources.items())
    return f"Shows {read} (refresh {found.bookmark.refresh})."


def stored(request: Request, layout: Layout) -> str:
    """What the state holds: its rows, and its columns with their expressions."""
    what = "the bag of its rows" if layout.is_bag else "one row for each group"
    if layout.is_global:
        what = "one row"
    if layout.is_log:
        what = "a log of the rows that come into the query's result, and loses none of them"
    lines = [f"{relation_name(request.state)} holds {what}:"]
    lines += [f"  {key.name} = {sql_text(key.expression)}" for key in layout.keys]
    for counter in layout.counters:
        lines.append(f"  {counter.name} = {one_line(counter.build())}")
    if layout.is_log:
        lines.append(f"  {STEP} = the number of the refresh at which the row came")
    if layout.check is not None:
        lines.append(f"  {CHECK} = {one_line(layout.check)}")
        lines.append("    (fails a refresh that would leave a view which cannot be read)")
    return "\n".join(lines)


def _recomputed(layout: Layout) -> list[str]:
    """Why parts of the model are recomputed; nothing where none is."""
    found = [f"  {sentence}" for sentence in recomputations(layout)]
    return [_section("Recomputed where a change touches it", "\n".join(found))] if found else []


def read_of_sources(model: Model, layout: Layout) -> str:
    """Of each source the columns, and the condition on its rows: other changes are not seen."""
    if not model.tables:
        return "  no table: it is built once"
    lines = []
    for source, reads in relevant(layout.input, partial(kind_of, model.schemas())).items():
        columns = ", ".join(reads.columns) or "the number of rows"
        lines.append(f"  {source}: {columns}")
        if reads.condition is not None:
            condition = reads.condition.transform(_without_table)
            lines.append(f"    of rows with {one_line(condition)}")
    return "\n".join(lines)


def _delays(model: Model) -> list[str]:
    """What is read as of the run before; nothing where that is nothing."""
    lines = []
    if model.own_key is not None:
        lines += [
            f"  {model.own_key}: the model's own rows, as of its last refresh",
            "  The result is a function of the sources' commits since the build, and not of what",
            "  the sources are now: each run follows from the one before.",
        ]
    before = dict.fromkeys(table.key for table in model.reading.tables if table.previous)
    lines += [f"  {key}: as it was before the run" for key in before]
    if model.request.options.step is StepMode.COMMIT:
        lines.append("  A step is one commit of the other sources, in the order of their times.")
    for key, until in model.sources.ordered.items():
        lines.append(f"  A step is one value of {key}.{until.column}, in ascending order, and one")
        lines.append("  more what changed at the values before.")
    return [_section("Read as of the run before", "\n".join(lines))] if lines else []


def _without_table(node: exp.Expr) -> exp.Expr:
    return exp.column(node.this.copy()) if isinstance(node, exp.Column) else node


def _of_the_clock(model: Model, how: Maintained) -> list[str]:
    if not how.query.shows:
        return []
    asked = " and ".join(sorted(how.query.shows))
    told = f"  whenever the clock's reading ({asked}) is another one, as it is no condition's"
    rebuilt = model.tables or how.layout.view_asks_clock
    return [_section("Rebuilt in full" if rebuilt else "Recomputed", told)]


def _on_changes(
    model: Model,
    how: Maintained,
    current: dict[str, SourceChange],
    found: Found,
) -> list[str]:
    """For each source: the terms of the delta and the MERGE, as if its next commit had come."""
    sections = []
    request = model.request
    clock = model.clock(found.bookmark)

    kinds = partial(kind_of, model.schemas())
    keys: set[Key] = set()

    def written(changes: Changes, sources: dict[str, SourceChange]) -> str:
        """The terms of the delta, and the MERGE without what the changed keys would add to it."""
        context = Context(
            kinds, Cost(model.statistics, {}), net=how.net, without=request.without_passes
        )
        merge = compiled(how.layout, changes, context)
        keys.update(keys_looked_up(merge, kinds))
        statement = statement_builders.merge_statement(
            request, merge, sources, clock, found.version
        )
        terms = _told(delta(how.layout.input, changes))
        return f"{terms}\n\n{_passes(context)}\n\n{statement.sql}"

    if model.asked:
        changes = Changes({CLOCK: False})
        if delta(how.layout.input, changes):
            sections.append(_section("When the clock moves", written(changes, current)))
    for key in how.query.sources:
        now = current[key].post
        pre = found.bookmark.sources.get(key, now) if found.bookmark else now
        post = now if now.version > pre.version else SourceVersion(pre.version + 1, "")
        changed = {
            **current,
            key: replace(current[key], pre=pre, post=post, change=Change.GENERAL),
        }
        body = written(Changes({key: False}), changed)
        sections.append(_section(f"When {key} changes", body))
    advice = layouts(keys, model, how.layout)
    return [*sections, _section("Layouts that help", advice)] if advice else sections


def _recompute(
    model: Model, how: Maintained, current: dict[str, SourceChange], found: Found
) -> list[str]:
    """The MERGE that does not follow what changed; nothing where values cannot be compared."""
    if not how.comparable:
        return []
    clock = model.clock(found.bookmark)
    planned = recompute(how.layout)
    merge = statement_builders.merge_statement(
        model.request, planned, current, clock, found.version
    )
    return [
        _section(
            "When a change is more expensive to follow than to recompute, or cannot be followed",
            merge.sql,
        )
    ]


def _told(terms: list[Term]) -> str:
    """What the delta consists of, by the comments of the SQL; of an outer join, in which delta."""
    secondary = [term for term in terms if term.secondary]
    if not secondary:
        return "Terms of the delta:\n" + _titles(terms)
    primary = [term for term in terms if not term.secondary]
    both = {"Primary delta:": primary, "Secondary delta:": secondary}
    return "\n".join(f"{name}\n{_titles(some)}" for name, some in both.items() if some)


def _passes(context: Context) -> str:
    """Which passes of the optimizer changed the plan; the others ask for changed keys first."""
    return f"Passes that changed the plan: {', '.join(context.changed) or 'none'}"


def _titles(terms: list[Term]) -> str:
    return "\n".join(f"  {term.title}" for term in terms)


def _build(model: Model, how: Maintained, current: dict[str, SourceChange]) -> str:
    request, _, _ = to_build(model.request, model.warehouse, how)
    quiet = replace(request, table_in_the_way=False)
    built = statement_builders.build_statements(
        quiet, model.reading.text, how.layout, current, model.clock(None), "", 0
    )
    return ";\n\n".join(statement.sql for statement in built)
