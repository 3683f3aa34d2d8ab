"""Compares maintained views with their own SQL, by means of Spark only."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from tests.helpers.dbt_project import DbtProject

_LIMIT = re.compile(r"\blimit\s+(\d+)\s*\Z", re.IGNORECASE)
_DIGITS = 9  # of floating numbers, whose last ones depend on the order of addition

Row = tuple[Any, ...]


def compiled_sql(project: DbtProject, model: str) -> str:
    """A model's SQL as dbt compiled it in the last run."""
    (file,) = (project.root / "target" / "compiled").glob(f"*/models/**/{model}.sql")
    return file.read_text().strip()


def differences(project: DbtProject, model: str) -> list[str]:
    """How a view differs from its SQL on the present tables; empty if it does not.

    Args:
        project: where the view is.
        model: its name. Where its SQL ends in LIMIT, any choice among rows of equal rank is right:
            the view's rows have to be among those of the unlimited query, in the right number.
    """
    sql = compiled_sql(project, model)
    limit = _LIMIT.search(sql)
    if limit is None:
        return unbalanced(project, f"select * from {model}", sql)
    shown = rows(project, f"select * from {model}")
    body = rows(project, _LIMIT.sub("", sql))
    found = _as_text(Counter(shown) - Counter(body), "no row of the unlimited query")
    if len(shown) != min(int(limit[1]), len(body)):
        found.append(f"{len(shown)} rows of {len(body)}")
    return found


def ranks(project: DbtProject, model: str, keys: Sequence[str]) -> tuple[list[Row], list[Row]]:
    """The ordering keys of a view and of its SQL, each in their order."""
    columns = ", ".join(keys)
    ordered = rows(project, f"select {columns} from (\n{compiled_sql(project, model)}\n)")
    return rows(project, f"select {columns} from {model}"), ordered


def rows(project: DbtProject, sql: str) -> list[Row]:
    """A query's rows, such that equal ones compare equal."""
    return [tuple(_comparable(value) for value in row) for row in project.sql(sql)]


def fingerprint(project: DbtProject, model: str) -> tuple[Any, ...]:
    """A value that changes when a view's rows do."""
    counted = project.sql(f"select count(*), sum(cast(hash(*) as bigint)) from {model}")
    return tuple(counted[0])


def versions(project: DbtProject) -> dict[str, int]:
    """The version of each table of the project's schema."""
    tables = project.sql(f"show tables in {project.schema}")
    names = [row["tableName"] for row in tables]
    views = {row["viewName"] for row in project.sql(f"show views in {project.schema}")}
    return {
        name: project.sql(f"describe history {name} limit 1")[0]["version"]
        for name in names
        if name not in views
    }


def unbalanced(project: DbtProject, shown: str, expected: str) -> list[str]:
    """Rows that two queries have differently often, after rounding what floats.

    It is EXCEPT ALL both ways with each query run once: rows of one side count as +1, of the
    other as -1.
    """
    fields = project.session.sql(shown).schema.fields
    columns = [f"c{n}" for n, _ in enumerate(fields, 1)]
    names = ", ".join(columns)
    rounded = ", ".join(
        f"cast(round({name}, {_DIGITS}) as double) as {name}"
        if field.dataType.typeName() in ("double", "float")
        else name
        for name, field in zip(columns, fields, strict=True)
    )
    differing = project.sql(
        f"select {names}, sum(n) as n from ("
        f"select {rounded}, 1 as n from (\n{shown}\n) as a ({names}) union all "
        f"select {rounded}, -1 as n from (\n{expected}\n) as b ({names})"
        f") group by {names} having sum(n) <> 0 limit 5"
    )
    return [f"{tuple(row)[:-1]} is shown {row['n']:+} times too often" for row in differing]


def _comparable(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else float(f"{value:.{_DIGITS}g}")
    return value.normalize() if isinstance(value, Decimal) else value


def _as_text(surplus: Counter[Row], what: str) -> list[str]:
    return [f"{row} {what} ({count} times)" for row, count in surplus.most_common(5)]
