"""What is known of a resident Spark, and what its commands say: all that needs no Spark."""

from __future__ import annotations

import socket
import stat
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from dbt.adapters.exceptions import FailedToConnectError

from dbt.adapters.sparkivm.cli import main
from dbt.adapters.sparkivm.connection import connect, resident
from dbt.adapters.sparkivm.connection.metastore import locked_message
from dbt.adapters.sparkivm.connection.resident import Resident
from dbt.adapters.sparkivm.credentials import SparkIvmCredentials
from dbt.adapters.sparkivm.server import lifecycle as server

SERVER = Resident(1, 15002, "hush", ("spark.a",), ready=True)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no resident servers")


@contextmanager
def living(folder: Path, said: Resident | None = SERVER) -> Generator[None]:
    """A process that inherited the lock of the state file, as a server does."""
    with resident.locked(folder) as state:
        child = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"],
            stdin=subprocess.PIPE,
            pass_fds=[state.fileno()],
        )
        if said is not None:
            resident.write(state, replace(said, pid=child.pid))
    assert child.stdin is not None
    with child:
        try:
            yield
        finally:
            child.stdin.close()


def credentials(folder: Path, **profile: Any) -> SparkIvmCredentials:
    made = SparkIvmCredentials.from_dict({"schema": "s", "method": "connect", **profile})
    made.project_root = folder.parent
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / ".sparkivm"
    made.mkdir()
    return made


def test_a_project_without_a_server(folder: Path) -> None:
    assert resident.find(folder) is None
    assert not resident.is_locked(folder)
    assert not server.stop(folder)


def test_a_server_is_found_as_long_as_it_lives(folder: Path) -> None:
    with living(folder):
        found = resident.find(folder)
        assert found is not None
        assert replace(found, pid=1) == SERVER
        with pytest.raises(resident.AlreadyLocked), resident.locked(folder):
            pass
    # As after a crash: the file is still there.
    assert resident.state_file(folder).exists()
    assert resident.find(folder) is None


def test_a_server_that_has_not_said_its_port_yet(folder: Path) -> None:
    with living(folder, said=None):
        assert resident.find(folder) is None
        assert resident.is_locked(folder)
        with pytest.raises(FailedToConnectError, match="just starting"):
            server.stop(folder)


def test_only_its_owner_can_read_the_token(folder: Path) -> None:
    resident.state_file(folder).touch(mode=0o644)
    with living(folder):
        assert stat.S_IMODE(resident.state_file(folder).stat().st_mode) == 0o600


def test_stopping_ends_the_process(folder: Path) -> None:
    with living(folder):
        assert server.stop(folder)
        assert resident.find(folder) is None


def test_a_second_start_says_who_runs(folder: Path) -> None:
    with living(folder), pytest.raises(FailedToConnectError, match=r"sc://localhost:15002.*runs"):
        server.start(credentials(folder))


def test_a_port_that_is_taken(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(FailedToConnectError, match=f"Port {port} is taken"):
            server.start(credentials(folder, host=f"sc://localhost:{port}"))
    assert not resident.is_locked(folder)


def test_a_profile_for_a_server_elsewhere(folder: Path) -> None:
    with pytest.raises(FailedToConnectError, match="runs on this machine"):
        server.start(credentials(folder, host="sc://far.example:15002"))


def test_no_java(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(FailedToConnectError, match="Java 17 or newer"):
        server.start(credentials(folder))


def test_an_embedded_spark_is_told_who_has_the_metastore(folder: Path) -> None:
    url = f"jdbc:derby:;databaseName={folder / 'metastore'};create=true"
    with living(folder):
        message = locked_message(url, resident.holder(folder))
    assert "The resident Spark" in message
    assert "method: connect" in message
    assert "dbt-sparkivm server stop" in message
    assert "another dbt" in locked_message(url, resident.holder(folder))


def test_settings_survive_a_java_properties_file() -> None:
    text = server._java_properties({"a.b": r"C:\x", "c": " two\nlines", "d:=e": "f=g: #h"})
    assert text == "a.b=C:\\\\x\nc=\\ two\\nlines\nd\\:\\=e=f=g: #h\n"


def test_no_server_to_connect_to(folder: Path) -> None:
    with pytest.raises(FailedToConnectError, match="dbt-sparkivm server start"):
        connect.new_session(credentials(folder))


def test_a_server_that_still_starts(folder: Path) -> None:
    starting = replace(SERVER, ready=False)
    with living(folder, starting), pytest.raises(FailedToConnectError, match="still starting"):
        connect.new_session(credentials(folder))


def test_nothing_listens(folder: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(FailedToConnectError, match=f"No Spark answers at sc://localhost:{port}"):
        connect.new_session(credentials(folder, host=f"sc://localhost:{port}"))


@pytest.mark.parametrize(
    ("profile", "endpoint", "token", "tls"),
    [
        ({}, "localhost:15002", "hush", False),
        ({"host": "sc://127.0.0.1:15002"}, "localhost:15002", "hush", False),
        ({"host": "sc://localhost:15002", "token": "mine"}, "localhost:15002", "mine", False),
        ({"host": "sc://localhost:15002/;token=in"}, "localhost:15002", "in", False),
        ({"host": "sc://localhost"}, "localhost:15002", "hush", False),
        ({"host": "sc://localhost:7"}, "localhost:7", None, False),
        ({"host": "sc://far", "token": "mine"}, "far:15002", "mine", False),
        ({"host": "sc://far:443", "use_ssl": True}, "far:443", None, True),
    ],
)
def test_where_a_profile_leads(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    profile: dict[str, Any],
    endpoint: str,
    token: str | None,
    tls: bool,
) -> None:
    monkeypatch.delenv("SPARK_CONNECT_AUTHENTICATE_TOKEN", raising=False)
    made = credentials(folder, **profile)
    url = made.host or SERVER.url
    known = SERVER if connect._is_resident(url, SERVER) else None
    channel = connect._channel(url, made, known)
    assert (channel.endpoint, channel.token, channel.use_ssl) == (endpoint, token, tls)


def command(*args: str) -> Result:
    return CliRunner().invoke(main, ["server", *args])


def project(root: Path, **target: Any) -> str:
    import yaml

    (root / "dbt_project.yml").write_text("{name: p, profile: p}")
    outputs = {"t": {"schema": "s", **target}}
    profiles = {"p": {"target": "t", "outputs": outputs}}
    (root / "profiles.yml").write_text(yaml.safe_dump(profiles))
    return str(root)


def test_commands_are_for_dbt_projects(tmp_path: Path) -> None:
    result = command("status", "--project-dir", str(tmp_path))
    assert result.exit_code == 1
    assert "has no dbt_project.yml" in result.output


def test_status_and_stop_without_a_server(tmp_path: Path) -> None:
    root = project(tmp_path)
    assert command("status", "--project-dir", root).output == "not running\n"
    assert command("status", "--project-dir", root).exit_code == 1
    assert command("stop", "--project-dir", root).output == "not running\n"
    assert command("stop", "--project-dir", root).exit_code == 0


def test_status_with_a_server_does_not_show_the_token(tmp_path: Path, folder: Path) -> None:
    root = project(tmp_path)
    with living(folder):
        result = command("status", "--project-dir", root)
    assert result.exit_code == 0
    assert result.output.startswith("running: sc://localhost:15002, process ")
    assert "hush" not in result.output


def test_start_reads_the_profile_and_says_what_is_wrong(tmp_path: Path) -> None:
    root = project(tmp_path, type="sparkivm", method="connect", host="sc://far:1")
    result = command("start", "--project-dir", root, "--profiles-dir", root)
    assert result.exit_code == 1
    assert "Error: The profile's host is far" in result.output


def test_start_needs_a_target_of_this_adapter(tmp_path: Path) -> None:
    root = project(tmp_path, type="spark", method="session", host="x")
    result = command("start", "--project-dir", root, "--profiles-dir", root)
    assert result.exit_code == 1
    assert "of type sparkivm" in result.output
