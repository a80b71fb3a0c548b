"""A small network, and its page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

import whence
from whence.database.database import Database
from whence.web import app

PROGRAM = """
-- Cables, one way each.
CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, km INT, PRIMARY KEY (src, dst));
CREATE TABLE closed(name STRING PRIMARY KEY);

-- Who reaches whom.
CREATE VIEW reachable AS
WITH RECURSIVE reach(src, dst) AS (
  SELECT src, dst FROM link UNION SELECT l.src, r.dst FROM link l JOIN reach r ON l.dst = r.src)
SELECT src, dst FROM reach;

CREATE VIEW open_ends AS
SELECT DISTINCT dst FROM reachable WHERE NOT EXISTS (SELECT * FROM closed WHERE name = dst);

CREATE VIEW total AS SELECT src, sum(km) AS km FROM link GROUP BY src;
"""
LINKS = [("a", "b", 1), ("b", "c", 2), ("a", "c", 5), ("c", "d", None)]


@pytest.fixture
def db() -> Iterator[Database]:
    with whence.connect() as made:
        made.execute(PROGRAM, name="network.sql")
        made.insert("link", LINKS)
        yield made


@pytest.fixture
def client(db: Database) -> Iterator[TestClient]:
    with TestClient(app(db, title="network.sql"), base_url="http://localhost:8753") as made:
        yield made
