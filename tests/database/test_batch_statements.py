"""SQL statements in a batch: one commit, over the rows from before it."""

from __future__ import annotations

from collections import Counter

import pytest

import whence


@pytest.fixture(params=["local", "reference"])
def db(request: pytest.FixtureRequest) -> whence.Database:
    db = whence.connect(engine=request.param)
    db.execute("""
      CREATE TABLE account(name STRING PRIMARY KEY, money INT NOT NULL);
      CREATE TABLE log(what STRING, name STRING);
      CREATE VIEW total AS SELECT sum(money) AS money FROM account;
      INSERT INTO account VALUES ('a', 10), ('b', 20)
    """)
    return db


def test_one_commit(db: whence.Database) -> None:
    version = db.version
    with db.batch() as batch:
        batch.execute("UPDATE account SET money = money + CASE name WHEN 'a' THEN -5 ELSE 5 END")
        batch.execute("INSERT INTO log VALUES ('moved', :who); INSERT INTO log VALUES ('to', 'b')", {"who": "a"})
        batch.insert("log", [("by", "hand")])
        batch.execute("INSERT INTO account VALUES (?, ?)", ["c", 1])
        batch.update("account", "c", {"money": 2})
    assert batch.commit is not None
    assert batch.commit.version == version + 1 == db.version
    assert db.rows("account") == {("a", 5), ("b", 25), ("c", 2)}
    assert db.rows("log") == {("moved", "a"), ("to", "b"), ("by", "hand")}
    assert db.rows("total") == {(32,)}


def test_every_statement(db: whence.Database) -> None:
    db.execute("CREATE TABLE kept(name STRING); CREATE TABLE other(n INT); INSERT INTO other VALUES (1)")
    with db.batch() as batch:
        batch.execute("""
          INSERT INTO kept SELECT name FROM account;
          INSERT INTO log SELECT 'was', name FROM account WHERE money > 10;
          TRUNCATE TABLE other;
          MERGE INTO account USING (SELECT 'a' AS name) s ON account.name = s.name
            WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (name, money) VALUES ('z', 1);
        """)
    assert [db.rows(name) for name in ("kept", "log", "other", "account")] == [
        {("a",), ("b",)},
        {("was", "b")},
        set(),
        {("b", 20)},
    ]
    with db.batch() as batch:
        batch.execute("INSERT OVERWRITE kept VALUES ('x'), ('x'), ('a'); DELETE FROM account WHERE money = 20")
    assert Counter(row["name"] for row in db.table("kept").to_pylist()) == {"x": 2, "a": 1}
    assert db.rows("account") == set()


@pytest.mark.parametrize(
    ("second", "table"),
    [
        ("UPDATE account SET money = 0", "account"),
        ("DELETE FROM account WHERE money = 1", "account"),
        ("INSERT INTO log SELECT 'is', name FROM account", "account"),
        ("DELETE FROM log WHERE name IN (SELECT CAST(money AS STRING) FROM total)", "account"),
        ("INSERT OVERWRITE account VALUES ('a', 1)", "account"),
        ("MERGE INTO log USING total ON false WHEN NOT MATCHED THEN INSERT (what) VALUES ('x')", "account"),
    ],
)
def test_what_the_batch_has_changed_is_not_read(db: whence.Database, second: str, table: str) -> None:
    before = db.rows("account"), db.version
    batch = db.batch()
    batch.upsert("account", [("a", 11)])
    batch.execute(second)
    with pytest.raises(whence.UnsupportedError) as caught, batch:
        pass
    assert caught.value.message == f"this statement reads {table!r}, which the batch has changed before"
    assert caught.value.span is not None
    assert (db.rows("account"), db.version, batch.commit) == (*before, None)


def test_what_has_not_changed_in_the_end_may_be_read(db: whence.Database) -> None:
    with db.batch() as batch:
        batch.delete("account", [("a",)])
        batch.insert("account", [("a", 10)])
        batch.execute("UPDATE account SET money = money + 1")
    assert db.rows("account") == {("a", 11), ("b", 21)}


def test_refusals(db: whence.Database) -> None:
    batch = db.batch()
    with pytest.raises(whence.UnsupportedError, match="a batch changes rows, and no definitions"):
        batch.execute("INSERT INTO log VALUES ('x', 'y'); CREATE TABLE t(a INT)")
    with pytest.raises(whence.UnknownNameError, match="unknown table 'nothing'"):
        batch.execute("DELETE FROM nothing")
    with pytest.raises(whence.ParseError, match="the program is empty"):
        batch.execute("-- nothing")
    with batch:
        pass
    assert db.rows("log") == set()
    with pytest.raises(whence.StateError, match="this batch is over"):
        batch.execute("DELETE FROM log")


def test_definitions_that_change_meanwhile(db: whence.Database) -> None:
    batch = db.batch()
    batch.execute("DELETE FROM log")
    db.execute("CREATE TABLE t(a INT)")
    with pytest.raises(whence.StateError, match="have changed since the statement was read"), batch:
        pass


def test_an_error_in_a_later_statement_undoes_all(db: whence.Database) -> None:
    before = db.rows("account"), db.version
    batch = db.batch()
    batch.execute("DELETE FROM account WHERE name = 'a'")
    batch.execute("INSERT INTO account VALUES ('b', 7)")
    with pytest.raises(whence.DataError, match="has the key of another row"), batch:
        pass
    assert (db.rows("account"), db.version) == before
