"""`db.why_not`: what a row lacks."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whence
from tests.explain.hypothetical.programs import ALL_ROWS, POSITIVE, VALUES, by_table, database, facts, subsets
from whence.model.types import Row

NETWORK = """
.decl link(src: symbol, dst: symbol)
.decl closed(x: symbol)
reachable(x, y) :- link(x, y).
reachable(x, y) :- link(x, z), reachable(z, y).
open(x, y) :- reachable(x, y), !closed(y), x != y.
total(x, count<y>) :- reachable(x, y).
"""


@pytest.fixture
def db() -> whence.Database:
    db = whence.connect()
    db.rules(NETWORK)
    db.insert("link", [("a", "b"), ("b", "c"), ("d", "e")])
    db.insert("closed", [("c",)])
    return db


@settings(max_examples=40)
@given(rows=facts, view=st.sampled_from(POSITIVE), values=st.tuples(st.sampled_from(VALUES), st.sampled_from(VALUES)))
def test_no_smaller_set_produces_the_row(rows: frozenset[tuple[str, Row]], view: str, values: Row) -> None:
    db = database(rows)
    row = values[: len(db.table(view).schema)]
    if row in db.rows(view):
        with pytest.raises(whence.DataError, match="is there"):
            db.why_not(view, row)
        return
    oracle = database(rows, engine="reference")
    # The values of the question and of the rules are known as well.
    known = {value for _, each in rows for value in each} | {*row, "a"}
    absent = [fact for fact in ALL_ROWS if fact not in rows and known.issuperset(fact[1])]
    smallest = next(
        (
            len(each)
            for each in subsets(absent, 3)
            if oracle.what_if(insert=by_table(each)).changes.get(view, {}).get(row, 0) > 0
        ),
        None,
    )
    answer = db.why_not(view, row)
    assert answer.complete
    assert (None if answer.missing is None else len(answer.missing)) == smallest
    for missing in () if answer.missing is None else (answer.missing, *answer.others):
        assert len(missing) == smallest
        assert oracle.what_if(insert=by_table(missing)).changes[view][row] == 1
    assert {name: db.rows(name) for name in ("edge", "mark", view)} == {
        name: oracle.rows(name) for name in ("edge", "mark", view)
    }


def test_the_closest_attempts(db: whence.Database) -> None:
    assert str(db.why_not("open", ("a", "e"))) == (
        "open('a', 'e') is not there\n"
        "\n"
        "open(x, y) :- reachable(x, y), !closed(y), x != y.\n"
        "  at <rules>:6:1\n"
        "  missing: reachable('a', 'e')\n"
        "    reachable(x, y) :- link(x, y).\n"
        "      at <rules>:4:1\n"
        "      missing: link('a', 'e')\n"
        "    reachable(x, y) :- link(x, z), reachable(z, y).\n"
        "      at <rules>:5:1\n"
        "      holds: link('a', 'b')\n"
        "      missing: reachable('b', 'e')\n"
        "\n"
        "it would be there with 1 more row\n"
        "  link('a', 'e')\n"
        "  or link('a', 'd')\n"
        "  or link('b', 'e')\n"
        "  or link('b', 'd')\n"
        "  or link('c', 'e')"
    )


def test_what_is_in_the_way(db: whence.Database) -> None:
    answer = db.why_not("open", ("a", "c"))
    assert str(answer).splitlines()[4:] == [
        "  holds: reachable('a', 'c')",
        "  blocked by: closed('c') is there",
        "",
        "no rows that come would produce it: what blocks it would have to go",
    ]
    (lack,) = answer.attempts[0].lacks
    assert (lack.kind, lack.relation, lack.row) == ("blocked", "closed", ("c",))
    assert answer.missing is None and answer.complete and answer.searched == 3


def test_conditions_that_are_false(db: whence.Database) -> None:
    text = str(db.why_not("open", ("a", "a")))
    assert "\n  is false: x != y, with x = 'a', y = 'a'\n" in text
    assert text.endswith("no set of up to 3 rows of known values would produce it")


def test_rules_with_constants_and_computed_heads() -> None:
    db = whence.connect()
    db.rules("""
        .decl n(x: number)
        next(x + 1) :- n(x).
        kind("even", x) :- n(x), x % 2 = 0.
        kind("odd", x) :- n(x), x % 2 = 1.
    """)
    db.insert("n", [(1,), (2,)])
    assert str(db.why_not("kind", ("odd", 2))).splitlines()[2:] == [
        'kind("even", x) :- n(x), x % 2 = 0.',
        "  at <rules>:4:9",
        "  is false: it only gives kind('even', _)",
        "",
        'kind("odd", x) :- n(x), x % 2 = 1.',
        "  at <rules>:5:9",
        "  holds: n(2)",
        "  is false: x % 2 = 1, with x = 2",
        "",
        "no set of up to 3 rows of known values would produce it",
    ]
    assert db.why_not("kind", ("odd", 5)).missing == frozenset([("n", (5,))])
    # 0 is a value that is known, by a rule, and 4 is not.
    assert db.why_not("next", (1,)).missing == frozenset([("n", (0,))])
    answer = db.why_not("next", (5,))
    assert answer.missing is None
    assert "\n  holds: n(1)\n  gives: next(2) instead\n" in str(answer)


def test_groups_that_have_another_value(db: whence.Database) -> None:
    answer = db.why_not("total", ("a", 3))
    assert "\n  gives: total('a', 2) instead\n" in str(answer)
    assert answer.missing is not None and len(answer.missing) == 1
    assert db.what_if(insert=by_table(answer.missing)).changes["total"][("a", 3)] == 1


def test_in_the_words_of_sql() -> None:
    db = whence.connect()
    db.execute("""
        CREATE TABLE person(name STRING PRIMARY KEY, town STRING NOT NULL);
        CREATE TABLE pet(owner STRING NOT NULL, kind STRING NOT NULL);
        CREATE MATERIALIZED VIEW lonely AS
        SELECT name FROM person WHERE town = 'Oslo' AND NOT EXISTS (SELECT * FROM pet WHERE owner = name);
        INSERT INTO person VALUES ('Ann', 'Oslo'), ('Bob', 'Rome');
        INSERT INTO pet VALUES ('Ann', 'cat');
    """)
    words = "SELECT name FROM person WHERE town = 'Oslo' AND NOT EXISTS (SELECT * FROM pet WHERE owner = name)"
    assert str(db.why_not("lonely", ("Ann",))).splitlines()[2:6] == [
        words,
        "  at <sql>:5:16",
        "  holds: person('Ann', 'Oslo')",
        "  blocked by: pet('Ann', 'cat') is there",
    ]
    # Bob's key is taken, so that nothing that comes would help; Cid's is not.
    assert db.why_not("lonely", ("Bob",)).missing is None
    assert db.why_not("lonely", ("Cid",)).missing == frozenset([("person", ("Cid", "Oslo"))])


def test_some_columns_only(db: whence.Database) -> None:
    answer = db.why_not("reachable", {"x": "c"})
    assert str(answer).startswith("reachable('c', _) is not there")
    assert answer.missing is not None
    assert {row[0] for _, row in answer.missing} == {"c"}


def test_a_row_of_a_table(db: whence.Database) -> None:
    answer = db.why_not("link", ("a", "z"))
    assert answer.attempts == ()
    assert answer.missing == frozenset([("link", ("a", "z"))])
    assert str(answer) == "link('a', 'z') is not there\n\nit would be there with 1 more row\n  link('a', 'z')"
    assert db.why_not("link", ("z", None)).missing is None


def test_two_rows_where_one_is_not_enough() -> None:
    db = whence.connect()
    db.rules("""
        .decl flight(a: symbol, b: symbol)
        .decl permit(who: symbol, place: symbol)
        visits(w, b) :- permit(w, b), permit(w, a), flight(a, b).
    """)
    db.insert("flight", [("x", "y")])
    db.insert("permit", [("w", "z")])
    assert db.why_not("visits", ("w", "y")).missing == frozenset([("permit", ("w", "y")), ("flight", ("z", "y"))])
    assert db.why_not("visits", ("v", "y")).missing == frozenset([("permit", ("v", "y")), ("permit", ("v", "x"))])


def test_one_place_among_a_million_rows() -> None:
    """No link leads there directly, and of all places that could be added only one makes the chain whole."""
    db = whence.connect()
    db.rules("""
        .decl place(x: number)
        step(x, y) :- place(x), place(y), y = x + 1.
        reachable(x, y) :- step(x, y).
        reachable(x, y) :- step(x, z), reachable(z, y).
    """)
    db.insert("place", [(n,) for n in range(2_000) if n != 700])
    answer = db.why_not("reachable", (650, 800))
    assert answer.complete
    assert answer.missing == frozenset([("place", (700,))])
    assert answer.others == ()


def test_a_link_between_two_islands() -> None:
    """It begins somewhere that is reachable, and ends where the other place can be reached from."""
    db = whence.connect()
    db.rules("""
        .decl link(src: number, dst: number)
        .decl gate(x: number)
        reachable(x, y) :- link(x, y).
        reachable(x, y) :- link(x, z), reachable(z, y).
        trip(x, y) :- link(x, a), reachable(a, g), gate(g), link(g, b), reachable(b, y).
    """)
    db.insert("link", [(n, (n + 1) % 400) for n in range(400)] + [(n, n + 1) for n in range(5_000, 5_100)])
    db.insert("gate", [(300,)])
    answer = db.why_not("trip", (3, 5_090))
    assert answer.missing is not None and len(answer.missing) == 1
    ((_, (start, end)),) = answer.missing
    assert isinstance(start, int) and isinstance(end, int)
    assert start < 400 and 5_000 <= end <= 5_090


def test_a_search_that_takes_too_long(db: whence.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    db.rules("far(x, y) :- reachable(x, a), reachable(b, c), reachable(d, y), a != b, c != d.")
    monkeypatch.setattr("whence.explain.hypothetical.why_not.STEPS", 30)
    answer = db.why_not("far", ("q", "r"))
    assert not answer.complete and answer.missing is None
    assert str(answer).splitlines()[-1] in (
        "there was too much to look at",
        "no set of up to 1 row would produce it; for more, there was too much to look at",
    )


@pytest.mark.parametrize(
    ("view", "row", "words"),
    [
        ("reachable", ("a", "c"), "reachable('a', 'c') is there, so that nothing is missing"),
        ("reachable", ("a", None), "is there, so that nothing is missing\nhint: db.why(...) tells why it is there"),
        ("reach", ("a", "c"), "there is no relation 'reach'\nhint: did you mean 'reachable'?"),
        ("reachable", ("a",), "'reachable' has columns 'x', 'y', and the row asked about has 1 value: ('a',)"),
        ("total", ("a", "many"), "column 'y' is BIGINT, and 'many' does not fit"),
        ("reachable", "ac", "a row of 'reachable' is a tuple or a dict, not 'ac'"),
    ],
)
def test_bad_questions(db: whence.Database, view: str, row: object, words: str) -> None:
    with pytest.raises(whence.WhenceError) as error:
        db.why_not(view, row)
    assert words in str(error.value)


ORDERS = """
    CREATE TABLE customers(name STRING PRIMARY KEY, country STRING, active BOOLEAN);
    CREATE TABLE orders(id INT PRIMARY KEY, customer STRING, total INT, status STRING);
    INSERT INTO customers VALUES ('ann', 'de', true), ('bob', 'fr', false);
    INSERT INTO orders VALUES (1, 'ann', 10, 'open'), (2, 'ann', 20, 'done'), (3, 'bob', 5, 'done');
    CREATE VIEW busy AS
    SELECT c.name, c.country FROM customers c JOIN orders o ON o.customer = c.name
    WHERE c.active AND o.status = 'open';
    CREATE VIEW idle AS SELECT c.name FROM customers c LEFT JOIN orders o ON o.customer = c.name WHERE o.id IS NULL;
"""


@pytest.fixture
def orders() -> whence.Database:
    db = whence.connect()
    db.execute(ORDERS)
    return db


def test_keys_that_are_new(orders: whence.Database) -> None:
    answer = orders.why_not("busy", ("cid", "fr"))
    assert answer.missing == frozenset([("customers", ("cid", "fr", True)), ("orders", (4, "cid", 10, "open"))])
    assert str(answer).endswith(
        "it would be there with 2 more rows\n"
        "  customers('cid', 'fr', true) and orders(_, 'cid', _, 'open')\n"
        "where _ stands, any value would do"
    )
    assert orders.what_if(insert=by_table(answer.missing)).changes["busy"] == {("cid", "fr"): 1}


def test_values_of_the_same_column_come_first(orders: whence.Database) -> None:
    answer = orders.why_not("busy", ("cid", None))
    assert answer.missing == frozenset([("customers", ("cid", "de", True)), ("orders", (4, "cid", 10, "open"))])


def test_rows_in_the_place_of_others(orders: whence.Database) -> None:
    answer = orders.why_not("busy", ("bob", "fr"))
    assert (answer.missing, answer.others) == (None, ())
    assert answer.instead == {
        ("customers", ("bob", "fr", True)): ("bob", "fr", False),
        ("orders", (4, "bob", 10, "open")): None,
    }
    assert str(answer).endswith(
        "no rows that come would produce it, but a change of rows would\n"
        "  customers('bob', 'fr', true) instead of customers('bob', 'fr', false)\n"
        "  orders(_, 'bob', _, 'open')\n"
        "where _ stands, any value would do"
    )
    assert answer.json()["instead"] == [
        {"relation": "customers", "row": ["bob", "fr", True], "of": ["bob", "fr", False]},
        {"relation": "orders", "row": [4, "bob", 10, "open"], "of": None},
    ]


def test_a_condition_names_columns_as_the_query_does() -> None:
    db = whence.connect()
    db.execute("""
        CREATE TABLE worker(name STRING, team STRING);
        CREATE TABLE team(name STRING);
        INSERT INTO worker VALUES ('Ann', 'x');
        INSERT INTO team VALUES ('x');
        CREATE VIEW homeless AS SELECT w.name FROM worker w LEFT JOIN team t ON t.name = w.team WHERE t.name IS NULL;
    """)
    answer = str(db.why_not("homeless", ("Ann",)))
    assert "\n      is false: t.name IS NULL, with team = 'x'\n" in answer
    assert "\n      blocked by: team('x') is there\n" in answer


def test_a_value_that_matters_elsewhere_is_told() -> None:
    db = whence.connect()
    db.rules("""
        .decl e(x: number, y: number)
        q(x) :- e(_, x).
        p(x) :- e(x, _), q(x).
    """)
    db.insert("e", [(5, 6)])
    assert str(db.why_not("p", (1,))).endswith("it would be there with 1 more row\n  e(1, 1)")


def test_arrays_have_no_next_one() -> None:
    db = whence.connect()
    db.execute("CREATE TABLE t(id INT, a ARRAY<INT>); CREATE VIEW v AS SELECT id FROM t WHERE id > 0")
    db.insert("t", [(1, (1, None)), (2, (None, 2)), (3, None)])
    assert "it would be there with 1 more row" in str(db.why_not("v", (4,)))


def test_after_the_last_key_there_is_no_new_one(orders: whence.Database) -> None:
    orders.insert("orders", [(2**31 - 1, "ann", 10, "done")])
    answer = orders.why_not("busy", ("cid", "fr"))
    # An INT that is no key of an order yet, although it is the total of one.
    assert answer.missing == frozenset([("customers", ("cid", "fr", True)), ("orders", (10, "cid", 10, "open"))])


def test_after_the_last_day_there_is_no_other() -> None:
    db = whence.connect()
    db.execute("""
        CREATE TABLE price(until DATE PRIMARY KEY, item STRING);
        CREATE VIEW sold AS SELECT DISTINCT item FROM price;
        INSERT INTO price VALUES (DATE '9999-12-31', 'a');
    """)
    answer = db.why_not("sold", ("b",))
    assert answer.missing is None
    assert answer.instead == {("price", (datetime.date(9999, 12, 31), "b")): (datetime.date(9999, 12, 31), "a")}


def test_a_condition_keeps_its_parentheses() -> None:
    db = whence.connect()
    db.execute("""
      CREATE TABLE t(a INT, b INT);
      INSERT INTO t VALUES (1, 2);
      CREATE VIEW v AS SELECT a FROM t WHERE (a + b) * (a - b) > 3
    """)
    assert "is false: (a + b) * (a - b) > 3" in str(db.why_not("v", (1,)))
