"""What is stored for a model: the plan is cut at its topmost stateful operator.

Below the cut stands the state table; above it, linear and cheap, the public view.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, substitute
from python_ivm.algebra.linear_recursion import last_rounds
from python_ivm.algebra.nodes import (
    COUNT,
    Aggregate,
    Filter,
    Node,
    Project,
    Recursion,
    Sort,
    Window,
)
from python_ivm.bind.query import NO_HINTS, Hints, Query
from python_ivm.bind.ties import text
from python_ivm.errors import NotYetImplemented
from python_ivm.functions.comparable import comparable, is_comparable
from python_ivm.functions.failures import Failures
from python_ivm.parse.trees import variables
from python_ivm.sources.clock import readings
from python_ivm.state.counters import Counter, Kept, Rows
from python_ivm.state.measures import Measures, is_storable, summed_arguments
from python_ivm.state.ordered_float_sums import in_order
from python_ivm.state.rows import VIEW
from python_ivm.state.stored_forms import has_stored_form, shown_form, stored_form

HASH = "__ivm_hash__"
"""The column of a bag's state by which its rows are found; what was found is then compared."""

STATE = "__ivm_state__"
"""The planner key by which a plan reads the model's own state."""


STEP = "ivm_step"
"""The column of a log that says at which step a row came."""

CHECK = "__ivm_check__"
"""The column of a state for which those of the view's expressions are computed that can fail."""


@dataclass(frozen=True)
class Layout:
    """A model's state and view.

    Attributes:
        input: The plan whose rows the state counts.
        keys: The state's key columns, over the input's columns: the groups of an aggregate, or
            all columns of a bag.
        counters: The maintained columns; the first one counts rows.
        is_bag: Whether the state is a bag of rows rather than an aggregate's groups.
        is_global: Whether it is the one row of an aggregate without keys.
        items: The public view's columns over the state's columns.
        condition: The public view's condition (HAVING) over the state's columns.
        sort: The public view's ORDER BY, LIMIT and OFFSET, its keys over the state's columns.
        columns: The public view's column names as the user spells them.
        compared: The keys of a bag that its rows are found by beside their hash: of nested values
            too many have the same one, as it passes over the NULLs in them.
        check: What is stored as :data:`CHECK`, over the state's columns: the hash of what the view
            computes by expressions that can fail. So a group for which one does fails the commit
            rather than those who read the view. None if none can.
        hints: How a build should be computed.
        incomparable: The types of those values of counters that Spark cannot compare, by text.
        step: Of a log the number of the step whose rows are written next; None if it is none.
    """

    input: Node
    keys: tuple[Named, ...]
    counters: tuple[Counter, ...]
    is_bag: bool
    is_global: bool
    items: tuple[Named, ...]
    condition: exp.Expr | None = None
    sort: Sort | None = None
    columns: tuple[str, ...] = field(default=())
    compared: frozenset[str] = frozenset()
    check: exp.Expr | None = None
    hints: Hints = NO_HINTS
    incomparable: Mapping[str, str] = field(default_factory=dict)
    step: int | None = None

    @property
    def is_log(self) -> bool:
        """Whether the state is a log of the rows that came, with the step at which they did."""
        return self.step is not None

    @property
    def is_hashed(self) -> bool:
        """Whether a row is found by its hash: in a bag, and not in a log, which never looks."""
        return self.is_bag and not self.is_log

    def at_step(self, step: int) -> Layout:
        """The same, for a commit of this number; it matters to a log alone."""
        return replace(self, step=step) if self.is_log else self

    def form(self, value: exp.Expr) -> exp.Expr:
        """What rows are grouped by in place of a value of a counter."""
        kind = self.incomparable.get(text(value))
        return value if kind is None else comparable(value, kind)

    @property
    def recursion(self) -> Mapping[ColumnRef, str] | None:
        """The state's columns that hold those of a recursion; None if it does not store one."""
        if not self.is_hashed or not isinstance(self.input, Recursion):
            return None
        held = {
            ColumnRef(k.expression.table, k.expression.name): k.name
            for k in self.keys
            if isinstance(k.expression, exp.Column)
        }
        columns = self.input.schema
        return {c: held[c] for c in columns} if all(c in held for c in columns) else None

    @property
    def stores_set(self) -> bool:
        """Whether it stores a recursive set as a whole, which can then follow what changed."""
        is_set = isinstance(self.input, Recursion) and self.input.is_set
        return is_set and self.recursion is not None

    @property
    def view_asks_clock(self) -> bool:
        """Whether the public view's text has readings of the clock in it."""
        shown = [item.expression for item in self.items]
        shown += [self.condition] if self.condition is not None else []
        shown += self.sort.order if self.sort is not None else ()
        return any(readings(expression) for expression in shown)


def arguments_to_type(plan: Node) -> dict[str, tuple[Node, tuple[Named, ...]]]:
    """The summed arguments whose types decide the layout, and the rows that they are over.

    Returns:
        For each relation of an aggregate or of window functions its input and the arguments, by
        the measure's name.
    """
    found: dict[str, tuple[Node, tuple[Named, ...]]] = {}
    for node in plan.walk():
        if isinstance(node, (Aggregate, Window)):
            calls = node.measures if isinstance(node, Aggregate) else node.functions
            arguments = summed_arguments(calls)
            if arguments:
                found[node.relation] = (node.input, arguments)
    return found


def layout(
    query: Query, types: Mapping[str, Mapping[str, str]], failures: Failures | None = None
) -> Layout:
    """Decide what is stored for a model.

    Args:
        query: The bound model.
        types: For each relation of :func:`arguments_to_type` the Spark types of its arguments,
            by the measure's name; and what :func:`nested_columns` gives.
        failures: Tells which expressions over the plan's columns can fail; None takes that none
            can.

    Raises:
        NotYetImplemented: If an aggregate cannot be maintained.
    """
    items, condition, sort, below = _peel(query.plan)
    recursion = stored_recursion(query.plan)
    plain = recursion is not None and types.get(recursion.relation) == {}
    if recursion is not None and plain and _only_shows(items, condition, sort, failures):
        ordered = in_order(below, types)
        if recursion.is_set and ordered != below:  # its loop asks for rows in the query's own words
            raise NotYetImplemented(
                "A sum or an average that rounds, inside a recursion with UNION",
                operator="WITH RECURSIVE",
                hint="Cast its argument to a decimal, or compute it in a model of its own.",
            )
        return _recursion_layout(query, ordered, items, condition, sort)
    if isinstance(below, Aggregate):
        below = replace(below, input=in_order(below.input, types))
        decided = _aggregate_layout(query, below, types, items, condition, sort)
        if failures is None:
            return decided
        failing = _failing(items, condition, sort, failures)
        return replace(decided, check=_check(decided, failing, types.get(VIEW, {})))
    nested = types.get(VIEW, {})
    return _bag_layout(query, in_order(below, types), items, nested, condition, sort)


def stored_recursion(plan: Node) -> Recursion | None:
    """The recursion that a model may store as a whole, with all of its columns.

    A change is then followed from its stored rows (``delta/recursion.py``). It does so if none of
    its columns holds other values: types have an empty entry for its relation then.
    """
    _, _, _, below = _peel(plan)
    return below if isinstance(below, Recursion) and last_rounds(below) else None


def _only_shows(
    items: tuple[Named, ...],
    condition: exp.Expr | None,
    sort: Sort | None,
    failures: Failures | None,
) -> bool:
    """Whether the view's expressions neither fail nor ask the clock, as readers compute them."""
    shown = [item.expression for item in items]
    shown += [condition] if condition is not None else []
    shown += [key.this for key in sort.order] if sort is not None else []
    fails = failures is not None and any(map(failures.can_fail, shown))
    return not fails and not any(map(readings, shown))


def _peel(
    plan: Node,
) -> tuple[tuple[Named, ...], exp.Expr | None, Sort | None, Node]:
    """Split a plan into the view's projection, condition and order, and what is below."""
    items = tuple(Named(c.name, c.expression()) for c in plan.schema)
    condition: exp.Expr | None = None
    sort: Sort | None = None
    node = plan
    while True:
        nothing_above = sort is None and condition is None
        # What stands above a LIMIT has only the columns that are projected from it.
        if isinstance(node, Project) and (nothing_above or not isinstance(node.input, Sort)):
            mapping = {ColumnRef(node.relation, i.name): i.expression for i in node.items}
            items = tuple(Named(i.name, substitute(i.expression, mapping)) for i in items)
            if condition is not None:
                condition = substitute(condition, mapping)
            if sort is not None:
                sort = _substituted(sort, mapping)
            node = node.input
        elif isinstance(node, Sort) and nothing_above:
            sort, node = node, node.input
        elif isinstance(node, Filter):
            part = node.condition
            condition = part if condition is None else exp.and_(condition, part)
            node = node.input
        else:
            return items, condition, sort, node


def _substituted(sort: Sort, mapping: dict[ColumnRef, exp.Expr]) -> Sort:
    keys = []
    for key in sort.order:
        copied = key.copy()
        copied.set("this", substitute(key.this, mapping))
        keys.append(copied)
    return Sort(sort.input, tuple(keys), sort.limit, sort.offset)


def _aggregate_layout(
    query: Query,
    node: Aggregate,
    types: Mapping[str, Mapping[str, str]],
    items: tuple[Named, ...],
    condition: exp.Expr | None,
    sort: Sort | None,
) -> Layout:
    visible = {
        item.expression.name: item.name for item in items if isinstance(item.expression, exp.Column)
    }
    # In a lambda function its own variables hide the state's columns of these names.
    trees = [*(item.expression for item in items), condition, *(sort.order if sort else ())]
    hidden = variables(tree for tree in trees if tree is not None)
    measures = Measures(node.relation, types.get(node.relation, {}))
    measures.taken = {COUNT}
    keys = []
    shown: dict[ColumnRef, exp.Expr] = {}
    for number, key in enumerate(node.keys, 1):
        name = visible.get(key.name, "")
        if not is_storable(name) or name in measures.taken or name.lower() in hidden:
            name = f"__ivm_key_{number}__"
        measures.taken.add(name)
        keys.append(Named(name, key.expression))
        shown[ColumnRef(node.relation, key.name)] = exp.column(name, quoted=True)
    for measure in node.measures:
        name = visible.get(measure.name, measure.name)
        free = name not in measures.taken and name.lower() not in hidden
        measures.add(Named(measure.name, measure.expression), measure.name in visible and free)
    shown |= measures.shown
    return Layout(
        input=node.input,
        keys=tuple(keys),
        counters=tuple(measures.counters),
        is_bag=False,
        is_global=node.is_global,
        items=tuple(Named(i.name, substitute(i.expression, shown)) for i in items),
        condition=substitute(condition, shown) if condition is not None else None,
        sort=_substituted(sort, shown) if sort is not None else None,
        columns=query.columns,
        hints=query.hints,
    )


@dataclass(frozen=True)
class _Failing:
    """Which parts of a view can fail: items by name, the condition, and sort keys by number."""

    items: tuple[str, ...]
    condition: bool
    sort: tuple[int, ...]


def _failing(
    items: tuple[Named, ...], condition: exp.Expr | None, sort: Sort | None, failures: Failures
) -> _Failing:
    keys = sort.order if sort is not None else ()
    return _Failing(
        tuple(item.name for item in items if failures.can_fail(item.expression)),
        condition is not None and failures.can_fail(condition),
        tuple(number for number, key in enumerate(keys) if failures.can_fail(key.this)),
    )


def _check(decided: Layout, failing: _Failing, kinds: Mapping[str, str]) -> exp.Expr | None:
    """The hash of what can fail, of groups that the view shows."""
    values = [
        _hashable(item.expression, kinds.get(item.name, ""))
        for item in decided.items
        if item.name in failing.items
    ]
    keys = decided.sort.order if decided.sort is not None else ()
    values += [keys[number].this for number in failing.sort]
    values = list(dict.fromkeys(values))
    if decided.condition is not None:
        shown = [exp.Case().when(decided.condition.copy(), value.copy()) for value in values]
        values = [*shown, *([decided.condition] if failing.condition and not shown else [])]
    if not values:
        return None
    return exp.Anonymous(this="xxhash64", expressions=[value.copy() for value in values])


def _hashable(value: exp.Expr, kind: str) -> exp.Expr:
    """A value as one that Spark can hash: of maps and variants it cannot."""
    if not any(word in kind.lower() for word in ("map<", "variant")):
        return value
    struct = exp.func("named_struct", exp.Literal.string("value"), value.copy())
    return exp.Anonymous(this="to_json", expressions=[struct])


def _recursion_layout(
    query: Query,
    node: Node,
    items: tuple[Named, ...],
    condition: exp.Expr | None,
    sort: Sort | None,
) -> Layout:
    """All columns of a recursion, whichever the view shows."""
    keys = [
        Named(c.name if is_storable(c.name) else f"__ivm_col_{number}__", c.expression())
        for number, c in enumerate(node.schema, 1)
    ]
    shown: dict[ColumnRef, exp.Expr] = {
        column: exp.column(key.name, quoted=True)
        for column, key in zip(node.schema, keys, strict=True)
    }
    return Layout(
        input=node,
        keys=tuple(keys),
        counters=(Rows(),),
        is_bag=True,
        is_global=False,
        items=tuple(Named(i.name, substitute(i.expression, shown)) for i in items),
        condition=substitute(condition, shown) if condition is not None else None,
        sort=_substituted(sort, shown) if sort is not None else None,
        columns=query.columns,
        hints=query.hints,
    )


def bag_layout(query: Query, rows: Node, types: Mapping[str, Mapping[str, str]]) -> Layout:
    """The layout of all of a plan's rows, of which nothing is left to the view."""
    items = tuple(Named(c.name, c.expression()) for c in rows.schema)
    return _bag_layout(query, in_order(rows, types), items, types.get(VIEW, {}), None, None)


def _bag_layout(
    query: Query,
    below: Node,
    items: tuple[Named, ...],
    nested: Mapping[str, str],
    condition: exp.Expr | None,
    sort: Sort | None,
) -> Layout:
    """A bag stores the visible columns and what the view sorts by, each row once with its count."""
    rows = Filter(below, condition) if condition is not None else below
    keys: list[Named] = []
    shown: list[Named] = []
    compared: set[str] = set()
    counters: list[Counter] = [Rows()]
    for number, item in enumerate(items, 1):
        kind = nested.get(item.name, "")
        name = item.name if is_storable(item.name) else f"__ivm_col_{number}__"
        if not has_stored_form(kind) and not is_comparable(kind):
            kept = Kept(f"__ivm_value_{number}__", item.expression)
            counters.append(kept)
            compared.add(f"__ivm_key_{number}__")
            keys.append(Named(f"__ivm_key_{number}__", comparable(item.expression, kind)))
            shown.append(Named(item.name, exp.column(kept.name, quoted=True)))
            continue
        column = exp.column(name, quoted=True)
        if kind:
            compared.add(name)
        if has_stored_form(kind):
            keys.append(Named(name, stored_form(item.expression, kind)))
            shown.append(Named(item.name, shown_form(column, kind)))
        else:
            keys.append(Named(name, item.expression))
            shown.append(Named(item.name, column))
    if sort is not None:
        ordered = []
        for number, key in enumerate(sort.order, 1):
            found = next((k.name for k in keys if k.expression == key.this), None)
            if found is None:
                found = f"__ivm_order_{number}__"
                keys.append(Named(found, key.this))
                compared.add(found)  # its type is not known
            copied = key.copy()
            copied.set("this", exp.column(found, quoted=True))
            ordered.append(copied)
        sort = Sort(sort.input, tuple(ordered), sort.limit, sort.offset)
    return Layout(
        input=rows,
        keys=tuple(keys),
        counters=tuple(counters),
        is_bag=True,
        is_global=False,
        items=tuple(shown),
        sort=sort,
        columns=query.columns,
        compared=frozenset(compared),
        hints=query.hints,
    )
