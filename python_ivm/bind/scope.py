"""What the rules of the binder may use of their surroundings.

A rule for a clause or a subquery needs more than its own tree: names that are free, the relations
that FROM can name, the columns that an expression can name. :class:`ModelScope` and
:class:`SelectScope` say what it may use, so that rules import neither the binder of the model nor
that of the SELECT; both stand on top of the rules and call them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, columns_of
from python_ivm.algebra.nodes import Aggregate, Bindings, Node, Project
from python_ivm.qualify.schema import Schemas

PLACEHOLDER = "__ivm_subquery__"
"""The relation of columns that stand for subqueries which are not in the plan yet."""


def placeholders(expressions: Iterable[exp.Expr]) -> Iterator[str]:
    """The names of the columns of :data:`PLACEHOLDER` in expressions, those of one sorted."""
    for expression in expressions:
        yield from sorted(c.name for c in columns_of(expression) if c.relation == PLACEHOLDER)


@dataclass
class Cte:
    """A CTE.

    Attributes:
        tree: Its tree.
        scope: The CTEs that it can see.
        plan: Its plan, once a FROM has named it.
    """

    tree: exp.CTE
    scope: Ctes
    plan: Node | None = None

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        if self.plan is not None:
            return [column.name for column in self.plan.schema]
        query = self.tree.this
        return list(query.named_selects) if isinstance(query, exp.Query) else []


Ctes = Mapping[str, Cte]
"""CTEs by their names."""


def beside(ctes: Ctes, name: str, plan: Node) -> Ctes:
    """CTEs, and a relation that is bound already."""
    return {**ctes, name: Cte(exp.CTE(), {}, plan)}


def renamed(node: Node, names: tuple[str, ...], relation: str) -> Project:
    """A relation under another name, its first columns under others."""
    columns = zip(names, node.schema, strict=False)
    return Project(node, relation, tuple(Named(n, c.expression()) for n, c in columns))


class ModelScope(Protocol):
    """The binder of a model, as its rules see it."""

    schemas: Schemas
    """The tables that the model reads."""

    chooses: bool
    """Whether Spark may give several results for the model, of which the plan gives one."""

    def name(self, wanted: str) -> str:
        """A relation name that nothing else in the plan has."""

    def query(self, tree: exp.Expr, wanted: str, ctes: Ctes) -> Node:
        """Bind a query expression; the result is a relation named like ``wanted``."""

    def relation(self, source: exp.Expr, ctes: Ctes) -> tuple[str, Node]:
        """The alias of an item of FROM, and the item bound."""

    def hint(self, select: exp.Select, alias: str, relation: str) -> None:
        """Note how a SELECT's hints say to join a relation of its FROM."""

    def domain(self, node: Node, relation: str, items: Sequence[Named]) -> Bindings:
        """The distinct values of rows for which a correlated subquery is evaluated."""

    def distinct(self, node: Node, wanted: str) -> Aggregate:
        """DISTINCT over a relation's columns."""


class SubqueryScope(Protocol):
    """The subqueries of a SELECT's expressions that are not joined yet."""

    def free(self, name: str) -> set[ColumnRef]:
        """The columns of the SELECT that the conditions of a subquery name."""

    def like(self, names: Iterable[str]) -> set[str]:
        """The placeholders of subqueries that are written like some of them."""

    def above_groups(self, name: str, over_groups: Callable[[exp.Expr], exp.Expr]) -> None:
        """Let a subquery above GROUP BY name keys and aggregates instead of the rows' columns."""


class SelectScope(Protocol):
    """The binder of a SELECT, as its rules see it."""

    columns: dict[ColumnRef, exp.Expr]
    """What each column that expressions may name is in the plan so far."""

    @property
    def binder(self) -> ModelScope:
        """The binder of the model."""

    @property
    def tree(self) -> exp.Select:
        """The SELECT."""

    @property
    def wanted(self) -> str:
        """The name that the result should have."""

    @property
    def ctes(self) -> Ctes:
        """The CTEs that it can see."""

    @property
    def around(self) -> SelectScope | None:
        """The outer query, where this is a subquery that may name its columns."""

    @property
    def subqueries(self) -> SubqueryScope:
        """The subqueries of its expressions."""

    def nested(self, tree: exp.Select) -> SelectScope:
        """The scope of a subquery of this SELECT."""

    def from_and_where(self) -> tuple[Node, list[exp.Expr]]:
        """The joined relations, subqueries of WHERE among them, and the other conditions."""

    def expression(self, expression: exp.Expr, generator: bool = False) -> exp.Expr:
        """An expression over the plan's columns; subqueries in it become placeholders."""

    def filled(
        self, node: Node, expressions: list[exp.Expr], only: set[str] | None = None
    ) -> tuple[Node, list[exp.Expr]]:
        """Join the subqueries of expressions; the rows may get other columns by that."""

    def asking(
        self, node: Node, condition: exp.Expr, kept: list[exp.Expr]
    ) -> tuple[Node, list[exp.Expr]]:
        """The rows that a condition with subqueries keeps, and other conditions over them."""

    def joinable(self, node: Node) -> Node:
        """A plan that a join may follow."""

    def closed_under(self, node: Node) -> Node:
        """The node itself, if its conditions name only columns of its inputs."""

    def as_one_relation(self, node: Node, wanted: str) -> Project:
        """Rows of several relations as one."""

    def show(self, alias: str, columns: Iterable[ColumnRef]) -> None:
        """Let expressions name a relation's columns by its alias."""

    def move(self, moved: Mapping[ColumnRef, exp.Expr]) -> None:
        """Keep visible columns and open subqueries up to date, where the rows got other columns."""
