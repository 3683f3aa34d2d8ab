"""What is measured: the queries, and the changes under which each is refreshed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE / "project"
FLOORS = HERE / "floors"


@dataclass(frozen=True)
class Change:
    """A change of one source table.

    Attributes:
        table: the table.
        rows: about how many of its rows are updated; whole orders, where it is more than one.
        which: what sets it apart from others of as many rows.
    """

    table: str
    rows: int
    which: str = ""

    @property
    def name(self) -> str:
        """As in the results: `lineitem 1,000`."""
        return f"{self.table} {self.rows:,}" + (f" ({self.which})" if self.which else "")

    @property
    def option(self) -> str:
        """As on the command line: `lineitem-1000`."""
        return f"{self.table}-{self.rows}" + (f"-{self.which}" if self.which else "")


ROWS = (1, 1_000, 60_000)
LINES = tuple(Change("lineitem", rows) for rows in ROWS)
NATION = (Change("nation", 1),)
SAUDI = Change("nation", 1, "saudi")
CUSTOMER = (Change("customer", 1),)
KEY = Change("customer", 1, "key")
ORDERS = tuple(Change("orders", rows) for rows in ROWS)
CHANGES = (*LINES, *NATION, SAUDI, *CUSTOMER, KEY, *ORDERS)
"""In the order in which they happen."""

SHARES = (0.0001, 0.01)
"""Of lineitem, changed under the models of `dag`."""

RATIOS = (0.0, 0.0001, 0.001, 0.01, 0.1)
"""Of the orders, changed under the queries of `ratios`; 0 is one order."""
KINDS = ("inserts", "mixed")
"""Of these changes."""


@dataclass(frozen=True)
class OrdersChange:
    """A change of so many orders, with their lines.

    Attributes:
        kind: `inserts`, or `mixed`: a third each is inserted, deleted and updated.
        ratio: of all orders; 0 is one order.
    """

    kind: str
    ratio: float

    @property
    def name(self) -> str:
        """As in the results: `mixed 0.1 %`."""
        return f"{self.kind} {share(self.ratio)}"


def orders_changes(ratios: Iterable[float], kinds: Sequence[str] = KINDS) -> list[OrdersChange]:
    """The changes of so many orders, in the order in which they happen and are told."""
    return [OrdersChange(kind, ratio) for ratio in ratios for kind in kinds]


def share(ratio: float) -> str:
    """A change ratio in words."""
    return f"{100 * ratio:g} %" if ratio else "one order"


@dataclass(frozen=True)
class Query:
    """A query of the benchmark, which is the model of its name.

    Attributes:
        name: the model.
        changes: under which changes it is measured.
        stock: whether the model can be written as a stock `incremental` that is right under changes
            of lineitem or orders. It does not see those of dimensions.
        floor: the sections of its file in `floors/`, by name; empty where there is none.
    """

    name: str
    changes: tuple[Change, ...]
    stock: bool = False
    floor: dict[str, str] = field(default_factory=dict)

    def ways(self, change: Change) -> list[str]:
        """How it can be brought up to date after a change, other than by a rebuild."""
        ways = ["refresh"]
        if change.table in self.floor:
            ways.append("floor")
        if self.stock and change.table in ("lineitem", "orders"):
            ways.append("stock")
        return ways


def sections(text: str) -> dict[str, str]:
    """A floor's file by its titles: `-- create`, `-- check`, and one for each changed table.

    What follows a title after a colon is a remark. Without `-- create` the table is the model's
    query.
    """
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("-- "):
            lines = found.setdefault(line[3:].split(":")[0].strip(), [])
        else:
            lines.append(line)
    return {title: "\n".join(lines).strip() for title, lines in found.items()}


def _query(name: str, *changes: Change, stock: bool = False) -> Query:
    file = FLOORS / f"{name}.sql"
    return Query(name, changes, stock, sections(file.read_text()) if file.exists() else {})


QUERIES = (
    _query("q01", *LINES, stock=True),
    _query("q03", *LINES, *CUSTOMER),
    _query("q05", *LINES, *NATION, *CUSTOMER, KEY, stock=True),
    _query("q09", *LINES, *NATION, stock=True),
    _query("q13", *CUSTOMER, KEY, *ORDERS),
    _query("q18", *LINES, *CUSTOMER),
    _query("q21", *LINES, *NATION, SAUDI),
    _query("q22", *CUSTOMER, KEY, *ORDERS),
    _query("full_join", *LINES, *CUSTOMER, *ORDERS),
    _query("wide", *LINES, *CUSTOMER, stock=True),
    _query("distinct_customers", *ORDERS, stock=True),
    _query("top_line", *LINES, stock=True),
)
