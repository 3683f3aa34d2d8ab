"""What a user hears who has no suitable Java."""

from __future__ import annotations

from pathlib import Path

import pytest
from dbt.adapters.exceptions import FailedToConnectError

from dbt.adapters.sparkivm.diagnostics.java import check_java


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")


def fake_java(folder: Path, says: str, code: int = 0) -> Path:
    """A `java` in `folder`/bin that prints its version as Java does: to stderr."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit {code}\n")
    java.chmod(0o755)
    return java.parent


def complaint() -> str:
    with pytest.raises(FailedToConnectError) as caught:
        check_java()
    assert "Java 17 or newer" in caught.value.msg
    assert "\n" not in caught.value.msg
    return caught.value.msg


@pytest.mark.parametrize("version", ["17.0.15", "21", "25-ea"])
def test_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv("PATH", str(fake_java(tmp_path, f'openjdk version "{version}" 2025-04-15')))
    check_java()


def test_missing() -> None:
    assert "No Java" in complaint()


@pytest.mark.parametrize(("version", "major"), [("11.0.2", "11"), ("1.8.0_392", "8")])
def test_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, major: str) -> None:
    monkeypatch.setenv("PATH", str(fake_java(tmp_path, f'openjdk version "{version}"')))
    assert f"is Java {major}." in complaint()


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "new", 'openjdk version "17.0.1"')))
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", 'java version "11"').parent))
    assert "JAVA_HOME" in complaint()


def test_java_home_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert f"JAVA_HOME is {tmp_path}, which has no bin/java" in complaint()


def test_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(fake_java(tmp_path, "no version", code=1)))
    assert "does not run" in complaint()
