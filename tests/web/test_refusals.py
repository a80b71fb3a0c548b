"""Questions that cannot be answered get the words of the library, and nothing happens."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from whence.database.database import Database
from whence.web import app
from whence.web.cells import RequestLimits

JSON = {"Content-Type": "application/json"}


def refused(client: TestClient, kind: str, status: int, question: Any) -> str:
    answer = client.post(f"/api/{kind}", json=question)
    assert answer.status_code == status, answer.text
    text: str = answer.json()["error"]["text"]
    return text


WRITING = [
    "INSERT INTO link VALUES ('x', 'y', 1)",
    "DELETE FROM link",
    "DROP TABLE link",
    "CREATE TABLE t(x INT)",
    "UPDATE link SET km = 0",
]


@pytest.mark.parametrize("sql", WRITING)
def test_sql_that_writes(client: TestClient, db: Database, sql: str) -> None:
    before, rows = db.version, db.rows("link")
    text = refused(client, "query", 400, {"sql": sql})
    assert "query only reads: it takes SELECT, WITH or VALUES" in text
    assert f"1 | {sql}" in text and "^" in text
    assert (db.version, db.rows("link")) == (before, rows)


def test_a_second_statement(client: TestClient, db: Database) -> None:
    text = refused(client, "query", 400, {"sql": "SELECT 1; DELETE FROM link"})
    assert "query takes one statement" in text
    assert len(db.rows("link")) == 4


@pytest.mark.parametrize("sql", ["SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM '/etc/passwd'"])
def test_files_are_not_read(client: TestClient, sql: str) -> None:
    answer = client.post("/api/query", json={"sql": sql})
    assert answer.status_code in (400, 404)
    assert "root:" not in answer.text


def test_sql_with_a_mistake_shows_the_place(client: TestClient) -> None:
    text = refused(client, "query", 404, {"sql": "SELECT *\nFROM lnk"})
    assert text == (
        "there is no relation 'lnk'\n --> <query>:2:6\n  |\n2 | FROM lnk\n  |      ^^^\nhint: did you mean 'link'?"
    )


def test_a_query_that_takes_too_long(db: Database) -> None:
    with TestClient(app(db, limits=RequestLimits(seconds=3.0)), base_url="http://localhost") as client:
        numbers = "WITH n AS (SELECT explode(sequence(1, 100000)) AS i)"
        endless = f"{numbers} SELECT count(*) FROM n a, n b, n c WHERE a.i + b.i * c.i = 7"
        text = refused(client, "query", 400, {"sql": endless})
        assert "the query was stopped after 2.4 seconds" in text
        # And the database goes on.
        assert client.post("/api/query", json={"sql": "SELECT 1 AS one"}).json()["rows"] == [[1]]


def test_an_answer_of_many_rows_is_cut(db: Database) -> None:
    with TestClient(app(db, limits=RequestLimits(rows=3)), base_url="http://localhost") as client:
        answer = client.post("/api/query", json={"sql": "SELECT * FROM reachable"}).json()
        assert (len(answer["rows"]), answer["more"]) == (3, True)
        page = client.get("/api/rows", params={"relation": "reachable", "limit": 1_000_000}).json()
        assert (len(page["rows"]), page["more"]) == (3, True)


@pytest.mark.parametrize("kind", ["why", "why-not", "critical", "impact"])
def test_a_view_that_does_not_exist(client: TestClient, kind: str) -> None:
    text = refused(client, kind, 404, {"relation": "reachble", "row": ["a", "b"]})
    assert text == "there is no relation 'reachble'\nhint: did you mean 'reachable'?"


def test_a_row_that_is_not_in_the_view(client: TestClient) -> None:
    text = refused(client, "why", 400, {"relation": "reachable", "row": ["d", "a"]})
    assert "reachable" in text and "'d'" in text


@pytest.mark.parametrize("kind", ["why", "why-not", "impact"])
def test_a_value_of_the_wrong_type(client: TestClient, kind: str) -> None:
    text = refused(client, kind, 400, {"relation": "link", "row": ["a", "b", "far"]})
    assert "'far'" in text and "'km'" in text
    refused(client, kind, 400, {"relation": "link", "row": ["a", "b", {"x": 1}]})
    refused(client, kind, 400, {"relation": "link", "row": [7, "b", 1]})


def test_a_row_of_the_wrong_length(client: TestClient) -> None:
    text = refused(client, "why", 400, {"relation": "link", "row": ["a"]})
    assert text == "'link' has columns 'src', 'dst', 'km', and the row has 1 value"


def test_a_column_that_does_not_exist(client: TestClient) -> None:
    text = refused(client, "why", 404, {"relation": "link", "row": {"sorc": "a"}})
    assert text == "'link' has no column 'sorc'\nhint: did you mean 'src'?"


def test_what_did_not_happen(client: TestClient, db: Database) -> None:
    for version in (db.version + 1, -1, 1):
        question = {"relation": "reachable", "row": ["a", "b"], "version": version}
        answer = client.post("/api/history", json=question)
        assert answer.status_code in (400, 409), answer.text


def test_what_if_of_what_cannot_be(client: TestClient, db: Database) -> None:
    before = db.version
    assert "is a view" in refused(client, "what-if", 400, {"insert": {"reachable": [["x", "y"]]}})
    refused(client, "what-if", 400, {"delete": {"link": [["no", "where", 1]]}})
    refused(client, "what-if", 400, {"insert": {"link": [["a", "b", 9]]}})
    assert db.version == before


def test_changes_are_not_allowed_unless_they_are(client: TestClient, db: Database) -> None:
    text = refused(client, "changes", 403, {"delete": {"link": [["a", "b", 1]]}})
    assert text == "this page only reads\nhint: `whence serve --allow-changes` lets it change rows"
    assert ("a", "b", 1) in db.rows("link")


def test_changes_happen_whole_or_not_at_all(db: Database) -> None:
    with TestClient(app(db, allow_changes=True), base_url="http://localhost") as client:
        before = db.version
        refused(client, "changes", 400, {"insert": {"link": [["x", "y", 1]]}, "delete": {"link": [["no", "no", 1]]}})
        assert db.version == before


MISREAD = [
    (b"", "the question: field required"),
    (b"{", "the body of the request is not JSON"),
    (b"[" * 100_000, ""),
    (b"null", ""),
    (b"{}", "'relation' of the question: field required"),
    (b'{"relation": 5, "row": []}', "relation"),
    (b'{"relation": "link", "row": "a"}', "row"),
    (b'{"relation": "link", "row": ["a", "b", 1], "sql": "x"}', "sql"),
    (b"\xff\xfe", ""),
]


@pytest.mark.parametrize(("body", "part"), MISREAD)
def test_what_is_no_question(client: TestClient, body: bytes, part: str) -> None:
    answer = client.post("/api/why", content=body, headers=JSON)
    assert answer.status_code == 400
    assert part in answer.json()["error"]["text"]


PAGES = ["limit=0", "limit=x", "offset=-1", "where={", "where=[]"]


@pytest.mark.parametrize("query", ["", *(f"relation=link&{part}" for part in PAGES)])
def test_pages_that_there_are_not(client: TestClient, query: str) -> None:
    answer = client.get(f"/api/rows?{query}")
    assert answer.status_code == 400
    assert answer.json()["error"]["text"]


def test_proofs_and_steps_that_there_are_not(client: TestClient) -> None:
    answer = client.get("/api/proofs/nothing/step?label=1")
    assert (answer.status_code, answer.json()["error"]["message"]) == (404, "this proof is not kept any more")
    name = client.post("/api/why", json={"relation": "reachable", "row": ["a", "b"]}).json()["proof"]
    for label in ("9", "1.9", "x", "", "1..1"):
        assert client.get(f"/api/proofs/{name}/step", params={"label": label}).status_code == 404
    assert client.get(f"/api/proofs/{name}/as/html").status_code == 400


def test_old_proofs_are_forgotten(db: Database) -> None:
    with TestClient(app(db, limits=RequestLimits(proofs=2)), base_url="http://localhost") as client:
        question = {"relation": "reachable", "row": ["a", "b"]}
        names = [client.post("/api/why", json=question).json()["proof"] for _ in range(3)]
        statuses = [client.get(f"/api/proofs/{name}/step?label=1").status_code for name in names]
        assert statuses == [404, 200, 200]


def test_addresses_that_there_are_not(client: TestClient) -> None:
    for path in ("/api/nothing", "/nothing.js", "/../pyproject.toml", "/%2e%2e/app.py", "/docs", "/openapi.json"):
        assert client.get(path).status_code == 404
    assert client.delete("/api/database").status_code in (405, 415)


def test_values_that_json_does_not_have(client: TestClient) -> None:
    sql = "SELECT CAST('NaN' AS DOUBLE) AS a, CAST('-Infinity' AS DOUBLE) AS b, repeat('x', 20000) AS c"
    ((nan, infinite, long),) = client.post("/api/query", json={"sql": sql}).json()["rows"]
    assert (nan, infinite, long) == ("nan", "-inf", "x" * 10_000 + "…")
    half = client.post("/api/why", content=b'{"relation": "link\\ud800", "row": ["\\udfff"]}', headers=JSON)
    assert half.status_code == 404
    long = client.post(
        "/api/why", content=b'{"relation": "link", "row": [' + b"9" * 5_000 + b', "b", 1]}', headers=JSON
    )
    assert long.status_code == 400


def test_a_closed_database(client: TestClient, db: Database) -> None:
    db.close()
    answer = client.get("/api/rows", params={"relation": "link"})
    assert answer.status_code == 409
    assert "this database is closed" in answer.json()["error"]["text"]


def test_hints_name_the_boxes_of_the_page(client: TestClient) -> None:
    for question, content, words in (
        ("why", {"relation": "reachable", "row": ["zz", "a"]}, "hint: “Why not?” tells what is missing"),
        ("why-not", {"relation": "reachable", "row": ["a", "b"]}, "hint: “Why?” tells why it is there"),
        ("query", {"sql": "DROP TABLE link"}, "hint: `whence shell` runs statements"),
    ):
        assert words in client.post(f"/api/{question}", json=content).json()["error"]["text"]
