"""Whether and how a query can be maintained: bound, laid out, and tried."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from python_ivm.algebra.definitions import definitions
from python_ivm.algebra.term import Changes
from python_ivm.bind.binder import bind
from python_ivm.bind.query import Query
from python_ivm.bind.ties import Kinds, known_kinds
from python_ivm.bind.union_types import Types, known
from python_ivm.errors import InvalidModel, IvmError, NotYetImplemented, Unsupported
from python_ivm.functions.comparable import may_be_incomparable
from python_ivm.functions.failures import Failures
from python_ivm.loops.recursive_sets import in_place_of_loop
from python_ivm.optimize import compiled
from python_ivm.optimize.context import Context
from python_ivm.optimize.cost import Cost
from python_ivm.optimize.net_changes import sources_to_net
from python_ivm.optimize.null_aware_anti_join import null_aware_anti_join
from python_ivm.parse.loops import NOW
from python_ivm.parse.parser import DIALECT
from python_ivm.qualify.checks.clock_words import refuse_clock_words
from python_ivm.qualify.checks.determinism import refuse_places_of_rows
from python_ivm.qualify.checks.session_names import refuse_session_names
from python_ivm.qualify.checks.user_functions import check_user_functions
from python_ivm.qualify.schema import Schemas, kind_of
from python_ivm.refresh import statement_builders
from python_ivm.refresh.model import Model
from python_ivm.refresh.options import Output
from python_ivm.refresh.reason import Reason, not_parsed, not_yet, planner_error
from python_ivm.refresh.storable import (
    refuse_incomparable,
    refuse_intervals,
    refuse_own_names,
)
from python_ivm.refresh.type_probes import Described, Questions
from python_ivm.render.plan_text import tree
from python_ivm.sources.clock import CLOCK
from python_ivm.state.bookmark import digest
from python_ivm.state.counters import Kept, Recomputed
from python_ivm.state.layout import CHECK, HASH, STEP, Layout, layout, stored_recursion
from python_ivm.state.log import log_layout, logged_columns
from python_ivm.state.ordered_float_sums import has_exact_averages, in_order
from python_ivm.state.rows import nested_columns, row_hash


@dataclass(frozen=True)
class Maintained:
    """A query that the planner can maintain.

    Attributes:
        query: The bound query.
        layout: What is stored.
        types: The types that decided the layout.
        fingerprint: A hash of plan, types and layout, whatever the sources are called.
        comparable: Whether Spark can tell any two stored values apart.
        net: The sources of whose change rows that came and went must be left out.
    """

    query: Query
    layout: Layout
    types: Types
    fingerprint: str
    comparable: bool = True
    net: frozenset[str] = frozenset()

    def at_step(self, step: int) -> Maintained:
        """The same, for a commit of this number."""
        return replace(self, layout=self.layout.at_step(step))


def maintained(model: Model, types: Types | None) -> Maintained | Reason:
    """Bind a model's query and decide its layout, or say why it cannot be maintained.

    Args:
        model: The model.
        types: The types that decided the layout as they are stored; None asks the warehouse,
            and tries out every statement.

    Raises:
        InvalidModel: If the query is wrong.
        Unsupported: If its result does not follow from its sources.
    """
    if model.unread is not None:
        return not_parsed(model.unread)
    schemas = model.schemas()
    refuse_clock_words(model.reading.tree, schemas)
    refuse_places_of_rows(model.reading.tree, schemas)
    if types is None and (unseen := model.sources.unversioned()):
        return model.sources.not_delta(unseen[0])
    try:
        found = _decided(model, schemas, types)
    except NotYetImplemented as error:
        _refuse_session_names(model, error)
        return not_yet(error)
    except InvalidModel as error:
        _let_spark_judge(model, error)
        _refuse_session_names(model, error)
        return not_yet(error)
    except Unsupported:
        raise
    except Exception as error:
        return planner_error(error, model.warehouse.failure)
    fingerprint = _fingerprint(model, schemas, found)
    comparable = not (_any_values(found.layout) and may_be_incomparable(_texts(model)))
    return Maintained(found.query, found.layout, found.types, fingerprint, comparable, found.net)


@dataclass(frozen=True)
class _Decided:
    """A query with its layout; the attributes are those of :class:`Maintained`."""

    query: Query
    layout: Layout
    types: Types
    net: frozenset[str]


def _decided(model: Model, schemas: Schemas, types: Types | None) -> _Decided:
    """Bind a query and decide its layout; where no types are known, ask for them and try it out.

    Raises:
        NotYetImplemented: If there is no rule for something in it.
        InvalidModel: If it cannot be bound.
        Unsupported: If its result does not follow from its sources.
    """
    if types is None:
        promised = model.request.options.deterministic_functions
        check_user_functions(model.reading.tree, model.warehouse.user_functions(), promised)
    questions = Questions(model)
    casts = questions.casts if types is None else known(types)
    kinds = questions.kinds if types is None else known_kinds(types)
    query = bind(model.tree, schemas, casts, kinds)
    refuse_own_names(query)
    if model.recursive_set is not None:
        query = in_place_of_loop(query, model.recursive_set)
    if types is not None:
        decided, net = _laid_out(model, schemas, query, types, kinds)
        return _Decided(query, decided, types, net)
    described = _described(model, query)
    questions.refuse_sessions(_used_columns(query))
    types = _asked(questions, query, described)
    decided, net = _laid_out(model, schemas, query, types, kinds)
    types = {**types, **questions.orders}
    names = tuple(name for name, _ in described)
    decided = replace(decided, columns=logged_columns(names) if decided.is_log else names)
    _check_storable(questions, query, decided, described)
    _try(model, query, decided, net)
    return _Decided(query, decided, types, net)


def _described(model: Model, query: Query) -> Described:
    """The query's columns as Spark tells them.

    Raises:
        NotYetImplemented: If they are not those of the bound query.
    """
    described = model.warehouse.describe(model.request.sql)
    if len(described) != len(query.columns):
        raise NotYetImplemented(
            "A * that shows several columns of one name",
            operator="*",
            hint="Write out the columns.",
        )
    return described


def _asked(questions: Questions, query: Query, described: Described) -> Types:
    """The types that decide the layout, as Spark tells them."""
    asked = questions.arguments(query)
    types = asked | nested_columns(query, described) | questions.united
    return types | questions.recursion(query)


def _laid_out(
    model: Model, schemas: Schemas, query: Query, types: Types, kinds: Kinds
) -> tuple[Layout, frozenset[str]]:
    """What is stored, and the sources of whose change rows that came and went are left out."""
    failures = Failures(definitions(query.plan, partial(kind_of, schemas)), model.ansi)
    log = model.request.options.output is Output.INSERTED
    decided = log_layout(query, types) if log else layout(query, types, failures)
    net = sources_to_net(decided, failures)
    if null_aware_anti_join.__name__ not in model.request.without_passes:
        decided = replace(
            decided, input=null_aware_anti_join(decided.input, partial(kind_of, schemas))
        )
    if not decided.is_bag:
        values = [value for counter in decided.counters for value in counter.values]
        decided = replace(decided, incomparable=kinds(decided.input, values))
    return decided, net


def _fingerprint(model: Model, schemas: Schemas, found: _Decided) -> str:
    """A hash of plan, types and layout, whatever the sources are called."""
    query, decided = found.query, found.layout
    places = {table.key: f"#{number}" for number, table in enumerate(model.tables, 1)}
    read = {
        places.get(node, node): {c: kind_of(schemas, node, c) for c in columns}
        for node, columns in _used_columns(query).items()
    }
    stored = [(key.name, key.expression.sql(dialect=DIALECT)) for key in decided.keys]
    stored += [(c.name, c.build().sql(dialect=DIALECT)) for c in decided.counters]
    if decided.is_bag:
        values = [key.expression for key in decided.keys]
        stored.append((HASH, row_hash(values).sql(dialect=DIALECT)))
    if decided.is_log:
        stored.append((STEP, ""))
    recursion = stored_recursion(query.plan)
    ordered = recursion is not None and in_order(recursion, found.types) != recursion
    if ordered or has_exact_averages(decided.input):  # a former version had other values
        stored.append(("in order", ""))
    if decided.check is not None:
        stored.append((CHECK, decided.check.sql(dialect=DIALECT)))
    return digest(stored, tree(query.plan, places), read)


def _any_values(decided: Layout) -> bool:
    """Whether a counter is of a type that the planner does not know."""
    return any(isinstance(counter, (Kept, Recomputed)) for counter in decided.counters)


def _texts(model: Model) -> list[str]:
    """What may name a type: those of the sources' columns, and the query."""
    kinds = [kind for table in model.schemas().values() for kind in table.columns.values()]
    return [*kinds, model.reading.text]


def _check_storable(
    questions: Questions, query: Query, decided: Layout, described: Described
) -> None:
    if may_be_incomparable(_texts(questions.model)):
        for keys in questions.groups(query):
            refuse_incomparable(keys)
    refuse_intervals(questions.state(query, decided))


def _try(model: Model, query: Query, decided: Layout, net: frozenset[str]) -> None:
    """Plan a build and a change of every source, to know before anything is written."""
    current = model.sources.current_versions()
    followed = [key for key in query.sources if not key.startswith(f"{NOW}.")]
    every = Changes({key: False for key in (*followed, CLOCK)})
    context = Context(partial(kind_of, model.schemas()), Cost(model.statistics, {}), net=net)
    clock = model.clock(None)
    statement_builders.build_statements(
        model.request, model.reading.text, decided, current, clock, "", 0
    )
    if every.touches(decided.input):
        merge = compiled(decided, every, context)
        statement_builders.merge_statement(model.request, merge, current, clock)


def _let_spark_judge(model: Model, error: InvalidModel) -> None:
    """Raise an error of the planner's binding unless Spark takes the query.

    Raises:
        InvalidModel: If Spark refuses the query too, or names two columns alike.
    """
    try:
        described = model.warehouse.describe(model.request.sql)
    except Exception:
        raise error from None
    if len({name.lower() for name, _ in described}) < len(described):
        raise error


def _refuse_session_names(model: Model, error: IvmError) -> None:
    """A query that is computed anew only where a source changed must follow from its sources."""

    def is_value(text: str) -> bool:
        try:
            model.warehouse.describe(f"select {text}")
        except Exception:
            return False
        return True

    refuse_session_names(model.reading.tree, model.schemas(), error, is_value)


def _used_columns(query: Query) -> dict[str, list[str]]:
    used: dict[str, set[str]] = {}
    for node in query.plan.walk():
        source = getattr(node, "source", None)
        if source is not None:
            used.setdefault(source, set()).update(getattr(node, "columns", ()))
    return {source: sorted(columns) for source, columns in used.items()}
