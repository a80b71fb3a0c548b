"""Sources of rows: another kind of file or object is one class and one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import whence
from whence.errors import DataError, UnsupportedError
from whence.model.schema import Relation
from whence.sources.source import FILES, OBJECTS


class Words:
    """Rows of words, a line each."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def rows(self, relation: Relation) -> Iterator[Sequence[object]]:
        return (line.split() for line in self._path.read_text().splitlines())

    def place(self, index: int) -> str:
        return f"line {index + 1} of {self._path.name}"


@pytest.fixture(autouse=True)
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FILES, ".words", Words)


def test_a_table_property_finds_a_file_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "link.WORDS").write_text("a b\nb c\n")
    db = whence.connect()
    db.execute("CREATE TABLE link(src STRING, dst STRING) TBLPROPERTIES ('source' = 'link.WORDS')", directory=tmp_path)
    assert db.rows("link") == {("a", "b"), ("b", "c")}


def test_an_input_finds_a_file_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "link.words").write_text("a b\nb c\n")
    db = whence.connect()
    db.rules('.decl link(src: symbol, dst: symbol)\n.input link(filename="link.words")', directory=tmp_path)
    assert db.rows("link") == {("a", "b"), ("b", "c")}


def test_how_fields_are_separated_is_for_files_that_have_fields(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="takes only the name"):
        whence.connect().rules('.decl a(x: symbol)\n.input a(filename="a.words", header="true")', directory=tmp_path)


def test_a_refusal_names_the_row_as_its_source_does(tmp_path: Path) -> None:
    (tmp_path / "link.words").write_text("a b\nb c d\n")
    db = whence.connect()
    with pytest.raises(DataError, match=r"line 2 of link\.words has 3 values"):
        db.rules('.decl link(src: symbol, dst: symbol)\n.input link(filename="link.words")', directory=tmp_path)
    assert "link" not in db.catalog().relations


def test_an_object_is_taken_by_the_first_that_knows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link.words").write_text("a b\n")
    monkeypatch.setattr(
        "whence.sources.source.OBJECTS", [lambda rows: Words(rows) if isinstance(rows, Path) else None, *OBJECTS]
    )
    db = whence.connect()
    db.execute("CREATE TABLE link(src STRING, dst STRING)")
    db.insert("link", tmp_path / "link.words")
    db.insert("link", [("b", "c")])
    assert db.rows("link") == {("a", "b"), ("b", "c")}
