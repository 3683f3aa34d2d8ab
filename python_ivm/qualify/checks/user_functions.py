"""Functions of users, which are maintained only if they are promised to be deterministic."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from python_ivm.errors import NotYetImplemented, Unsupported
from python_ivm.parse.trees import position

_BUILT_IN = frozenset({"builtin", "system.builtin"})


def check_user_functions(query: exp.Expr, made: Collection[str], promised: Collection[str]) -> None:
    """Refuse functions of users, of which nobody promised that they are deterministic.

    Args:
        query: The parsed model.
        made: The names of the functions that users made, without their schemas, in lower case.
        promised: The names of those that give the same result for the same arguments whenever they
            are called, with or without their schemas, in lower case.

    Raises:
        Unsupported: At the first function without a promise.
        NotYetImplemented: If a function has the name of one that the planner knows otherwise.
    """
    for node in query.find_all(exp.Func):
        known = not isinstance(node, exp.Anonymous)
        names = {n.lower() for n in node.sql_names()} if known else {node.name.lower()}
        schema = _schema(node)
        if schema in _BUILT_IN or (not schema and not names & set(made)):
            continue
        name = sorted(names & set(made) or names)[0]
        shown = f"{schema}.{name}" if schema else name
        if not {name, shown} & set(promised):
            raise Unsupported(
                f"{shown}() is a function of yours, which may give another value at every call, "
                "or read tables whose changes are not seen",
                operator=f"{shown}()",
                hint=f"If it is deterministic, promise it: ivm_deterministic_functions: [{shown}].",
                **position(node),
            )
        if known:
            raise NotYetImplemented(
                f"A function of yours named {name}()", operator=f"{name}()", **position(node)
            )


def named_alone(query: exp.Expr) -> set[str]:
    """The functions, in lower case, that a query names without a schema and that may be a user's.

    They are those that sqlglot does not know, some of Spark's own among them.
    """
    named = (node for node in query.find_all(exp.Anonymous) if not _schema(node))
    return {node.name.lower() for node in named}


def _schema(function: exp.Expr) -> str:
    """The schema with which a function is named, or nothing."""
    dot = function.parent
    if not isinstance(dot, exp.Dot) or dot.expression is not function:
        return ""
    return str(dot.this.sql(dialect="spark")).replace("`", "").lower()
