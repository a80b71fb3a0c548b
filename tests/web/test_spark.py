"""The page of a database on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient

import whence
from tests.web.conftest import LINKS, PROGRAM
from whence.web import app

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_looking_and_asking(spark: SparkSession) -> None:
    with whence.connect(spark) as db, TestClient(app(db), base_url="http://localhost") as client:
        db.execute(PROGRAM, name="network.sql")
        db.insert("link", LINKS)

        def asked(kind: str, **question: object) -> Any:
            answer = client.post(f"/api/{kind}", json=question)
            assert answer.status_code == 200, answer.text
            return answer.json()

        def rows(where: str) -> Any:
            return client.get("/api/rows", params={"relation": "link", "where": where}).json()

        relations = {each["name"]: each for each in client.get("/api/database").json()["relations"]}
        assert (relations["link"]["size"], relations["link"]["exact"]) == (4, False)
        assert rows('{"km": "2"}') == {"rows": [["b", "c", 2]], "more": False, "shortened": 0}
        assert rows('{"km": null}') == {"rows": [["c", "d", None]], "more": False, "shortened": 0}
        # On the cluster from now on.
        db.insert("link", spark.range(20_000).selectExpr("concat('n', id) src", "concat('m', id) dst", "int(id) km"))
        assert rows('{"src": "n77", "km": 77}') == {"rows": [["n77", "m77", 77]], "more": False, "shortened": 0}
        assert rows('{"km": null}') == {"rows": [["c", "d", None]], "more": False, "shortened": 0}
        assert rows("{}")["more"] is True
        newest = client.get("/api/database").json()["commits"][0]
        counts = {part["relation"]: (part["inserted"], part["rows"]) for part in newest["relations"]}
        assert counts["link"] == (20_000, [])
        assert asked("why", relation="reachable", row=["a", "b"])["roots"][0]["title"] == "reachable('a', 'b')"
        changed = asked("what-if", delete={"link": [["c", "d", None]]})["relations"]
        assert {each["relation"]: each["deleted"] for each in changed}["reachable"] == 3
        assert asked("query", sql="SELECT count(*) AS n FROM link")["rows"] == [[20_004]]


def test_a_query_cannot_call_java(spark: SparkSession) -> None:
    with whence.connect(spark) as db, TestClient(app(db), base_url="http://localhost") as client:
        for name in ("reflect", "java_method", "`try_reflect`", "system.builtin.reflect"):
            answer = client.post("/api/query", json={"sql": f"SELECT {name}('java.lang.System', 'exit', 1)"})
            assert answer.status_code == 400
            assert "which runs methods of Java" in answer.json()["error"]["text"]
        answer = client.post("/api/query", json={"sql": "SELECT * FROM csv.`/etc/passwd`"})
        assert answer.status_code == 404


def test_a_query_reads_nothing_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Nor where a query of WITH, or a relation, has the name that a table of Spark would have."""
    (tmp_path / "secret").write_text("secret")
    files = f"`org.apache.spark.sql.execution.datasources.text.TextFileFormat`.`{tmp_path}/secret`"
    named = files.replace("`", "")
    with whence.connect(spark) as db, TestClient(app(db), base_url="http://localhost") as client:
        db.execute("CREATE TABLE mine(a INT)")
        for status, sql in (
            (404, f"SELECT * FROM {files}"),
            (400, f"WITH `{named}` AS (SELECT 1) SELECT * FROM {files}"),
            (400, f"SELECT * FROM (WITH `{named}` AS (SELECT 1) SELECT * FROM `{named}`), {files}"),
            (400, "WITH other AS (SELECT 1) SELECT * FROM default.other"),
            (404, "SELECT * FROM (WITH other AS (SELECT 1) SELECT * FROM other), other"),
            (404, "WITH other AS (SELECT * FROM other) SELECT * FROM other"),
            (404, "WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a"),
            (200, "WITH a AS (SELECT 1 AS x), b AS (SELECT * FROM a) SELECT * FROM b, (SELECT x FROM A WHERE x = 1)"),
            (400, "SELECT * FROM default.mine"),
            (400, "SELECT * FROM spark_catalog.default.mine"),
        ):
            answer = client.post("/api/query", json={"sql": sql})
            assert answer.status_code == status, answer.text
            assert "Spark cannot answer" not in answer.text


def test_a_query_that_takes_too_long(spark: SparkSession) -> None:
    endless = "SELECT count(*) AS n FROM range(1000000) a, range(1000000) b WHERE (a.id + b.id) % 7 = 3"
    with whence.connect(spark) as db:
        with pytest.raises(whence.EvaluationError, match="the query was stopped after 1 seconds"):
            db.query(endless, timeout=1.0)
        assert db.query("SELECT 1 AS one", timeout=100.0).to_pylist() == [{"one": 1}]
