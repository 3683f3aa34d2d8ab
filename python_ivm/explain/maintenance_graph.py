"""A model's outer joins as text and as Mermaid: normal form, join graph and maintenance graph.

The join graph has an edge from each term to those whose rows take the dangling ones from it, its
minimal supersets (Nagata et al., §3.3.1). The maintenance graph of a change has the terms of the
join graph that the change affects, directly (D) or indirectly (I).
"""

from __future__ import annotations

from python_ivm.algebra.normal_form import NormalForm, Term


def text(form: NormalForm) -> str:
    """The terms, where their dangling rows go, and what a change of each relation does to them."""
    names = {term: term_name(term, form) for term in form.terms}
    title = "a change of"
    width = max(len(name) for name in (title, *names.values()))
    header = f"  {title:<{width}}  " + "  ".join(form.relations)
    lines = [" ⊎ ".join(names.values()), ""]
    for term in form.terms:
        if above := form.parents(term):
            lines.append(f"  {names[term]} → {', '.join(names[p] for p in above)}")
    lines += ["", "  D directly, I indirectly", header.rstrip()]
    for term in form.terms:
        effects = "  ".join(
            f"{form.effect(term, relation) or '-':<{len(relation)}}" for relation in form.relations
        )
        lines.append(f"  {names[term]:<{width}}  {effects}".rstrip())
    return "\n".join(lines)


def mermaid(form: NormalForm, relation: str) -> str:
    """The maintenance graph of a change of one relation; terms without an effect are left out."""
    affected = [term for term in form.terms if form.effect(term, relation)]
    number = {term: f"t{n}" for n, term in enumerate(affected, 1)}
    lines = ["graph BT"]
    for term in affected:
        label = f"{term_name(term, form)} {form.effect(term, relation)}"
        lines.append(f'  {number[term]}["{label}"]')
    for term in affected:
        lines += [f"  {number[term]} --> {number[p]}" for p in form.parents(term)]
    return "\n".join(lines)


def term_name(term: Term, form: NormalForm) -> str:
    """A term as its relations' names, in the order of the query."""
    return "{" + ", ".join(name for name in form.relations if name in term) + "}"
