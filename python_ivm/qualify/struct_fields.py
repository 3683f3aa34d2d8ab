"""Names of struct fields and of map keys, which keep their case where sqlglot folds it.

Spark finds a field in any case, but shows it as it is spelled. ``m.Foo`` may be a map's key, and a
key in another case is another key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from python_ivm.parse.trees import names_in_from, nodes_in
from python_ivm.qualify.relations import Relations

_WRITTEN = "written"
_SHOWN = "shown"


def name_fields(tree: exp.Expr) -> None:
    """Note how a query spells its fields and keys, and name those that Spark names, in place."""
    for struct in tree.find_all(exp.Struct):
        for field in struct.expressions:
            unnamed = isinstance(field, exp.PropertyEQ) and not field.this.meta.get("line")
            name = _spark_name(field.expression) if unnamed else None
            if name is not None and not field.this.args.get("quoted"):
                field.set("this", exp.to_identifier(name, quoted=True))
    for zipped in list(tree.find_all(exp.ArraysZip)):
        # Spark names the fields like the columns, which the plan may call otherwise.
        zipped.set(
            "expressions",
            [_named(_spark_name(e) or str(n), e) for n, e in enumerate(zipped.expressions)],
        )
    for identifier in tree.find_all(exp.Identifier):
        if identifier.name != identifier.name.lower():
            identifier.meta[_WRITTEN] = identifier.name


def name_fields_of_outputs(select: exp.Select, known: Relations) -> None:
    """Write fields of the list's columns, ``having w.start > …``, as fields of what these are.

    Done in place: sqlglot would look for a relation of that name. A column of the input has
    precedence but in ORDER BY.
    """
    if select.args.get("distinct"):
        return
    outputs = {i.alias.lower(): i.this for i in select.selects if isinstance(i, exp.Alias)}
    for clause in ("group", "having", "qualify", "order"):
        for column in list(nodes_in(select, exp.Column, clause)):
            first, *fields = column.parts
            name = first.name.lower()
            if not fields or name not in outputs or name in names_in_from(select):
                continue
            if clause != "order" and name in known.columns(select):
                continue
            value: exp.Expr = outputs[name].copy()
            if not isinstance(value, (exp.Column, exp.Func)):
                value = exp.paren(value, copy=False)
            column.replace(field_of(value, fields))


def field_of(struct: exp.Expr, path: Iterable[exp.Expr]) -> exp.Expr:
    """A field of a struct, or of a struct in it; the struct itself where no field is named."""
    for name in path:
        struct = exp.Dot(this=struct, expression=name.copy())
    return struct


def restore_fields(tree: exp.Query, known: Relations) -> None:
    """Spell fields and keys again as the query does, in place.

    What is certainly a field of a struct, and not a key, stays in lower case: all its spellings
    are equal in GROUP BY.

    Args:
        tree: A qualified query, all of whose names are in lower case.
        known: The types of the tables' columns.
    """
    for name in _names_of_fields(tree):
        _restore(name)
    dots = [dot for dot in tree.find_all(exp.Dot) if _WRITTEN in dot.expression.meta]
    structs = _of_structs(tree, known) if dots else set()
    for dot in dots:
        if id(dot) not in structs or dot.expression.meta.get(_SHOWN):
            _restore(dot.expression)


def same_but_for_case(one: exp.Expr, other: exp.Expr) -> bool:
    """Whether expressions differ by the case of fields, which may be keys, only."""
    folded = one.copy(), other.copy()
    for copied in folded:
        for dot in copied.find_all(exp.Dot):
            if isinstance(dot.expression, exp.Identifier):
                dot.expression.set("this", dot.name.lower())
    return one != other and folded[0] == folded[1]


def _names_of_fields(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The names that structs, and types of structs, give to their fields."""
    for node in tree.find_all(exp.PropertyEQ, exp.ColumnDef):
        if isinstance(node.parent, (exp.Struct, exp.DataType)):
            yield node.this


def _restore(name: exp.Expr) -> None:
    if _WRITTEN in name.meta:
        name.set("this", name.meta[_WRITTEN])


def _of_structs(tree: exp.Query, known: Relations) -> set[int]:
    """The ids of the dots that are certainly behind a struct."""
    typed = tree.copy()
    if not known.annotate(typed):
        return set()
    pairs = zip(tree.find_all(exp.Dot), typed.find_all(exp.Dot), strict=True)
    return {id(dot) for dot, twin in pairs if _is_struct(twin.this.type)}


def _is_struct(kind: exp.Expr | None) -> bool:
    """Whether a dot behind this type names a field."""
    if isinstance(kind, exp.DataType) and kind.this is exp.DType.ARRAY and kind.expressions:
        kind = kind.expressions[0]
    return isinstance(kind, exp.DataType) and kind.this is exp.DType.STRUCT


def _spark_name(argument: exp.Expr) -> str | None:
    """How Spark names a field after an argument of struct() or arrays_zip(), if it does."""
    inner = argument.unnest()
    if isinstance(inner, exp.Bracket):
        keys = inner.expressions
        literal = len(keys) == 1 and keys[0].is_string and not inner.args.get("offset")
        return keys[0].name if literal else None
    named = isinstance(inner, (exp.Column, exp.Dot, exp.Identifier))
    return inner.name if named else None


def _named(name: str, value: exp.Expr) -> exp.Expr:
    """The value under a name."""
    shown = exp.to_identifier(name, quoted=True)
    shown.meta[_SHOWN] = True
    field = exp.PropertyEQ(this=exp.to_identifier(name, quoted=True), expression=value.copy())
    return exp.Dot(this=exp.Struct(expressions=[field]), expression=shown)
