"""EXISTS and IN with subqueries, in the forms that :mod:`.subqueries` joins."""

from __future__ import annotations

from sqlglot import exp

from python_ivm.bind.grouping.grouping_sets import has_only_keys
from python_ivm.bind.subqueries.correlation import outer_columns
from python_ivm.functions.aggregates import has_aggregate


def is_list_query(node: exp.Expr) -> bool:
    """Whether a node is IN with a subquery."""
    return isinstance(node, exp.In) and node.args.get("query") is not None


def is_predicate(node: exp.Expr) -> bool:
    """Whether a node is EXISTS or IN with a subquery; exists() of an array is a function."""
    asks = isinstance(node, exp.Exists) and isinstance(node.this.unnest(), exp.Query)
    return asks or is_list_query(node)


def plain_predicates(expression: exp.Expr) -> exp.Expr:
    """A copy in which EXISTS and IN are simpler.

    - NOT over AND and OR with subqueries moves to each of their terms: Spark's optimizer does so
      before it looks for NOT IN.
    - EXISTS loses what does not change whether there is a row: ORDER BY, DISTINCT, the list.
    - EXISTS and IN of a correlated subquery that always has one row, an aggregate without GROUP BY,
      become comparisons.
    """
    pushed = expression.transform(_negations_inside)
    return pushed.transform(_asked_less, copy=False).transform(_compared, copy=False)


def _negations_inside(node: exp.Expr) -> exp.Expr:
    if not isinstance(node, exp.Not):
        return node
    inner = node.this.unnest()
    if isinstance(inner, exp.Not) and inner.find(exp.Query):
        return _negations_inside(inner.this.unnest())
    if isinstance(inner, (exp.And, exp.Or)) and inner.find(exp.Query):
        other = exp.Or if isinstance(inner, exp.And) else exp.And
        sides = (
            _negations_inside(exp.Not(this=exp.paren(s.copy()))) for s in (inner.left, inner.right)
        )
        left, right = (exp.paren(side) for side in sides)
        return exp.paren(other(this=left, expression=right))
    return node


def _asked_less(node: exp.Expr) -> exp.Expr:
    """EXISTS without what does not change whether there is a row."""
    if not isinstance(node, exp.Exists) or not is_predicate(node):
        return node
    select = node.this.unnest()
    if not isinstance(select, exp.Select) or select.args.get("offset"):
        return node
    limit = select.args.get("limit")
    if limit is not None and not _at_least_one(limit):
        return node
    for modifier in ("limit", "order", "distinct"):
        select.set(modifier, None)
    if is_one_row(select) or select.args.get("qualify"):  # which counts groups
        return node
    if not select.args.get("having") and has_only_keys(select.args.get("group")):
        select.set("group", None)
    if not select.args.get("group"):
        select.set("expressions", [exp.alias_(exp.Literal.number(1), "one")])
    return node


def _at_least_one(limit: exp.Expr) -> bool:
    return limit.expression.is_int and int(limit.expression.name) > 0


def _compared(node: exp.Expr) -> exp.Expr:
    """IN and EXISTS of a correlated subquery that always has one row, as a comparison with it.

    As a value, Spark's IN is false where the standard's is NULL, and so is its NOT IN.
    """
    negated = isinstance(node, exp.Not) and is_list_query(node.this.unnest())
    inner = node.this.unnest() if negated else node
    if not is_predicate(inner):
        return node
    select = (inner.args.get("query") or inner.this).unnest()
    if not is_one_row(select) or not outer_columns(select):
        return node
    if isinstance(inner, exp.Exists):
        having = select.args.get("having")
        if having is None:
            return exp.true()
        select.set("having", None)
        select.set("expressions", [exp.alias_(having.this, "kept")])
        return exp.func("coalesce", exp.Subquery(this=select), exp.false())
    if len(select.selects) != 1 or select.args.get("having") or inner.this.find(exp.Query):
        return node
    kind = exp.NEQ if negated else exp.EQ
    asked = kind(this=exp.paren(inner.this), expression=exp.Subquery(this=select))
    return exp.func("coalesce", asked, exp.false())


def is_one_row(query: exp.Expr) -> bool:
    """Whether a query aggregates without GROUP BY: it has one row, or none because of HAVING."""
    if not isinstance(query, exp.Select) or query.args.get("group"):
        return False
    if any(query.args.get(k) for k in ("limit", "offset", "qualify", "distinct")):
        return False
    return bool(query.args.get("having")) or any(has_aggregate(s) for s in query.selects)
