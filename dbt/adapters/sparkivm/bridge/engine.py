"""What the engine behind a connection can do: found out by the first need, never by its version."""

from __future__ import annotations

from enum import Enum


class Ability(Enum):
    """Something that not every engine can do, with the error of one that cannot."""

    DESCRIBE_AS_JSON = "extra input 'JSON'"
    """``DESCRIBE TABLE EXTENDED … AS JSON``."""


class Engine:
    """What is known of the engine of one run's connections; for any threads.

    Each ability is believed in until a statement that needs it fails as it does without. So it
    costs nothing where it is there, and one failed parse where it is not.

    Attributes:
        doubles_quotes: Whether two quotes inside a text are one of its characters; None until
            somebody asks.
        functions: The functions that users made, by the schemas of views that were asked about.
    """

    def __init__(self) -> None:
        """Believe in everything."""
        self._missing: set[Ability] = set()
        self.doubles_quotes: bool | None = None
        self.functions: dict[tuple[str, ...], list[str]] = {}

    def can(self, ability: Ability) -> bool:
        """Whether it is not known to be missing."""
        return ability not in self._missing

    def lacks(self, ability: Ability, message: str) -> bool:
        """Whether an error tells that it is missing, which is remembered."""
        if ability.value not in message:
            return False
        self._missing.add(ability)
        return True
