"""`+` of texts, told by the columns that they stand in."""

from __future__ import annotations

import pytest

import whence


@pytest.mark.parametrize(
    ("rule", "rows"),
    [
        ("v(a + b) :- word(a), word(b), a != b.", {("xy",), ("yx",)}),
        ("v(a + a + a) :- word(a).", {("xxx",), ("yyy",)}),
        ('v(w) :- word(a), w = a + a, w != "xx".', {("yy",)}),
        ("v(n + n) :- number(n).", {(2,)}),
        ("v(max<a + b>) :- word(a), word(b).", {("yy",)}),
        ("v(a) :- word(a), !word(a + a).", {("x",), ("y",)}),
    ],
)
def test_sums(rule: str, rows: set[tuple[object]]) -> None:
    db = whence.connect()
    db.rules(f'.decl word(w: symbol)\n.decl number(n: number)\nword("x"). word("y"). number(1).\n{rule}')
    assert db.rows("v") == rows


def test_texts_that_no_declaration_tells_of() -> None:
    with pytest.raises(whence.TypeMismatchError, match="does not work on STRING and STRING"):
        whence.connect().rules('word("x"). v(a + b) :- word(a), word(b).')
