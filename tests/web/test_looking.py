"""What the page shows of a database before anybody asks."""

from __future__ import annotations

import datetime
import decimal
import json
from typing import Any

from fastapi.testclient import TestClient

import whence
from whence.database.database import Database
from whence.web import app


def relation(content: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in content["relations"] if each["name"] == name)
    return found


def test_relations_with_sizes_and_who_reads_whom(client: TestClient) -> None:
    content = client.get("/api/database").json()
    assert content["title"] == "network.sql"
    assert content["allow_changes"] is False
    assert [each["name"] for each in content["relations"]] == ["link", "closed", "reachable", "open_ends", "total"]
    link = relation(content, "link")
    assert (link["kind"], link["size"], link["exact"], link["key"]) == ("table", 4, True, ["src", "dst"])
    assert link["columns"][2] == {"name": "km", "type": "INT", "nullable": True}
    reachable = relation(content, "reachable")
    assert (reachable["kind"], reachable["reads"], reachable["is_recursive"]) == ("view", ["link"], True)
    open_ends = relation(content, "open_ends")
    assert sorted(open_ends["reads"]) == ["closed", "reachable"]
    assert open_ends["absent"] == ["closed"]


def test_the_last_commits_come_with_it(client: TestClient, db: Database) -> None:
    db.delete("link", [("c", "d", None)])
    newest = client.get("/api/database").json()["commits"][0]
    assert newest["version"] == db.version
    changed = {part["relation"]: (part["inserted"], part["deleted"]) for part in newest["relations"]}
    assert changed == {"link": (0, 1), "reachable": (0, 3), "open_ends": (0, 1), "total": (0, 1)}
    link = next(part for part in newest["relations"] if part["relation"] == "link")
    assert link["rows"] == [{"sign": "-", "row": ["c", "d", None], "whole": True}]


def test_a_database_with_nothing_in_it() -> None:
    with whence.connect() as db, TestClient(app(db), base_url="http://localhost") as client:
        content = client.get("/api/database").json()
        assert (content["version"], content["relations"], content["commits"]) == (0, [], [])


def test_definitions_are_in_the_words_of_the_user(client: TestClient) -> None:
    about = client.get("/api/relation", params={"name": "reachable"}).json()
    assert about["definition"].startswith("-- Who reaches whom.\nCREATE VIEW reachable AS\nWITH RECURSIVE reach")
    assert about["definition"].endswith("SELECT src, dst FROM reach")
    assert "kept by absorption" in about["plan"]


def test_definitions_in_datalog(db: Database, client: TestClient) -> None:
    rules = ".decl pair(x: symbol, y: symbol)\npair(x, y) :- link(x, y, _).\npair(y, x) :- link(x, y, _)."
    db.rules(f"{rules}\nlone(x) :- closed(x).")
    declared = client.get("/api/relation", params={"name": "pair"}).json()["definition"]
    assert declared == rules
    assert client.get("/api/relation", params={"name": "lone"}).json()["definition"] == "lone(x) :- closed(x)."


def test_rows_come_in_pages(client: TestClient) -> None:
    first = client.get("/api/rows", params={"relation": "reachable", "limit": 4}).json()
    second = client.get("/api/rows", params={"relation": "reachable", "limit": 4, "offset": 4}).json()
    assert (len(first["rows"]), first["more"], second["more"]) == (4, True, False)
    assert sorted(first["rows"] + second["rows"]) == [
        ["a", "b"], ["a", "c"], ["a", "d"], ["b", "c"], ["b", "d"], ["c", "d"]
    ]  # fmt: skip


def rows_where(client: TestClient, relation: str, **values: object) -> list[list[object]]:
    answer = client.get("/api/rows", params={"relation": relation, "where": json.dumps(values)})
    assert answer.status_code == 200, answer.text
    found: list[list[object]] = sorted(answer.json()["rows"])
    return found


def test_rows_by_the_values_of_columns(client: TestClient) -> None:
    assert rows_where(client, "reachable", dst="d") == [["a", "d"], ["b", "d"], ["c", "d"]]
    assert rows_where(client, "REACHABLE", SRC="a", dst="d") == [["a", "d"]]
    assert rows_where(client, "link", km="2") == [["b", "c", 2]]
    assert rows_where(client, "link", km=None) == [["c", "d", None]]
    assert rows_where(client, "link", src="nowhere") == []


def test_values_of_every_type() -> None:
    with whence.connect() as db, TestClient(app(db), base_url="http://localhost") as client:
        db.execute(
            "CREATE TABLE t(s STRING, b BIGINT, d DOUBLE, f BOOLEAN, n DECIMAL(10, 2), day DATE, at TIMESTAMP, "
            "many ARRAY<INT>)"
        )
        day, at = datetime.date(2026, 1, 31), datetime.datetime(2026, 1, 31, 12, 30)
        db.insert("t", [("é", 2**60, 1.5, True, decimal.Decimal("12.50"), day, at, [1, 2])])
        (row,) = client.get("/api/rows", params={"relation": "t"}).json()["rows"]
        assert row == ["é", str(2**60), 1.5, True, "12.50", "2026-01-31", "2026-01-31 12:30:00", [1, 2]]
        # What was shown can be asked for as it was shown, or as it was typed.
        names = ("s", "b", "d", "f", "n", "day", "at")
        assert len(rows_where(client, "t", **dict(zip(names, row, strict=False)))) == 1
        assert len(rows_where(client, "t", d="1.5", f="true", n="12.5", at="2026-01-31T12:30:00")) == 1


def test_a_view_that_waits_for_its_function(tmp_path: Any) -> None:
    with whence.connect(tmp_path / "state") as db:
        db.execute("CREATE TABLE t(x INT)")
        db.function("twice", lambda x: 2 * x, returns="INT")
        db.execute("CREATE VIEW doubled AS SELECT twice(x) AS y FROM t")
    with whence.connect(tmp_path / "state") as db, TestClient(app(db), base_url="http://localhost") as client:
        doubled = relation(client.get("/api/database").json(), "doubled")
        assert doubled["size"] is None
        assert "has to be registered again" in doubled["waits"]
        assert client.get("/api/rows", params={"relation": "doubled"}).status_code == 409


def test_metrics_in_the_format_of_prometheus(client: TestClient, db: Database) -> None:
    db.execute('CREATE TABLE `odd "name"`(x INT)')
    answer = client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = answer.text.splitlines()
    assert f"whence_commits_total {db.version}" in lines
    assert 'whence_rows{relation="link",kind="table"} 4' in lines
    assert 'whence_rows{relation="reachable",kind="view"} 6' in lines
    assert r'whence_rows{relation="odd \"name\"",kind="table"} 0' in lines
    names = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert {line.partition(" ")[0].partition("{")[0] for line in lines if not line.startswith("#")} == names
    assert answer.text.endswith("\n")
