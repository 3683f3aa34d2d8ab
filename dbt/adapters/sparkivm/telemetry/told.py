"""What of a refresh leaves the process: names, codes and numbers; no SQL and no messages."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from python_ivm.refresh.statement import StatementKind


@dataclass(frozen=True)
class Asked:
    """A model that is refreshed.

    Attributes:
        project: The dbt project.
        model: The model's name.
        view: Its public view, as ``schema.name``.
        state: Its state, likewise.
        server: Where Spark is, without what it takes to come in; empty for one in this process.
        invocation: dbt's id of the command.
    """

    project: str
    model: str
    view: str
    state: str
    server: str
    invocation: str


@dataclass(frozen=True)
class Read:
    """A source that was read, as in run_results.json."""

    source: str
    before: int | None
    version: int
    rows: int | None


@dataclass(frozen=True)
class Done:
    """What a refresh did, as in run_results.json."""

    strategy: str
    reason: str
    fallback: bool
    seconds: float
    inserted: int | None
    updated: int | None
    deleted: int | None
    affected: int | None
    reads: tuple[Read, ...]


class Observation(Protocol):
    """A refresh that somebody is told of while it runs."""

    def statement(self, kind: StatementKind) -> AbstractContextManager[object]:
        """A statement of it, while it runs."""

    def done(self, done: Done) -> None:
        """It ended."""

    def failed(self, code: str) -> None:
        """It ended with an error, of which this is the code or the class."""


class Observer(Protocol):
    """Is told of refreshes."""

    def begin(self, asked: Asked) -> Observation:
        """One begins."""
