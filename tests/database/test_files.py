"""Rows from CSV, JSON lines and Parquet, from folders of them, and back into files."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whence

COLUMNS = "id INT, name STRING, price DECIMAL(6,2), day DATE, tags ARRAY<STRING>"
ROWS = [
    (1, 'a "quoted", name', Decimal("1.50"), datetime.date(2026, 1, 31), ("x", "y")),
    (2, None, None, None, None),
    (3, "\u00e4\nb", Decimal("-2.00"), datetime.date(1969, 12, 31), ()),
]


@pytest.mark.parametrize("file", ["rows.jsonl", "rows.parquet", "rows.ndjson"])
def test_what_is_written_is_read(tmp_path: Path, file: str) -> None:
    db = whence.connect()
    db.execute(f"CREATE TABLE t({COLUMNS}); CREATE TABLE u(name STRING, {COLUMNS.replace('name STRING, ', '')})")
    db.insert("t", ROWS)
    db.execute(f"COPY t TO '{file}'; COPY u FROM '{file}'", directory=tmp_path)
    assert db.rows("u") == {(name, number, *rest) for number, name, *rest in ROWS}
    assert [path.name for path in tmp_path.iterdir()] == [file]


@pytest.mark.parametrize("options", ["", "(SEP ';')", "(HEADER false, QUOTE \"'\", NULL '-')", "(DELIMITER '\\t')"])
def test_csv_is_read_as_it_is_written(tmp_path: Path, options: str) -> None:
    db = whence.connect()
    db.execute("CREATE TABLE t(id INT, name STRING, price DOUBLE); CREATE TABLE u(id INT, name STRING, price DOUBLE)")
    db.insert("t", [(1, "a;b,c\td'e\"f", 0.5), (2, None, None)])
    db.execute(f"COPY t TO 'a.csv' {options}; COPY u FROM 'a.csv' {options}", directory=tmp_path)
    assert db.rows("u") == db.rows("t")


def test_a_query_is_written(tmp_path: Path) -> None:
    db = whence.connect()
    db.execute("CREATE TABLE t(id INT); INSERT INTO t VALUES (1), (2), (3)")
    db.execute("COPY (SELECT id * 2 AS n FROM t WHERE id > (1)) TO 'a.json' (FORMAT json)", directory=tmp_path)
    lines = (tmp_path / "a.json").read_text().splitlines()
    assert sorted(json.loads(line)["n"] for line in lines) == [4, 6]


BAD = {"a.csv": "id,name\n1,x\nmany,y\n3,z,w\n,v\n", "a.jsonl": '{"id": 1, "name": "x"}\n{"id": "many"}\n{\n[]\n'}


class TestBadRows:
    @pytest.mark.parametrize("file", BAD)
    def test_the_first_is_told_with_its_place(self, tmp_path: Path, file: str) -> None:
        (tmp_path / file).write_text(BAD[file])
        db = whence.connect()
        db.execute("CREATE TABLE t(id INT NOT NULL, name STRING)")
        with pytest.raises(whence.DataError, match=rf"{file}:[23]: column 'id' must be INT, not 'many'"):
            db.execute(f"COPY t FROM '{file}'", directory=tmp_path)
        assert db.rows("t") == set()

    @pytest.mark.parametrize("file", BAD)
    def test_they_can_be_left_out(self, tmp_path: Path, file: str) -> None:
        (tmp_path / file).write_text(BAD[file])
        db = whence.connect()
        db.execute("CREATE TABLE t(id INT NOT NULL, name STRING)")
        db.execute(f"COPY t FROM '{file}' (MODE dropmalformed)", directory=tmp_path)
        assert db.rows("t") == {(1, "x")}
        assert db.notices[-1] == f"3 rows of {tmp_path / file} do not fit 't' and were left out"


def test_the_source_of_a_table_takes_options(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1|x\n2|-\n")
    db = whence.connect()
    options = "'source' = 'a.txt', 'format' = 'csv', 'sep' = '|', 'header' = 'false', 'nullvalue' = '-'"
    db.execute(f"CREATE TABLE t(id INT, name STRING) TBLPROPERTIES ({options})", directory=tmp_path)
    assert db.rows("t") == {(1, "x"), (2, None)}


def test_a_key_is_kept_by_copy(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, 2, 1], "x": [1, 2, 3]}), tmp_path / "a.parquet")
    db = whence.connect()
    db.execute("CREATE TABLE t(id INT PRIMARY KEY, x INT)")
    with pytest.raises(whence.DataError, match="has the key of another row"):
        db.execute("COPY t FROM 'a.parquet'", directory=tmp_path)


class TestFolders:
    def test_all_files_are_read(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("id\n1\n")
        (tmp_path / "b.jsonl").write_text('{"id": 2}\n')
        (tmp_path / "_SUCCESS").write_text("")
        (tmp_path / "readme.txt").write_text("")
        db = whence.connect()
        db.execute(f"CREATE TABLE t(id INT) TBLPROPERTIES ('source' = '{tmp_path}')")
        assert db.rows("t") == {(1,), (2,)}

    def test_a_folder_is_followed(self, tmp_path: Path) -> None:
        folder = tmp_path / "in"
        folder.mkdir()
        (folder / "a.csv").write_text("id;name\n1;x\n")
        with whence.connect(tmp_path / "db") as db:
            db.execute("CREATE TABLE t(id INT, name STRING)")
            feed = db.follow_folder("t", folder, sep=";")
            assert [commit.inserted["t"] for commit in feed.poll()] == [1]
            assert feed.poll() == []
            (folder / "b.csv").write_text("id;name\n2;y\n2;y\n")
            (folder / ".c.csv").write_text("id;name\n")
            assert [commit.inserted["t"] for commit in feed.poll()] == [2]
        with whence.connect(tmp_path / "db") as db:
            assert db.follow_folder("t", folder, sep=";").poll() == []
            assert db.rows("t_files") == {("a.csv",), ("b.csv",)}

    def test_a_file_that_does_not_fit_waits(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("id\nmany\n")
        db = whence.connect()
        db.execute("CREATE TABLE t(id INT)")
        feed = db.follow_folder("t", tmp_path)
        with pytest.raises(whence.DataError, match=r"a\.csv:2"):
            feed.poll()
        (tmp_path / "a.csv").write_text("id\n1\n")
        assert len(feed.poll()) == 1


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("COPY t FROM 'nothing.csv'", "there is no such file"),
        ("COPY t FROM 'nothing.parquet'", "there is no such file"),
        ("COPY t TO 'rows.xls'", "should hold is not known"),
        ("COPY t TO 'no/folder/rows.csv'", "cannot be written"),
        ("COPY t FROM 'a.csv' (SEPARATOR ';')", "files have no option 'separator'"),
        ("COPY t FROM 'a.csv' (SEP ';;')", "sep and quote are two different characters"),
        ("COPY t FROM 'a.csv' (FORMAT orc)", "the format 'orc' is not known"),
        ("COPY v FROM 'a.csv'", "'v' is a view"),
        ("COPY t FROM /dev/zero", ""),
        ("COPY t FROM '/dev/zero'", "is no file"),
    ],
)
def test_what_is_refused(tmp_path: Path, statement: str, told: str) -> None:
    db = whence.connect()
    db.execute("CREATE TABLE t(id INT); CREATE VIEW v AS SELECT id FROM t")
    with pytest.raises(whence.WhenceError) as caught:
        db.execute(statement, directory=tmp_path)
    assert told in str(caught.value)
    assert list(tmp_path.iterdir()) == []
