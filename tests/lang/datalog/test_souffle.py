"""What Soufflé has beyond plain Datalog, as small programs with the rows that they have there.

Each runs on the local engine and on the oracle.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest

import whence
from whence.model.types import Row

PROGRAMS: Mapping[str, tuple[str, Mapping[str, AbstractSet[Row]]]] = {
    "a record is taken apart": (
        (
            ".type pair = [a: number, b: symbol] .decl p(x: pair) .decl q(a: number, b: symbol)"
            'p([1, "x"]). p([2, "y"]). p(nil). q(a, b) :- p([a, b]).'
        ),
        {"q": {(1, "x"), (2, "y")}},
    ),
    "a list is built and walked": (
        (
            ".type list = [head: number, tail: list] .decl l(x: list) .decl sum(x: list, n: number)"
            "l(nil). l([n, l]) :- l(l), n = 1, l != [1, [1, [1, nil]]]. .decl walk(x: list, n: number)"
            "sum(nil, 0). sum([h, t], h + n) :- l([h, t]), sum(t, n). walk(t, 1) :- l([_, [_, t]])."
        ),
        {
            "sum": {((), 0), ((1, ()), 1), ((1, (1, ())), 2), ((1, (1, (1, ()))), 3)},
            "walk": {((), 1), ((1, ()), 1)},
        },
    ),
    "a pattern with a constant, a wildcard and a repeated variable": (
        (
            ".type t = [a: number, b: number] .decl p(x: t) p([1, 1]). p([1, 2]). p([3, 1])."
            ".decl one, same, known(x: number) one(b) :- p([1, b]). same(a) :- p([a, a])."
            "known(a) :- p([a, _]), p([_, a])."
        ),
        {"one": {(1,), (2,)}, "same": {(1,)}, "known": {(1,)}},
    ),
    "a record that is made is looked up": (
        (
            ".type t = [a: number, b: number] .decl p(x: t) .decl n(x: number) p([1, 2]). n(1). n(2)."
            ".decl there, absent(x: number, y: number) there(x, y) :- n(x), n(y), p([x, y])."
            "absent(x, y) :- n(x), n(y), !p([x, y])."
        ),
        {"there": {(1, 2)}, "absent": {(1, 1), (2, 1), (2, 2)}},
    ),
    "a negated pattern with a wildcard": (
        (
            ".type t = [a: number, b: number] .decl p(x: t) .decl n, first(x: number) p([1, 2]). n(1). n(2)."
            "first(x) :- n(x), !p([x, _])."
        ),
        {"first": {(2,)}},
    ),
    "branches of an algebraic type": (
        (
            ".type expr = Number {n: number} | Add {l: expr, r: expr} .decl e(x: expr) .decl value(x: expr, n: number)"
            "e($Add($Number(1), $Add($Number(2), $Number(3)))). e(l), e(r) :- e($Add(l, r))."
            "value(x, n) :- e(x), x = $Number(n). value(x, n + m) :- e(x), x = $Add(l, r), value(l, n), value(r, m)."
            ".decl result(n: number) result(n) :- value($Add($Number(1), _), n)."
        ),
        {"result": {(6,)}},
    ),
    "branches without fields": (
        (
            '.type day = Mon {} | Tue {} .decl d(x: day, w: symbol) d($Mon, "m"). d($Tue(), "t").'
            ".decl tuesday(w: symbol) tuesday(w) :- d($Tue, w)."
        ),
        {"tuesday": {("t",)}, "d": {(("Mon",), "m"), (("Tue",), "t")}},
    ),
    "records in an aggregate": (
        (
            ".type t = [a: number, b: number] .decl p(x: t) p([1, 1]). p([1, 5]). p([2, 7])."
            ".decl n(x: number) n(1). n(2). n(3). .decl m(x: number, k: number, top: number)"
            "m(x, k, t) :- n(x), k = count : { p([x, _]) }, t = max b : { p([_, b]) }."
        ),
        {"m": {(1, 2, 7), (2, 1, 7), (3, 0, 7)}},
    ),
    "the better of two rows by a column": (
        (
            ".decl e(a: number, b: number, c: number) e(1, 2, 5). e(2, 1, 1). e(2, 3, 2). e(1, 3, 9)."
            ".decl p(a: number, b: number, c: number) p(a, b, c) :- e(a, b, c). "
            "p(a, b, c + d) :- p(a, x, c), e(x, b, d)."
            "p(a, b, c) <= p(a, b, d) :- d < c."
        ),
        {"p": {(1, 1, 6), (1, 2, 5), (1, 3, 7), (2, 1, 1), (2, 2, 6), (2, 3, 2)}},
    ),
    "rows that none dominates in both columns": (
        ".decl q(a: number, b: number) q(1, 2). q(2, 3). q(1, 4). q(0, 0). q(a, b) <= q(c, d) :- c >= a, d >= b.",
        {"q": {(2, 3), (1, 4)}},
    ),
    "of two that dominate each other one stays": (
        ".decl q(a: number, b: number) q(1, 2). q(1, 3). q(2, 9). q(a, b) <= q(a, c) :- b != c.",
        {"q": {(1, 2), (2, 9)}},
    ),
    "a choice for each value": (
        (
            ".decl e(a: number, b: number) e(1, 3). e(1, 2). e(2, 9). .decl c(a: number, b: number) choice-domain a"
            "\nc(a, b) :- e(a, b)."
        ),
        {"c": {(1, 2), (2, 9)}},
    ),
    "ranges up and down, whole and not": (
        (
            ".decl up, down, none, pair(x: number) .decl half(x: float) up(x) :- x = range(1, 4)."
            "down(x) :- x = range(3, 0)."
            "none(x) :- x = range(3, 0, 1). half(x) :- x = range(0, 1, 0.5)."
            "pair(x * y) :- x = range(2, 4), y = range(5, 7)."
        ),
        {
            "up": {(1,), (2,), (3,)},
            "down": {(3,), (2,), (1,)},
            "none": set(),
            "half": {(0.0,), (0.5,)},
            "pair": {(10,), (12,), (15,), (18,)},
        },
    ),
    "a range in an aggregate, and one that a row gives": (
        ".decl n, m(x: number) n(count : { i = range(0, 1000), i % 2 = 0 }). m(y) :- n(x), y = range(x, x + 2).",
        {"n": {(500,)}, "m": {(500,), (501,)}},
    ),
    "witnesses of a maximum": (
        (
            '.decl s(name: symbol, h: number) s("a", 1). s("b", 3). s("c", 3). .decl t(name: symbol, h: number)'
            "t(name, h) :- h = max x : { s(name, x) }."
        ),
        {"t": {("b", 3), ("c", 3)}},
    ),
    "an aggregate in the middle of a sum": (
        (
            ".decl e(x: number) e(1). e(4). .decl r(x: number) r(10 - max x : { e(x) } * 2). r(count : e(_) - 1)."
            "r(x) :- x = sum(y) : { e(y) } + 100."
        ),
        {"r": {(2,), (1,), (105,)}},
    ),
    "logic and bits of numbers": (
        (
            ""
            ".decl r(x: number) r(x) :- x = 10 + (lnot 5); x = 20 + (3 land 4); x = 30 + (0 lor 0);"
            "x = 40 + (2 lxor 1);"
            "x = bnot 0; x = 50 + 6 band 3."
        ),
        {"r": {(10,), (21,), (30,), (40,), (-1,), (0,)}},
    ),
    "powers of whole numbers": (
        ".decl r(x: number) r(2 ^ 2 ^ 3). r(-2 ^ 2). r(2 ^ 62). r(7 ^ -1). r((-1) ^ -3). .decl f(x: float) f(0.5 ^ 2).",
        {"r": {(256,), (-4,), (2**62,), (0,), (-1,)}, "f": {(0.25,)}},
    ),
    "texts that are added, and the order of values": (
        '.decl s(x: symbol) s("a"). s("b"). .decl t(x: symbol) t(x + "-" + y) :- s(x), s(y), ord(x) < ord(y).',
        {"t": {("a-b",)}},
    ),
    "negations of negations, and a variable called NULL": (
        ".decl a, b, c, d(x: number) a(1). a(2). b(1). c(x) :- a(x), !!b(x). d(NULL) :- a(NULL), !!!b(NULL).",
        {"c": {(1,)}, "d": {(2,)}},
    ),
    "relations and types of one name in a component": (
        (
            ""
            ".type node <: symbol .comp Graph { .decl node(x: node) .decl edge(x: node, y: node)"
            " node(x) :- edge(x, _). }"
            '.init g = Graph g.edge("a", "b").'
        ),
        {"g.node": {("a",)}},
    ),
}


@pytest.mark.parametrize("engine", ["local", "reference"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, engine: str) -> None:
    text, expected = PROGRAMS[name]
    database = whence.connect(engine=engine)
    database.rules(text)
    assert {relation: database.rows(relation) for relation in expected} == expected


def test_a_preprocessor(tmp_path: Path) -> None:
    (tmp_path / "types.dl").write_text(".once\n.decl e(x: number)\n#define TWICE(x) ((x) * FACTOR)\n")
    text = '#define FACTOR 2 // so much\n#include "types.dl"\n#include "types.dl"\n#ifdef FACTOR\ne(TWICE(1 + 2)).\n'
    text += '#else\ne(0).\n#endif\n.decl s(x: symbol) s("FACTOR").'
    database = whence.connect()
    database.rules(text, directory=tmp_path)
    assert database.rows("e") == {(6,)}
    assert database.rows("s") == {("FACTOR",)}


@pytest.mark.parametrize("name", ["../outside.dl", "/etc/hostname", "missing.dl"])
def test_files_are_included_from_below_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "outside.dl").write_text("a(1).")
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(whence.WhenceError):
        whence.connect().rules(f'#include "{name}"\n', directory=folder)


def test_input_stays_below_the_folder(tmp_path: Path) -> None:
    (tmp_path / "a.facts").write_text("1\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    text = '.decl a(x: number)\n.input a(filename="../a.facts")'
    with pytest.raises(whence.errors.UnsupportedError, match="is not below"):
        whence.connect().rules(text, directory=folder)
    database = whence.connect()
    database.rules(text, directory=folder, outside=True)
    assert database.rows("a") == {(1,)}
    with pytest.raises(whence.errors.UnsupportedError, match="device"):
        whence.connect().rules('.decl a(x: number) .input a(filename="/dev/null")', outside=True)


def test_records_in_files(tmp_path: Path) -> None:
    (tmp_path / "p.facts").write_text("[1, [2, nil]]\t$Circle(1.5)\nnil\t$Empty\n")
    database = whence.connect()
    database.rules(
        ".type l = [h: number, t: l] .type s = Circle {r: float} | Empty {} .decl p(x: l, s: s)\n.input p",
        directory=tmp_path,
    )
    assert database.rows("p") == {((1, (2, ())), ("Circle", 1.5)), ((), ("Empty",))}
    (tmp_path / "p.facts").write_text("[1, [2, nil]\t$Circle(1.5)\n")
    with pytest.raises(whence.errors.DataError, match=r"must be l\[h"):
        whence.connect().rules(
            ".type l = [h: number, t: l] .type s = Circle {r: float} | Empty {} .decl p(x: l, s: s)\n.input p",
            directory=tmp_path,
        )


def test_a_list_without_end_is_refused() -> None:
    with pytest.raises(whence.WhenceError, match="nested more than"):
        whence.connect().rules(".type l = [h: number, t: l] .decl p(x: l) p(nil). p([1, x]) :- p(x).")


def test_records_are_kept(tmp_path: Path) -> None:
    """In storage, with many rows in columns, and as what Arrow has of them."""
    path = tmp_path / "kept"
    with whence.connect(path) as database:
        database.rules(
            ".type list = [head: number, tail: list] .type shape = Dot {} | Line {length: float, next: shape}"
            ".decl l(x: list, s: shape) .decl m(x: list, n: float) m([h, [7, t]], n) :- l([h, t], $Line(n, _))."
        )
        database.insert("l", [((number, (1, ())), ("Line", 0.5, ("Dot",))) for number in range(9_000)])
        database.delete("l", [((0, (1, ())), ("Line", 0.5, ("Dot",)))])
        written = database.table("l")
        rows = database.rows("m")
    assert len(rows) == 8_999
    assert ((5, (7, (1, ()))), 0.5) in rows
    with whence.connect(path) as database:
        assert database.rows("m") == rows
        database.insert("l", [((), ("Dot",))])
        database.execute("DELETE FROM l")
        assert database.rows("m") == set()
        database.insert("l", written)
        assert database.rows("m") == rows
        with pytest.raises(whence.errors.DataError, match="field 'tail' is 2"):
            database.insert("l", [((1, 2), ("Dot",))])
        with pytest.raises(whence.errors.DataError, match="begin with a branch of shape: Dot, Line"):
            database.insert("l", [((), ("Square",))])
