"""The door: rows that fit come in, whole commits of rows that do not are refused."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

import whence


@pytest.fixture
def db() -> Iterator[whence.Database]:
    with whence.connect() as opened:
        opened.execute("CREATE TABLE link(src STRING NOT NULL, dst STRING, cost INT)")
        opened.execute("CREATE TABLE person(id INT PRIMARY KEY, name STRING)")
        yield opened


def refusal(db: whence.Database, relation: object, rows: object) -> str:
    """What the error says; nothing has been inserted."""
    version = db.version
    with pytest.raises(whence.DataError) as caught:
        db.insert(relation, rows)  # type: ignore[arg-type]
    assert db.version == version
    assert db.rows("link") == db.rows("person") == set()
    return str(caught.value)


class TestForms:
    def test_tuples_lists_and_dicts(self, db: whence.Database) -> None:
        db.insert("link", [("a", "b", 1), ["b", "c", 2], {"cost": 3, "SRC": "c", "dst": None}])
        assert db.rows("link") == {("a", "b", 1), ("b", "c", 2), ("c", None, 3)}

    def test_a_generator(self, db: whence.Database) -> None:
        assert db.insert("link", (("a", "b", i) for i in range(3))).inserted == {"link": 3}

    def test_rows_that_are_made_from_the_database(self, db: whence.Database) -> None:
        db.insert("link", [("a", "b", 1)])
        db.insert("link", ((dst, src, cost) for src, dst, cost in db.rows("link")))
        assert db.rows("link") == {("a", "b", 1), ("b", "a", 1)}

    def test_nothing(self, db: whence.Database) -> None:
        commit = db.insert("link", [])
        assert (commit.version, commit.inserted, commit.deleted) == (3, {}, {})

    def test_an_arrow_table(self, db: whence.Database) -> None:
        table = pa.table({"cost": pa.array([1, None], pa.int8()), "src": ["a", "b"], "dst": ["b", None]})
        db.insert("link", table)
        db.insert("link", table.slice(0, 1).to_batches()[0])
        assert db.table("link").to_pylist() == [
            {"src": "a", "dst": "b", "cost": 1},
            {"src": "a", "dst": "b", "cost": 1},
            {"src": "b", "dst": None, "cost": None},
        ]

    def test_a_data_frame(self, db: whence.Database) -> None:
        frame = pd.DataFrame({"src": ["a", "b", "c"], "dst": ["b", None, "d"], "cost": [1, 2, None]})
        db.insert("link", frame[frame.src != "a"])
        assert db.rows("link") == {("b", None, 2), ("c", "d", None)}

    def test_a_data_frame_with_fractions_for_integers(self, db: whence.Database) -> None:
        frame = pd.DataFrame({"src": ["a"], "dst": ["b"], "cost": [1.5]})
        assert "column 'cost' must be INT" in refusal(db, "link", frame)

    def test_arrow_columns_are_checked_by_name(self, db: whence.Database) -> None:
        message = refusal(db, "link", pa.table({"src": ["a"], "dest": ["b"], "cost": [1]}))
        assert "'link' has no column 'dest', which is in the table for 'link'" in message
        assert "hint: did you mean 'dst'?" in message

    def test_arrow_values_are_checked_too(self, db: whence.Database) -> None:
        message = refusal(db, "link", pa.table({"src": ["a", "b"], "dst": ["b", "c"], "cost": [1, 2**40]}))
        assert "in rows[1] for 'link': ('b', 'c', 1099511627776)" in message

    def test_every_type(self) -> None:
        db = whence.connect()
        db.execute(
            "CREATE TABLE t(s STRING, i INT, b BIGINT, d DOUBLE, n DECIMAL(10,2), f BOOLEAN, day DATE, at TIMESTAMP, "
            "a ARRAY<INT>)"
        )
        day, moment = datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3, 4, 5)
        db.insert("t", [("x", 1, 2**40, -0.0, Decimal("1.5"), True, day, moment, [1, None])])
        row = ("x", 1, 2**40, 0.0, Decimal("1.50"), True, day, moment, (1, None))
        assert db.rows("t") == {row}
        db.insert("t", db.table("t"))
        assert (db.rows("t"), db.table("t").num_rows) == ({row}, 2)


class TestRefusals:
    def test_one_row_instead_of_a_list(self, db: whence.Database) -> None:
        message = refusal(db, "link", ("a", "b", 1))
        assert "rows for 'link' must be tuples or dicts, and rows[0] is the str 'a'" in message
        assert "hint: one row is a list of one row: [('a', 'b', 1)]" in message

    def test_one_dict_instead_of_a_list(self, db: whence.Database) -> None:
        message = refusal(db, "link", {"src": "a", "dst": "b", "cost": 1})
        assert "rows for 'link' must be a list of rows, not a dict" in message
        assert "hint: one row is a list of one row: [{'src': 'a'" in message

    @pytest.mark.parametrize(
        ("rows", "kind"), [("abc", "the str 'abc'"), (5, "the int 5"), (None, "None"), (b"x", "a bytes")]
    )
    def test_no_rows_at_all(self, db: whence.Database, rows: object, kind: str) -> None:
        message = refusal(db, "link", rows)
        assert f"rows for 'link' must be a list of rows, not {kind}" in message
        assert "hint: write [(src, dst, cost), ...]" in message

    def test_values_instead_of_rows(self, db: whence.Database) -> None:
        assert "rows[0] is the int 1" in refusal(db, "person", [1, 2, 3])

    def test_too_few_values(self, db: whence.Database) -> None:
        message = refusal(db, "link", [("a", "b", 1), ("a",)])
        assert message == "'link' has columns 'src', 'dst', 'cost', and rows[1] has 1 value: ('a',)"

    def test_a_value_of_the_wrong_type(self, db: whence.Database) -> None:
        message = refusal(db, "link", [("a", "b", 1), ("a", "b", "two")])
        assert message.startswith("column 'cost' is INT, and 'two' does not fit")
        assert "in rows[1] for 'link': ('a', 'b', 'two')" in message

    def test_null_where_there_is_none(self, db: whence.Database) -> None:
        assert "column 'src' is NOT NULL" in refusal(db, "link", [(None, "b", 1)])

    def test_a_column_that_does_not_exist(self, db: whence.Database) -> None:
        message = refusal(db, "link", [{"src": "a", "dst": "b", "cots": 1}])
        assert "'link' has no column 'cots', which is in rows[0] for 'link'" in message
        assert "hint: did you mean 'cost'?" in message

    def test_a_column_that_is_missing(self, db: whence.Database) -> None:
        message = refusal(db, "link", [{"src": "a", "dst": "b", "cost": 1}, {"src": "a"}])
        assert "rows[1] for 'link' lacks columns 'dst', 'cost'" in message

    def test_a_column_that_comes_twice(self, db: whence.Database) -> None:
        message = refusal(db, "link", [{"src": "a", "dst": "b", "DST": "c", "cost": 1}])
        assert "column 'dst' comes twice in rows[0] for 'link'" in message

    def test_a_long_row_is_shown_short(self, db: whence.Database) -> None:
        assert len(refusal(db, "link", [("a" * 10_000, "b" * 10_000, "c" * 10_000)])) < 600

    def test_an_unknown_relation(self, db: whence.Database) -> None:
        with pytest.raises(whence.UnknownNameError, match="there is no relation 'lnik'") as caught:
            db.insert("lnik", [(1,)])
        assert "hint: did you mean 'link'?" in str(caught.value)

    def test_a_relation_without_a_name(self, db: whence.Database) -> None:
        with pytest.raises(whence.UnknownNameError, match="a relation goes by a name, not by a int"):
            db.rows(5)  # type: ignore[arg-type]

    def test_an_empty_database_says_what_to_do(self) -> None:
        with pytest.raises(whence.UnknownNameError, match="create a table first"):
            whence.connect().rows("link")

    def test_a_view_takes_no_rows(self, db: whence.Database) -> None:
        db.execute("CREATE VIEW v AS SELECT src FROM link; CREATE VIEW w AS SELECT src FROM v")
        for change in (db.insert, db.delete):
            with pytest.raises(whence.DataError, match="'w' is a view, and its rows follow from") as caught:
                change("w", [("a",)])
            assert "hint: change the tables it reads: link" in str(caught.value)


class TestKeys:
    def test_a_key_is_not_null(self, db: whence.Database) -> None:
        assert "column 'id' is NOT NULL" in refusal(db, "person", [(None, "Ann")])

    def test_a_key_has_one_row(self, db: whence.Database) -> None:
        message = refusal(db, "person", [(1, "Ann"), (2, "Bob"), (1, "Ida")])
        assert "rows[2] has the key of another row of 'person', column 'id': (1, 'Ida')" in message
        assert "note: the row with that key is (1, 'Ann')" in message
        assert "hint: delete that row first; in the same batch the two make an update" in message

    def test_the_row_may_be_there_already(self, db: whence.Database) -> None:
        db.insert("person", [(1, "Ann")])
        with pytest.raises(whence.DataError, match=r"the row with that key is \(1, 'Ann'\)"):
            db.insert("person", [(1, "Ida")])

    def test_the_same_row_again_changes_nothing(self, db: whence.Database) -> None:
        db.insert("person", [(1, "Ann"), (1, "Ann")])
        assert db.insert("person", [(1, "Ann")]).inserted == {}
        assert db.table("person").num_rows == 1

    def test_a_key_that_was_deleted_is_free(self, db: whence.Database) -> None:
        db.insert("person", [(1, "Ann")])
        db.delete("person", [(1, "Ann")])
        db.insert("person", [(1, "Ida")])
        assert db.rows("person") == {(1, "Ida")}


class TestBagsAndSets:
    def test_a_bag_keeps_copies(self, db: whence.Database) -> None:
        commit = db.insert("link", [("a", "b", 1)] * 3)
        assert (commit.inserted, db.table("link").num_rows) == ({"link": 3}, 3)
        db.delete("link", [("a", "b", 1), ("a", "b", 1)])
        assert (db.rows("link"), db.table("link").num_rows) == ({("a", "b", 1)}, 1)

    def test_a_set_keeps_one(self) -> None:
        db = whence.connect()
        db.rules(".decl p(x: number)")
        assert db.insert("p", [(1,), (1,)]).inserted == {"p": 1}
        db.delete("p", [(1,)])
        assert db.rows("p") == set()


class TestDelete:
    def test_what_is_not_there(self, db: whence.Database) -> None:
        db.insert("link", [("a", "b", 1)])
        with pytest.raises(whence.DataError) as caught:
            db.delete("link", [("a", "b", 1), ("a", "b", 1)])
        assert "rows[1] is not in 'link', so it cannot be deleted: ('a', 'b', 1)" in str(caught.value)
        assert 'hint: missing="ignore" passes over rows that are not there' in str(caught.value)
        assert db.rows("link") == {("a", "b", 1)}

    def test_ignoring_it(self, db: whence.Database) -> None:
        db.insert("link", [("a", "b", 1)])
        commit = db.delete("link", [("x", "y", 1), ("a", "b", 1), ("a", "b", 1)], missing="ignore")
        assert commit.deleted == {"link": 1}

    def test_missing_is_one_of_two_words(self, db: whence.Database) -> None:
        with pytest.raises(whence.DataError, match="""missing is "error" or "ignore", not 'skip'"""):
            db.delete("link", [], missing="skip")  # type: ignore[arg-type]


class TestBatch:
    def test_one_commit(self, db: whence.Database) -> None:
        with db.batch() as batch:
            batch.insert("link", [("a", "b", 1)])
            batch.insert("person", [(1, "Ann")])
            assert db.rows("link") == set()
        assert batch.commit is not None
        assert batch.commit.inserted == {"link": 1, "person": 1}
        assert db.version == batch.commit.version == 3

    def test_nothing_after_an_exception(self, db: whence.Database) -> None:
        def fails() -> None:
            with db.batch() as batch:
                batch.insert("link", [("a", "b", 1)])
                raise KeyError

        with pytest.raises(KeyError):
            fails()
        assert (db.version, db.rows("link")) == (2, set())

    def test_an_update_of_a_key(self, db: whence.Database) -> None:
        db.insert("person", [(1, "Ann"), (2, "Bob")])
        with db.batch() as batch:
            batch.delete("person", [(1, "Ann"), (2, "Bob")])
            batch.insert("person", [(1, "Bob"), (2, "Ann")])
        assert db.rows("person") == {(1, "Bob"), (2, "Ann")}

    def test_changes_count_in_order(self, db: whence.Database) -> None:
        with db.batch() as batch:
            batch.insert("person", [(1, "Ann")])
            batch.delete("person", [(1, "Ann")])
            batch.insert("person", [(1, "Ida")])
        assert db.rows("person") == {(1, "Ida")}

        def deletes_first() -> None:
            with db.batch() as batch:
                batch.delete("link", [("a", "b", 1)])
                batch.insert("link", [("a", "b", 1)])

        with pytest.raises(whence.DataError, match="is not in 'link'"):
            deletes_first()

    def test_what_cancels_out_is_no_change(self, db: whence.Database) -> None:
        db.insert("person", [(1, "Ann")])
        with db.batch() as batch:
            batch.delete("person", [(1, "Ann")])
            batch.insert("person", [(1, "Ann")])
        assert batch.commit is not None
        assert (batch.commit.inserted, batch.commit.deleted) == ({}, {})

    def test_one_bad_row_refuses_all(self, db: whence.Database) -> None:
        def conflicts() -> None:
            with db.batch() as batch:
                batch.insert("link", [("a", "b", 1)])
                batch.insert("person", [(1, "Ann"), (1, "Ida")])

        with pytest.raises(whence.DataError):
            conflicts()
        assert db.rows("link") == db.rows("person") == set()

    def test_a_bad_row_is_told_on_the_spot(self, db: whence.Database) -> None:
        batch = db.batch()
        with pytest.raises(whence.DataError, match="column 'cost' is INT"):
            batch.insert("link", [("a", "b", "c")])

    def test_a_batch_ends(self, db: whence.Database) -> None:
        with db.batch() as batch:
            pass
        with pytest.raises(whence.StateError, match="this batch is over"):
            batch.insert("link", [])

    def test_a_table_that_changed_meanwhile(self, db: whence.Database) -> None:
        def drops() -> None:
            with db.batch() as batch:
                batch.insert("link", [("a", "b", 1)])
                db.execute("DROP TABLE link; CREATE TABLE link(x INT)")

        with pytest.raises(whence.StateError, match="table 'link' has changed since its rows were read"):
            drops()


def test_a_commit_tells_what_it_did(db: whence.Database) -> None:
    db.execute("CREATE VIEW n AS SELECT src, count(*) AS n FROM link GROUP BY src")
    db.insert("link", [("a", "b", 1)])
    commit = db.insert("link", [("a", "c", 1), ("b", "c", 1)])
    assert (commit.version, commit.inserted, commit.deleted) == (5, {"link": 2, "n": 2}, {"n": 1})
    assert commit.elapsed > 0
    assert commit.timestamp.tzinfo is datetime.UTC
    assert commit.metrics == {"rows_in": 2, "rows_out": 3, "components": 1, "expired": 0, "evicted": 0}
