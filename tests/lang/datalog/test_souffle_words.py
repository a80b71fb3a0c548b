"""What Soufflé programs say beside rules: components, equivalences, words about storage, input of views."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import whence

COMPONENTS = """
.decl edge(x: number, y: number)
.comp Reach<T> {
    .decl reach(x: T, y: T) overridable
    .decl far(x: T)
    reach(x, y) :- edge(x, y).
    reach(x, z) :- edge(x, y), reach(y, z).
    far(y) :- reach(1, y).
}
.comp Symmetric<T> : Reach<T> {
    .override reach
    reach(x, y) :- edge(x, y) ; edge(y, x).
}
.init one = Reach<number>
.init two = Symmetric<number>
.output one.far
both(x) :- one.far(x), two.far(x).
"""
WRITTEN_OUT = """
.decl edge(x: number, y: number)
reach(x, y) :- edge(x, y).
reach(x, z) :- edge(x, y), reach(y, z).
far(y) :- reach(1, y).
near(x, y) :- edge(x, y) ; edge(y, x).
both(x) :- far(x), near(1, x).
"""


def test_components_are_written_out_and_follow_changes() -> None:
    chance = Random(3)
    with whence.connect() as expanded, whence.connect(engine="reference") as plain:
        expanded.rules(COMPONENTS)
        plain.rules(WRITTEN_OUT)
        for _ in range(25):
            rows = [(chance.randrange(6), chance.randrange(6)) for _ in range(2)]
            for database in (expanded, plain):
                (database.insert if rows[0][0] % 3 else database.delete)("edge", set(rows) if rows[0][0] % 3 else [])
            there = [row for row in sorted(expanded.rows("edge")) if chance.random() < 0.2]
            for database in (expanded, plain):
                database.delete("edge", there)
            assert expanded.rows("both") == plain.rows("both")
            assert expanded.rows("one.far") == plain.rows("far")


def test_a_component_inside_of_another_sees_what_is_around_it() -> None:
    with whence.connect() as database:
        database.rules("""
            .decl base(x: number)
            .comp Inner { seen(x) :- base(x). }
            .comp Outer { .decl seen(x: number)  .init inner = Inner }
            .init a = Outer
            base(1). base(2).
        """)
        assert database.rows("a.seen") == {(1,), (2,)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".init a = Nothing", "there is no component 'Nothing'"),
        (".comp C<T> { .decl r(x: T) }\n.init a = C", "the component 'C' takes 1 types, not 0"),
        (".comp C { .init c = C }\n.init a = C", "this component is made of itself"),
    ],
)
def test_components_that_cannot_be_written_out(text: str, message: str) -> None:
    with whence.connect() as database, pytest.raises(whence.WhenceError) as caught:
        database.rules(text)
    assert caught.value.message == message
    assert caught.value.span is not None


def test_an_equivalence_follows_changes() -> None:
    with whence.connect() as database:
        database.rules(".decl same(x: number, y: number) eqrel\n.decl e(x: number, y: number)\nsame(x, y) :- e(x, y).")
        database.insert("e", [(1, 2), (2, 3), (5, 6)])
        assert database.rows("same") == {(x, y) for x in (1, 2, 3) for y in (1, 2, 3)} | {
            (x, y) for x in (5, 6) for y in (5, 6)
        }
        database.delete("e", [(2, 3)])
        assert database.rows("same") == {(x, y) for x in (1, 2) for y in (1, 2)} | {(5, 5), (5, 6), (6, 5), (6, 6)}


def test_a_view_reads_a_file_as_well(tmp_path: Path) -> None:
    (tmp_path / "link.facts").write_text("1\t2\n")
    with whence.connect() as database:
        database.rules(".decl link(x: number, y: number)\n.input link\nlink(y, x) :- link(x, y).", directory=tmp_path)
        assert database.rows("link") == {(1, 2), (2, 1)}
        database.insert("link_input", [(2, 3)])
        assert database.rows("link") == {(1, 2), (2, 1), (2, 3), (3, 2)}


def test_words_about_how_souffle_runs_are_left_aside(caplog: pytest.LogCaptureFixture) -> None:
    with whence.connect() as database:
        database.rules("""
            .pragma "provenance" "none"
            .type String <: symbol
            .decl a(x: number, s: String) brie
            .decl b(x: number) inline
            .limitsize b(n=5)
            a(7u, "x"). a(2, "y").
            b(x band 3) :- a(x, _), a(y, _). .plan 0:(1,2)
        """)
        assert database.rows("b") == {(3,), (2,)}
    said = " ".join(record.message for record in caplog.records)
    for word in (".pragma", "brie", "inline", ".limitsize"):
        assert f"{word} is ignored" in said


def test_bits_bind_as_in_souffle() -> None:
    with whence.connect() as database:
        database.rules("r(1 bor 6 band 3 bxor 8, 1 bshl 2 + 1, bnot(0), 12 bshr 1).")
        assert database.rows("r") == {(11, 8, -1, 6)}
