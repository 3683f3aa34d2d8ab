"""A proof of a part of a view: a sample of its groups or rows, recomputed at the bookmark."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial

from sqlglot import exp

from python_ivm.errors import InvalidModel
from python_ivm.functions.comparable import comparable
from python_ivm.operate.unbuilt import unbuilt
from python_ivm.refresh.consistency import consistency_query
from python_ivm.refresh.maintainability import Maintained, maintained
from python_ivm.refresh.metadata import versions
from python_ivm.refresh.metadata.cached_warehouse import CachedWarehouse
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.model import Model
from python_ivm.refresh.request import Request
from python_ivm.render.sources import table, text
from python_ivm.state.layout import Layout
from python_ivm.state.storage import Visible
from python_ivm.state.sum_types import SqlType, SumKind

_CONFIDENCE = 0.95
_COUNTED = "sampled"


@dataclass(frozen=True)
class Audit:
    """How a part of a view is proved.

    Attributes:
        sql: The query of the rows of the sample in which view and query differ.
        counted: The query of how many groups or rows the sample has, and the view.
        unit: What is sampled: ``groups`` or ``rows``.
    """

    sql: str
    counted: str
    unit: str


def audit(request: Request, warehouse: Warehouse, parts: int, seed: int) -> Audit:
    """The queries that prove a part of a view.

    Rows are sampled by a hash of the view's group columns, on both sides alike, so that rows are
    found that either side has too many. Spark moves the condition below the aggregation: other
    groups are not computed.

    Args:
        request: The model.
        warehouse: Answers questions about tables.
        parts: Into how many parts the groups fall, of which one is recomputed.
        seed: Which of them.

    Raises:
        InvalidModel: If the model is not built, or the sample cannot be.
    """
    if parts < 1:
        raise InvalidModel("A sample is at most the whole view")
    asked = CachedWarehouse(warehouse)
    keys = _keys(request, asked)
    condition = partial(_sampled, keys=keys, parts=parts, seed=seed)
    sql = consistency_query(request.view, asked, sample=condition)
    columns = asked.columns(request.view) or {}
    sampled = exp.func("count_if", condition(columns))
    counting = exp.Select().from_(table(request.view)).select(
        exp.alias_(sampled, _COUNTED), exp.alias_(exp.Count(this=exp.Star()), "all")
    )  # fmt: skip
    return Audit(sql, text(counting), "groups" if keys else "rows")


def _keys(request: Request, warehouse: CachedWarehouse) -> frozenset[str]:
    """The view's columns that name a group, in lower case; none where they do not name one."""
    found = versions.state_history(warehouse, request.state)
    if found.bookmark is None:
        told = unbuilt(found)
        raise InvalidModel(told[0].upper() + told[1:], model=request.model, hint="Run the model.")
    if not found.bookmark.maintained:
        return frozenset()
    how = maintained(Model(request, warehouse, found), found.bookmark.types)
    return _shown(how.layout) if isinstance(how, Maintained) else frozenset()


def _shown(layout: Layout) -> frozenset[str]:
    if layout.is_bag:
        return frozenset()
    keys = {key.name for key in layout.keys}
    shown = Visible.of(layout).stored
    named = {name: stored for name, stored in shown.items() if stored in keys}
    # Without one of them the others name several groups, which would be sampled together.
    return frozenset(named) if set(named.values()) == keys else frozenset()


def _sampled(
    columns: Mapping[str, str], *, keys: Collection[str], parts: int, seed: int
) -> exp.Expr:
    """Whether a row is of the sample.

    Of rows without a group all columns decide but floating ones, whose last digits may differ.
    """
    named = {
        name: kind
        for name, kind in columns.items()
        if (name.lower() in keys if keys else SqlType.of(kind).kind is not SumKind.FLOATING)
    }
    if not named or parts == 1:
        return exp.true()
    values = [comparable(exp.column(name, quoted=True), kind) for name, kind in named.items()]
    hashed = exp.Anonymous(this="xxhash64", expressions=values)
    part = exp.Anonymous(this="pmod", expressions=[hashed, exp.Literal.number(parts)])
    return exp.EQ(this=part, expression=exp.Literal.number(seed % parts))


def statement(unit: str, sampled: int, whole: int, differing: int) -> str:
    """What a sample says of the whole view.

    Args:
        unit: What was sampled: ``groups`` or ``rows``.
        sampled: How many the view has in the sample.
        whole: How many it has.
        differing: How many rows differ.
    """
    if differing:
        return f"{differing:,} rows differ among {sampled:,} {unit} of {whole:,}"
    if sampled >= whole:
        return f"all {whole:,} {unit} equal the query"
    if sampled == 0:
        return f"the sample holds none of the {whole:,} {unit}: take a larger one"
    most = most_wrong(sampled)
    return (
        f"{sampled:,} {unit} of {whole:,} equal the query: with {_CONFIDENCE:.0%} confidence, "
        f"fewer than {most:.2%} of all {unit} (about {math.ceil(most * whole):,}) are wrong"
    )


def most_wrong(sampled: int) -> float:
    """The least part of wrong ones of which a sample would have shown one, as a fraction of 1.

    If this many were wrong, a sample of this size would miss all of them with a chance of 1 in 20.
    """
    return 1 - math.pow(1 - _CONFIDENCE, 1 / sampled)
