"""Questions through the page, and its answers."""

from __future__ import annotations

from typing import Any

from fastapi.testclient import TestClient

from whence.database.database import Database
from whence.web import app


def asked(client: TestClient, kind: str, **question: object) -> dict[str, Any]:
    answer = client.post(f"/api/{kind}", json=question)
    assert answer.status_code == 200, answer.text
    content: dict[str, Any] = answer.json()
    return content


def test_why(client: TestClient) -> None:
    answer = asked(client, "why", relation="reachable", row=["a", "d"])
    assert answer["complete"] is True
    (root,) = answer["roots"]
    assert (root["label"], root["title"], root["kind"]) == ("1", "reachable('a', 'd')", "rule")
    assert "link l JOIN reach r ON l.dst = r.src" in root["rule"]
    assert root["place"].startswith("network.sql:")
    kinds = {step["title"]: step["kind"] for step in root["children"]}
    assert kinds["link('a', 'c', 5)"] == "base" or kinds["link('a', 'b', 1)"] == "base"
    assert answer["text"].startswith("reachable('a', 'd')\n")


def test_why_by_the_names_of_columns(client: TestClient) -> None:
    answer = asked(client, "why", relation="reachable", row={"DST": "c"})
    assert sorted(root["title"] for root in answer["roots"]) == ["reachable('a', 'c')", "reachable('b', 'c')"]


def test_a_proof_is_opened_step_by_step(client: TestClient, db: Database) -> None:
    db.insert("link", [(f"n{at}", f"n{at + 1}", 1) for at in range(30)])
    answer = asked(client, "why", relation="reachable", row=["n0", "n30"])
    step, levels = answer["roots"][0], 0
    while step["all"]:
        if step["children"] is None:
            opened = client.get(f"/api/proofs/{answer['proof']}/step", params={"label": step["label"]})
            assert opened.status_code == 200, opened.text
            step = opened.json()
        step = max(step["children"], key=lambda child: child["all"])
        levels += 1
    assert step["kind"] == "base"
    assert levels == 30


def test_many_members_come_in_parts(client: TestClient, db: Database) -> None:
    db.insert("link", [("hub", f"n{at:03}", at) for at in range(120)])
    answer = asked(client, "why", relation="total", row=["hub", None])
    root = answer["roots"][0]
    assert (root["kind"], root["all"], len(root["children"])) == ("aggregate", 120, 50)
    rest = client.get(f"/api/proofs/{answer['proof']}/step", params={"label": root["label"], "start": 100}).json()
    assert (rest["start"], len(rest["children"])) == (100, 20)


def test_the_forms_of_a_proof(client: TestClient) -> None:
    name = asked(client, "why", relation="open_ends", row=["d"])["proof"]
    picture = client.get(f"/api/proofs/{name}/as/svg")
    assert picture.headers["content-type"] == "image/svg+xml"
    assert picture.text.startswith("<svg")
    assert client.get(f"/api/proofs/{name}/as/dot").text.startswith("digraph")
    assert "absent: closed('d')" in client.get(f"/api/proofs/{name}/as/text").text


def test_what_a_row_rests_on(client: TestClient) -> None:
    name = asked(client, "why", relation="reachable", row=["a", "c"])["proof"]
    supports = client.get(f"/api/proofs/{name}/supports").json()["supports"]
    assert supports == [
        [{"relation": "link", "row": ["a", "c", 5]}],
        [{"relation": "link", "row": ["a", "b", 1]}, {"relation": "link", "row": ["b", "c", 2]}],
    ]
    assert asked(client, "critical", relation="reachable", row=["a", "c"])["rows"] == []
    critical = asked(client, "critical", relation="reachable", row=["a", "d"])["rows"]
    assert critical == [{"relation": "link", "row": ["c", "d", None]}]


def test_why_not(client: TestClient) -> None:
    answer = asked(client, "why-not", relation="reachable", row=["d", "a"])
    assert answer["missing"] is not None
    (missing,) = answer["missing"]
    assert (missing["relation"], missing["row"][:2]) == ("link", ["d", "a"])
    assert "link" in answer["text"]


def test_what_if(client: TestClient, db: Database) -> None:
    before = db.version
    answer = asked(client, "what-if", delete={"link": [["a", "c", "5"]]}, insert={"link": [{"src": "d", "dst": "e"}]})
    changed = {each["relation"]: (each["inserted"], each["deleted"]) for each in answer["relations"]}
    assert changed["link"] == (1, 1)
    assert changed["reachable"] == (4, 0)
    link = next(each for each in answer["relations"] if each["relation"] == "link")
    assert {(*change["row"], change["count"]) for change in link["rows"]} == {("a", "c", 5, -1), ("d", "e", None, 1)}
    assert db.version == before


def test_impact(client: TestClient) -> None:
    answer = asked(client, "impact", relation="link", row=["c", "d", None])
    vanish = {each["relation"]: each["rows"] for each in answer["vanish"]}
    assert sorted(vanish["reachable"]) == [["a", "d"], ["b", "d"], ["c", "d"]]
    assert vanish["open_ends"] == [["d"]]
    assert {"relation": "reachable", "count": 3, "more": False} in answer["depend"]


def test_what_happened_to_a_row(client: TestClient, db: Database) -> None:
    db.delete("link", [("c", "d", None)])
    answer = asked(client, "history", relation="reachable", row=["a", "d"], version=db.version)
    assert answer["came"] is False
    assert answer["causes"] == [{"relation": "link", "row": ["c", "d", None], "count": -1}]
    assert answer["text"].startswith(f"reachable('a', 'd') went in version {db.version}")
    total = asked(client, "history", relation="total", row=["c", None], version=db.version)
    assert "total('c', NULL) went" in total["text"]


def test_sql(client: TestClient) -> None:
    answer = asked(client, "query", sql="SELECT src, count(*) AS ways FROM reachable GROUP BY src ORDER BY src")
    assert [column["name"] for column in answer["columns"]] == ["src", "ways"]
    assert (answer["rows"], answer["more"]) == ([["a", 3], ["b", 2], ["c", 1]], False)


def test_changes_where_they_are_allowed(db: Database) -> None:
    with TestClient(app(db, allow_changes=True), base_url="http://localhost") as client:
        answer = asked(client, "changes", insert={"link": [["d", "e", "7"]]}, delete={"link": [["a", "c", 5]]})
        assert answer["version"] == db.version
        assert ("a", "e") in db.rows("reachable")
        assert ("a", "c", 5) not in db.rows("link")
