"""Looking at a database: what there is, how much of it, and some of the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whence
from whence.database.database import Database
from whence.errors import DataError, EvaluationError, TypeMismatchError, UnknownNameError

SQL = """
-- A comment above.
CREATE TABLE keyed(x INT PRIMARY KEY, y INT);
CREATE TABLE plain(x INT, y INT);
CREATE VIEW bag AS SELECT y FROM plain;
CREATE VIEW `odd name` AS SELECT x, ';' AS semicolon FROM plain -- not; here
WHERE y = 1;
CREATE VIEW reach AS WITH RECURSIVE r(x, y) AS (
  SELECT x, y FROM plain UNION SELECT p.x, r.y FROM plain p JOIN r ON p.y = r.x) SELECT x, y FROM r;
CREATE VIEW sums AS SELECT x, sum(y) AS total FROM plain GROUP BY x;
"""
ROWS = [(1, 2), (2, 3), (3, 1), (3, 1), (4, None)]
RELATIONS = ("keyed", "plain", "bag", "odd name", "reach", "sums")


def filled(db: Database) -> Database:
    db.execute(SQL, name="some.sql")
    db.insert("plain", ROWS)
    db.insert("keyed", [(1, 1), (2, None)])
    return db


@pytest.mark.parametrize("engine", ["local", "reference"])
@pytest.mark.parametrize("maintenance", ["auto", "recompute"])
def test_pages_together_are_all_rows(engine: str, maintenance: str) -> None:
    with whence.connect(engine=engine, maintenance=maintenance) as opened:
        db = filled(opened)
        for name in RELATIONS:
            pages = [db.page(name, offset=offset, limit=2) for offset in range(0, 20, 2)]
            found = [row for page in pages for row in page]
            assert Counter(found) == Counter(db.rows(name))
            for position, column in enumerate(db.relation(name).column_names):
                for value in {row[position] for row in found} | {None}:
                    matching = {row for row in found if row[position] == value}
                    assert set(db.page(name, {column: value})) == matching
            assert db.page(name, limit=0) == []


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12),
    st.fixed_dictionaries({}, optional={"x": st.integers(0, 4), "y": st.integers(0, 4)}),
    st.integers(0, 5),
    st.integers(0, 5),
)
def test_a_page_is_a_part_of_what_matches(
    rows: list[tuple[int, int]], where: dict[str, int], offset: int, limit: int
) -> None:
    with whence.connect() as db:
        db.execute("CREATE TABLE plain(x INT, y INT)")
        db.rules("reach(x, y) :- plain(x, y). reach(x, y) :- plain(x, z), reach(z, y).")
        db.insert("plain", rows)
        wanted = {
            row for row in db.rows("reach") if all(row["xy".index(name)] == value for name, value in where.items())
        }
        page = db.page("reach", where, offset=offset, limit=limit)
        assert set(page) <= wanted
        assert len(page) == len(set(page)) == max(0, min(limit, len(wanted) - offset))


def test_sizes_count_copies() -> None:
    with whence.connect() as opened:
        db = filled(opened)
        overview = db.overview()
        assert overview.version == db.version
        sizes = {each.relation.name: each.size for each in overview.relations}
        assert sizes == {name: db.table(name).num_rows for name in RELATIONS}
        assert all(each.exact for each in overview.relations)
        assert [each.relation.name for each in overview.relations if each.is_recursive] == ["reach"]


def test_who_reads_whom() -> None:
    with whence.connect() as db:
        db.execute("CREATE TABLE a(x INT); CREATE TABLE b(x INT); CREATE TABLE c(x INT)")
        db.execute(
            "CREATE VIEW v AS SELECT x FROM a WHERE NOT EXISTS (SELECT * FROM b WHERE b.x = a.x) "
            "AND EXISTS (SELECT * FROM c WHERE c.x = a.x)"
        )
        db.rules("w(x) :- a(x), !b(x). w(x) :- b(x), v(x).")
        glances = {each.relation.name: each for each in db.overview().relations}
        assert (set(glances["v"].reads), glances["v"].absent) == ({"a", "b", "c"}, frozenset(("b",)))
        # What is read in both ways is read.
        assert (set(glances["w"].reads), glances["w"].absent) == ({"a", "b", "v"}, frozenset())
        assert glances["a"].reads == ()


def in_memory(tmp_path: Path, make: Callable[[Database], object]) -> Database:
    db = whence.connect()
    make(db)
    return db


def reopened(tmp_path: Path, make: Callable[[Database], object]) -> Database:
    with whence.connect(tmp_path / "state") as db:
        make(db)
    return whence.connect(tmp_path / "state")


@pytest.mark.parametrize("opened", [in_memory, reopened])
def test_definitions_as_they_were_written(
    tmp_path: Path, opened: Callable[[Path, Callable[[Database], object]], Database]
) -> None:
    one = "one(x) :-\n    plain(x, _).\none(x) :- keyed(x, _)."
    two = ".decl two(x: number, n: number)\ntwo(x, n) :- keyed(x, _), n = count : { plain(x, _) }."

    def make(db: Database) -> None:
        filled(db)
        db.rules(f"// Rules.\n{one}\n\n{two}")

    with opened(tmp_path, make) as db:
        assert db.definition("keyed") == "-- A comment above.\nCREATE TABLE keyed(x INT PRIMARY KEY, y INT)"
        assert db.definition("BAG") == "CREATE VIEW bag AS SELECT y FROM plain"
        assert db.definition("odd name").startswith("CREATE VIEW `odd name` AS SELECT x, ';' AS semicolon")
        assert db.definition("odd name").endswith("WHERE y = 1")
        assert db.definition("one") == one
        assert db.definition("two") == two


def test_what_happened() -> None:
    with whence.connect() as opened:
        db = filled(opened)
        before = db.version
        db.delete("plain", [(1, 2)])
        happened = {each.relation: each for each in db.happened(before)}
        assert {each.version for each in happened.values()} == {db.version}
        assert (happened["plain"].inserted, happened["plain"].deleted, happened["plain"].delta) == (0, 1, {(1, 2): -1})
        assert "keyed" not in happened
        assert db.happened(db.version) == []


def test_what_is_known_of_long_ago() -> None:
    with whence.connect(keep_versions=2) as opened:
        db = filled(opened)
        for x in range(10, 15):
            db.insert("keyed", [(x, x)])
        assert [each.version for each in db.happened(0) if each.relation == "keyed"] == [db.version]


def test_a_large_change_comes_without_its_rows() -> None:
    with whence.connect() as db:
        db.execute("CREATE TABLE t(x INT)")
        db.insert("t", [(x,) for x in range(1_001)])
        (happening,) = db.happened(0)
        assert (happening.inserted, happening.delta) == (1_001, None)


def test_what_cannot_be_looked_at() -> None:
    with whence.connect() as opened:
        db = filled(opened)
        with pytest.raises(UnknownNameError, match="there is no relation 'plan'\nhint: did you mean 'plain'"):
            db.page("plan")
        with pytest.raises(UnknownNameError, match="'plain' has no column 'z'\nhint: it has columns 'x', 'y'"):
            db.page("plain", {"z": 1})
        with pytest.raises(DataError, match="'x'"):
            db.page("plain", {"x": "one"})
        with pytest.raises(TypeMismatchError, match="limit is a number of rows, not -1"):
            db.page("plain", limit=-1)
        with pytest.raises(TypeMismatchError, match="offset is a number of rows, not True"):
            db.page("plain", offset=True)
        with pytest.raises(TypeMismatchError, match="where has values by the names of columns, and is no list"):
            db.page("plain", [1])  # type: ignore[arg-type]
        with pytest.raises(UnknownNameError):
            db.definition("nothing")
        with pytest.raises(UnknownNameError):
            db.relation("bag$1")


def test_a_query_with_limits() -> None:
    with whence.connect() as opened:
        db = filled(opened)
        assert db.query("SELECT * FROM reach ORDER BY x, y", limit=2).num_rows == 2
        assert db.query("SELECT * FROM reach", limit=1_000, timeout=100.0).num_rows == len(db.rows("reach"))
        numbers = "WITH n AS (SELECT explode(sequence(1, 100000)) AS i)"
        with pytest.raises(EvaluationError, match="the query was stopped after 1 seconds"):
            db.query(f"{numbers} SELECT count(*) FROM n a, n b, n c WHERE a.i = -b.i * c.i", timeout=1.0)
        assert db.query("SELECT 1 AS one", timeout=100.0).to_pylist() == [{"one": 1}]
