"""Variables of lambda functions, which to Spark hide columns and relations of the same name."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from python_ivm.errors import NotYetImplemented
from python_ivm.parse.trees import position


def check_lambda_variables(tree: exp.Expr, reserved: Collection[str]) -> None:
    """Refuse variables of which it is not clear, or would not be, where they are meant.

    Spark finds a variable whatever the case of its letters, and sqlglot only as it is spelled.

    Args:
        tree: A model's tree as it was parsed.
        reserved: Names of the planner's own relations.

    Raises:
        NotYetImplemented: At the first variable that is spelled in two ways, or that has a reserved
            name and stands beside columns.
    """
    for function in tree.find_all(exp.Lambda):
        spelled = {variable.name for variable in function.expressions}
        own = {name.lower() for name in spelled}
        for name in function.this.find_all(exp.Identifier):
            meant = name.name.lower() in own and name.name not in spelled
            if meant and _is_first(name):
                raise NotYetImplemented(
                    f"{name.name}, which is a variable of a lambda function and is spelled "
                    "otherwise there,",
                    operator="lambda function",
                    hint="Spell it the same everywhere.",
                    **position(name),
                )
        for name in own.intersection(reserved):
            if function.this.find(exp.Column) is not None:
                raise NotYetImplemented(
                    f"A variable of a lambda function named {name}, beside columns",
                    operator="lambda function",
                    hint="Give it another name, such as x.",
                    **position(function),
                )


def _is_first(name: exp.Identifier) -> bool:
    """Whether a name is the first part of what it names, and no field or alias."""
    around = name.parent
    if isinstance(around, exp.Column):
        return around.parts[0] is name
    is_field = isinstance(around, exp.Dot) and name.arg_key == "expression"
    return not is_field and name.arg_key != "alias"
