"""`/metrics`, read by the parser of Prometheus' own client."""

from __future__ import annotations

from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

import whence
from whence.database.database import Database
from whence.web import app

# By metric, and what it is of.
Samples = dict[tuple[str, str], float]


def samples(client: TestClient) -> Samples:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    every = [each for family in text_string_to_metric_families(answer.text) for each in family.samples]
    return {(each.name, each.labels.get("relation", each.labels.get("name", ""))): each.value for each in every}


def test_rows_and_commits_are_counted(db: Database, client: TestClient) -> None:
    before = samples(client)
    assert before["whence_version", ""] == db.version
    assert before["whence_relation_rows", "link"] == 4
    assert before["whence_relation_rows", "reachable"] == 6
    assert before["whence_relation_waiting", "reachable"] == 0
    commit = db.delete("link", [("c", "d", None)])
    after = samples(client)
    assert after["whence_version", ""] == commit.version
    assert after["whence_relation_rows", "link"] == 3
    assert after["whence_commits_total", ""] == before["whence_commits_total", ""] + 1
    assert after["whence_commit_seconds_total", ""] > before["whence_commit_seconds_total", ""]
    assert after["whence_rows_in_total", ""] == before["whence_rows_in_total", ""] + 1
    for name, value in commit.metrics.items():
        assert after["whence_last_commit", name] == value


def test_a_name_may_have_quotes_and_breaks() -> None:
    name = 'a "b"\\n\nc'
    with whence.connect() as db:
        db.execute(f"CREATE TABLE `{name}`(x INT)")
        with TestClient(app(db), base_url="http://localhost") as client:
            assert samples(client)["whence_relation_rows", name] == 0


def test_it_takes_the_token_as_prometheus_sends_it(db: Database) -> None:
    token = "a-token-of-enough-letters"  # noqa: S105 - of a database in memory
    with TestClient(app(db, token=token), base_url="http://localhost") as client:
        assert client.get("/metrics").status_code == 401
        client.headers["Authorization"] = f"Bearer {token}"
        assert samples(client)["whence_version", ""] == db.version
