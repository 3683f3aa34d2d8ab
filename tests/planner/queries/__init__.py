"""Random models: each module writes one part of a query, and :class:`Writer` the whole."""

from tests.planner.queries.kinds import Column, Relation
from tests.planner.queries.writer import Writer

__all__ = ["Column", "Relation", "Writer"]
