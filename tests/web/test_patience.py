"""Questions that would take for ever: there is an answer in time, and the next question gets its own."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

import whence
from whence.database.database import Database
from whence.deadline import time_limit
from whence.lab.strategies import connect
from whence.web import app
from whence.web.cells import RequestLimits

SECONDS = 4.0
# On a machine that has other things to do.
PATIENCE = 15.0

RULES = """
.decl go(x: number)
.decl node(x: number)
.decl link(x: number, y: number)

// One row of `go` makes some hundred million of each.
joined(x, y, z) :- go(_), node(x), node(y), node(z).
pair(x, y) :- go(_), node(x), node(y).
pair(x, z) :- pair(x, y), pair(y, z).
far(x, y, min<x + y>) :- go(_), node(x), node(y).
far(x, z, min<km + 1>) :- far(x, y, km), link(y, z).

// More ways than anybody can count.
way(x, y) :- link(x, y).
way(x, z) :- way(x, y), link(y, z).

// With a negation, what matters is told by trying.
alone(x) :- node(x), !way(0, x).
count(count<*>) :- alone(_).
"""


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with whence.connect() as db:
        db.rules(RULES)
        db.insert("node", [(x,) for x in range(1_000)])
        db.insert("link", [(x, x + step) for x in range(300) for step in range(1, 10)])
        # What is asked for the first time on a machine is compiled first, and nothing can be done meanwhile.
        db.impact("link", (0, 1))
        db.impact("node", (0,))
        db.what_if(delete={"link": [(0, 1)]})
        yield db


@pytest.fixture
def client(db: Database) -> Iterator[TestClient]:
    with TestClient(app(db, limits=RequestLimits(seconds=SECONDS)), base_url="http://localhost") as client:
        yield client


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("what-if", {"insert": {"go": [[1]]}}),
        ("why-not", {"relation": "joined", "row": [1, 2, 3]}),
        ("why-not", {"relation": "pair", "row": [1, 2]}),
        ("why-not", {"relation": "far", "row": [1, 2, 3]}),
        ("why", {"relation": "count", "row": [None]}),
        ("critical", {"relation": "count", "row": [None]}),
        ("critical", {"relation": "way", "row": [0, 300]}),
        ("impact", {"relation": "node", "row": [None]}),
        ("impact", {"relation": "link", "row": [None, None]}),
        ("history", {"relation": "way", "row": [0, 300], "version": 3}),
    ],
)
def test_there_is_an_answer_in_time(
    client: TestClient, db: Database, question: str, content: dict[str, object]
) -> None:
    started = time.monotonic()
    answer = client.post(f"/api/{question}", json=content)
    assert time.monotonic() - started < PATIENCE
    assert answer.status_code in (200, 400, 504), answer.text
    if answer.status_code == 504:
        assert answer.json()["error"]["message"].startswith("there is no answer within 4 seconds")
    assert client.get("/api/rows", params={"relation": "link", "limit": 1}).status_code == 200
    changed = client.post("/api/what-if", json={"insert": {"link": [[400, 401]]}})
    assert [each["relation"] for each in changed.json()["relations"]] == ["link", "way"]
    assert not db.rows("pair") and not db.rows("joined")


def test_supports_are_those_that_were_found_in_time(client: TestClient) -> None:
    proof = client.post("/api/why", json={"relation": "way", "row": [0, 300]}).json()["proof"]
    started = time.monotonic()
    assert client.get(f"/api/proofs/{proof}/supports").json()["supports"]
    assert time.monotonic() - started < PATIENCE


def ask_without_end(db: Database, seconds: float) -> None:
    with time_limit(seconds):
        while True:
            db.what_if(insert={"go": [(1,)]}, delete={"link": [(3, 4)]})


def test_what_was_given_up_has_not_happened(db: Database) -> None:
    """Under every strategy, and at every moment."""
    for maintenance in ("auto", "dred", "relative"):
        with connect(maintenance) as small:
            small.rules(RULES)
            small.insert("node", [(x,) for x in range(40)])
            small.insert("link", [(x, x + 1) for x in range(20)])
            before = {name: small.rows(name) for name in small.catalog().relations}
            for milliseconds in (1, 3, 10, 30, 100):
                with pytest.raises(whence.OutOfTimeError):
                    ask_without_end(small, milliseconds / 1000)
                assert {name: small.rows(name) for name in before} == before
            small.insert("go", [(1,)])
            assert len(small.rows("joined")) == 40**3 and len(small.rows("pair")) == len(small.rows("far")) == 40**2


def test_a_commit_is_never_given_up(db: Database) -> None:
    with pytest.raises(whence.OutOfTimeError):
        ask_without_end(db, 0.01)
    with whence.connect() as small, time_limit(0.05):
        small.rules(RULES)
        small.insert("node", [(x,) for x in range(60)])
        small.insert("go", [(1,)])
        assert len(small.rows("joined")) == 60**3
