"""Views with window functions beside those that change, below them and above them."""

from __future__ import annotations

import whence

TABLE = "CREATE TABLE score(team STRING, points INT)"
RANKED = (
    "CREATE OR REPLACE VIEW ranked AS "
    "SELECT team, points, rank() OVER (PARTITION BY team ORDER BY points {order}) AS n FROM {below}"
)
FIRST = "CREATE OR REPLACE VIEW best AS SELECT team, points FROM ranked WHERE n = 1"
ROWS = [("a", 1), ("a", 3), ("a", 3), ("b", 2), ("b", 5)]


def database(*views: str) -> whence.Database:
    db = whence.connect()
    db.execute(TABLE)
    db.insert("score", ROWS)
    for view in views:
        db.execute(view)
    return db


def test_a_window_is_defined_otherwise() -> None:
    up, down = (RANKED.format(order=order, below="score") for order in ("ASC", "DESC"))
    with database(up, FIRST) as db, database(down, FIRST) as fresh:
        assert "ranked: rebuilt, since it has window functions" in str(db.preview(down))
        db.execute(down)
        assert db.table("ranked").equals(fresh.table("ranked"))
        assert db.table("best").equals(fresh.table("best"))
        db.delete("score", [("b", 5)])
        assert db.rows("best") == {("a", 3), ("b", 2)}


def test_what_a_window_reads_is_defined_otherwise() -> None:
    few, more = (
        "CREATE OR REPLACE VIEW below AS SELECT * FROM score WHERE points > 2",
        "CREATE OR REPLACE VIEW below AS SELECT * FROM score WHERE points > 1",
    )
    ranked = RANKED.format(order="ASC", below="below")
    with database(few, ranked, FIRST) as db, database(more, ranked, FIRST) as fresh:
        with db.redefine() as change:
            change.execute(more)
            change.insert("score", [("b", 2)])
        fresh.insert("score", [("b", 2)])
        for view in ("below", "ranked", "best"):
            assert db.table(view).equals(fresh.table(view))


def test_a_part_of_a_view_that_cannot_be_null_any_more() -> None:
    """What serves a view is made anew with it, whatever it was for the former one."""
    with whence.connect() as db:
        db.execute("CREATE TABLE post(id INT, tags ARRAY<STRING>)")
        db.insert("post", [(1, ("a", "b")), (None, ("c",))])
        db.execute("CREATE VIEW tag AS SELECT id, explode(tags) AS tag FROM post")
        db.execute("CREATE OR REPLACE VIEW tag AS SELECT id, explode(tags) AS tag FROM post WHERE id < 20")
        assert db.rows("tag") == {(1, "a"), (1, "b")}
