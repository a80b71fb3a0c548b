"""upsert, update and delete by key: rows of a table with a key are told by it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import whence
from whence.model.updates import Commit

HOURS = [("a", 1, 10), ("a", 2, 20), ("b", 1, 30)]


@pytest.fixture(params=["local", "reference"])
def db(request: pytest.FixtureRequest) -> whence.Database:
    db = whence.connect(engine=request.param)
    db.execute("""
      CREATE TABLE city(name STRING PRIMARY KEY, country STRING NOT NULL, people INT);
      CREATE TABLE hour(n INT, v INT, host STRING, PRIMARY KEY (host, n));
      CREATE TABLE pair(a INT, b INT, PRIMARY KEY (b, a));
      CREATE TABLE road(src STRING, dst STRING);
      CREATE VIEW total AS SELECT country, sum(people) AS people FROM city GROUP BY country;
    """)
    db.insert("city", [("Oslo", "NO", 700), ("Bergen", "NO", 290)])
    db.insert("hour", [{"host": host, "n": n, "v": v} for host, n, v in HOURS])
    db.insert("pair", [(1, 2), (2, 1)])
    return db


def changed(commit: Commit) -> tuple[Mapping[str, int], Mapping[str, int]]:
    return commit.inserted, commit.deleted


class TestUpsert:
    def test_new_taken_and_equal(self, db: whence.Database) -> None:
        commit = db.upsert("city", [("Oslo", "NO", 701), ("Bergen", "NO", 290), ("Malmo", "SE", 350)])
        assert changed(commit) == ({"city": 2, "total": 2}, {"city": 1, "total": 1})
        assert db.rows("city") == {("Oslo", "NO", 701), ("Bergen", "NO", 290), ("Malmo", "SE", 350)}
        assert db.rows("total") == {("NO", 991), ("SE", 350)}

    def test_the_last_of_one_key_stays(self, db: whence.Database) -> None:
        db.upsert("city", iter([("Oslo", "NO", 1), ("Oslo", "NO", 2), {"name": "Oslo", "people": 3, "country": "DK"}]))
        assert db.rows("city") == {("Oslo", "DK", 3), ("Bergen", "NO", 290)}

    def test_of_columns(self, db: whence.Database) -> None:
        db.upsert("hour", pa.table({"host": ["a", "c"], "v": [11, 40], "n": [1, 1]}))
        assert db.rows("hour") == {(1, 11, "a"), (2, 20, "a"), (1, 30, "b"), (1, 40, "c")}

    def test_nothing_is_upserted(self, db: whence.Database) -> None:
        assert changed(db.upsert("city", [])) == ({}, {})

    def test_a_wrong_row_leaves_all_as_it_was(self, db: whence.Database) -> None:
        before = db.rows("city")
        with pytest.raises(whence.DataError, match="column 'country' is NOT NULL"):
            db.upsert("city", [("Oslo", "NO", 1), ("Malmo", None, 1)])
        assert db.rows("city") == before

    def test_without_a_key(self, db: whence.Database) -> None:
        with pytest.raises(whence.UnsupportedError) as caught:
            db.upsert("road", [("a", "b")])
        assert str(caught.value) == (
            "'road' has no key, so that no row can take the place of another\n"
            "hint: give the table a PRIMARY KEY, or delete the row and insert another in one db.batch()"
        )


class TestDelete:
    @pytest.mark.parametrize(
        "keys",
        [
            [("a", 2)],
            [["a", 2]],
            [{"host": "a", "n": 2}],
            [{"N": 2, "HOST": "a"}],
            (("a", 2),),
            pa.table({"n": [2], "host": ["a"]}),
            [{"host": "a", "n": 2, "v": 20}],
            [(2, 20, "a")],
        ],
    )
    def test_by_key_or_row(self, db: whence.Database, keys: Any) -> None:
        assert changed(db.delete("hour", keys)) == ({}, {"hour": 1})
        assert db.rows("hour") == {(1, 10, "a"), (1, 30, "b")}

    def test_by_an_iterator(self, db: whence.Database) -> None:
        assert changed(db.delete("hour", iter([("a", 2)]))) == ({}, {"hour": 1})

    def test_where_the_key_is_the_row_a_tuple_is_a_row(self, db: whence.Database) -> None:
        db.delete("pair", [(1, 2)])
        assert db.rows("pair") == {(2, 1)}

    def test_missing(self, db: whence.Database) -> None:
        with pytest.raises(whence.DataError) as caught:
            db.delete("hour", [("a", 1), ("z", 9)])
        assert str(caught.value) == (
            "rows[1] is the key of no row of 'hour', so none can be deleted: ('z', 9)\n"
            'hint: missing="ignore" passes over rows that are not there'
        )
        assert len(db.rows("hour")) == 3
        db.delete("hour", [("a", 1), ("z", 9), ("a", 1)], missing="ignore")
        assert db.rows("hour") == {(2, 20, "a"), (1, 30, "b")}

    def test_a_key_twice(self, db: whence.Database) -> None:
        with pytest.raises(whence.DataError, match=r"rows\[1\] is the key of no row"):
            db.delete("city", [("Oslo",), ("Oslo",)])

    def test_keys_and_rows_are_not_mixed(self, db: whence.Database) -> None:
        with pytest.raises(whence.DataError, match=r"and rows\[0\] has 1 value"):
            db.delete("city", [("Oslo",), ("Bergen", "NO", 290)])

    def test_without_a_key_a_short_tuple_is_too_short(self, db: whence.Database) -> None:
        with pytest.raises(whence.DataError, match=r"rows\[0\] has 1 value"):
            db.delete("road", [("a",)])

    def test_what_if(self, db: whence.Database) -> None:
        assert db.what_if(delete={"city": [("Oslo",)]}).changes["total"] == {("NO", 990): -1, ("NO", 290): 1}


class TestUpdate:
    @pytest.mark.parametrize("key", ["Oslo", ("Oslo",), ["Oslo"], {"name": "Oslo"}, {"Name": "Oslo"}], ids=str)
    def test_forms_of_a_key(self, db: whence.Database, key: object) -> None:
        assert changed(db.update("city", key, {"PEOPLE": 5})) == ({"city": 1, "total": 1}, {"city": 1, "total": 1})
        assert db.rows("city") == {("Oslo", "NO", 5), ("Bergen", "NO", 290)}

    def test_a_long_key_is_in_its_own_order(self, db: whence.Database) -> None:
        db.update("hour", ("a", 2), {"v": 21, "n": 3})
        assert db.rows("hour") == {(1, 10, "a"), (3, 21, "a"), (1, 30, "b")}

    def test_equal_values_are_no_change(self, db: whence.Database) -> None:
        assert changed(db.update("city", "Oslo", {"people": 700})) == ({}, {})

    @pytest.mark.parametrize(
        ("key", "values", "message"),
        [
            ("Rome", {"people": 1}, "key is the key of no row of 'city', so none can be updated: ('Rome',)"),
            ("Oslo", {"peopel": 1}, "'city' has no column 'peopel'"),
            ("Oslo", {"people": "x"}, "column 'people' is INT, and 'x' does not fit"),
            ("Oslo", {"country": None}, "column 'country' is NOT NULL, and the value is NULL"),
            ("Oslo", {"name": "Bergen"}, "the updated row has the key of another row of 'city', column 'name'"),
            ("Oslo", {"people": 1, "People": 2}, "column 'people' of 'city' is set twice"),
            ("Oslo", [1], "the new values of a row of 'city' are a dict, not a list"),
            (("Oslo", "NO"), {"people": 1}, "'city' has column 'name', and rows[0] has 2 values"),
            (7, {"people": 1}, "column 'name' is STRING, and 7 does not fit"),
        ],
    )
    def test_refusals(self, db: whence.Database, key: object, values: Any, message: str) -> None:
        before = db.rows("city"), db.version
        with pytest.raises(whence.DataError) as caught:
            db.update("city", key, values)
        assert message in str(caught.value)
        assert (db.rows("city"), db.version) == before

    def test_missing_is_ignored(self, db: whence.Database) -> None:
        assert changed(db.update("city", "Rome", {"people": 1}, missing="ignore")) == ({}, {})

    def test_without_a_key(self, db: whence.Database) -> None:
        with pytest.raises(whence.UnsupportedError, match="'road' has no key, so that no row is found by one"):
            db.update("road", "a", {"dst": "b"})


def test_in_a_batch_each_change_sees_those_before(db: whence.Database) -> None:
    with db.batch() as batch:
        batch.insert("city", [("Malmo", "SE", 350)])
        batch.update("city", "Malmo", {"people": 351})
        batch.upsert("city", [("Malmo", "SE", 352), ("Oslo", "NO", 1)])
        batch.delete("city", [("Oslo",), ("Bergen",)])
        batch.update("city", "Malmo", {"name": "Oslo"})
    assert batch.commit is not None
    assert changed(batch.commit) == ({"city": 1, "total": 1}, {"city": 2, "total": 1})
    assert db.rows("city") == {("Oslo", "SE", 352)}


@pytest.mark.parametrize("seed", range(3))
def test_at_random_as_a_dict_does(seed: int) -> None:
    """Also where rows are in columns."""
    rng = Random(seed)
    db = whence.connect()
    db.execute(
        "CREATE TABLE t(k INT PRIMARY KEY, v INT); CREATE VIEW s AS SELECT v % 7 AS g, sum(k) AS n FROM t GROUP BY 1"
    )
    expected: dict[int, int] = {}
    for size in (5, 8_000, 3, 4_000, 1):
        rows = {rng.randrange(10_000): rng.randrange(50) for _ in range(size)}
        table = pa.table({"k": pa.array(rows, pa.int32()), "v": pa.array(rows.values(), pa.int32())})
        db.upsert("t", rng.choice((table, list(rows.items()))))
        expected |= rows
        gone = rng.sample(sorted(expected), len(expected) // 4)
        db.delete("t", [(k,) for k in gone])
        for k in gone:
            del expected[k]
        some = rng.choice(sorted(expected))
        db.update("t", some, {"v": -1})
        expected[some] = -1
        assert db.rows("t") == set(expected.items())
    sums = {group: sum(k for k, v in expected.items() if math.fmod(v, 7) == group) for group in range(-1, 7)}
    assert db.rows("s") == {(group, n) for group, n in sums.items() if n}
