"""Stars that sqlglot leaves as they are: inside functions, and the fields of a struct."""

from __future__ import annotations

from sqlglot import exp

from python_ivm.errors import NotYetImplemented
from python_ivm.parse.trees import from_items, names_in_from, place
from python_ivm.qualify.relations import Relations
from python_ivm.qualify.struct_fields import field_of


def expand_stars(select: exp.Select, known: Relations) -> None:
    """Write ``hash(*)`` as ``hash(a.k, a.v)``, and ``p.*`` as the fields of a struct, in place.

    Args:
        select: A SELECT; of its stars ``*`` and ``a.*`` in its list, and ``count(*)``, stay.
        known: Knows the columns and their types.

    Raises:
        NotYetImplemented: For stars elsewhere than among arguments of functions, and in structs,
            whose fields Spark names as the tables spell them.
    """
    for star in list(select.find_all(exp.Star)):
        if star.parent_select is not select:
            continue
        column = star.parent if isinstance(star.parent, exp.Column) else None
        written = star if column is None else column
        of_struct = column is not None and (
            len(column.parts) > 2 or column.parts[0].name.lower() not in names_in_from(select)
        )
        if written.parent is select:
            if column is not None and of_struct:
                _replace(column, _fields(column, select, known))
        elif column is not None or not isinstance(star.parent, exp.Count):
            if of_struct or isinstance(written.parent, exp.Struct) or not _plain_from(select):
                raise _not_yet(written)
            _replace(written, known.shown(select, written))


def _plain_from(select: exp.Select) -> bool:
    """Whether all relations have names for their columns already, and each column is of one."""
    named = all(
        isinstance(item, exp.Subquery)
        or (isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier))
        for item in from_items(select)
    )
    merges = any(join.meta.get("merges") for join in select.args.get("joins") or [])
    return named and not merges and not select.args.get("laterals")


def _fields(written: exp.Column, select: exp.Select, known: Relations) -> list[exp.Expr]:
    """The fields of ``p.*`` or ``a.p.q.*``, each under its name."""
    first, *others = written.parts[:-1]
    if others and first.name.lower() in names_in_from(select):
        struct: exp.Expr = exp.Column(this=others.pop(0).copy(), table=first.copy())
    else:
        struct = exp.Column(this=first.copy())
    struct = field_of(struct, others)
    kind = known.type_of(select, struct)
    if kind.this is not exp.DType.STRUCT or any(written.this.args.values()):
        raise _not_yet(written)
    names = [exp.to_identifier(field.name, quoted=True) for field in kind.expressions]
    return [
        exp.alias_(exp.Dot(this=struct.copy(), expression=name), name.copy(), copy=False)
        for name in names
    ]


def _replace(written: exp.Expr, by: list[exp.Expr]) -> None:
    """Put expressions where a star stood among others."""
    parent, key = written.parent, written.arg_key
    assert parent is not None
    if key == "expressions":
        before = parent.expressions
        number = next(n for n, e in enumerate(before) if e is written)
        parent.set("expressions", [*before[:number], *by, *before[number + 1 :]])
    elif key == "this" and by and isinstance(parent, exp.Func) and parent.is_var_len_args:
        parent.set("this", by[0])
        parent.set("expressions", [*by[1:], *parent.expressions])
    else:
        raise _not_yet(written)


def _not_yet(written: exp.Expr) -> NotYetImplemented:
    return NotYetImplemented(
        f"{'.'.join(p.name or '*' for p in written.parts)} here"
        if isinstance(written, exp.Column)
        else "* here",
        operator="*",
        hint="Write out the columns.",
        **place(written),
    )
