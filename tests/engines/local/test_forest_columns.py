"""Forests over tables in columns: rows enter and leave by their columns, and mean what they mean one by one."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

import whence
from tests.database.traces import forest_of, room_used
from whence.columns.encoding import Encodings
from whence.engines.local import engine
from whence.engines.local.forest import inputs, maintainer, rows
from whence.engines.local.forest.inputs import Vocabulary
from whence.engines.local.forest.values import Interner
from whence.model.schema import Column, Relation
from whence.model.types import BIGINT, DOUBLE, INT, STRING, Type, Value
from whence.sources import arrow_rows
from whence.sources import rows as source_rows
from whence.sources.rows import RowSource

# A set, a table with a key, and a bag; names, numbers with gaps, and NULL.
TABLES = """
    CREATE TABLE link(a STRING, b STRING, cost INT, PRIMARY KEY (a, b));
    CREATE TABLE start(a STRING, weight BIGINT);
"""
RULES = """
    reached(x) :- start(x, _).
    reached(y) :- reached(x), link(x, y, _).
    cheapest(x, y, min<c>) :- link(x, y, c).
    cheapest(x, y, min<c + d>) :- link(x, z, c), cheapest(z, y, d), x != y.
    walk(x, w, 0) :- start(x, w).
    walk(y, w, n + 1) :- walk(x, w, n), link(x, y, _), n < 3.
    degree(x, count<y>) :- cheapest(x, y, _).
    safe(x, y) :- link(x, y, _), !start(y, _).
    safe(x, y) :- safe(x, z), link(z, y, _), !start(y, 3), !cheapest(y, _, 1), !reached(z).
    meeting(x, y, min<c>) :- link(x, y, c), !link(y, x, c).
    meeting(x, y, min<c + d>) :- meeting(x, z, c), meeting(z, y, d), !safe(z, _).
"""
VIEWS = ("reached", "cheapest", "walk", "degree", "safe", "meeting")
NAMES = [f"n{at}" for at in range(9)]


@pytest.fixture
def columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything goes by columns, however little there is."""
    monkeypatch.setattr(engine, "ROWS_IN_COLUMNS", 0)
    monkeypatch.setattr(source_rows, "MANY", 1)
    monkeypatch.setattr(arrow_rows, "FEW_ROWS", 1)
    for module, name in ((inputs, "_MANY"), (rows, "_MANY"), (maintainer, "_WORTH_SORTING")):
        monkeypatch.setattr(module, name, 1)


@pytest.mark.usefixtures("columns")
@pytest.mark.parametrize("seed", range(6))
def test_random_commits(seed: int) -> None:
    rng = Random(seed)
    with whence.connect() as ours, whence.connect(engine="reference") as oracle:
        held: dict[str, list[tuple[object, ...]]] = {"link": [], "start": []}
        for db in (ours, oracle):
            db.execute(TABLES)
            db.rules(RULES)
        for _ in range(12):
            table = rng.choice(("link", "start"))
            if held[table] and rng.random() < 0.4:
                verb, changed = "delete", rng.sample(held[table], rng.randint(1, len(held[table])))
                for row in changed:
                    held[table].remove(row)
            else:
                verb, changed = "insert", new_rows(rng, table, held[table])
                held[table] += changed
            if not changed:
                continue
            for db in (ours, oracle):
                if rng.random() < 0.3:
                    db.what_if(**{verb: {table: changed}})
                getattr(db, verb)(table, changed)
            for view in VIEWS:
                assert ours.rows(view) == oracle.rows(view), (seed, verb, table, changed)


def new_rows(rng: Random, table: str, held: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    count = rng.randint(1, 8)
    if table == "start":
        weights = (None, -5, 3, 2**40, 7)
        return [(rng.choice([*NAMES, None]), rng.choice(weights)) for _ in range(count)]
    pairs = {(rng.choice(NAMES), rng.choice(NAMES)) for _ in range(count)} - {row[:2] for row in held}
    return [(a, b, rng.choice((None, 1, 2, 9))) for a, b in sorted(pairs)]


def test_an_arrow_table_enters_like_its_rows() -> None:
    links = [(at, at * 7 % 9_000, at % 13) for at in range(9_000)]
    found = []
    for given in (links, pa.table([pa.array(column) for column in zip(*links, strict=True)], ["a", "b", "c"])):
        with whence.connect() as db:
            db.execute("CREATE TABLE link(a INT NOT NULL, b INT NOT NULL, c INT, PRIMARY KEY (a))")
            db.rules("r(x, y) :- link(x, y, 0). r(x, y) :- r(x, z), link(z, y, c), c < 4.")
            db.insert("link", given)
            db.delete("link", links[::3])
            found.append(db.rows("r"))
    assert found[0] == found[1]
    assert found[0]


def test_what_has_too_few_rows_or_odd_values_is_looked_at_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_rows, "MANY", 3)
    monkeypatch.setattr(arrow_rows, "FEW_ROWS", 1)
    relation = Relation("t", (Column("a", INT), Column("b", STRING, nullable=False)))
    good = [(1, "x"), (None, "y"), (3, "z")]
    whole = RowSource(good).whole(relation)
    assert whole is not None
    assert list(whole) == good
    for odd in ((True, "x"), (1.5, "x"), (2**31, "x"), (1, None), (1, "\ud800"), (1,), {"a": 1, "b": "x"}, "ab"):
        assert RowSource([*good, odd]).whole(relation) is None
    assert RowSource(good[:2]).whole(relation) is None


def test_numbers_that_are_far_apart_are_found_as_well() -> None:
    interner, encodings = Interner(), Encodings()
    cases: list[tuple[Type, list[Value]]] = [
        (BIGINT, [5, -3, None, 2**50, 5]),
        (DOUBLE, [0.5, None, 2.0, 0.5]),
        (STRING, ["a", "b", None, "a"]),
        (BIGINT, [1, 2, 3, 2, 5]),
    ]
    for kind, values in cases:
        encoding = encodings.of(kind)
        vocabulary = Vocabulary(interner, kind)
        for _ in range(2):
            assert interner.decode(vocabulary.ids(encoding, encoding.encode(values))) == values


def test_keys_that_come_and_go_leave_nothing() -> None:
    """A negated key has a node while rows have it, and no longer than the forest is packed after that."""
    with whence.connect() as db:
        db.rules("""
            .decl e(x: number, y: number)
            .decl bad(y: number)
            r(x, y) :- e(x, y).
            r(x, z) :- r(x, y), e(y, z), !bad(z).
        """)
        db.insert("e", [(at, at + 1) for at in range(20)])
        used = []
        for start in range(0, 16_000, 1_000):
            rows = [(1_000 + start + at,) for at in range(1_000)]
            db.insert("bad", rows)
            db.delete("bad", rows)
            used.append(room_used(forest_of(db, "r"))[0])
        assert used[-1] <= max(used[:8])
        db.insert("bad", [(5,)])
        assert (1, 5) not in db.rows("r") and (4, 5) in db.rows("r")
        assert len(db.rows("r")) == 20 * 21 // 2 - 5 * 16 + 16
