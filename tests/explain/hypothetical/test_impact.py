"""`db.impact`: what depends on a row of a table."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whence
from tests.explain.hypothetical.programs import ALL_ROWS, RULES, TAINTED, database, facts
from whence.model.types import Row


@settings(max_examples=40)
@given(rows=facts, fact=st.sampled_from(ALL_ROWS), others=st.integers(0, 2))
def test_it_equals_deleting_and_following_by_hand(
    rows: frozenset[tuple[str, Row]], fact: tuple[str, Row], others: int
) -> None:
    name, row = fact
    # Of some columns any value will do.
    asked = tuple(None if at < others - 1 else value for at, value in enumerate(row))
    meant = [each for of, each in rows if of == name and all(a in (None, b) for a, b in zip(asked, each, strict=True))]
    db = database(rows)
    if not meant:
        with pytest.raises(whence.DataError, match="is not there, and nothing depends on it"):
            db.impact(name, asked)
        return
    answer = db.impact(name, asked)
    oracle = database(rows, engine="reference")
    oracle.rules(TAINTED)
    oracle.insert(f"{name}_t", meant)
    assert answer.complete
    assert answer.depend == {view: len(found) for view in RULES if (found := oracle.rows(f"{view}_t"))}
    before = {view: oracle.rows(view) for view in RULES}
    oracle.delete(name, meant)
    after = {view: oracle.rows(view) for view in RULES}
    assert {view: set(gone) for view, gone in answer.vanish.items()} == {
        view: before[view] - after[view] for view in RULES if before[view] - after[view]
    }
    assert {view: set(new) for view, new in answer.appear.items()} == {
        view: after[view] - before[view] for view in RULES if after[view] - before[view]
    }


def test_in_words() -> None:
    db = whence.connect()
    db.execute("""
        CREATE TABLE sale(shop STRING, amount INT);
        CREATE TABLE unused(x INT);
        CREATE MATERIALIZED VIEW total AS SELECT shop, sum(amount) AS amount FROM sale GROUP BY shop;
        CREATE MATERIALIZED VIEW large AS SELECT shop FROM total WHERE amount > 5;
        INSERT INTO sale VALUES ('a', 3), ('a', 3), ('a', 4), ('b', 1);
        INSERT INTO unused VALUES (1), (2);
    """)
    assert str(db.impact("sale", ("a", 3))) == (
        "sale('a', 3)\n"
        "\n"
        "without it\n"
        "  total: 1 row goes, 1 row comes\n"
        "    - ('a', 10)\n"
        "    + ('a', 4)\n"
        "  large: 1 row goes\n"
        "    - ('a')\n"
        "\n"
        "derived by way of it, and perhaps in other ways, too\n"
        "  total: 1 row\n"
        "  large: 1 row"
    )
    assert str(db.impact("unused", {})) == "unused(1) and 1 more row\nnothing depends on them"
    assert db.impact("sale", {"shop": "b"}).json() == {
        "relation": "sale",
        "rows": [["b", 1]],
        "vanish": {"total": [["b", 1]]},
        "appear": {},
        "depend": {"total": 1},
        "partial": [],
        "complete": True,
    }


def test_rows_that_have_other_derivations() -> None:
    db = whence.connect()
    db.rules(".decl e(x: symbol, y: symbol)\np(x) :- e(x, _).")
    db.insert("e", [("a", "b"), ("a", "c")])
    assert str(db.impact("e", ("a", "b"))) == (
        "e('a', 'b')\n"
        "\n"
        "without it nothing would change: there are other derivations\n"
        "\n"
        "derived by way of it, and perhaps in other ways, too\n"
        "  p: 1 row"
    )


def test_so_many_that_it_stops_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whence.explain.hypothetical.what_if.IMPACT_STEPS", 20)
    db = whence.connect()
    db.rules("""
        .decl e(x: number, y: number)
        p(x, y) :- e(x, y).
        p(x, y) :- e(x, z), p(z, y).
        lone(x, y) :- p(x, y), !p(y, x).
        far(x, max<y>) :- p(x, y).
        last(y) :- lone(_, y).
        none(x) :- lone(x, x).
    """)
    db.insert("e", [(n, n + 1) for n in range(30)])
    answer = db.impact("e", (15, 16))
    # The engine itself counts all of them, and of a maximum it takes one row for each group.
    assert answer.depend["p"] == 16 * 15
    assert answer.depend["far"] == 16
    assert answer.depend["lone"] == 20
    assert answer.depend["none"] == 0
    assert answer.partial == ("lone", "last", "none")
    assert not answer.complete
    assert "  p: 240 rows\n  lone: at least 20 rows\n  far: 16 rows\n" in str(answer)
    assert len(answer.vanish["lone"]) == 16 * 15


@pytest.mark.parametrize(
    ("relation", "row", "words"),
    [
        ("path", ("a", "b"), "'path' is a view, and its rows follow from its definition"),
        ("egde", ("a", "b"), "there is no relation 'egde'"),
        ("edge", ("a",), "'edge' has columns 'x', 'y', and the row asked about has 1 value"),
        ("edge", (1, None), "column 'x' is STRING, and 1 does not fit"),
        ("edge", {"z": "a"}, "has no column 'z'"),
    ],
)
def test_bad_questions(relation: str, row: object, words: str) -> None:
    db = database(frozenset([("edge", ("a", "b"))]))
    with pytest.raises(whence.WhenceError) as error:
        db.impact(relation, row)
    assert words in str(error.value)
