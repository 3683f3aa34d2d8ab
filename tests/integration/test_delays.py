"""The project of models that feed on themselves, as its user runs it, against its simulation."""

from __future__ import annotations

import random
import shutil
from decimal import Decimal
from pathlib import Path

import pytest

from integration_tests.delays import simulation
from tests.conftest import MakeProject
from tests.spark.workbench import FEED

EXAMPLES = Path(__file__).parents[2] / "integration_tests" / "delays" / "models"
TABLES = {
    "quotes": "id int, stock string, price decimal(12, 2)",
    "strategy": "stock string, buy_at decimal(12, 2), sell_at decimal(12, 2)",
    "payments": "id int, account int, amount decimal(18, 2)",
    "products": "product string, initial int, minimum int",
    "sales": "product string, quantity int",
    "readings": "id int, sensor string, value int",
}


@pytest.mark.thorough
def test_the_examples_follow_their_history(make_project: MakeProject) -> None:
    rng = random.Random(4)
    project = make_project(
        threads=2, config={"models": {"project": {"+materialized": "incremental_ivm"}}}
    )
    shutil.copytree(EXAMPLES, project.root / "models")
    for name, columns in TABLES.items():
        project.sql(f"create table {name} ({columns}) using delta {FEED}")
    project.sql("insert into strategy values ('A', 20, 30), ('B', 20, 30)")
    project.sql("insert into products values ('bolt', 12, 5), ('nut', 3, 4)")
    trading = simulation.Trading({stock: (Decimal(20), Decimal(30)) for stock in "AB"})
    accounts, alerts = simulation.Balances(), simulation.Alerts()
    inventory = simulation.Inventory({"bolt": (12, 5), "nut": (3, 4)})
    number = 0
    for round_ in range(4):
        for _ in range(2 if round_ else 0):  # commits
            number += 1
            price = Decimal(rng.choice([12, 18, 35]))
            quotes = [(2 * number, "A", price), (2 * number + 1, "B", Decimal(15))]
            payments = [(number, rng.choice([1, 2]), Decimal(rng.choice([-4, 3, 5])))]
            value = rng.choice([60, 80, 95])
            listed = ", ".join(f"({n}, '{s}', {p})" for n, s, p in quotes)
            project.sql(f"insert into quotes values {listed}")
            project.sql(
                f"insert into payments values ({number}, {payments[0][1]}, {payments[0][2]})"
            )
            project.sql(f"insert into readings values ({number}, 'a', {value})")
            trading.commit(quotes)
            accounts.commit(payments)
            alerts.commit({"a": value})
        sales = [("bolt", 9)] if round_ == 2 else []
        if sales:
            project.sql("insert into sales values ('bolt', 9)")
        inventory.run(sales)
        project.run()
        shown = {name: {tuple(row) for row in project.sql(f"select * from {name}")}
                 for name in ("decisions", "balances", "stock", "reorders", "alerts")}  # fmt: skip
        assert shown["decisions"] == set(trading.decisions)
        assert shown["balances"] == {(a, *rest) for a, rest in accounts.balances.items()}
        assert shown["alerts"] == set(alerts.alerts.items())
        levels = {name: level for name, level, _ in shown["stock"]}
        assert levels == inventory.levels
        assert len(shown["reorders"]) == sum(inventory.orders.values())
    tested = project.dbt("test")
    assert tested.success, tested.log
