"""The normal form of a model's outer joins and its maintenance graph, as text and as Mermaid."""

from __future__ import annotations

from python_ivm.algebra.normal_form import NormalForm, Term


def text(form: NormalForm) -> str:
    """The terms, and for each of them what a change of each relation does to it."""
    names = {term: term_name(term, form) for term in form.terms}
    title = "a change of"
    width = max(len(name) for name in (title, *names.values()))
    header = f"  {title:<{width}}  " + "  ".join(form.relations)
    lines = [" ⊎ ".join(names.values()), "", header.rstrip()]
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
