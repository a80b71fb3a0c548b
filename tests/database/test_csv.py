"""CSV files: every value as its column has it, or nothing of the file."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from pathlib import Path

import pytest

from whence.errors import DataError
from whence.model.schema import Column, Relation
from whence.model.types import BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, ArrayType, DecimalType, Row
from whence.sources.source import read_source
from whence.sources.text_files import CsvFile

PEOPLE = Relation("people", (Column("name", STRING, nullable=False), Column("age", INT), Column("note", STRING)))


def read(tmp_path: Path, content: str | bytes, relation: Relation = PEOPLE, **options: object) -> list[Row]:
    path = tmp_path / "people.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(read_source(CsvFile(path, **options), relation))  # type: ignore[arg-type]


def refusal(tmp_path: Path, content: str | bytes, relation: Relation = PEOPLE, **options: object) -> str:
    with pytest.raises(DataError) as caught:
        read(tmp_path, content, relation, **options)
    return str(caught.value).replace(f"{tmp_path}/", "")


def test_columns_in_any_order(tmp_path: Path) -> None:
    assert read(tmp_path, "AGE, note ,name\n7,x,Ann\n8,y,Bob\n") == [("Ann", 7, "x"), ("Bob", 8, "y")]


def test_without_a_header_in_the_order_of_the_relation(tmp_path: Path) -> None:
    assert read(tmp_path, "Ann,7,x\n", header=False) == [("Ann", 7, "x")]


def test_quotes_line_breaks_and_a_byte_order_mark(tmp_path: Path) -> None:
    content = '\ufeffname,age,note\r\n"A,""nn""",7,"two\nlines"\r\n\r\nBöb,8,y'
    assert read(tmp_path, content) == [('A,"nn"', 7, "two\nlines"), ("Böb", 8, "y")]


def test_an_empty_field_is_null_where_there_is_null(tmp_path: Path) -> None:
    assert read(tmp_path, "name,age,note\n,,\n") == [("", None, None)]


def test_every_type(tmp_path: Path) -> None:
    kinds = (DOUBLE, DecimalType(8, 2), BOOLEAN, DATE, TIMESTAMP)
    relation = Relation("t", tuple(Column(f"c{i}", kind) for i, kind in enumerate(kinds)))
    content = "1.5,2.50,true,2026-01-31,2026-01-31 12:00:00.5\n"
    assert read(tmp_path, content, relation, header=False) == [
        (1.5, Decimal("2.50"), True, datetime.date(2026, 1, 31), datetime.datetime(2026, 1, 31, 12, 0, 0, 500_000))
    ]


def test_no_rows(tmp_path: Path) -> None:
    assert read(tmp_path, "name,age,note\n") == []
    assert read(tmp_path, "", header=False) == []


class TestRefusals:
    def test_a_value_of_the_wrong_type(self, tmp_path: Path) -> None:
        content = 'name,age,note\n"A\nB",1,x\nAnn,seven,x\n'
        assert refusal(tmp_path, content) == "people.csv:4: column 'age' must be INT, not 'seven'"

    def test_null_where_there_is_none(self, tmp_path: Path) -> None:
        relation = Relation("people", (Column("age", INT, nullable=False), Column("x", INT)))
        message = refusal(tmp_path, "age,x\n1,1\n,2\n", relation)
        assert "column 'age' is NOT NULL" in message
        assert "people.csv:3" in message

    @pytest.mark.parametrize(("row", "count"), [("Ann,7", "2 fields"), ("Ann", "1 field"), ("Ann,7,x,y", "4 fields")])
    def test_a_ragged_row(self, tmp_path: Path, row: str, count: str) -> None:
        message = refusal(tmp_path, f"name,age,note\nBob,1,x\n{row}\n")
        assert message == (
            f"people.csv:3: 'people' has columns 'name', 'age', 'note', and this row has {count}: '{row}'"
        )

    def test_an_unknown_column(self, tmp_path: Path) -> None:
        message = refusal(tmp_path, "name,aeg,note\nAnn,7,x\n")
        assert message.startswith("'people' has no column 'aeg', which is in the header of people.csv")
        assert "hint: did you mean 'age'?" in message

    def test_a_missing_column(self, tmp_path: Path) -> None:
        assert "the header of people.csv lacks column 'note'" in refusal(tmp_path, "name,age\nAnn,7\n")

    def test_a_column_twice(self, tmp_path: Path) -> None:
        assert "column 'age' comes twice in the header" in refusal(tmp_path, "name,age,Age,note\n")

    def test_an_empty_file(self, tmp_path: Path) -> None:
        message = refusal(tmp_path, "")
        assert message == "people.csv is empty: it should start with a header of columns 'name', 'age', 'note'"

    def test_bytes_that_are_no_text(self, tmp_path: Path) -> None:
        message = refusal(tmp_path, b"name,age,note\nAnn,7,\xe4\n")
        assert message.startswith("people.csv:2: byte 0xe4 at offset 20 is not UTF-8")

    def test_an_open_quote(self, tmp_path: Path) -> None:
        assert re.match(r"people\.csv:2: this is not CSV: ", refusal(tmp_path, 'name,age,note\n"Ann,7,x\n'))

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"the rows of 'people' cannot be read from .*: there is no such file"):
            read_source(CsvFile(tmp_path / "nowhere.csv"), PEOPLE)
        with pytest.raises(DataError, match="the rows of 'people' cannot be read from"):
            read_source(CsvFile(tmp_path), PEOPLE)

    def test_arrays(self, tmp_path: Path) -> None:
        relation = Relation("t", (Column("a", ArrayType(INT)),))
        message = refusal(tmp_path, "a\n[1]\n", relation)
        assert message == "column 'a' of 't' is ARRAY<INT>, which CSV cannot hold"

    def test_a_file_of_another_kind(self, tmp_path: Path) -> None:
        message = refusal(tmp_path, b"PAR1\x15\x04\xff")
        assert message.startswith("people.csv is a Parquet file, and the rows of 'people' are read from CSV")
        assert "a gzip file" in refusal(tmp_path, b"\x1f\x8b\x08\x00")

    def test_another_delimiter(self, tmp_path: Path) -> None:
        message = refusal(tmp_path, "name;age;note\nAnn;7;x\n")
        assert message.startswith("the header of people.csv is separated by semicolons, and not by commas")
