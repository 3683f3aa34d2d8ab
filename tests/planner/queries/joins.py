"""Random FROM clauses: every join, generators, LATERAL, PIVOT and UNPIVOT."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.planner.queries.kinds import (
    ALIASES,
    ARRAY,
    DATE,
    DECIMAL,
    INT,
    LARGEST,
    TEXT,
    Column,
    Relation,
)
from tests.planner.queries.subqueries import Subqueries

st_kind = st.integers(0, 9)
st_aliases = st.permutations(ALIASES)


class From:
    """A FROM clause while it is written.

    Attributes:
        text: The clause.
        scope: The columns that it gives.
        size: How many rows it has at most, about.
        merged: Of each name that USING merged, by how many relations it is held.
    """

    def __init__(self, text: str, scope: list[Column], size: int) -> None:
        self.text = text
        self.scope = scope
        self.size = size
        self.merged: dict[str, int] = {}
        self.starred = True

    def held(self) -> list[str]:
        """The names of the relations' columns, in lower case, each as often as it is held."""
        return [c.name.lower() for c in self.scope if "." in c.ref]

    def joinable(self, columns: list[Column]) -> list[Column]:
        """The new relation's columns by which USING can join it."""
        held = self.held()
        types = {c.name.lower(): c.type for c in self.scope}
        given = [c.name.lower() for c in columns]
        return [
            c
            for c in columns
            if given.count(c.name.lower()) == 1
            and held.count(c.name.lower()) == self.merged.get(c.name.lower(), 1)
            and types.get(c.name.lower()) == c.type
        ]


class Joins(Subqueries):
    """FROM clauses."""

    def relation(self, depth: int) -> Relation:
        kind = self.draw(st_kind)
        if depth > 0 and kind >= 7:
            body = self.query(depth - 1)
            order = ""
            if self.chance(20):
                order = f" order by {', '.join(c.ref for c in body.columns)}"
                if not self.chance(15):
                    order += f" limit {self.some(1, 4)}"
                elif self.chance(50):
                    order = order.split(",")[0] + self.pick("", " limit 2")
            return Relation(f"({body.sql}{order})", body.columns, body.size)
        if depth > 0 and kind == 6 and self.chance(50):
            return self.pivoted(self.query(depth - 1))
        if self.ctes and kind >= 4:
            return self.pick(*self.ctes)
        return self.pick(*self.tables)

    def from_(self, depth: int) -> From:
        """A whole FROM clause."""
        aliases = list(self.draw(st_aliases))
        made = self.chain(depth, aliases, self.pick(1, 1, 2, 2, 3, 4))
        self.generated(made)
        return made

    def chain(self, depth: int, aliases: list[str], most: int) -> From:
        """Some relations, joined; now and then a pair of them in parentheses."""
        first = self.relation(depth)
        alias = aliases.pop()
        made = From(f"{first.sql} {alias}", first.under(alias), first.size)
        for number in range(1, most):
            if number == 1 and most > 2 and self.chance(15):
                nested = self.chain(depth - 1, aliases, 2)
                if "," in nested.text.replace("(", ","):
                    continue
                other = From(f"({nested.text})", nested.scope, nested.size)
                if "join" not in nested.text or nested.merged:
                    continue
            else:
                relation = self.relation(depth - 1)
                alias = aliases.pop()
                other = From(f"{relation.sql} {alias}", relation.under(alias), relation.size)
            if made.size * other.size > LARGEST:
                break
            self.join(made, other, last=number == most - 1)
        return made

    def join(self, made: From, other: From, last: bool) -> None:
        """Join one more relation to a clause."""
        columns = other.scope
        side = self.pick("", "", "", "left ", "left ", "right ", "full ", "left outer ")
        kind = self.pick("on", "on", "on", "on", "using", "using", "theta", "cross", "natural",
                         "semi", "condition")  # fmt: skip
        pairs = [(x, y) for x in made.scope for y in columns if x.type == y.type]
        shared = made.joinable(columns)
        if kind == "natural":
            held = made.held()
            common = [c.name for c in columns if c.name.lower() in held]
            fits = common and len(shared) == len(common)
            if fits and len({c.name for c in columns}) == len(columns):
                made.text += f" natural {side}join {other.text}"
                self.merge(made, other, common)
                return
        if kind == "using" and shared:
            name = self.pick(*shared).name
            made.text += f" {side}join {other.text} using ({name})"
            self.merge(made, other, [name])
            return
        # A merged name is ambiguous beside another relation's column of the name.
        new = {c.name.lower() for c in columns}
        made.scope = [c for c in made.scope if "." in c.ref or c.ref.lower() not in new]
        pairs = [(x, y) for x, y in pairs if x in made.scope]
        if kind == "cross" or not pairs:
            made.text += (
                f", {other.text}" if last and self.chance(50) else f" cross join {other.text}"
            )
            self.add(made, other, 1)
            return
        if kind == "theta":
            left, right = self.pick(*pairs)
            on, shrinks = f"{left.ref} {self.pick('<', '<=', '<>')} {right.ref}", 1
        elif kind == "condition":
            on, shrinks = self.pick("true", "1 = 1", self.condition(made.scope + columns)), 1
        else:
            whole = [(x, y) for x, y in pairs if x.type == INT]
            left, right = self.pick(*(whole if whole and self.chance(60) else pairs))
            on, shrinks = f"{left.ref} {self.pick('=', '=', '<=>')} {right.ref}", 2
            deep = side == "" and kind != "semi"
            for _ in range(self.pick(0, 0, 0, 1, 2)):
                on += f" and {self.condition(made.scope + columns, deep)}"
        if kind == "semi":
            made.text += f" left {self.pick('semi', 'anti')} join {other.text} on {on}"
            return
        made.text += f" {side}join {other.text} on {on}"
        self.add(made, other, shrinks)

    def merge(self, made: From, other: From, names: list[str]) -> None:
        """Add a relation that USING joins, and the merged columns under their bare names."""
        types = {c.name: c.type for c in other.scope}
        wanted = {n.lower() for n in names}
        new = {c.name.lower() for c in other.scope}
        made.scope = [c for c in made.scope if "." in c.ref or c.ref.lower() not in new | wanted]
        for name in names:
            made.merged[name.lower()] = made.merged.get(name.lower(), 1) + 1
        self.add(made, other, 2)
        made.scope += [Column(name, types[name]) for name in names]
        made.starred = False

    def add(self, made: From, other: From, shrinks: int) -> None:
        made.scope = made.scope + other.scope
        made.size = max(4, made.size + other.size, made.size * other.size // shrinks)

    def pivoted(self, body: Relation) -> Relation:
        """A derived table under PIVOT or UNPIVOT, where its columns allow it."""
        numbers = [c for c in body.columns if c.type == INT]
        for by in numbers[:1] if self.chance(50) else []:
            rest = [c for c in body.columns if c is not by and c.type in (INT, TEXT, DATE, DECIMAL)]
            if rest:
                of = self.pick(*rest)
                values = "(1 as p1, 2 as p2)"
                sql = f"pivot ({self.pick('max', 'min')}({of.ref}) for {by.ref} in {values})"
                kept = tuple(c for c in body.columns if c is not by and c is not of)
                made = (Column("p1", of.type), Column("p2", of.type))
                whole = f"(select * from ({body.sql}) {sql})"
                return Relation(whole, (*kept, *made), body.size)
        if len(numbers) > 1:
            nulls = self.pick("", "include nulls ")
            used = f"{numbers[0].ref}, {numbers[1].ref} as second"
            sql = f"unpivot {nulls}(val for what in ({used}))"
            kept = tuple(c for c in body.columns if c not in numbers[:2])
            made = (Column("what", TEXT), Column("val", INT))
            return Relation(f"(select * from ({body.sql}) {sql})", (*kept, *made), 2 * body.size)
        return Relation(f"({body.sql})", body.columns, body.size)

    def generated(self, made: From) -> None:
        """Add a generator or a LATERAL subquery to a clause, now and then."""
        scope = [c for c in made.scope if "." in c.ref]
        numbers = [c.ref for c in scope if c.type == INT]
        arrays = [c.ref for c in scope if c.type == ARRAY]
        # sqlglot looks for the columns of a table there that is named like a CTE in the CTE.
        hidden = {c.ref.split(".")[0] for c in scope} & {cte.sql for cte in self.ctes}
        if hidden or 3 * made.size > LARGEST or not self.chance(30 if arrays else 16):
            return
        if self.subqueries and self.chance(50):
            self.subqueries -= 1
            made.text, made.scope, made.size = self.lateral(
                made.text, made.scope, made.size, LARGEST
            )
            return
        if not numbers:
            return
        one, two = self.pick(*numbers), self.pick(*numbers, "2")
        kind = self.pick("explode", "explode", "posexplode", "stack", "inline")
        array = f"array({one}, {two})"
        if arrays:
            array = self.pick(*arrays)
        elif self.chance(30):
            array = f"case when {self.condition(scope)} then {array} end"
        outer = self.pick("", "", "outer ")
        names = ["ge"] if kind == "explode" else ["gp", "ge"]
        call = f"{kind}({array})"
        if kind == "stack":
            call = f"stack(2, 1, {one}, {two}, {two})"
        if kind == "inline":
            call = f"inline(array(struct({one} as f, {two} as g), struct({two} as f, 1 as g)))"
        made.text += f" lateral view {outer}{call} gen as {', '.join(names)}"
        made.scope = [*made.scope, *(Column(f"gen.{n}", INT) for n in names)]
        made.size *= 2
