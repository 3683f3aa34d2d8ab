"""Options of the TPC-DS tests, which run by ``make test-tpcds``."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """How TPC-DS is run; known where tests/tpcds is named."""
    parser.addoption("--ivm-tpcds", action="store_true", help="run the TPC-DS tests")
    parser.addoption("--ivm-tpcds-seeds", type=int, default=1, help="random rounds per query")
    parser.addoption(
        "--ivm-tpcds-report", action="store_true", help="write what was run into docs/tpcds.md"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the TPC-DS tests out of the default suite."""
    if config.getoption("ivm_tpcds", False):
        return
    here = Path(__file__).parent
    for item in items:
        if here in Path(str(item.path)).parents:
            item.add_marker(pytest.mark.skip(reason="make test-tpcds runs this"))
