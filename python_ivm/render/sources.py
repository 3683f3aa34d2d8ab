"""How tables, their versions and their change feeds are read."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from python_ivm.algebra.nodes import COUNT, At
from python_ivm.parse.loops import LOOP_VIEW, NOW
from python_ivm.parse.parser import DIALECT, quoted_name
from python_ivm.render.renderer import SourceRelations, bare, stored_as
from python_ivm.render.time_points import later, seen
from python_ivm.sources.clock import Clock
from python_ivm.sources.history import SourceChange, SourceVersion
from python_ivm.state.layout import STATE


def table(parts: tuple[str, ...], version: int | None = None) -> exp.Table:
    """A table by its name's parts, at a version if one is given."""
    *spaces, name = (exp.to_identifier(part, quoted=True) for part in parts)
    result = exp.Table(
        this=name,
        db=spaces[-1] if spaces else None,
        catalog=spaces[-2] if len(spaces) > 1 else None,
    )
    if version is not None:
        at = exp.Literal.number(version)
        result.set("version", exp.Version(this="VERSION", kind="AS OF", expression=at))
    return result


def no_rows(parts: tuple[str, ...]) -> exp.Subquery:
    """None of a table's rows."""
    return exp.Select().from_(table(parts)).select("*").where(exp.false()).subquery()


def at_version(parts: tuple[str, ...], version: SourceVersion) -> exp.Table | exp.Subquery:
    """A table's rows at a version, as far as they are seen there."""
    if version.is_before_all:
        return no_rows(parts)
    rows = table(parts, version.version)
    if version.until is None:
        return rows
    return exp.Select().from_(rows).select("*").where(seen(version.until)).subquery()


def text(query: exp.Expr) -> str:
    """Spark SQL, one clause a line."""
    return str(bare(query).sql(dialect=DIALECT, pretty=True, copy=False))


def relation_name(parts: tuple[str, ...]) -> str:
    """A relation's name as SQL."""
    return str(bare(table(parts)).sql(dialect=DIALECT, copy=False))


def source_relations(
    sources: Mapping[str, SourceChange],
    clock: Clock | None,
    state: exp.Table | None = None,
) -> SourceRelations:
    """Reads each source at its old or new version, and its change feed in between."""
    stored = {key: found.stored for key, found in sources.items() if found.stored}

    def read(source: str, at: At) -> exp.Table | exp.Subquery:
        if source == STATE and state is not None:
            return state.copy()
        if source not in sources and source.startswith(f"{NOW}."):
            return table((LOOP_VIEW.format(source.partition(".")[2]),))
        found = sources[source]
        version = found.pre if at is At.PRE else found.post
        return at_version(found.parts, version)

    def changed(source: str, columns: tuple[str, ...], net: tuple[str, ...] | None) -> exp.Select:
        found = sources[source]
        kind = exp.column("_change_type")
        came = exp.In(
            this=kind,
            expressions=[exp.Literal.string(t) for t in ("insert", "update_postimage")],
        )
        sign = exp.Case().when(came, exp.Literal.number(1)).else_(exp.Literal.number(-1))
        items = [stored_as(name, found.stored) for name in columns]
        if net is None:
            return change_feed(found).select(*items, exp.alias_(sign, COUNT))
        return _netted(change_feed(found), columns, items, sign, net)

    return SourceRelations(read, changed, stored, clock.literals() if clock else {})


def _netted(
    feed: exp.Select,
    columns: tuple[str, ...],
    items: list[exp.Expr],
    sign: exp.Expr,
    by_text: tuple[str, ...],
) -> exp.Select:
    """The changed rows without those that came and went."""
    keys: list[exp.Expr] = []
    for place, name in enumerate(columns):
        value = items[place].unalias()
        if name in by_text:
            keys.append(exp.cast(value.copy(), "string"))
            items[place] = exp.alias_(exp.func("any_value", value.copy()), name, quoted=True)
        else:
            keys.append(value.copy())
    count = exp.Sum(this=sign)
    left = exp.NEQ(this=count.copy(), expression=exp.Literal.number(0))
    return feed.select(*items, exp.alias_(count, COUNT)).group_by(*keys).having(left)


def change_feed(source: SourceChange) -> exp.Select:
    """A SELECT of nothing yet from a source's change feed.

    Between two time points rows came only: what else changed was followed at the first one.
    """
    pre, post = source.pre, source.post
    if pre.is_before_all or pre.until != post.until:
        came = exp.alias_(exp.Literal.string("insert"), "_change_type")
        every = exp.Select().from_(at_version(source.parts, post)).select("*", came)
        if pre.until is not None and not pre.is_before_all:
            every = every.where(later(pre.until))
        return exp.Select().from_(every.subquery("every"))
    # By name Spark takes the feed for another read of the table (docs/decisions/0005).
    by_path = ("table_changes_by_path", source.location)
    function, where = by_path if source.location else ("table_changes", quoted_name(source.parts))
    feed = exp.func(
        function,
        exp.Literal.string(where),
        exp.Literal.number(source.pre.version + 1),
        exp.Literal.number(source.post.version),
    )
    changed = exp.Select().from_(exp.Table(this=feed))
    if post.until is None:
        return changed
    return exp.Select().from_(changed.select("*").where(seen(post.until)).subquery("seen"))


def string(value: str) -> str:
    """A text as a literal of Spark SQL; for ``${name}`` Spark would put a setting's value."""
    return str(exp.Literal.string(value).sql(dialect=DIALECT)).replace("${", "\\u0024{")
