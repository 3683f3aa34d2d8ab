"""Whether and how a query can be maintained: bound, laid out, and tried."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sqlglot import exp
from sqlglot.errors import ParseError

from python_ivm.algebra.columns import Named
from python_ivm.algebra.nodes import Aggregate, Filter, Node, Project, Sort, UnionAll
from python_ivm.algebra.normalize import normalize
from python_ivm.algebra.printer import tree
from python_ivm.algebra.unions import Types, key, known
from python_ivm.delta.compile import delta
from python_ivm.delta.not_in import not_in_by_key
from python_ivm.delta.term import Changes
from python_ivm.errors import InvalidModel, NotYetImplemented, Unsupported
from python_ivm.refresh import emit
from python_ivm.refresh.model import Model
from python_ivm.refresh.reason import Reason, not_parsed, not_yet, planner_error
from python_ivm.sources.clock import CLOCK
from python_ivm.sql.bind import Query, bind
from python_ivm.sql.functions import check_user_functions
from python_ivm.sql.parse import DIALECT, pipe, position
from python_ivm.sql.render import Renderer
from python_ivm.sql.schema import kind_of
from python_ivm.state.bookmark import digest
from python_ivm.state.layout import Layout, arguments_to_type, layout
from python_ivm.state.maps import is_map, map_columns


@dataclass(frozen=True)
class Maintained:
    """A query that the planner can maintain."""

    query: Query
    layout: Layout
    types: Types
    fingerprint: str


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
    if types is None and (unseen := model.unversioned()):
        return model.not_delta(unseen[0])
    try:
        if (piped := pipe(model.reading.text)) is not None:
            raise NotYetImplemented("The pipe syntax", operator="|>", **position(piped))
        united: dict[str, Mapping[str, str]] = {}
        casts = known(types) if types is not None else partial(_ask_casts, model, united)
        query = bind(model.reading.tree, schemas, casts)
        _refuse_own_names(query)
        described: Sequence[tuple[str, str]] | None = None
        if types is None:
            promised = model.request.options.deterministic_functions
            check_user_functions(model.reading.tree, model.warehouse.user_functions(), promised)
            described = model.warehouse.describe(model.request.sql)
            types = _ask_types(model, query) | map_columns(query, described) | united
        decided = layout(query, types)
        decided = replace(decided, input=not_in_by_key(decided.input, partial(kind_of, schemas)))
        if described is not None:
            decided = replace(decided, columns=tuple(name for name, _ in described))
            if decided.is_bag:
                _refuse_incomparable([c for c in described if not is_map(c[1])])
            _refuse_incomparable_groups(model, query)
            _refuse_what_delta_refuses(_state_types(model, query, decided))
            _try(model, query, decided)
    except NotYetImplemented as error:
        return not_yet(error)
    except InvalidModel as error:
        _let_spark_judge(model, error)
        return not_yet(error)
    except Unsupported:
        raise
    except Exception as error:
        return planner_error(error, model.warehouse.failure)
    used = {
        node: {c: kind_of(schemas, node, c) for c in columns}
        for node, columns in _used_columns(query).items()
    }
    stored = [(key.name, key.expression.sql(dialect=DIALECT)) for key in decided.keys]
    stored += [(c.name, c.build().sql(dialect=DIALECT)) for c in decided.counters]
    fingerprint = digest(stored, tree(query.plan), used)
    return Maintained(query, decided, types, fingerprint)


def _try(model: Model, query: Query, decided: Layout) -> None:
    """Plan a build and a change of every source, to know before anything is written."""
    current = model.current_versions()
    every = Changes({key: False for key in (*query.sources, CLOCK)})
    terms = delta(decided.input, every)
    clock = model.clock(None)
    emit.build_statements(model.request, model.reading.text, decided, current, clock, "", 0)
    emit.merge_statement(model.request, decided, terms, every, current, clock)


def _state_types(model: Model, query: Query, decided: Layout) -> Sequence[tuple[str, str]]:
    """Names and types of a state's columns; none if Spark fails, as the build then will.

    Raises:
        NotYetImplemented: If Spark does not take the form in which the planner computes one of
            many results: values of a type that has no order, for instance.
    """
    body = emit.state_query(decided, model.current_versions(), model.clock(None))
    try:
        return model.warehouse.describe(body)
    except Exception as error:
        if not query.chooses:
            return ()
        told = str(error).strip().splitlines()[0]
        raise NotYetImplemented(
            f"The order of rows that this query leaves open ({told})", operator="order"
        ) from error


_INTERVAL = re.compile(r"\binterval\b(?!:)", re.I)
"""A type that holds an interval; not a field of that name."""


def _refuse_what_delta_refuses(columns: Sequence[tuple[str, str]]) -> None:
    """A state may hold what its view does not show, and Delta stores no intervals."""
    for name, kind in columns:
        if _INTERVAL.search(kind):
            raise NotYetImplemented(
                f"A state with a column of type {kind}, which Delta cannot store ({name}),",
                hint="Aggregate numbers, as extract(...) or unix_timestamp(...) give them.",
            )


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


def _ask_types(model: Model, query: Query) -> dict[str, Mapping[str, str]]:
    found: dict[str, Mapping[str, str]] = {}
    current = model.current_versions()
    for relation, (rows, arguments) in arguments_to_type(query.plan).items():
        renderer = Renderer(emit.source_relations(current, model.clock(None)))
        described = model.warehouse.describe(emit.probe_query(rows, arguments, renderer))
        found[relation] = {
            argument.name: kind for argument, (_, kind) in zip(arguments, described, strict=True)
        }
    return found


def _ask_casts(
    model: Model, found: dict[str, Mapping[str, str]], union: UnionAll
) -> list[Mapping[str, str]]:
    """What the parts of a union must be cast to; what is asked for is kept in ``found``."""
    kinds = [_column_types(model, part) for part in union.parts]
    if all(kind == kinds[0] for kind in kinds):
        return [{} for _ in union.parts]
    wanted = _column_types(model, union)
    casts: list[Mapping[str, str]] = []
    for number, own in enumerate(kinds):
        columns = zip(union.names, own, wanted, strict=True)
        casts.append({name: kind for name, before, kind in columns if kind != before})
        if casts[-1]:
            found[key(union, number)] = casts[-1]
    for kind in (kind for cast in casts for kind in cast.values()):
        if not _can_be_written(kind):
            raise NotYetImplemented(f"A set operation of columns of type {kind}", operator="UNION")
    return casts


def _column_types(model: Model, node: Node) -> list[str]:
    """The Spark types of a plan's columns; the plan is not normalized yet."""
    columns = [Named(f"c{n}", column.expression()) for n, column in enumerate(node.schema, 1)]
    rows = normalize(Project(node, "typed", tuple(columns)))
    items = tuple(Named(column.name, column.expression()) for column in rows.schema)
    renderer = Renderer(emit.source_relations(model.current_versions(), model.clock(None)))
    try:
        described = model.warehouse.describe(emit.probe_query(rows, items, renderer))
    except Exception as error:
        model.warehouse.describe(model.request.sql)  # fails if it is the user's error
        told = str(error).strip().splitlines()[0]
        raise NotYetImplemented(
            f"A set operation whose types Spark does not tell ({told})", operator="UNION"
        ) from error
    return [kind for _, kind in described]


def _can_be_written(kind: str) -> bool:
    """Whether a type can be written as Spark tells it: it cuts wide structs short."""
    try:
        written = exp.DataType.build(kind, dialect=DIALECT).sql(dialect=DIALECT)
    except ParseError:
        return False
    return re.sub(r"\W", "", written).lower() == re.sub(r"\W", "", kind).lower()


def _used_columns(query: Query) -> dict[str, list[str]]:
    used: dict[str, set[str]] = {}
    for node in query.plan.walk():
        source = getattr(node, "source", None)
        if source is not None:
            used.setdefault(source, set()).update(getattr(node, "columns", ()))
    return {source: sorted(columns) for source, columns in used.items()}


def _refuse_own_names(query: Query) -> None:
    """Columns that could be taken for the planner's; those of the view itself may be so named."""
    top = query.plan
    while isinstance(top, (Sort, Filter, Project)):
        top = top.input
    for node in top.walk():
        for column in node.schema:
            if column.name.startswith("__ivm_"):
                raise NotYetImplemented(
                    f"A column named {column.name}",
                    hint="Give it a name that does not begin with __ivm_.",
                )


_INCOMPARABLE = re.compile(
    r"\b(map\w*|\w+_map|variant\w*|\w*_variant\w*|\w+_json|from_xml)\b", re.I
)
"""Types, and functions that may make them, whose values Spark cannot compare."""


def _refuse_incomparable_groups(model: Model, query: Query) -> None:
    """Groups are found again by comparing their keys, though Spark may group by them."""
    schemas = model.schemas()
    kinds = [kind for key in query.sources for kind in schemas[key].columns.values()]
    if not any(_INCOMPARABLE.search(text) for text in (*kinds, model.reading.text)):
        return
    current = model.current_versions()
    for node in query.plan.walk():
        if isinstance(node, Aggregate) and node.keys:
            renderer = Renderer(emit.source_relations(current, model.clock(None)))
            probe = emit.probe_query(node.input, node.keys, renderer)
            _refuse_incomparable(model.warehouse.describe(probe))


def _refuse_incomparable(columns: Sequence[tuple[str, str]]) -> None:
    """Rows and groups are found again by comparing them, which Spark cannot do for some types."""
    for name, kind in columns:
        found = next((t for t in ("map<", "variant") if t in kind.lower()), None)
        if found is not None:
            raise NotYetImplemented(
                f"Column {name} of type {kind}, which Spark cannot compare,",
                hint="Show its entries as columns or as an array of structs.",
            )
