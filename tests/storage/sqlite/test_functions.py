"""Functions are Python, which is not stored: views wait until they are registered again."""

from __future__ import annotations

from pathlib import Path

import pytest

import whence


def double(x: int) -> int:
    return 2 * x


@pytest.fixture
def state(tmp_path: Path) -> Path:
    with whence.connect(tmp_path / "state") as db:
        db.execute("CREATE TABLE t(x INT NOT NULL); CREATE TABLE u(x INT NOT NULL); INSERT INTO t VALUES (1), (2)")
        db.function("twice", double, returns="BIGINT")
        db.function("unused", double, returns="BIGINT")
        db.execute("""
            CREATE VIEW doubled AS SELECT twice(x) AS y FROM t;
            CREATE VIEW above AS SELECT y FROM doubled WHERE y > 2;
            CREATE VIEW plain AS SELECT x FROM t;
        """)
        db.execute("CREATE VIEW other AS SELECT x FROM u")
    return tmp_path / "state"


def test_views_that_wait(state: Path) -> None:
    message = "view 'doubled' calls function 'twice', which has to be registered again before '{}' can be used"
    with whence.connect(state) as db:
        for view in ("doubled", "above"):
            with pytest.raises(whence.StateError, match=message.format(view)) as caught:
                db.rows(view)
            assert caught.value.hint == 'db.function("twice", ..., returns="BIGINT") does that'
        with pytest.raises(whence.StateError, match=message.format("above")):
            db.query("SELECT * FROM above")
        with pytest.raises(whence.StateError, match=message.format("t")):
            db.insert("t", [(3,)])
        with pytest.raises(whence.StateError, match=message.format("new")):
            db.execute("CREATE VIEW new AS SELECT y FROM above")
        with pytest.raises(whence.StateError, match="view 'new' calls function 'twice'"):
            db.execute("CREATE VIEW new AS SELECT twice(x) AS y FROM u")
        with pytest.raises(whence.StateError, match=message.format("above")):
            db.execute("CREATE OR REPLACE VIEW above AS SELECT y FROM doubled WHERE y > 3")


def test_everything_else_goes_on(state: Path) -> None:
    with whence.connect(state) as db:
        assert db.rows("t") == db.rows("plain") == {(1,), (2,)}
        assert db.changes("above").column("y").to_pylist() == [4]
        db.insert("u", [(7,)])
        assert db.rows("other") == {(7,)}
        db.execute("CREATE VIEW more AS SELECT x + 1 AS y FROM t")
        assert db.rows("more") == {(2,), (3,)}
        assert set(db.catalog().functions) == {"twice"}


def test_registered_again(state: Path) -> None:
    with whence.connect(state) as db:
        version = db.version
        db.function("twice", double, returns="BIGINT")
        assert (db.rows("doubled"), db.rows("above"), db.version) == ({(2,), (4,)}, {(4,)}, version)
        assert db.insert("t", [(3,)]).inserted == {"t": 1, "doubled": 1, "above": 1, "plain": 1}
        assert db.changes("above").column("y").to_pylist() == [4, 6]
        with pytest.raises(whence.StateError, match="function 'twice' is in use"):
            db.function("twice", double, returns="BIGINT")
    with whence.connect(state) as db:
        assert db.changes("above").column("y").to_pylist() == [4, 6]


def test_registered_otherwise(state: Path) -> None:
    with whence.connect(state) as db:
        with pytest.raises(whence.StateError, match="function 'twice' returns BIGINT where 'doubled' call") as caught:
            db.function("twice", str, returns="STRING")
        assert "returns='BIGINT'" in str(caught.value.hint)
        db.execute("DROP VIEW above; DROP VIEW doubled")
        db.function("twice", str, returns="STRING")
        db.execute("CREATE VIEW doubled AS SELECT twice(x) AS y FROM t")
        assert db.rows("doubled") == {("1",), ("2",)}


def test_a_function_that_fails_can_be_tried_again(state: Path) -> None:
    def broken(x: int) -> int:
        raise ValueError(x)

    with whence.connect(state) as db:
        with pytest.raises(whence.EvaluationError):
            db.function("twice", broken, returns="BIGINT")
        with pytest.raises(whence.StateError, match="has to be registered again"):
            db.rows("doubled")
        db.function("twice", double, returns="BIGINT")
        assert db.rows("doubled") == {(2,), (4,)}
