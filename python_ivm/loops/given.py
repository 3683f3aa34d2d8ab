"""What a loop is given by Spark, and what it gives, as queries."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from python_ivm.algebra.columns import Named
from python_ivm.algebra.nodes import Node, Project
from python_ivm.parse.loops import LOOP_VIEW, NOW
from python_ivm.parse.parser import quoted_name
from python_ivm.qualify.schema import Schemas
from python_ivm.render.renderer import Renderer
from python_ivm.render.sources import source_relations, text
from python_ivm.sources.clock import Clock
from python_ivm.sources.history import SourceChange


def given_query(
    node: Node,
    sources: Mapping[str, SourceChange],
    clock: Clock | None,
    state: exp.Table | None = None,
) -> str:
    """The query of a plan that reads nothing of the loop.

    Args:
        node: The plan.
        sources: The sources, which are read at their newest versions.
        clock: The clock if the query asks it.
        state: The model's state at its last version, if the plan reads it.
    """
    items = [Named(f"c{n}", column.expression()) for n, column in enumerate(node.schema, 1)]
    renderer = Renderer(source_relations(sources, clock, state))
    query = renderer.query(Project(node, "given", tuple(items)))
    return text(renderer.with_ctes(query))


def over_no_rows(sql: str, schemas: Schemas) -> str:
    """A query that reads a loop's bindings, over no rows of the same types.

    Args:
        sql: The query; it names bindings as tables of the planner or as temporary views.
        schemas: The bindings.
    """
    for schema in schemas.values():
        binding = schema.parts[-1]
        columns = ", ".join(
            f"CAST(NULL AS {kind}) AS {quoted_name((name,))}"
            for name, kind in schema.columns.items()
        )
        view, table = re.escape(LOOP_VIEW.format(binding)), rf"`?{NOW}`?\.`?{re.escape(binding)}`?"
        empty = f"(SELECT {columns} WHERE FALSE)"
        parts = re.split(rf"{table}(?!\w)|`{view}`|\b{view}\b", sql)
        sql = empty.join(parts)
    return sql
