"""From a plan to SQL that reads as if written by hand.

Scans, filters, joins, a projection or an aggregate become one SELECT; whatever needs a SELECT of
its own becomes a CTE that is named after its relation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from sqlglot import exp
from sqlglot.dialects.spark import Spark

from python_ivm.algebra import nodes
from python_ivm.algebra.columns import ColumnRef, Named, beside, columns_of, first_free, substitute
from python_ivm.algebra.nodes import At, Node
from python_ivm.algebra.walks import ends_in_generate
from python_ivm.errors import Internal
from python_ivm.optimize.analysis.reads import changes_in
from python_ivm.parse.loops import NOW
from python_ivm.parse.marks import AS_OF_LAST
from python_ivm.sources.clock import with_literals

E = TypeVar("E", bound=exp.Expr)
_BARE = re.compile(r"[a-z_][a-z0-9_]*\Z")
_KEYWORDS = {word for words in Spark.Tokenizer.KEYWORDS for word in words.lower().split()}


@dataclass(frozen=True)
class SourceRelations:
    """How a source is read at each of its states.

    Attributes:
        table: Gives, for a source's key and a state, the relation to read, without an alias.
        changed: Gives a SELECT of the given columns and :data:`COUNT` from a source's changes;
            netted, if the third argument is not None (:attr:`nodes.Scan.net`).
        stored: For each source the stored names of columns that the plan calls otherwise.
        clock: A literal for each reading of the clock.
    """

    table: Callable[[str, At], exp.Table | exp.Subquery]
    changed: Callable[[str, tuple[str, ...], tuple[str, ...] | None], exp.Select]
    stored: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    clock: Mapping[str, exp.Expr] = field(default_factory=dict)


@dataclass
class _Block:
    """A SELECT under construction: open blocks can still take joins and conditions."""

    select: exp.Query
    relation: str | None = None
    ordered: bool = False

    @property
    def closed(self) -> bool:
        return self.relation is not None


@dataclass
class Renderer:
    """Renders the parts of one statement; its CTEs are shared by all of them.

    Attributes:
        sources: How sources are read.
        ctes: The CTEs so far, in an order in which each only names earlier ones, and a recursive
            one itself.
    """

    sources: SourceRelations
    ctes: dict[str, exp.Query] = field(default_factory=dict)
    _deltas: dict[tuple[object, ...], str] = field(default_factory=dict)
    _names: dict[int, tuple[str, Node]] = field(default_factory=dict)
    _conditions: int = 0
    _recursive: bool = False
    _open_recursions: dict[str, str] = field(default_factory=dict)

    def query(self, node: Node) -> exp.Query:
        """A plan as one query, whose CTEs are collected in :attr:`ctes`.

        Raises:
            Internal: If the plan has no list of output columns.
        """
        block = self._block(node)
        if not block.closed:
            raise Internal(f"{type(node).__name__} has no output columns")
        return block.select

    def cte(self, name: str, query: exp.Query) -> str:
        """Register a CTE.

        Returns:
            Its name, which is the wanted one or, where that is taken, one like it.
        """
        for known, text in self.ctes.items():
            if (known == name or known.startswith(f"{name}_")) and text == query:
                return known
        chosen = self._free(name)
        self.ctes[chosen] = query
        return chosen

    def _free(self, name: str) -> str:
        return first_free(name, lambda n: n not in self.ctes)

    def with_ctes(self, query: exp.Query) -> exp.Query:
        """The query with all collected CTEs before it; it becomes the statement's own tree."""
        for name, body in self.ctes.items():
            query = query.with_(_quoted(name), as_=body, copy=False)
        if self._recursive:
            query.args["with_"].set("recursive", True)
        return with_literals(query, self.sources.clock) if self.sources.clock else query

    def relation(self, node: Node) -> exp.Expr:
        """A plan as an item of a FROM clause."""
        while isinstance(node, nodes.Join) and len(node.parts) == 1 and not node.conditions:
            node = node.parts[0]
        if isinstance(node, nodes.Scan):
            return self._scan(node)
        if isinstance(node, nodes.Values):
            return self._values(node)
        if isinstance(node, nodes.TableFunction):
            return self._function(node)
        if isinstance(node, nodes.WorkingTable):
            return self._working_table(node)
        if isinstance(node, nodes.Recursion) and node.is_set:
            return self._scan(nodes.Scan(f"{NOW}.{node.loop}", node.relation, node.names))
        relations = {column.relation for column in node.schema}
        if _is_closed(node) or isinstance(node, nodes.Recursion):
            (relation,) = relations
            if self._asks_last_round(node):
                return self._block(node).select.subquery(_quoted(relation))
            return aliased(exp.Table(this=_quoted(self._finished(node))), relation)
        if len(relations) == 1:
            items = tuple(Named(c.name, c.expression()) for c in node.schema)
            return self.relation(nodes.Project(node, relations.pop(), items))
        return self._nested(node)

    def _finished(self, node: Node) -> str:
        """The CTE of a plan with a list of output columns, which is rendered once."""
        if id(node) not in self._names:
            if isinstance(node, nodes.Recursion):
                name = self._recursion(node)
            elif isinstance(node, nodes.Project) and _only_renames(node):
                name = self._finished(node.input)
            else:
                block = self._block(node)
                assert block.relation is not None
                name = self.cte(block.relation, block.select)
            self._names[id(node)] = (name, node)
        return self._names[id(node)][0]

    def _nested(self, node: Node) -> exp.Expr:
        """Several relations as one item of a FROM clause: a join in parentheses."""
        if isinstance(node, nodes.Join):
            select = self._join(node, nested=True)
        elif isinstance(node, nodes.LeftJoin):
            select = self._left_join(node, nested=True)
        elif isinstance(node, nodes.SemiJoin):
            select = self._semi_join(node, nested=True)
        else:
            select = self._open(node)
        where = select.args.get("where")
        if where is not None:  # parentheses have no WHERE: a join to one row asks the same
            self._conditions += 1
            one = exp.Select().select(exp.alias_(exp.Literal.number(1), "one"))
            row = one.subquery(f"__ivm_condition_{self._conditions}__")
            select.set("where", None)
            select = _add_join(select, row, [where.this], "")
        first = select.args["from_"].this.copy()
        if isinstance(first, exp.Values):  # whose alias would stand behind the joins
            first = exp.Select().select("*").from_(first).subquery(_quoted(first.alias))
        first.set("joins", [join.copy() for join in select.args.get("joins") or []])
        return exp.Subquery(this=first)

    @staticmethod
    def _values(node: nodes.Values) -> exp.Expr:
        rows = [exp.Tuple(expressions=[v.copy() for v in row]) for row in node.rows]
        return exp.Values(expressions=rows, alias=_alias(node.relation, node.names))

    @staticmethod
    def _function(node: nodes.TableFunction) -> exp.Expr:
        return exp.Table(this=node.function.copy(), alias=_alias(node.relation, node.names))

    def _working_table(self, node: nodes.WorkingTable) -> exp.Expr:
        return aliased(
            exp.Table(this=_quoted(self._open_recursions[node.recursion])), node.relation
        )

    def _asks_last_round(self, node: Node) -> bool:
        """Whether a plan reads a working table: it must stand within the recursion's step."""
        return bool(self._open_recursions) and any(
            isinstance(below, nodes.WorkingTable) and below.recursion in self._open_recursions
            for below in node.walk()
        )

    def _named(self, block: _Block, node: Node) -> exp.Expr:
        """A finished SELECT as a CTE, in FROM."""
        if block.relation is None:
            raise Internal(f"{type(node).__name__} cannot stand in FROM")
        if self._asks_last_round(node):
            return block.select.subquery(_quoted(block.relation))
        name = self.cte(block.relation, block.select)
        return aliased(exp.Table(this=_quoted(name)), block.relation)

    def _scan(self, node: nodes.Scan) -> exp.Expr:
        if node.at is not At.DELTA:
            table = self.sources.table(node.source, node.at)
            stored = self.sources.stored.get(node.source, {})
            if any(name in stored for name in node.columns):
                items = [stored_as(name, stored) for name in node.columns]
                return exp.Select().from_(table).select(*items).subquery(_quoted(node.relation))
            return aliased(table, node.relation)
        key = (node.source, node.columns, node.net)
        if key not in self._deltas:
            body = self.sources.changed(node.source, node.columns, node.net)
            short = node.source.split(".")[-1].replace(AS_OF_LAST, "_last")
            self._deltas[key] = self.cte(f"delta_{short}", body)
        return aliased(exp.Table(this=_quoted(self._deltas[key])), node.relation)

    def _open(self, node: Node) -> exp.Select:
        """A plan as a SELECT that can still take conditions, or a list of columns."""
        if isinstance(node, nodes.Sort) and len({c.relation for c in node.schema}) == 1:
            return exp.Select().from_(self.relation(node))  # else they would be under its LIMIT
        block = self._block(node)
        if not block.closed and not block.ordered and isinstance(block.select, exp.Select):
            return block.select
        return exp.Select().from_(self._named(block, node))

    def _block(self, node: Node) -> _Block:
        match node:
            case nodes.Scan():
                return _Block(exp.Select().from_(self._scan(node)))
            case nodes.Filter(input=nodes.Aggregate() as grouped) if grouped.measures:
                return _Block(self._having(node, grouped), grouped.relation)
            case nodes.Filter() | nodes.ClockFilter():
                return _Block(self._open(node.input).where(node.condition.copy(), copy=False))
            case nodes.Join():
                return _Block(self._join(node))
            case nodes.LeftJoin():
                return _Block(self._left_join(node))
            case nodes.FullJoin():
                return _Block(self._full_join(node))
            case nodes.SemiJoin():
                return _Block(self._semi_join(node))
            case nodes.Mark():
                return _Block(self._mark(node), node.relation)
            case nodes.Window():
                return _Block(self._window(node), node.relation)
            case nodes.Repeat():
                return _Block(self._repeat(node))
            case nodes.Generate():
                return _Block(self._generate(node))
            case nodes.Values():
                return _Block(exp.Select().from_(self._values(node)))
            case nodes.TableFunction():
                return _Block(exp.Select().from_(self._function(node)))
            case nodes.WorkingTable():
                return _Block(exp.Select().from_(self._working_table(node)))
            case nodes.Project():
                return _Block(self._project(node), node.relation)
            case nodes.Aggregate():
                return _Block(self._aggregate(node), node.relation)
            case nodes.UnionAll():
                return _Block(self._union(node), node.relation)
            case nodes.Recursion():
                return _Block(exp.Select().from_(self.relation(node)))
            case nodes.Sort():
                return _Block(self._sort(node), ordered=True)
        raise Internal(f"No SQL for {type(node).__name__}")

    def _join(self, node: nodes.Join, nested: bool = False) -> exp.Select:
        """An inner join; a nested one has all its conditions in ON."""
        first, *others = node.parts
        select = exp.Select().from_(self.relation(first)) if nested else self._open(first)
        placed = set(first.schema)
        remaining = [(c, columns_of(c)) for c in node.conditions]

        def due() -> list[tuple[exp.Expr, set[ColumnRef]]]:
            nonlocal remaining
            ready = [(c, used) for c, used in remaining if used <= placed]
            remaining = [(c, used) for c, used in remaining if not used <= placed]
            return ready

        local = [c for c, _ in due()] if not nested else []
        for other in others:
            own = set(other.schema)
            placed |= own
            conditions = due()
            on = [c for c, used in conditions if nested or not used <= own]
            if not nested:
                local += [c for c, used in conditions if used <= own]
            _add_join(select, self.relation(other), on, "" if on else "cross")
        if remaining:
            raise Internal("A join condition names a column that no input has")
        return select.where(*(c.copy() for c in local), copy=False) if local else select

    def _left_join(self, node: nodes.LeftJoin, nested: bool = False) -> exp.Select:
        """A left join; a nested one has no WHERE, where conditions of its left side could stand."""
        left = node.left
        select = exp.Select().from_(self.relation(left)) if nested else self._open(left)
        return _add_join(
            select, self.relation(node.right), node.conditions or (exp.true(),), side="left"
        )

    def _full_join(self, node: nodes.FullJoin) -> exp.Select:
        """A full join; what its left side filters by must not be asked of the joined rows."""
        select = exp.Select().from_(self.relation(node.left))
        on = node.conditions or (exp.true(),)
        return _add_join(select, self.relation(node.right), on, side="full")

    def _having(self, node: nodes.Filter, aggregate: nodes.Aggregate) -> exp.Select:
        computed = {
            ColumnRef(aggregate.relation, item.name): item.expression
            for item in (*aggregate.keys, *aggregate.measures)
        }
        condition = substitute(node.condition, computed)
        return self._aggregate(aggregate).having(condition, copy=False)

    def _semi_join(self, node: nodes.SemiJoin, nested: bool = False) -> exp.Select:
        """A semi join; as a condition where LATERAL VIEWs, which follow all joins, stand."""
        select = self._open(node.left)
        member = None if nested else self._member(node)
        if member is not None:
            return select.where(member, copy=False)
        if ends_in_generate(node.left):
            exists: exp.Expr = exp.Exists(this=self._matches(node.right, node.conditions))
            return select.where(exp.Not(this=exists) if node.anti else exists, copy=False)
        kind = "anti" if node.anti else "semi"
        return _add_join(
            select, self.relation(node.right), node.conditions or (exp.true(),), kind, "left"
        )

    def _member(self, node: nodes.SemiJoin) -> exp.In | None:
        """A semi join as IN, if the user wrote it so, of columns that joined tables shall have.

        Spark infers an IN for all columns that equal its left ones, and pushes it below aggregates.
        It computes the rows anew for each, so that it does not pay for aggregates
        (docs/decisions/0074). With other conditions it stays a join, as IN compares other types
        than `=` does.
        """
        if node.anti or not node.in_columns or len(node.conditions) != node.in_columns:
            return None
        if changes_in(node) or not _is_selection(node.right):
            return None
        left, right = set(node.left.schema), set(node.right.schema)
        asked, values = [], []
        for condition in node.conditions:
            if not isinstance(condition, exp.EQ):
                return None
            column, value = condition.this.unnest(), condition.expression.unnest()
            if not isinstance(column, exp.Column) or not columns_of(column) <= left:
                return None
            if not columns_of(value) <= right:
                return None
            asked.append(column.copy())
            values.append(value.copy())
        query = exp.Select().from_(self.relation(node.right)).select(*values, copy=False)
        row = asked[0] if len(asked) == 1 else exp.Tuple(expressions=asked)
        return exp.In(this=row, query=query.subquery(copy=False))

    def _matches(self, right: Node, conditions: tuple[exp.Expr, ...]) -> exp.Select:
        """What EXISTS asks for."""
        inside = exp.Select().select(exp.Literal.number(1)).from_(self.relation(right))
        return inside.where(*(c.copy() for c in conditions)) if conditions else inside

    def _mark(self, node: nodes.Mark) -> exp.Select:
        select = self._open(node.left)
        exists = exp.Exists(this=self._matches(node.right, node.conditions))
        mark = exp.alias_(exists, _quoted(node.mark))
        return select.select(*_items(node.items), mark, copy=False)

    def _window(self, node: nodes.Window) -> exp.Select:
        select = self._open(node.input)
        return select.select(*_items((*node.items, *node.functions)), copy=False)

    def _repeat(self, node: nodes.Repeat) -> exp.Select:
        (relation,) = {column.relation for column in node.schema}
        copies = exp.Lateral(
            this=exp.Explode(
                this=exp.Anonymous(
                    this="sequence", expressions=[exp.Literal.number(1), node.times.copy()]
                )
            ),
            view=True,
            alias=_alias(beside(relation, "copies"), ("copy",)),
        )
        select = self._open(node.input).where(
            exp.GT(this=exp.paren(node.times.copy()), expression=exp.Literal.number(0)), copy=False
        )
        select.append("laterals", copies)
        return select

    def _generate(self, node: nodes.Generate) -> exp.Select:
        select = self._open(node.input)
        view = exp.Lateral(
            this=node.function.copy(),
            view=True,
            outer=node.outer,
            alias=_alias(node.relation, node.names),
        )
        select.append("laterals", view)
        return select

    def _project(self, node: nodes.Project) -> exp.Select:
        block = self._block(node.input)
        if block.closed or not isinstance(block.select, exp.Select):
            select = exp.Select().from_(self._named(block, node.input))
        else:
            select = block.select
        select = select.select(*_items(node.items), copy=False)
        if node.title:
            select.add_comments([f" {node.title}"])
        return select

    def _aggregate(self, node: nodes.Aggregate) -> exp.Select:
        select = self._open(node.input)
        select = select.select(*_items((*node.keys, *node.measures)), copy=False)
        if not node.measures:
            return select.distinct(copy=False)
        if node.keys:
            select = select.group_by(*(_group_key(k.expression) for k in node.keys), copy=False)
        return select

    def _union(self, node: nodes.UnionAll) -> exp.Query:
        return union_all([self._part(part, node) for part in node.parts])

    def _part(self, part: Node, union: nodes.ByPosition) -> exp.Query:
        """An input of a union with the union's columns."""
        if tuple(c.name for c in part.schema) == union.names and _is_closed(part):
            return self.query(part)
        items = tuple(
            Named(name, column.expression())
            for name, column in zip(union.names, part.schema, strict=True)
        )
        return self.query(nodes.Project(part, union.relation, items))

    def _recursion(self, node: nodes.Recursion) -> str:
        """The CTE of a recursion, which its step names: the name is needed before the CTE is made.

        It stands behind the CTEs that anchor and step read, and moves there.
        """
        name = self._free(node.relation)
        self.ctes[name] = exp.Select()
        anchor = self._part(node.anchor, node)
        self._open_recursions[node.relation] = name
        step = self._part(node.step, node)
        del self._open_recursions[node.relation], self.ctes[name]
        self.ctes[name] = exp.Union(this=anchor, expression=step, distinct=False)
        self._recursive = True
        return name

    def _sort(self, node: nodes.Sort) -> exp.Select:
        select = self._open(node.input)
        if node.order:
            select = select.order_by(*(k.copy() for k in node.order), copy=False)
        if node.limit is not None:
            select = select.limit(node.limit.copy(), copy=False)
        if node.offset is not None:
            select = select.offset(node.offset.copy(), copy=False)
        return select


def _is_closed(node: Node) -> bool:
    """Whether an operator lists its output columns, so that its SELECT is finished."""
    return isinstance(
        node, (nodes.Project, nodes.Aggregate, nodes.UnionAll, nodes.Mark, nodes.Window)
    )


def _is_selection(node: Node) -> bool:
    """Whether a plan only joins and filters rows of tables."""
    kinds = (nodes.Scan, nodes.Project, nodes.Filter, nodes.Join, nodes.SemiJoin)
    return all(isinstance(below, kinds) for below in node.walk())


def _only_renames(node: nodes.Project) -> bool:
    """Whether a projection is a finished relation under another name."""
    return _is_closed(node.input) and all(
        isinstance(i.expression, exp.Column) and i.expression.name == i.name for i in node.items
    )


def _add_join(
    select: exp.Select,
    item: exp.Expr,
    conditions: Sequence[exp.Expr],
    kind: str = "",
    side: str = "",
) -> exp.Select:
    """Append a join to a SELECT; ``Select.join`` would parse its kind as text."""
    join = exp.Join(this=item, kind=kind.upper() or None, side=side.upper() or None)
    if conditions:
        join.set("on", exp.and_(*(c.copy() for c in conditions), copy=False))
    select.append("joins", join)
    return select


def union_all(parts: Sequence[exp.Query]) -> exp.Query:
    """The bag union of queries; those that are cut off stand in parentheses."""
    cut = [part.subquery() if part.args.get("offset") else part for part in parts]
    result: exp.Query = cut[0]
    for part in cut[1:]:
        result = exp.Union(this=result, expression=part, distinct=False)
    return result


def aliased(table: exp.Table | exp.Subquery, alias: str) -> exp.Table | exp.Subquery:
    """A table under an alias, which is left out where it is the table's own name."""
    result = table.copy()
    if alias != table.name or table.args.get("db") or table.args.get("version"):
        result.set("alias", exp.TableAlias(this=_quoted(alias)))
    return result


def stored_as(name: str, stored: Mapping[str, str]) -> exp.Expr:
    """A column of a source under the plan's name for it."""
    if name not in stored:
        return exp.column(name, quoted=True)
    return exp.alias_(exp.column(stored[name], quoted=True), _quoted(name))


def bare(expression: E) -> E:
    """A copy as one writes it: names quoted that need it, and ``IS NOT NULL``."""
    result = expression.copy()
    for node in list(result.walk()):
        if isinstance(node, exp.Identifier):
            node.set("quoted", not _BARE.match(node.name) or node.name in _KEYWORDS)
        elif isinstance(node, exp.Not) and _is_null(node.this):
            some = exp.Is(this=node.this.this, expression=exp.Not(this=exp.Null()))
            result = cast(E, some) if node is result else result
            node.replace(some)
    return result


def _is_null(expression: exp.Expr) -> bool:
    return isinstance(expression, exp.Is) and isinstance(expression.expression, exp.Null)


def _alias(relation: str, names: tuple[str, ...]) -> exp.TableAlias:
    """A relation's name with its columns'."""
    return exp.TableAlias(this=_quoted(relation), columns=[_quoted(name) for name in names])


def _quoted(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def listed(expression: exp.Expr, name: str) -> exp.Expr:
    """An item of a SELECT list; a column that keeps its name needs no alias."""
    if isinstance(expression, exp.Column) and expression.name == name:
        return expression.copy()
    return exp.alias_(expression, _quoted(name))


def _items(named: Iterable[Named]) -> list[exp.Expr]:
    return [listed(item.expression, item.name) for item in named]


def _group_key(expression: exp.Expr) -> exp.Expr:
    """A grouping expression; a bare number would mean an output column's position."""
    inner = expression
    while isinstance(inner, (exp.Neg, exp.Paren)):
        inner = inner.this
    ordinal = isinstance(inner, exp.Literal) and inner.is_int and len(inner.name) < 19
    return exp.cast(expression.copy(), "bigint") if ordinal else expression.copy()
