"""`db.why(..., version=)` and `db.what_removed`: what commits did to a row."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whence
from tests.explain.hypothetical.programs import ALL_ROWS, RULES, by_table, database
from whence.model.types import Row

steps = st.lists(st.frozensets(st.sampled_from(ALL_ROWS), max_size=5), min_size=2, max_size=4)


def commit(db: whence.Database, before: frozenset[tuple[str, Row]], after: frozenset[tuple[str, Row]]) -> None:
    with db.batch() as batch:
        for name, rows in by_table(before - after).items():
            batch.delete(name, rows)
        for name, rows in by_table(after - before).items():
            batch.insert(name, rows)


@settings(max_examples=15)
@given(states=steps, view=st.sampled_from([*RULES]))
def test_causes_are_what_it_took(states: list[frozenset[tuple[str, Row]]], view: str) -> None:
    db = database(frozenset())
    versions = []
    for before, after in zip([frozenset[tuple[str, Row]](), *states], states, strict=False):
        commit(db, before, after)
        versions.append((db.version, before, after))
    for version, before, after in versions:
        feed = db.changes(view, version - 1).to_pylist()
        for change in [each for each in feed if each["_commit_version"] == version][:3]:
            row = tuple(value for name, value in change.items() if not name.startswith("_"))
            told = db.why(view, row, version=version)
            assert told.version == version
            assert told.came == (change["_change_type"] == "insert")
            check_causes(told.causes, view, row, told.after, before, after)


def check_causes(
    causes: dict[tuple[str, Row], int],
    view: str,
    row: Row,
    wanted: int,
    before: frozenset[tuple[str, Row]],
    after: frozenset[tuple[str, Row]],
) -> None:
    """They are changes of the commit, do what it did, and do not without any one of them."""
    changes = {**dict.fromkeys(after - before, 1), **dict.fromkeys(before - after, -1)}
    assert causes.items() <= changes.items()

    def count_with(some: list[tuple[str, Row]]) -> int:
        come = {fact for fact in some if causes[fact] > 0}
        go = {fact for fact in some if causes[fact] < 0}
        return int(row in database((before | come) - go, engine="reference").rows(view))

    assert count_with([*causes]) == wanted
    if len(causes) > 1:
        for cause in causes:
            assert count_with([each for each in causes if each != cause]) != wanted


NETWORK = """
.decl link(src: symbol, dst: symbol)
reachable(x, y) :- link(x, y).
reachable(x, y) :- link(x, z), reachable(z, y).
"""


@pytest.fixture
def db() -> whence.Database:
    db = whence.connect()
    db.rules(NETWORK)
    db.insert("link", [("a", "b"), ("x", "y")])
    db.insert("link", [("b", "c"), ("c", "d"), ("y", "z")])
    db.delete("link", [("a", "b"), ("y", "z")])
    return db


def timeless(text: object) -> list[str]:
    first, *rest = str(text).splitlines()
    return [first.partition(", at ")[0], *rest]


def test_a_row_that_came_and_went(db: whence.Database) -> None:
    came = db.why("reachable", ("a", "c"), version=3)
    assert timeless(came) == [
        "reachable('a', 'c') came in version 3",
        "  + link('b', 'c')",
        "",
        "its proof then",
        "  reachable('a', 'c')",
        "  │  by reachable(x, y) :- link(x, z), reachable(z, y).   [<rules>:4:1]",
        "  ├─ link('a', 'b')",
        "  └─ reachable('b', 'c')",
        "     │  by reachable(x, y) :- link(x, y).   [<rules>:3:1]",
        "     └─ link('b', 'c')",
    ]
    went = db.what_removed("reachable", ("a", "c"))
    assert timeless(went)[:4] == [
        "reachable('a', 'c') went in version 4",
        "  - link('a', 'b')",
        "",
        "its proof before that",
    ]
    assert went.json()["causes"] == [{"relation": "link", "row": ["a", "b"], "count": -1}]
    assert (went.before, went.after, went.came) == (1, 0, False)
    # The last change up to a version counts.
    assert db.why("reachable", ("a", "b"), version=3).version == 2
    assert ("a", "c") not in db.rows("reachable") and db.version == 4


def test_a_table_is_asked_like_a_view(db: whence.Database) -> None:
    assert timeless(db.what_removed("link", ("a", "b")))[:2] == [
        "link('a', 'b') went in version 4",
        "  - link('a', 'b')",
    ]


def test_several_changes_together(db: whence.Database) -> None:
    told = db.why("reachable", {"x": "b", "y": "d"}, version=3)
    assert timeless(told)[1:4] == ["because of all of these changes", "  + link('b', 'c')", "  + link('c', 'd')"]


def test_a_view_that_came_over_rows(db: whence.Database) -> None:
    db.rules("two(x, y) :- link(x, z), link(z, y).")
    told = db.why("two", ("b", "d"), version=5)
    assert timeless(told) == ["two('b', 'd') came in version 5", "with the definition of the view: no table changed"]


def test_keys_change_as_a_whole() -> None:
    db = whence.connect()
    db.execute("""
        CREATE TABLE price(item STRING PRIMARY KEY, cents INT NOT NULL);
        CREATE MATERIALIZED VIEW dear AS SELECT item FROM price WHERE cents > 100;
        INSERT INTO price VALUES ('tea', 90), ('rice', 200);
    """)
    with db.batch() as batch:
        batch.delete("price", [("tea", 90), ("rice", 200)])
        batch.insert("price", [("tea", 120), ("rice", 210)])
    told = db.why("dear", ("tea",), version=db.version)
    assert told.causes == {("price", ("tea", 90)): -1, ("price", ("tea", 120)): 1}


def test_a_directory_that_was_opened_again(tmp_path: Path) -> None:
    with whence.connect(tmp_path / "db") as db:
        db.rules(NETWORK)
        db.insert("link", [("a", "b")])
        db.insert("link", [("b", "c")])
        db.delete("link", [("a", "b")])
    with whence.connect(tmp_path / "db") as db:
        assert db.what_removed("reachable", ("a", "c")).causes == {("link", ("a", "b")): -1}
        assert db.why("reachable", ("a", "c"), version=3).causes == {("link", ("b", "c")): 1}


def test_what_is_forgotten() -> None:
    db = whence.connect(keep_versions=2)
    db.rules(NETWORK)
    db.insert("link", [("a", "b")])
    for number in range(4):
        db.insert("link", [("b", f"n{number}")])
    with pytest.raises(whence.StateError, match=r"the changes of 'reachable' are there from version 5 on"):
        db.why("reachable", ("a", "b"), version=3)
    with pytest.raises(whence.StateError, match=r"reachable\('a', 'b'\) came before version 5, and older changes are"):
        db.why("reachable", ("a", "b"), version=6)
    with pytest.raises(whence.DataError, match=r"was not there up to version 6 since version 5, and older changes are"):
        db.what_removed("reachable", ("b", "a"))


@pytest.mark.parametrize(
    ("row", "version", "words"),
    [
        (("a", "q"), 4, "reachable('a', 'q') was not there up to version 4"),
        (("a", "c"), 2, "reachable('a', 'c') was not there up to version 2\nhint: it came in version 3"),
        (("a", "c"), 5, "there is no version 5: the latest is 4"),
        (("a", "c"), 0, "there is no version 0: the latest is 4"),
        (("a", "c"), "3", "version is the version of a commit, a number, not '3'"),
        (("a", "c"), True, "version is the version of a commit, a number, not True"),
        (("a", None), 3, "the history of 'reachable' is told row by row, so that every column needs a value"),
        (("a", 1), 3, "column 'y' is STRING, and 1 does not fit"),
    ],
)
def test_bad_questions(db: whence.Database, row: Row, version: int, words: str) -> None:
    with pytest.raises(whence.WhenceError) as error:
        db.why("reachable", row, version=version)
    assert words in str(error.value)


def test_a_proof_that_is_interrupted(db: whence.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    rows = db.rows("reachable")
    with monkeypatch.context() as patch:
        patch.setattr("whence.explain.hypothetical.history.prove", interrupted)
        with pytest.raises(KeyboardInterrupt):
            db.what_removed("reachable", ("a", "c"))
    assert db.rows("reachable") == rows
    assert db.what_removed("reachable", ("a", "c")).proof is not None


def test_a_row_that_is_there(db: whence.Database) -> None:
    with pytest.raises(whence.DataError, match=r"reachable\('b', 'c'\) is there: nothing removed it"):
        db.what_removed("reachable", ("b", "c"))
