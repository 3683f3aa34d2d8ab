"""Keys that are asked for of a change's first joins, on a real Spark."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from python_ivm.algebra.nodes import Node
from python_ivm.optimize.analysis.bounds import Range
from python_ivm.optimize.context import Lookahead
from python_ivm.optimize.cost import Cost
from python_ivm.refresh.changed_keys import ChangedKeys
from tests.spark.workbench import Bench


@pytest.fixture(autouse=True)
def ranges(monkeypatch: pytest.MonkeyPatch) -> list[Range | None]:
    """Those that are found; every look ahead pays."""
    found: list[Range | None] = []
    ask = ChangedKeys.of_lookaheads

    def noted(keys: ChangedKeys, plan: Node, looks: Sequence[Lookahead]) -> Sequence[Range | None]:
        answers = ask(keys, plan, looks)
        found.extend(answers)
        return answers

    monkeypatch.setattr(Cost, "pays_to_ask", lambda *arguments: True)
    monkeypatch.setattr(ChangedKeys, "of_lookaheads", noted)
    return found


@pytest.mark.thorough
def test_views_follow_a_dimension_whose_facts_are_looked_up_ahead(
    bench: Bench, ranges: list[Range | None], pytestconfig: pytest.Config
) -> None:
    bench.table("n", "k int, name string", "(1, 'a')", "(2, 'b')", "(3, null)")
    bench.table("p", "id smallint, n int", "(1, 1)", "(2, 2)", "(3, 2)", "(null, 2)", "(4, null)")
    bench.table(
        "l", "of bigint, v int, d date",
        "(1, 5, date'2024-01-01')", "(2, 6, date'2024-01-02')", "(2, 6, date'2024-01-02')",
        "(3, null, null)", "(null, 7, date'2024-01-03')",
    )  # fmt: skip
    bench.table("c", "d date, w int", "(date'2024-01-02', 1)", "(date'2024-01-09', 2)")
    joined = "n join p on p.n = n.k"
    queries = [
        f"select name, sum(v) as s from {joined} join l on l.of = p.id group by name",
        f"select name from {joined} where not exists (select 1 from l where l.of = id)",
        f"select name, p.id, v from {joined} left join l on l.of <=> p.id",
        "select v, count(*) as n from l where of in (select id from p join n "
        "on p.n = n.k where name > 'a') group by v",
        f"select name, v from {joined} join l on l.of = p.id "
        "where p.id in (select of from l group by of having sum(v) > 5)",
        f"select name, w from {joined} join l on l.of = p.id left join c using (d)",
    ]
    some = None if pytestconfig.getoption("ivm_all_on_spark") else 2
    views = [bench.view(query) for query in queries[:some]]
    bench.sql("update n set name = concat(name, '!') where k = 2")
    bench.refresh("incremental")
    assert [found.each for found in ranges if found is not None]
    ranges.clear()
    bench.sql("update p set n = 2 where id = 1", "delete from l where of = 2 and v = 6")
    bench.sql("update n set name = 'z' where k = 2", "insert into l values (1, 9, null)")
    bench.refresh("incremental")
    assert ranges
    for view in views:
        view.check()
