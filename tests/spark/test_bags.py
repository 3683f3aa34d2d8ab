"""How the rows of a bag are found: by a hash that different rows may share."""

from __future__ import annotations

import pytest

from tests.spark.workbench import Bench

P1, P2, P5 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x27D4EB2F165667C5
"""Primes of xxHash64."""
WORD = 2**64


def test_rows_of_one_hash_lead_to_a_rebuild(bench: Bench) -> None:
    bench.table("r", "a bigint, b bigint", "(1, 7)", "(3, 3)")
    other = twin(bench)
    hashes = bench.sql(f"select xxhash64(1L, 7L) = xxhash64(2L, {other}L)")
    assert hashes[0][0], "the rows must have one hash"
    view = bench.view("select a, b from r")
    for change in (f"insert into r values (2, {other})", "delete from r where a = 1"):
        bench.sql(change)
        refresh = view.refresh("full").refresh
        assert refresh.reason == "HASH_COLLISION", refresh.explanation
    bench.sql("delete from r where a = 2")
    view.refresh()


def test_changed_rows_of_one_hash_lead_to_a_rebuild(bench: Bench) -> None:
    bench.table("r", "a bigint, b bigint", "(1, 7)", f"(2, {twin(bench)})", "(3, 3)")
    view = bench.view("select a, b from r")
    bench.sql("insert into r select a, b from r")
    assert view.refresh("full").refresh.reason == "HASH_COLLISION"


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ("a int, b int", ["(1, null)", "(null, 1)", "(1, 1)", "(null, null)"]),
        pytest.param(
            "a array<int>, b int",
            ["(array(1, null), 1)", "(array(null, 1), 1)", "(array(1), 1)", "(array(), 1)",
             "(null, 1)"],
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            "a struct<x: int, y: int>, b map<int, int>",
            ["(struct(1, null), map())", "(struct(null, 1), null)", "(struct(1, null), null)",
             "(null, map(1, null))", "(null, map(2, null))"],
            marks=pytest.mark.thorough,
        ),
    ],
    ids=["numbers", "arrays", "structs_and_maps"],
)  # fmt: skip
def test_what_is_null_tells_rows_apart(bench: Bench, columns: str, rows: list[str]) -> None:
    bench.table("r", columns, *rows)
    bench.view("select a, b from r")
    bench.view("select b from r order by a")
    bench.sql(f"insert into r values {', '.join(rows[::2])}")
    bench.refresh()
    bench.sql("delete from r where a is null", f"insert into r values {rows[0]}")
    bench.refresh()


def twin(bench: Bench) -> int:
    """The b for which (2, b) has the hash of (1, 7): each step of xxHash64 can be undone."""
    one, two = (
        row[0] % WORD for row in bench.sql("select xxhash64(a) from values (1L), (2L) v(a)")
    )

    def begun(seed: int) -> int:
        return (seed + P5 + 8) % WORD

    mixed = begun(one) ^ rotated(7 * P2 % WORD, 31) * P1 % WORD ^ begun(two)
    value = rotated(mixed * pow(P1, -1, WORD) % WORD, 33) * pow(P2, -1, WORD) % WORD
    return value - WORD if value >= WORD // 2 else value


def rotated(word: int, bits: int) -> int:
    """A word of 64 bits, rotated to the left."""
    return (word << bits | word >> 64 - bits) % WORD
