"""The examples as plain Python: what each model shows after each time point."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal

Quote = tuple[int, str, Decimal]


class Trading:
    """Decisions about quotes.

    Args:
        strategy: At which prices to buy and to sell, by stock.
    """

    def __init__(self, strategy: dict[str, tuple[Decimal, Decimal]]) -> None:
        """Begin with 10,000 in cash."""
        self.strategy = strategy
        self.cash = Decimal(10_000)
        self.held: dict[str, int] = defaultdict(int)
        self.decisions: list[tuple[int, str, Decimal, int]] = []

    def commit(self, quotes: Sequence[Quote]) -> None:
        """Decide what came together; cash is what the time point before left."""
        last = {stock: number for number, stock, _ in sorted(quotes)}
        wanted_cost, spent = Decimal(0), Decimal(0)
        for number, stock, price in sorted(quotes):
            buy_at, sell_at = self.strategy[stock]
            quantity = 0
            if last[stock] == number and price >= sell_at:
                quantity = -self.held[stock]
            elif last[stock] == number and price <= buy_at:
                wanted_cost += 100 * price
                quantity = 100 if wanted_cost <= self.cash else 0
            self.held[stock] += quantity
            spent += quantity * price
            self.decisions.append((number, stock, price, quantity))
        self.cash -= spent


class Balances:
    """Balances of accounts that are never overdrawn."""

    def __init__(self) -> None:
        """Begin without accounts."""
        self.balances: dict[int, tuple[Decimal, int]] = {}

    def commit(self, payments: Sequence[tuple[int, int, Decimal]]) -> None:
        """Book the payments of each account together, or none of them."""
        sums: dict[int, Decimal] = defaultdict(Decimal)
        newest: dict[int, int] = {}
        for number, account, amount in payments:
            sums[account] += amount
            newest[account] = max(number, newest.get(account, 0))
        for account, amount in sums.items():
            balance, _ = self.balances.get(account, (Decimal(0), 0))
            booked = balance + amount if balance + amount >= 0 else balance
            self.balances[account] = (booked, newest[account])


class Inventory:
    """Stock and orders.

    Args:
        products: The first level and the minimum of each product.
    """

    def __init__(self, products: dict[str, tuple[int, int]]) -> None:
        """Begin without orders."""
        self.products = products
        self.sold: dict[str, int] = defaultdict(int)
        self.orders: dict[str, int] = defaultdict(int)
        self.levels: dict[str, int] = {}

    def run(self, sales: Sequence[tuple[str, int]]) -> None:
        """Sell, look at what is there with all orders of earlier runs, and order what is low."""
        for product, quantity in sales:
            self.sold[product] += quantity
        for product, (initial, minimum) in self.products.items():
            level = initial + 10 * self.orders[product] - self.sold[product]
            self.levels[product] = level
            self.orders[product] += level < minimum


class Alerts:
    """Alerts that start above 90, and end below 70."""

    def __init__(self) -> None:
        """Begin without sensors."""
        self.alerts: dict[str, bool] = {}

    def commit(self, latest: dict[str, int]) -> None:
        """Look at the latest reading of each sensor."""
        for sensor, value in latest.items():
            if value > 90:
                self.alerts[sensor] = True
            elif value < 70:
                self.alerts[sensor] = False
            else:
                self.alerts.setdefault(sensor, False)
