"""A model's plan and its maintenance graphs as vertices and edges, for a page that draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from python_ivm.algebra.nodes import Node
from python_ivm.algebra.normal_form import NormalForm, normal_forms
from python_ivm.errors import IvmError
from python_ivm.explain.explain import read_of_sources, stored
from python_ivm.explain.loop_order import loop_order
from python_ivm.explain.maintenance_graph import term_name
from python_ivm.explain.recomputations import recomputations
from python_ivm.refresh.lifecycle.former import followed_request
from python_ivm.refresh.maintainability import Maintained, maintained
from python_ivm.refresh.metadata import versions
from python_ivm.refresh.metadata.cached_warehouse import CachedWarehouse
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.model import Model
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.request import Request
from python_ivm.render.plan_text import label
from python_ivm.render.sources import relation_name


@dataclass(frozen=True)
class Vertex:
    """A box of a drawing.

    Attributes:
        id: Its name in the drawing.
        kind: What it is: the name of a plan's operator, ``State``, ``View``, or in a maintenance
            graph ``D`` or ``I``.
        label: What it says.
    """

    id: str
    kind: str
    label: str


@dataclass(frozen=True)
class Drawing:
    """Boxes and arrows; an arrow goes the way of the data.

    Attributes:
        title: What is drawn.
        vertices: The boxes.
        edges: From which box to which, by their ids.
    """

    title: str
    vertices: Sequence[Vertex]
    edges: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Picture:
    """How a model is maintained.

    Attributes:
        plan: Its logical plan, from the sources to state and view; None if there is none.
        maintenance: For each tree of outer joins and each relation in it: which terms of the
            normal form a change affects, directly (D) or indirectly (I).
        texts: What is known beside, by title.
        trouble: Why there is no plan; empty if there is one.
    """

    plan: Drawing | None = None
    maintenance: Sequence[Drawing] = ()
    texts: Mapping[str, str] | None = None
    trouble: str = ""


def picture(request: Request, warehouse: Warehouse) -> Picture:
    """Draw a model's maintenance; runs only metadata queries.

    Args:
        request: The model.
        warehouse: Answers questions about tables.
    """
    try:
        asked = CachedWarehouse(warehouse)
        request = followed_request(request, asked)
        found = versions.state_history(asked, request.state)
        model = Model(request, asked, found)
        # The types of a state that stands need not be asked for, nor the statements tried.
        stands = found.bookmark is not None and found.bookmark.maintained
        how = maintained(model, found.bookmark.types if found.bookmark and stands else None)
        if isinstance(how, Reason):
            return Picture(trouble=f"Every change rebuilds the view ({how.code}): {how.words}")
        return _drawn(request, model, how)
    except IvmError as error:
        return Picture(trouble=str(error))


def _drawn(request: Request, model: Model, how: Maintained) -> Picture:
    texts = {"Stored": stored(request, how.layout)}
    if recomputed := recomputations(how.layout):
        texts["Recomputed where a change touches it"] = "\n".join(recomputed)
    run = model.loop_run()
    if run is not None:
        texts["Loop, in the order of a round"] = loop_order(run.loop)
    else:
        texts["Read of the sources"] = read_of_sources(model, how.layout)
    graphs = [
        _maintenance(form, relation)
        for form in normal_forms(how.query.plan)
        for relation in form.relations
    ]
    return Picture(_plan(request, how.query.plan), graphs, texts)


def _plan(request: Request, plan: Node) -> Drawing:
    vertices: list[Vertex] = []
    edges: list[tuple[str, str]] = []
    ids: dict[int, str] = {}

    def add(node: Node) -> str:
        if id(node) in ids:
            return ids[id(node)]
        ids[id(node)] = name = f"n{len(ids)}"
        vertices.append(Vertex(name, type(node).__name__, label(node, {})))
        edges.extend((add(child), name) for child in node.inputs)
        return name

    top = add(plan)
    vertices += [
        Vertex("state", "State", f"State {relation_name(request.state)}"),
        Vertex("view", "View", f"View {relation_name(request.view)}"),
    ]
    return Drawing("Logical plan", vertices, [*edges, (top, "state"), ("state", "view")])


def _maintenance(form: NormalForm, relation: str) -> Drawing:
    affected = [term for term in form.terms if form.effect(term, relation)]
    names = {term: term_name(term, form) for term in affected}
    vertices = [Vertex(names[t], form.effect(t, relation), names[t]) for t in affected]
    edges = [(names[t], names[p]) for t in affected for p in form.parents(t) if p in names]
    return Drawing(f"A change of {relation}", vertices, edges)
