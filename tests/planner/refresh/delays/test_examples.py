"""The project integration_tests/delays on DuckDB, against a simulation in plain Python."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import jinja2

from integration_tests.delays import simulation
from python_ivm.parse.previous import MARK
from python_ivm.refresh.consistency import consistency_query
from python_ivm.refresh.options import Options
from python_ivm.refresh.plan import Refresh, Strategy
from tests.planner.lake import Lake, bag
from tests.planner.refresh.delays.test_previous import looking_at

MODELS = Path(__file__).parents[4] / "integration_tests" / "delays" / "models"
PRICE = "decimal(12, 2)"


def run(lake: Lake, model: str, **more: Any) -> Refresh:
    """Run one of the project's models, rendered as dbt renders it; more than once if need be."""
    given: dict[str, Any] = {}

    def config(**values: Any) -> str:
        given.update(values)
        return ""

    template = jinja2.Template((MODELS / f"{model}.sql").read_text())
    sql = template.render(
        this=f"s.{model}",
        config=config,
        ref=lambda name: f"s.{name}",
        source=lambda _, name: f"s.{name}",
        ivm_previous=lambda name: f"s.{name} {MARK}",
    )
    return lake.run(model, sql, options=Options.of(given), **more)


def replayed(lake: Lake, model: str) -> None:
    """Fail unless each of a model's runs follows from the one before."""
    query = consistency_query(("s", model), lake)
    assert lake.db.execute(lake.duck(query)).fetchall() == []


def test_trading_limited_by_cash_that_trading_changes(lake: Lake) -> None:
    rng = random.Random(0)
    strategy = {stock: (Decimal(20), Decimal(30)) for stock in "AB"}
    lake.create(
        "strategy", {"stock": "string", "buy_at": PRICE, "sell_at": PRICE},
        [(stock, *bounds) for stock, bounds in strategy.items()],
    )  # fmt: skip
    lake.create("quotes", {"id": "int", "stock": "string", "price": PRICE})
    trading = simulation.Trading(strategy)
    run(lake, "decisions")
    number = 0
    for commit in range(10):
        quotes = []
        for _ in range(rng.choice([1, 1, 2, 4])):
            number += 1
            quotes.append((number, rng.choice("AB"), Decimal(rng.choice([12, 18, 25, 30, 35]))))
        lake.change("quotes", insert=quotes)
        trading.commit(quotes)
        if commit % 3:
            assert run(lake, "decisions").strategy is not Strategy.FULL
            assert lake.view("decisions") == bag(trading.decisions), commit
    assert any(quantity < 0 for *_, quantity in trading.decisions)
    run(lake, "decisions")
    assert lake.view("decisions") == bag(trading.decisions)
    replayed(lake, "decisions")


def test_payments_that_would_overdraw_are_refused(lake: Lake) -> None:
    rng = random.Random(1)
    lake.create("payments", {"id": "int", "account": "int", "amount": "decimal(18, 2)"})
    accounts, number = simulation.Balances(), 0
    run(lake, "balances")
    for _ in range(8):
        payments = []
        for _ in range(rng.choice([1, 2, 3])):
            number += 1
            payments.append((number, rng.choice([1, 2, 3]), Decimal(rng.choice([-8, -3, 4, 6]))))
        lake.change("payments", insert=payments)
        accounts.commit(payments)
        if rng.random() < 0.5:
            run(lake, "balances")
            shown = [(k, balance, last) for k, (balance, last) in accounts.balances.items()]
            assert lake.view("balances") == bag(shown)
    run(lake, "balances")
    replayed(lake, "balances")


def test_what_is_low_is_ordered_and_arrives_in_the_next_run(lake: Lake) -> None:
    rng = random.Random(2)
    products = {"bolt": (12, 5), "nut": (3, 4), "washer": (40, 2)}
    lake.create(
        "products", {"product": "string", "initial": "int", "minimum": "int"},
        [(name, *numbers) for name, numbers in products.items()],
    )  # fmt: skip
    lake.create("sales", {"product": "string", "quantity": "int"})
    inventory = simulation.Inventory(products)
    told = looking_at("reorders", product="string", number="int", quantity="int")
    for number in range(8):
        sales = [(rng.choice(list(products)), rng.choice([1, 5, 9])) for _ in range(number % 3)]
        if sales:
            lake.change("sales", insert=sales)
        inventory.run(sales)
        run(lake, "stock", **told)
        run(lake, "reorders")
        levels = [(name, level, products[name][1]) for name, level in inventory.levels.items()]
        assert lake.view("stock") == bag(levels), number
        orders = [(n, k, 10) for n, count in inventory.orders.items() for k in range(1, count + 1)]
        assert lake.view("reorders") == bag(orders), number
    replayed(lake, "reorders")


def test_an_alert_stays_what_it_was_between_its_bounds(lake: Lake) -> None:
    rng = random.Random(3)
    lake.create("readings", {"id": "int", "sensor": "string", "value": "int"})
    alerts, number = simulation.Alerts(), 0
    run(lake, "alerts")
    for _ in range(9):
        latest = {}
        readings = []
        for _ in range(rng.choice([1, 2])):
            number += 1
            sensor, value = rng.choice("ab"), rng.choice([60, 75, 85, 95])
            readings.append((number, sensor, value))
            latest[sensor] = value
        lake.change("readings", insert=readings)
        alerts.commit(latest)
        if rng.random() < 0.6:
            run(lake, "alerts")
            assert lake.view("alerts") == bag(alerts.alerts.items())
    run(lake, "alerts")
    replayed(lake, "alerts")
