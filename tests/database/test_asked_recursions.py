"""Recursive queries that are asked for one value start with it, and have the same answers."""

from __future__ import annotations

import pytest
import sqlglot

import whence
from whence.session.asked_recursions import with_starts

LEFT = "SELECT src, dst FROM link UNION SELECT r.src, l.dst FROM r JOIN link l ON r.dst = l.src"
ASKED = "SELECT dst FROM r WHERE src = 1"


def text(recursion: str, query: str) -> str:
    return f"WITH RECURSIVE r(src, dst) AS ({recursion}) {query}"


def starts(recursion: str, query: str) -> bool:
    tree = sqlglot.parse_one(text(recursion, query), read="spark")
    return with_starts(tree).sql() != tree.sql()


@pytest.mark.parametrize(
    ("recursion", "query"),
    [
        (LEFT, ASKED),
        (LEFT, "SELECT dst FROM r WHERE dst > 1 AND 1 = r.src"),
        (LEFT, "SELECT a.dst FROM r a JOIN r b ON a.dst = b.dst WHERE a.src = 1 AND b.src = 1"),
        (LEFT, "SELECT count(*) AS n FROM r JOIN link ON r.dst = link.src WHERE r.src = 1"),
        (LEFT.replace("UNION", "UNION ALL").replace("= l.src", "= l.src AND l.dst > r.dst"), ASKED),
        ("SELECT src, dst FROM link UNION SELECT l.src, r.dst FROM link l, r WHERE l.dst = r.src",
         "SELECT src FROM r WHERE dst = 3"),
    ],
)  # fmt: skip
def test_it_starts_with_the_value(recursion: str, query: str) -> None:
    assert starts(recursion, query)
    db, links = whence.connect(), [(1, 2), (2, 3), (3, 1), (3, 4), (5, 1), (None, 1), (1, None)]
    db.execute("CREATE TABLE link(src INT, dst INT)")
    db.insert("link", links)
    found = sorted(map(repr, db.query(text(recursion, query)).to_pylist()))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("whence.session.query.with_starts", lambda tree: tree)
        assert found == sorted(map(repr, db.query(text(recursion, query)).to_pylist()))
    assert found


@pytest.mark.parametrize(
    ("recursion", "query"),
    [
        (LEFT, "SELECT dst FROM r WHERE dst = 1"),
        (LEFT, "SELECT dst FROM r WHERE src = 1 OR dst = 2"),
        (LEFT, "SELECT dst FROM r WHERE src <> 1"),
        (LEFT, "SELECT dst FROM r WHERE src = 1 UNION SELECT dst FROM r"),
        (LEFT, "SELECT a.dst FROM r a JOIN r b ON a.dst = b.dst WHERE a.src = 1 AND b.src = 2"),
        (LEFT, "SELECT link.dst FROM link LEFT JOIN r ON link.dst = r.src WHERE r.src = 1"),
        (LEFT, "SELECT dst FROM r WHERE src = (SELECT max(src) FROM link)"),
        ("SELECT src, dst FROM link UNION SELECT l.src, r.dst FROM link l JOIN r ON l.dst = r.src", ASKED),
        ("SELECT src, dst FROM link UNION SELECT r.dst, r.src FROM r", ASKED),
        ("SELECT src, dst FROM link UNION SELECT l.src, l.dst FROM link l LEFT JOIN r ON r.dst = l.src", ASKED),
        ("SELECT src, dst FROM link UNION SELECT src, max(dst) FROM r GROUP BY src", ASKED),
    ],
)
def test_it_starts_with_all(recursion: str, query: str) -> None:
    assert not starts(recursion, query)
