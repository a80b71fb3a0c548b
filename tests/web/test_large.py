"""A view of a million rows is shown without being loaded."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

import whence
from tests.web.browser import chromium, missing
from whence.database.database import Database
from whence.web import app, serve

NODES = 1_000


@pytest.fixture(scope="module")
def large() -> Iterator[Database]:
    with whence.connect() as db:
        db.rules("""
            .decl link(src: number, dst: number)
            reachable(x, y) :- link(x, y).
            reachable(x, y) :- link(x, z), reachable(z, y).
        """)
        db.insert("link", [(at, (at * step + 1) % NODES) for at in range(NODES) for step in (1, 7)])
        yield db


def test_pages_of_a_million_rows(large: Database) -> None:
    with TestClient(app(large), base_url="http://localhost") as client:
        sizes = {each["name"]: each["size"] for each in client.get("/api/database").json()["relations"]}
        assert sizes["reachable"] == NODES * NODES
        started = time.perf_counter()
        first = client.get("/api/rows", params={"relation": "reachable", "limit": 50})
        last = client.get("/api/rows", params={"relation": "reachable", "limit": 50, "offset": NODES * NODES - 20})
        found = client.get("/api/rows", params={"relation": "reachable", "where": '{"y": 77, "x": "5"}'})
        some = client.get("/api/rows", params={"relation": "reachable", "where": '{"y": 77}', "limit": 10})
        elapsed = time.perf_counter() - started
        assert (len(first.json()["rows"]), first.json()["more"]) == (50, True)
        assert (len(last.json()["rows"]), last.json()["more"]) == (20, False)
        assert (found.json()["rows"], found.json()["more"]) == ([[5, 77]], False)
        assert (len(some.json()["rows"]), some.json()["more"]) == (10, True)
        assert sum(len(answer.content) for answer in (first, last, found, some)) < 10_000
        # To bring all rows takes far longer, on any machine.
        started = time.perf_counter()
        assert len(large.rows("reachable")) == NODES * NODES
        assert elapsed < time.perf_counter() - started


@pytest.mark.skipif(missing() is not None, reason=missing() or "")
def test_in_the_browser(large: Database) -> None:
    with chromium() as window, serve(large, port=0) as page:
        window.open(page.url)
        window.see('#graph [data-name="reachable"]', "1,000,000 rows")
        window.see("#relation .more", "The first 50 rows")
        window.click("#relation .more button")
        window.see("#relation .more", "The first 100 rows")
        window.type('#relation .filters input[aria-label$="x is"]', "5")
        window.type('#relation .filters input[aria-label$="y is"]', "77")
        window.see("#relation .more", "1 row with these values.")
        window.click("#relation td.action button", "why?")
        window.see(".step", "reachable(5, 77)")
        sent = window.run("return performance.getEntriesByType('resource').reduce((sum, e) => sum + e.transferSize, 0)")
        assert isinstance(sent, int) and sent < 500_000
