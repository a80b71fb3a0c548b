"""`whence bench` from the outside."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from whence.cli import main

PROGRAM = """
CREATE TABLE edge(x STRING NOT NULL, y STRING NOT NULL);
CREATE TABLE place(name STRING PRIMARY KEY);
CREATE TABLE visit(name STRING REFERENCES place(name));
CREATE TABLE empty(x INT);
CREATE VIEW two AS SELECT a.x, b.y FROM edge a JOIN edge b ON a.y = b.x;
INSERT INTO edge VALUES ('a', 'b'), ('b', 'c');
INSERT INTO place VALUES ('a');
INSERT INTO visit VALUES ('a');
"""


def test_each_table_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "graph.sql"
    program.write_text(PROGRAM)
    assert main(["bench", str(program), "--commits", "3"]) == 0
    loaded, edge, place, visit, empty = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"loaded in [\d,]+ ms", loaded)
    assert re.fullmatch(
        r"edge: 2 rows; one goes in \S+ ms and comes back in \S+ ms, and 1 rows of views change \(median of 2\)", edge
    )
    assert place.startswith("place: 1 row, none of which can go: a row of 'visit' refers by name to no row of 'place'")
    assert "(median of 1)" in visit
    assert empty == "empty: no rows"
