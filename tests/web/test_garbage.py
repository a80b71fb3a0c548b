"""Whatever is asked, the answer is one: the page never fails, and nothing changes."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whence
from tests.web.conftest import LINKS, PROGRAM
from whence.database.database import Database
from whence.web import app

NAMES = st.sampled_from(["link", "closed", "reachable", "open_ends", "total", "LINK", "reach", "link$1", "", "é"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.sampled_from(["a", "b", "c", "d", "1", "5", "NULL", "nan", "1e400", "-0", "\x00", "\ud800"]),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
)
ROWS = st.one_of(
    st.lists(SCALARS, max_size=4),
    st.lists(VALUES, max_size=4),
    st.dictionaries(st.sampled_from(["src", "dst", "km", "name", "SRC", "x"]), VALUES, max_size=3),
)
ABOUT_ROWS = st.fixed_dictionaries({"relation": NAMES, "row": ROWS})
CHANGES = st.dictionaries(NAMES, st.lists(ROWS, max_size=2), max_size=2)


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Database, TestClient]]:
    with whence.connect() as db:
        db.execute(PROGRAM, name="network.sql")
        db.insert("link", LINKS)
        with TestClient(app(db), base_url="http://localhost") as client:
            yield db, client


def answered(shared: tuple[Database, TestClient], kind: str, question: object) -> None:
    db, client = shared
    before, rows = db.version, db.rows("link")
    # Written by the standard library, which also writes half a character.
    answer = client.post(f"/api/{kind}", content=json.dumps(question), headers={"Content-Type": "application/json"})
    assert answer.status_code in (200, 400, 404, 409), answer.text
    if answer.status_code != 200:
        assert answer.json()["error"]["text"]
    assert (db.version, db.rows("link")) == (before, rows)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(["why", "why-not", "critical", "impact"]), question=ABOUT_ROWS)
def test_questions_about_rows(shared: tuple[Database, TestClient], kind: str, question: object) -> None:
    answered(shared, kind, question)


@settings(max_examples=60)
@given(question=ABOUT_ROWS, version=st.integers(-2, 12))
def test_questions_about_commits(
    shared: tuple[Database, TestClient], question: dict[str, object], version: int
) -> None:
    answered(shared, "history", {**question, "version": version})


@settings(max_examples=60)
@given(st.fixed_dictionaries({}, optional={"insert": CHANGES, "delete": CHANGES}))
def test_questions_about_changes(shared: tuple[Database, TestClient], question: object) -> None:
    answered(shared, "what-if", question)


@settings(max_examples=60)
@given(kind=st.sampled_from(["why", "what-if", "query", "history"]), question=VALUES)
def test_what_is_no_question(shared: tuple[Database, TestClient], kind: str, question: object) -> None:
    answered(shared, kind, question)


WORDS = "SELECT * FROM link WHERE src = 'a' , ( ) ; DELETE INSERT VALUES WITH reachable km / 0 -- \" ` UNION NULL"


@settings(max_examples=100)
@given(st.one_of(st.text(max_size=30), st.lists(st.sampled_from(WORDS.split()), max_size=8).map(" ".join)))
def test_sql(shared: tuple[Database, TestClient], sql: str) -> None:
    answered(shared, "query", {"sql": sql})


@settings(max_examples=60)
@given(relation=NAMES, where=st.text(max_size=10) | ROWS.map(str), offset=st.integers(-1, 5))
def test_pages(shared: tuple[Database, TestClient], relation: str, where: str, offset: int) -> None:
    _, client = shared
    answer = client.get("/api/rows", params={"relation": relation, "where": where, "offset": offset})
    assert answer.status_code in (200, 400, 404), answer.text
