"""`method: thrift` and `method: http`, each on a Thrift server of Spark's own for this module."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import pytest
from thrift.transport.THttpClient import THttpClient

from integration_tests.servers import thrift, tls
from integration_tests.servers.programs import HOST
from tests.adapter.hive_shop import IVM, Shop, asking, files_with
from tests.adapter.test_resident import dbt_run
from tests.conftest import QUICK, QUICK_JVM
from tests.helpers.dbt_project import DbtProject

pytestmark = [pytest.mark.spark, pytest.mark.thorough]

SETTINGS = {"spark.master": "local[2]", "spark.driver.extraJavaOptions": QUICK_JVM, **QUICK}
TOKEN = "token-of-the-shop"


@pytest.fixture(scope="module", params=["thrift", "http"])
def shop(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Shop]:
    root = tmp_path_factory.mktemp("thrift")
    start = by_thrift if request.param == "thrift" else by_http
    with pytest.MonkeyPatch.context() as patch:
        yield from start(root, patch)


def by_thrift(root: Path, _: pytest.MonkeyPatch) -> Generator[Shop]:
    with thrift.running(root / "server", SETTINGS) as port:
        target = {"method": "thrift", "host": HOST, "port": port, "user": "dbt"}
        with asking(host=HOST, port=port) as ask:
            yield opened(Shop(project(root, target), ask))


def by_http(root: Path, patch: pytest.MonkeyPatch) -> Generator[Shop]:
    """As a Databricks cluster is reached: by HTTPS, on a path with its name, with a token."""
    path = "sql/protocolv1/o/0/shop"
    with thrift.running(root / "server", SETTINGS, path) as plain, tls.running(plain) as end:
        for variable, value in end.trusted.items():
            patch.setenv(variable, value)
        target = {"method": "http", "host": "localhost", "port": end.port, "token": TOKEN}
        transport = THttpClient(f"http://{HOST}:{plain}/{path}")
        transport.setCustomHeaders({"Authorization": "Basic dGVzdDp0ZXN0"})  # test:test
        with asking(thrift_transport=transport) as ask:
            yield opened(Shop(project(root, {**target, "cluster": "shop"}), ask))


def project(root: Path, target: dict[str, object]) -> DbtProject:
    return DbtProject(root / "project", "shop", {}, threads=2, target=target)


def opened(shop: Shop) -> Shop:
    shop.sell()
    shop.furnish()
    return shop


def test_a_projects_life(shop: Shop) -> None:
    shop.live()
    newest = shop.ask("describe history shop.revenue__ivm_state")[0]
    assert json.loads(newest["userMetadata"])
    explained = shop.project.dbt("run-operation", "ivm_explain", "--args", "{model: revenue}")
    assert explained.success and "MERGE" in explained.log


def test_errors_name_model_and_line(shop: Shop) -> None:
    project = shop.project
    project.models(broken=IVM + "select id,\n  no_such_column\nfrom shop.orders")
    try:
        result = project.dbt("run", "--select", "broken")
        assert not result.success
        message = result.message("broken")
        assert "model broken, line 2, column 3" in message
        assert "no_such_column" in message
        assert "at org.apache" not in result.log
    finally:
        (project.root / "models" / "broken.sql").unlink()


def test_two_runs_at_once(shop: Shop) -> None:
    shop.sql("insert into shop.orders values (9, 1, 100)")
    runs = [dbt_run(shop.project) for _ in range(2)]
    told = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], told
    assert ("Ann", 2, 120) in shop.sql("select * from shop.revenue")
    assert shop.project.dbt("test").success
    assert shop.project.run().response("revenue")["strategy"] == "noop"


def test_a_token_is_in_no_log(shop: Shop) -> None:
    """The last of this module."""
    if shop.project.target["method"] != "http":
        pytest.skip("no token is asked for")
    shop.project.dbt("debug")
    assert files_with(TOKEN, shop.project) == {"profiles.yml"}
