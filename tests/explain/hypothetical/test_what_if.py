"""`db.what_if`: what a change would do, and that it does not do it."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whence
from tests.engines.local.recursive_programs import FUNCTIONS, TABLES, random_program, random_update
from tests.explain.hypothetical.programs import RULES, by_table, database, facts
from whence.analysis.limits import RecursionLimits
from whence.engines.local.engine import LocalEngine
from whence.engines.local.forest.maintainer import ForestMaintainer
from whence.engines.reference.engine import ReferenceEngine
from whence.errors import WhenceError
from whence.lab.strategies import STRATEGIES
from whence.model.types import Row
from whence.model.updates import Delta, Update

VIEWS = tuple(RULES)
MAINTENANCE = ("auto", "absorption", *STRATEGIES)
LIMITS = RecursionLimits(rounds=40, rows=400)


def state(db: whence.Database) -> dict[str, object]:
    return {
        "rows": {name: db.rows(name) for name in db.catalog().relations},
        "version": db.version,
        "changes": {name: db.changes(name) for name in db.catalog().relations},
    }


@settings(max_examples=20)
@given(before=facts, after=facts, maintenance=st.sampled_from(MAINTENANCE))
def test_it_equals_applying_the_change(
    before: frozenset[tuple[str, Row]], after: frozenset[tuple[str, Row]], maintenance: str
) -> None:
    db = database(before, maintenance=maintenance)
    come, go = by_table(after - before), by_table(before - after)
    was = state(db)
    answer = db.what_if(insert=come, delete=go)
    assert state(db) == was
    since = db.version
    with db.batch() as batch:
        for name, rows in go.items():
            batch.delete(name, rows)
        for name, rows in come.items():
            batch.insert(name, rows)
    for name in db.catalog().relations:
        wanted = db.changes(name, since).drop_columns(["_commit_timestamp"])
        assert answer.table(name).drop_columns(["_commit_timestamp"]) == wanted
    # And back again, after a question that was not the last word.
    assert {n: {r: -c for r, c in d.items()} for n, d in db.what_if(insert=go, delete=come).changes.items()} == dict(
        answer.changes
    )


@pytest.mark.parametrize("maintenance", MAINTENANCE)
@pytest.mark.parametrize("seed", range(12))
def test_random_programs_go_on_as_if_nobody_had_asked(seed: int, maintenance: str) -> None:
    """Questions between commits: the engine foresees what happens then, and what follows is as without them."""
    rng = Random(seed)
    _, analysis = random_program(seed)
    engine, oracle = LocalEngine(maintenance, LIMITS, STRATEGIES), ReferenceEngine(LIMITS)
    try:
        oracle.define(analysis, FUNCTIONS, Update())
        engine.define(analysis, FUNCTIONS, Update())
    except WhenceError:
        return
    base: dict[str, dict[Row, int]] = {name: {} for name in TABLES}
    for _ in range(8):
        updates = [Update(random_update(rng, base, 2, 12)) for _ in range(3)]
        foreseen = [outcome(oracle, update, "foresee") for update in updates]
        assert [outcome(engine, update, "foresee") for update in updates] == foreseen
        for name in analysis.relations:
            assert dict(engine.counts(name)) == dict(oracle.counts(name))
        assert outcome(engine, updates[0], "apply") == outcome(oracle, updates[0], "apply") == foreseen[0]
        base = {name: dict(oracle.counts(name)) for name in TABLES}


def outcome(engine: LocalEngine | ReferenceEngine, update: Update, verb: str) -> dict[str, Delta] | type[WhenceError]:
    try:
        deltas = engine.foresee(update) if verb == "foresee" else engine.apply(update)
    except WhenceError as error:
        return type(error)
    return {name: dict(delta.items()) for name, delta in deltas.items() if delta}


PRICES = """
CREATE TABLE price(item STRING PRIMARY KEY, cents INT NOT NULL);
CREATE MATERIALIZED VIEW dear AS SELECT item, cents FROM price WHERE cents > 100;
CREATE MATERIALIZED VIEW number AS SELECT count(*) AS n FROM dear;
INSERT INTO price VALUES ('tea', 90), ('rice', 200);
"""


@pytest.fixture
def db() -> whence.Database:
    db = whence.connect()
    db.execute(PRICES)
    return db


def test_in_words(db: whence.Database) -> None:
    answer = db.what_if(insert={"price": [("tea", 120)]}, delete={"PRICE": [("tea", 90)]})
    assert str(answer) == (
        "price: 1 row goes, 1 row comes\n"
        "  - ('tea', 90)\n"
        "  + ('tea', 120)\n"
        "\n"
        "dear: 1 row comes\n"
        "  + ('tea', 120)\n"
        "\n"
        "number: 1 row goes, 1 row comes\n"
        "  - (1)\n"
        "  + (2)"
    )
    assert answer.json() == {
        "changes": {
            "price": [{"row": ["tea", 90], "count": -1}, {"row": ["tea", 120], "count": 1}],
            "dear": [{"row": ["tea", 120], "count": 1}],
            "number": [{"row": [1], "count": -1}, {"row": [2], "count": 1}],
        }
    }
    kinds = answer.table("Price").column("_change_type").to_pylist()
    assert kinds == ["update_preimage", "update_postimage"], "as db.changes tells it"
    assert str(db.what_if()) == "nothing would change"
    many = db.what_if(insert={"price": [(f"item {n}", n) for n in range(100, 130)]})
    assert "  ... and 20 more rows" in str(many)


def test_nobody_is_told(tmp_path: Path) -> None:
    with whence.connect(tmp_path / "db") as db:
        db.execute(PRICES)
        calls: list[object] = []
        db.subscribe("dear", calls.append)
        before = (tmp_path / "db" / "whence.db-wal").read_bytes()
        db.what_if(delete={"price": [("rice", 200)]})
        assert (tmp_path / "db" / "whence.db-wal").read_bytes() == before
        assert calls == []
        metrics = db.explain("dear", analyze=True)
        db.what_if(delete={"price": [("rice", 200)]})
        assert db.explain("dear", analyze=True) == metrics


def test_lifetimes_and_windows_do_what_they_would_do() -> None:
    db = whence.connect()
    db.rules("""
        .decl event(name: symbol, at: timestamp) ttl("1 hour", at)
        .decl last(name: symbol) window(2)
        seen(x) :- event(x, _).
        kept(x) :- last(x).
    """)
    db.advance("2026-01-01 12:00:00")
    late, fresh = "2026-01-01 10:00:00", "2026-01-01 12:00:00"
    assert db.what_if(insert={"event": [("late", late), ("fresh", fresh)]}).changes["seen"] == {("fresh",): 1}
    db.insert("last", [("a",), ("b",)])
    for _ in range(2):
        assert db.what_if(insert={"last": [("c",)]}).changes["kept"] == {("a",): -1, ("c",): 1}
    db.insert("last", [("c",)])
    assert db.rows("kept") == {("b",), ("c",)}


def test_a_change_that_fails_leaves_everything_as_it_was() -> None:
    db = whence.connect()
    db.rules("""
        .decl edge(x: number, y: number)
        .decl share(a: number, b: number)
        path(x, y) :- edge(x, y).
        path(x, y) :- edge(x, z), path(z, y).
        part(x, a / b) :- path(x, _), share(a, b).
    """)
    db.insert("edge", [(1, 2), (2, 3)])
    db.insert("share", [(4, 2)])
    was = state(db)
    for _ in range(2):
        with pytest.raises(whence.EvaluationError, match="division by zero"):
            db.what_if(insert={"edge": [(3, 4)], "share": [(1, 0)]})
        assert state(db) == was
    db.insert("edge", [(3, 4)])
    assert (1, 4) in db.rows("path")


def test_a_function_of_a_view_must_not_ask() -> None:
    db = whence.connect()
    db.rules(".decl t(x: number)")
    db.function("asks", lambda x: len(db.what_if(insert={"t": [(x + 1,)]}).changes), returns="INT")
    db.rules("p(x, y) :- t(x), y = @asks(x).")
    with pytest.raises(whence.WhenceError, match="in the middle of a change"):
        db.insert("t", [(1,)])


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"insert": [("tea", 1)]}, "what_if takes the rows to insert by table, not as a list\nhint: write insert={"),
        ({"delete": "tea"}, "what_if takes the rows to delete by table, not as a str"),
        ({"insert": {"dear": [("tea", 1)]}}, "'dear' is a view, and its rows follow from its definition"),
        ({"insert": {"prices": []}}, "there is no relation 'prices'\nhint: did you mean 'price'?"),
        (
            {"insert": {"price": [("tea", 1)]}},
            "rows[0] has the key of another row of 'price', column 'item': ('tea', 1)",
        ),
        ({"insert": {"price": [("milk", "much")]}}, "column 'cents' is INT, and 'much' does not fit"),
        ({"delete": {"price": [("tea", 91)]}}, "rows[0] is not in 'price', so it cannot be deleted: ('tea', 91)"),
        ({"delete": {"price": ("tea", 90)}}, "one row is a list of one row"),
    ],
)
def test_bad_questions(db: whence.Database, question: dict[str, object], words: str) -> None:
    was = state(db)
    with pytest.raises(whence.WhenceError) as error:
        db.what_if(**question)  # type: ignore[arg-type]
    assert words in str(error.value)
    assert state(db) == was


def test_tables_of_an_answer(db: whence.Database) -> None:
    answer = db.what_if(insert={"price": [("milk", 50)]})
    assert answer.table("dear").num_rows == 0
    with pytest.raises(whence.UnknownNameError, match="there is no relation 'dead'"):
        answer.table("dead")
    db.close()
    with pytest.raises(whence.StateError, match="this database is closed"):
        db.what_if()


def test_an_interrupt_while_it_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    db = whence.connect()
    db.rules("""
        .decl edge(x: number, y: number)
        path(x, y) :- edge(x, y).
        path(x, y) :- edge(x, z), path(z, y).
        reach(x, count<y>) :- path(x, y).
    """)
    db.insert("edge", [(1, 2), (2, 3)])
    was = state(db)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ForestMaintainer, "retrace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            db.what_if(insert={"edge": [(3, 4)]}, delete={"edge": [(1, 2)]})
    assert state(db) == was
    db.insert("edge", [(3, 4)])
    assert db.rows("reach") == {(1, 3), (2, 2), (3, 1)}
