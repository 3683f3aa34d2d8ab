"""The normal form of outer joins and the maintenance graph, by the papers' examples."""

from __future__ import annotations

import pytest

from python_ivm.algebra.normal_form import NormalForm, normal_forms
from python_ivm.bind.binder import bind
from python_ivm.explain.maintenance_graph import mermaid, term_name, text
from python_ivm.parse.parser import parse
from python_ivm.qualify.schema import TableSchema

TABLES = [TableSchema(("s", name), {"a": "int", "b": "int", "v": "string"}) for name in "rstu"]
SCHEMAS = {table.key: table for table in TABLES}


def forms(sql: str) -> list[NormalForm]:
    return list(normal_forms(bind(parse(sql), SCHEMAS).plan))


def terms(joins: str) -> list[str]:
    (form,) = forms(f"select r.v from {joins}")
    return [term_name(term, form) for term in form.terms]


@pytest.mark.parametrize(
    ("joins", "expected"),
    [
        ("s.r left join s.s on r.a = s.a", ["{r, s}", "{r}"]),
        ("s.r full join s.s on r.a = s.b", ["{r, s}", "{r}", "{s}"]),
        ("s.r left join s.s on r.a = s.a where s.b > 0", ["{r, s}"]),
        ("s.r left join s.s on r.a = s.a where s.b is null", ["{r, s}", "{r}"]),
        ("s.r left join s.s on r.a <=> s.a", ["{r, s}", "{r}"]),
        (
            "s.r left join s.s on r.a = s.a left join s.t on s.b = t.b",
            ["{r, s, t}", "{r, s}", "{r}"],
        ),
        (
            "s.r left join s.s on r.a = s.a left join s.t on r.b = t.b",
            ["{r, s, t}", "{r, s}", "{r, t}", "{r}"],
        ),
        (
            "s.r full join s.s on r.a = s.a full join s.t on s.b = t.b",
            ["{r, s, t}", "{r, s}", "{s, t}", "{r}", "{s}", "{t}"],
        ),
        ("s.r full join s.s on r.a = s.a join s.t on s.b = t.b", ["{r, s, t}", "{s, t}"]),
    ],
)
def test_the_terms_of_joins(joins: str, expected: list[str]) -> None:
    assert terms(joins) == expected


def test_a_change_reaches_terms_directly_or_through_a_parent() -> None:
    (form,) = forms(
        "select r.v from s.r full join s.s on r.a = s.a left join s.t on s.b = t.b"
    )  # fmt: skip
    assert text(form).splitlines() == [
        "{r, s, t} ⊎ {r, s} ⊎ {s, t} ⊎ {r} ⊎ {s}",
        "",
        "  {r, s} → {r, s, t}",
        "  {s, t} → {r, s, t}",
        "  {r} → {r, s}",
        "  {s} → {r, s}, {s, t}",
        "",
        "  D directly, I indirectly",
        "  a change of  r  s  t",
        "  {r, s, t}    D  D  D",
        "  {r, s}       D  D  I",
        "  {s, t}       I  D  D",
        "  {r}          D  I  -",
        "  {s}          I  D  I",
    ]
    assert mermaid(form, "t").splitlines() == [
        "graph BT",
        '  t1["{r, s, t} D"]',
        '  t2["{r, s} I"]',
        '  t3["{s, t} D"]',
        '  t4["{s} I"]',
        "  t2 --> t1",
        "  t3 --> t1",
        "  t4 --> t2",
        "  t4 --> t3",
    ]


def test_inner_joins_alone_have_no_graph_and_separate_trees_have_one_each() -> None:
    assert forms("select r.v from s.r join s.s on r.a = s.a") == []
    assert len(forms(
        "select r.v from s.r left join (select t.a, count(*) n from s.t full join s.u on t.a = u.a "
        "group by t.a) g on g.a = r.a"
    )) == 2  # fmt: skip
