"""The texts of the benchmark's models: those of TPC-H and TPC-DS come from integration_tests.

Those are written into a copy of the benchmark's project, with what is other here. Beside dbt's
`incremental` with its key, its column `loaded` and its condition on what is newer
(macros/stock.sql) these are two parameters of TPC-H, and an order without ties where a LIMIT shall
leave the same rows in every way.
"""

from __future__ import annotations

import re
from pathlib import Path

import sqlglot
from jinja2 import Template
from sqlglot import exp

from benchmarks.catalog import PROJECT
from integration_tests.tpch.load import PROJECT as TPCH

Replaced = tuple[str, str]


def _above(line: str, more: str) -> Replaced:
    return line, f"{more}\n{line}"


def _below(line: str, more: str) -> Replaced:
    return line, f"{line}\n{more}"


UNIQUE_KEYS = {
    "q01": "['l_returnflag', 'l_linestatus']",
    "q05": "'n_name'",
    "q09": "['nation', 'o_year']",
}
"""The keys by which dbt's `incremental` merges."""

ALL_OF_TPCH = tuple(sorted(file.stem for file in (TPCH / "models" / "tpch").glob("q*.sql")))
ALL_OF_TPCDS = tuple(f"q{number:02}" for number in range(1, 100))
WITHOUT_TIES: dict[str, tuple[Replaced, ...]] = {
    "q03": (_above("limit 10", "    , l_orderkey"),),
    "q18": (_above("limit 100", "    , o_orderkey"),),
}
"""A LIMIT leaves the same rows in every way."""

OTHER: dict[str, tuple[Replaced, ...]] = {
    "q01": (
        _below("    count(*) as count_order", "    {{ stock(', max(loaded) as loaded') }}"),
        (
            "    l_shipdate <= date '1998-12-01' - interval '90' day",
            """\
    l_shipdate <= date '1998-12-01' - interval '78' day
    {% if is_incremental() %}
    and (l_returnflag, l_linestatus) in (
        select l_returnflag, l_linestatus from {{ newer(source('tpch', 'lineitem')) }}
    )
    {% endif %}""",
        ),
    ),
    "q03": WITHOUT_TIES["q03"],
    "q05": (
        _below(
            "    sum(l_extendedprice * (1 - l_discount)) as revenue",
            "    {{ stock(', max(lineitem.loaded) as loaded') }}",
        ),
        _below(
            "    and o_orderdate < date '1994-01-01' + interval '1' year",
            """\
    {% if is_incremental() %}
    and n_nationkey in (
        select s_nationkey
        from {{ source('tpch', 'supplier') }}
        where s_suppkey in (select l_suppkey from {{ newer(source('tpch', 'lineitem')) }})
    )
    {% endif %}""",
        ),
    ),
    "q09": (
        _below("    sum(amount) as sum_profit", "    {{ stock(', max(loaded) as loaded') }}"),
        _below(" as amount", "        {{ stock(', lineitem.loaded') }}"),
        (
            "        and p_name like '%green%'",
            """\
        and p_name like '%sandy%'
        {% if is_incremental() %}
        and (n_nationkey, extract(year from o_orderdate)) in (
            select s_nationkey, extract(year from o_orderdate)
            from (select l_orderkey, l_suppkey from {{ newer(source('tpch', 'lineitem')) }})
            join {{ source('tpch', 'orders') }} on o_orderkey = l_orderkey
            join {{ source('tpch', 'supplier') }} on s_suppkey = l_suppkey
        )
        {% endif %}""",
        ),
    ),
    "q13": (),
    "q18": WITHOUT_TIES["q18"],
    "q21": (),
    "q22": (),
}
"""Of each query that the benchmark takes from there, what is replaced by what."""


def text(name: str) -> str:
    """The text of a query's model.

    Raises:
        ValueError: What is to be replaced does not stand there once.
    """
    if name not in OTHER:
        return (PROJECT / "models" / "queries" / f"{name}.sql").read_text()
    found = _of_tpch(name, OTHER[name])
    key = UNIQUE_KEYS.get(name)
    return f"{{{{ config(unique_key={key}) }}}}\n{found}" if key else found


def _of_tpch(name: str, replaced: tuple[Replaced, ...]) -> str:
    """A query of TPC-H with what is other in it."""
    found = (TPCH / "models" / "tpch" / f"{name}.sql").read_text()
    for old, new in replaced:
        if found.count(f"{old}\n") != 1:
            raise ValueError(f"{name}.sql has not one line that ends in: {old}")
        found = found.replace(f"{old}\n", f"{new}\n")
    return found


def plain(name: str, sources: str) -> str:
    """The query of a model as it is without dbt, over the tables of a schema."""
    return Template(text(name)).render(
        config=lambda **settings: "",
        stock=lambda columns: "",
        is_incremental=lambda: False,
        source=lambda _, table: f"{sources}.{table}",
    )


def write(project: Path) -> None:
    """Write the models of TPC-H into a copy of the benchmark's project."""
    for name in OTHER:
        (project / "models" / "queries" / f"{name}.sql").write_text(text(name))


def write_all_of_tpch(project: Path) -> list[str]:
    """Write all queries of TPC-H into a copy of the project, with their own parameters.

    Returns:
        The names of their models.
    """
    folder = project / "models" / "tpch"
    folder.mkdir(exist_ok=True)
    names = []
    for query in ALL_OF_TPCH:
        names.append(f"tpch_{query}")
        found = _of_tpch(query, WITHOUT_TIES.get(query, ()))
        (folder / f"{names[-1]}.sql").write_text(found)
    return names


def write_all_of_tpcds(project: Path) -> list[str]:
    """Write all queries of TPC-DS into a copy of the project.

    Columns without a name get one, as tables need it. A LIMIT without an order of all columns would
    leave other rows in every way, so that the order gets the columns that it lacks.

    Returns:
        The names of their models.
    """
    from integration_tests.tpcds.texts import benchmark, columns_of

    folder = project / "models" / "tpcds"
    folder.mkdir(exist_ok=True)
    names = []
    for number, sql in benchmark().queries.items():
        names.append(f"tpcds_q{number:02}")
        tree = sqlglot.parse_one(sql, read="spark")
        _name_columns(tree)
        if tree.args.get("limit"):
            columns = range(1, len(columns_of(number)) + 1)
            tree = tree.order_by(*map(str, columns))
        for table in tree.find_all(exp.Table):
            if table.db == "s":
                table.replace(
                    exp.to_table(f"tpcds_source__{table.name}", alias=table.alias or table.name)
                )
        text = tree.sql("spark", pretty=True)
        text = re.sub(r"tpcds_source__(\w+)", r"{{ source('tpcds', '\1') }}", text)
        (folder / f"{names[-1]}.sql").write_text(f"{text}\n")
    return names


def _name_columns(query: exp.Expression) -> None:
    first = query
    while not isinstance(first, exp.Select):
        first = first.this
    for number, shown in enumerate(first.expressions, 1):
        if not shown.alias_or_name:
            name = shown.unnest().alias_or_name or f"column_{number}"
            shown.replace(exp.alias_(shown.copy(), name))
