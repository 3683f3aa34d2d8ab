"""Changes of the source tables, each the same work every time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache

from benchmarks.catalog import KEY, SAUDI, Change
from integration_tests.tpch.load import Sql

SOURCES = "bench_sources"

# A line that Q3, Q5 and Q9 see, or as many of them as possible: a change of another one would be a
# change of nothing.
_LINE = f"""
    select l_orderkey, l_linenumber, c_custkey, s_nationkey
    from {SOURCES}.lineitem
    join {SOURCES}.orders on o_orderkey = l_orderkey
    join {SOURCES}.customer on c_custkey = o_custkey
    join {SOURCES}.supplier on s_suppkey = l_suppkey
    join {SOURCES}.part on p_partkey = l_partkey
    join {SOURCES}.nation on n_nationkey = s_nationkey
    join {SOURCES}.region on r_regionkey = n_regionkey
    where o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15'
    order by
        int(c_mktsegment = 'BUILDING') + int(p_name like '%sandy%')
        + int(r_name = 'ASIA' and c_nationkey = s_nationkey and o_orderdate >= date '1994-01-01')
        desc,
        l_orderkey,
        l_linenumber
    limit 1
"""

# A customer whose code of country Q22 lists, in the region of Q5, with a balance that Q22 counts.
_INDIAN = f"""
    select min(abs(c_custkey)) from {SOURCES}.customer
    where c_phone like '18-%' and c_acctbal > 5000
"""


@dataclass(frozen=True)
class Applied:
    """A change that has happened.

    Attributes:
        rows: how many rows it updated.
        values: what a hand-written statement may know of it: the table's `version`, and the least
            and greatest keys that it touches (`first_order`, `last_customer`, `first_part` ...).
    """

    rows: int
    values: dict[str, int]


class Changes:
    """Makes changes; every second time it takes back the one before.

    Args:
        sql: runs a statement on the source tables.
    """

    def __init__(self, sql: Sql) -> None:
        """Choose the rows of the changes of one row."""
        self._sql = sql
        self._times: Counter[Change] = Counter()
        self._loads = sql(f"select max(loaded) from {SOURCES}.lineitem")[0][0]
        (self._line,) = sql(_LINE)
        self._indian = sql(_INDIAN)[0][0]
        self._bounds = cache(self._bounds_of)

    @property
    def line(self) -> dict[str, int]:
        """The order and the number of the line that changes of one line update."""
        return {"order": self._line["l_orderkey"], "number": self._line["l_linenumber"]}

    def apply(self, change: Change) -> Applied:
        """Update the rows of a change."""
        forth = self._times[change] % 2 == 0
        self._times[change] += 1
        self._loads += 1
        bounds = self._bounds(change)
        assignments, condition = self._update(change, forth, bounds)
        assignments.append(f"loaded = {self._loads}")
        table = f"{SOURCES}.{change.table}"
        (found,) = self._sql(f"update {table} set {', '.join(assignments)} where {condition}")
        (commit,) = self._sql(f"describe history {table} limit 1")
        return Applied(int(found[0]), bounds | {"version": int(commit["version"])})

    def _update(self, change: Change, forth: bool, bounds: dict[str, int]) -> tuple[list[str], str]:
        sign = "+" if forth else "-"
        orders = "{} between {first_order} and {last_order}".format
        if change.table == "lineitem":
            measures = [f"{c} = {c} {sign} 1" for c in ("l_quantity", "l_extendedprice")]
            received = f"l_receiptdate = l_receiptdate {sign} interval '10' day"
            one = f" and l_linenumber = {self._line['l_linenumber']}" if change.rows == 1 else ""
            return [*measures, received], orders("l_orderkey", **bounds) + one
        if change.table == "orders":
            moved = [f"{c} = {c} {sign} 1" for c in ("o_custkey", "o_totalprice")]
            return moved, orders("o_orderkey", **bounds)
        if change.table == "nation":
            name = "concat(n_name, ' II')" if forth else "replace(n_name, ' II', '')"
            one = f"n_nationkey = {self._line['s_nationkey']}"
            return [f"n_name = {name}"], "n_name like 'SAUDI ARABIA%'" if change == SAUDI else one
        if change == KEY:
            return ["c_custkey = -c_custkey"], f"c_custkey in ({self._indian}, -{self._indian})"
        name = "concat(c_name, ' II')" if forth else "replace(c_name, ' II', '')"
        segment = "MACHINERY" if forth else "BUILDING"
        assignments = [
            f"c_name = {name}",
            f"c_mktsegment = '{segment}'",
            f"c_acctbal = c_acctbal {sign} 1",
        ]
        return assignments, f"c_custkey = {self._line['c_custkey']}"

    def _bounds_of(self, change: Change) -> dict[str, int]:
        """The keys that a change touches: the newest orders, or those of the chosen line."""
        if change.table in ("nation", "customer"):
            customer = self._line["c_custkey"]
            return {"first_customer": customer, "last_customer": customer}
        if change.table == "orders":
            newest = f"select o_orderkey from {SOURCES}.orders order by 1 desc limit {change.rows}"
            first, last = self._sql(f"select min(o_orderkey), max(o_orderkey) from ({newest})")[0]
            return {"first_order": first, "last_order": last}
        lines = f"{SOURCES}.lineitem"
        if change.rows == 1:
            key, number = self._line["l_orderkey"], self._line["l_linenumber"]
            chosen = f"l_orderkey = {key} and l_linenumber = {number}"
        else:
            newest = f"select l_orderkey from {lines} order by 1 desc limit {change.rows}"
            chosen = f"l_orderkey >= (select min(l_orderkey) from ({newest}))"
        (found,) = self._sql(
            "select min(l_orderkey) as first_order, max(l_orderkey) as last_order, "
            "min(o_custkey) as first_customer, max(o_custkey) as last_customer, "
            "min(l_partkey) as first_part, max(l_partkey) as last_part "
            f"from {lines} join {SOURCES}.orders on o_orderkey = l_orderkey where {chosen}"
        )
        return dict(found.asDict())
