"""A loop program: its bindings, and what stands before and behind the loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlglot import exp

from python_ivm.errors import InvalidModel, NotYetImplemented
from python_ivm.loops.order import components
from python_ivm.parse.ctes import cte_of
from python_ivm.parse.loops import DELAY, NOW, is_delayed, is_loop
from python_ivm.parse.trees import position


@dataclass(frozen=True)
class Reference:
    """A place where a binding reads another one.

    Attributes:
        reader: The binding that reads.
        read: The binding that is read.
        delayed: Whether as of the round before.
        where: Line and column.
    """

    reader: str
    read: str
    delayed: bool
    where: Mapping[str, Any]

    @property
    def line(self) -> str:
        """The line, in words."""
        return f"line {self.where['line']}" if self.where.get("line") else "an unknown line"


class Program:
    """A WITH RECURSIVE whose bindings feed on each other.

    Attributes:
        tree: The whole query.
        ctes: All bindings by name, in lower case.
        references: Who reads whom.
    """

    def __init__(self, tree: exp.Query) -> None:
        """Take a loop program apart.

        Raises:
            InvalidModel: If a delayed name is of no binding.
        """
        self.tree = tree
        with_ = tree.args["with_"]
        self.ctes: dict[str, exp.CTE] = {cte.alias.lower(): cte for cte in with_.expressions}
        self.references: list[Reference] = []
        for name, cte in self.ctes.items():
            self.references += self._references(name, cte.this)
        main = tree.copy()
        main.set("with_", None)
        for table in main.find_all(exp.Table):
            if is_delayed(table) and table.name.lower() not in self.ctes:
                raise _no_binding(table)

    def _references(self, reader: str, tree: exp.Expr) -> Iterator[Reference]:
        own = {id(cte): name for name, cte in self.ctes.items()}
        for table in tree.find_all(exp.Table):
            cte = cte_of(table)
            if is_delayed(table) and (cte is None or id(cte) not in own):
                raise _no_binding(table)
            if cte is not None and id(cte) in own:
                where = position(table)
                yield Reference(reader, own[id(cte)], is_delayed(table), where)

    @cached_property
    def bindings(self) -> tuple[str, ...]:
        """The bindings of the loop: those in a circle, and those between two circles."""
        reads = {name: [r.read for r in self.references if r.reader == name] for name in self.ctes}
        circles = {
            name
            for component in components(reads)
            for name in component
            if len(component) > 1 or name in reads[name]
        }
        read_by = {name: [r.reader for r in self.references if r.read == name] for name in reads}
        inside = _reached(circles, reads) & _reached(circles, read_by)
        return tuple(name for name in self.ctes if name in inside)

    @cached_property
    def inputs(self) -> frozenset[str]:
        """The CTEs that the loop may read, and that read nothing of it."""
        read_by = {
            name: [r.reader for r in self.references if r.read == name] for name in self.ctes
        }
        return frozenset(self.ctes) - _reached(set(self.bindings), read_by)

    def position(self, binding: str) -> dict[str, Any]:
        """Where a binding stands."""
        return position(self.ctes[binding].args["alias"])

    def body(self, binding: str) -> exp.Query:
        """A binding's query, in which other bindings are tables and inputs its own CTEs."""
        tree: exp.Query = self.ctes[binding].this.copy()
        _tell_apart(tree)
        return self._apart(self.ctes[binding].this, tree, self.inputs)

    @cached_property
    def main(self) -> exp.Query:
        """What stands behind the loop: a query over the bindings as tables."""
        tree = self.tree.copy()
        tree.set("with_", None)
        return self._apart(self.tree, tree, frozenset(self.ctes) - set(self.bindings))

    def _apart(self, original: exp.Expr, tree: exp.Query, ctes: frozenset[str]) -> exp.Query:
        """A copy of a part of the query, with the CTEs that it needs, over bindings as tables."""
        needed = self._needed(original, ctes)
        kept = [self.ctes[name].copy() for name in self._sorted(needed)]
        parts: list[exp.Expr] = [tree, *kept]
        own = tree.args.get("with_")
        hidden = {cte.alias.lower() for part in parts for cte in part.find_all(exp.CTE)} - needed
        for part in parts:
            for table in part.find_all(exp.Table):
                self._as_table(table, hidden, behind=original is self.tree)
        if kept:
            more = own.expressions if own is not None else []
            recursive = any(self._is_recursive(name) for name in needed)
            recursive = recursive or bool(own is not None and own.recursive)
            tree.set("with_", exp.With(expressions=[*kept, *more], recursive=recursive))
        return tree

    def _as_table(self, table: exp.Table, hidden: set[str], behind: bool) -> None:
        """A name of a binding as a table; behind the loop the last round is the one before."""
        name = table.name.lower()
        delayed = is_delayed(table)
        if not delayed and (len(table.parts) > 1 or name in hidden):
            return
        if name not in self.bindings:
            if delayed:  # of a CTE outside of the loop, which is the same in all rounds
                table.set("db", None)
            return
        if not table.alias:
            table.set("alias", exp.TableAlias(this=table.this.copy()))
        schema = exp.to_identifier(DELAY if delayed and not behind else NOW)
        schema.meta.update(table.this.meta)
        table.this.set("this", name)
        table.set("db", schema)

    def _needed(self, tree: exp.Expr, ctes: frozenset[str]) -> set[str]:
        """The CTEs, of some, that a part of the query names, also by way of others."""
        found: set[str] = set()
        with_ = self.tree.args["with_"]
        work = [tree]
        while work:
            part = work.pop()
            for table in part.find_all(exp.Table):
                if part is tree is self.tree and table.find_ancestor(exp.With) is with_:
                    continue
                cte = cte_of(table)
                name = cte.alias.lower() if cte is not None else ""
                if name in ctes and self.ctes.get(name) is cte and name not in found:
                    found.add(name)
                    work.append(self.ctes[name].this)
        return found

    def _sorted(self, names: set[str]) -> list[str]:
        """CTEs behind those that they read."""
        placed: list[str] = []

        def place(name: str) -> None:
            if name in placed or name not in names:
                return
            for reference in self.references:
                if reference.reader == name and reference.read != name:
                    place(reference.read)
            placed.append(name)

        for name in self.ctes:
            place(name)
        return placed

    def _is_recursive(self, name: str) -> bool:
        return any(r.reader == r.read == name for r in self.references)


def program_of(tree: exp.Query) -> Program | None:
    """A query's loop program; None if it has none.

    Raises:
        InvalidModel: If a delayed name is of no binding.
        NotYetImplemented: If the loop is not the query's own WITH.
    """
    with_ = tree.args.get("with_")
    if isinstance(with_, exp.With) and is_loop(with_):
        return Program(tree)
    for table in tree.find_all(exp.Table):
        if is_delayed(table):
            raise NotYetImplemented(
                "A delay outside of the model's own WITH RECURSIVE",
                operator="ivm_delay",
                hint="Write the loop as the WITH RECURSIVE at the top of its own model.",
                **position(table),
            )
    return None


def _tell_apart(tree: exp.Query) -> None:
    """Name columns of a binding that have the name of another one, in place: its list names them.

    No part of the query can mean either of them by that name.
    """
    first: exp.Expr = tree
    while isinstance(first, (exp.SetOperation, exp.Subquery)):
        first = first.this
    if not isinstance(first, exp.Select):
        return
    seen: set[str] = set()
    for number, item in enumerate(list(first.expressions), 1):
        name = item.alias_or_name.lower()
        if name in seen and not item.is_star:
            item.replace(exp.alias_(item.unalias().copy(), f"column_{number}"))
        seen.add(name)


def _reached(starts: set[str], edges: Mapping[str, list[str]]) -> set[str]:
    found = set(starts)
    work = list(starts)
    while work:
        for other in edges[work.pop()]:
            if other not in found:
                found.add(other)
                work.append(other)
    return found


def _no_binding(table: exp.Table) -> InvalidModel:
    return InvalidModel(
        f"ivm_delay('{table.name}') names no binding of this WITH RECURSIVE",
        operator="ivm_delay",
        hint="Name a CTE of the same WITH RECURSIVE.",
        **position(table),
    )
