"""`whence explain` from the outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from whence.cli import main

PROGRAM = """
CREATE TABLE edge(x STRING NOT NULL, y STRING NOT NULL);
CREATE VIEW two AS SELECT a.x, b.y FROM edge a JOIN edge b ON a.y = b.x;
INSERT INTO edge VALUES ('a', 'b'), ('b', 'c');
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = Path("graph.sql")
    file.write_text(PROGRAM)
    return file


def test_the_plan(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    assert main(["explain", str(program), "TWO"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert (
        printed.out
        == """\
two(x STRING, y STRING)
a view, a bag of 1 row, at graph.sql:3:13

1. two: not recursive, monotone
   kept by counting (not recursive: counts are exact under inserts and deletes)
   reads edge (2 rows)
   indexes: edge(x), edge(y)

   two(x, y_2) :- edge(x, y), edge(y, y_2).
     at graph.sql:3:27
     when edge (1) changes
       look up edge (2) by x = y
     when edge (2) changes
       look up edge (1) by y
"""
    )


def test_what_the_last_change_cost(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    Path("day.sql").write_text("INSERT INTO edge VALUES ('c', 'd'); DELETE FROM edge WHERE x = 'a'")
    assert main(["explain", str(program), "two", "--changes", "day.sql", "--analyze"]) == 0
    assert "last commit: 1 row in, 1 row out, " in capsys.readouterr().out


def test_a_view_that_is_not_there(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    assert main(["explain", str(program), "tow"]) == 1
    assert capsys.readouterr().err == "there is no relation 'tow'\nhint: did you mean 'two'?\n"


def test_what_is_no_program(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["explain", "graph.txt", "two"])
    assert "a program is a .sql or .dl file, and a database a directory, not 'graph.txt'" in capsys.readouterr().err
