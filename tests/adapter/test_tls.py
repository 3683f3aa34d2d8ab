"""`method: connect` over TLS and with a token, as to a server behind a proxy."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dbt.adapters.sparkivm.connection.resident import Resident
from integration_tests.servers import connect, tls
from integration_tests.servers.tls import Tls
from tests.adapter.hive_shop import Shop, files_with, in_session
from tests.adapter.test_resident import dbt_run
from tests.conftest import QUICK, QUICK_JVM
from tests.helpers.dbt_project import DbtProject

pytestmark = [pytest.mark.spark, pytest.mark.thorough]

SETTINGS = {"spark.master": "local[2]", "spark.driver.extraJavaOptions": QUICK_JVM, **QUICK}
WRONG = "wrong-token-of-the-shop"
PATIENCE = 120  # seconds


@dataclass(frozen=True)
class Proxied:
    """A server of Spark Connect, and the TLS end before it."""

    server: Resident
    end: Tls
    log: Path

    def url(self, token: str) -> str:
        return f"sc://localhost:{self.end.port}/;use_ssl=true;token={token}"


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Generator[Proxied]:
    folder = tmp_path_factory.mktemp("server")
    with (
        connect.running(folder, SETTINGS) as server,
        tls.running(server.port) as end,
        pytest.MonkeyPatch.context() as patch,
    ):
        for variable, value in end.trusted.items():
            patch.setenv(variable, value)
        yield Proxied(server, end, folder / ".sparkivm" / "server.log")


@pytest.fixture(scope="module")
def shop(proxied: Proxied, tmp_path_factory: pytest.TempPathFactory) -> Generator[Shop]:
    root = tmp_path_factory.mktemp("tls")
    target = {"method": "connect", "host": proxied.url(proxied.server.token)}
    project = DbtProject(root, "shop", {}, threads=2, target=target)
    yield Shop(project, in_session(project))
    project.close()


def stranger(folder: Path, **target: str) -> DbtProject:
    """A project with one model, for a server that it does not know well."""
    project = DbtProject(folder, "shop", {}, target={"method": "connect", **target})
    project.models(one="select 1 as x")
    return project


def address(port: int) -> str:
    """A URL with TLS. Of a name with two addresses gRPC says why the last one failed."""
    return f"sc://127.0.0.1:{port}/;use_ssl=true"


def told(run: subprocess.Popen[str]) -> str:
    """What a run said that failed in good time."""
    text = run.communicate(timeout=PATIENCE)[0]
    assert run.returncode != 0, text
    return text


def test_a_projects_life(shop: Shop) -> None:
    shop.sell()
    shop.furnish()
    shop.live()
    assert shop.project.dbt("debug").success


def test_a_token_of_its_own_key(proxied: Proxied, tmp_path: Path) -> None:
    host = f"sc://localhost:{proxied.end.port}"
    project = stranger(tmp_path, host=host, token=proxied.server.token)
    project.target["use_ssl"] = True
    assert project.sql("select 1") == [(1,)]
    project.close()


def test_a_wrong_token_is_refused(proxied: Proxied, tmp_path: Path) -> None:
    text = told(dbt_run(stranger(tmp_path, host=proxied.url(WRONG))))
    assert "refuses the token: set `token` in the profile" in text
    assert WRONG not in text and "Traceback" not in text


def test_a_certificate_that_nobody_vouches_for_is_refused(
    proxied: Proxied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in proxied.end.trusted:
        monkeypatch.delenv(variable)
    text = told(dbt_run(stranger(tmp_path, host=address(proxied.end.port))))
    assert "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH" in text and "Traceback" not in text


def test_a_certificate_for_another_host_is_refused(
    proxied: Proxied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tls.running(proxied.server.port, ["example.com"]) as end:
        for variable, value in end.trusted.items():
            monkeypatch.setenv(variable, value)
        text = told(dbt_run(stranger(tmp_path, host=address(end.port))))
    assert "is for another host's name" in text and "Traceback" not in text


def test_a_server_without_tls_is_refused(proxied: Proxied, tmp_path: Path) -> None:
    text = told(dbt_run(stranger(tmp_path, host=address(proxied.server.port))))
    assert "Nobody speaks TLS at" in text and "Traceback" not in text


def test_the_token_is_in_no_log(proxied: Proxied, shop: Shop) -> None:
    """The last of this module."""
    found = files_with(proxied.server.token, shop.project, proxied.log)
    assert found == {"profiles.yml"}
