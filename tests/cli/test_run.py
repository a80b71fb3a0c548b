"""`whence run` from the outside: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from whence.cli import main

ROOT = Path(__file__).parent.parent.parent
BACKBONE = ROOT / "examples" / "backbone"

PROGRAM = """
CREATE TABLE edge(x STRING, y STRING);
CREATE VIEW path AS
WITH RECURSIVE p(x, y) AS (SELECT x, y FROM edge UNION SELECT e.x, p.y FROM edge e JOIN p ON e.y = p.x)
SELECT x, y FROM p;
CREATE VIEW ends AS SELECT count(*) AS n, max(y) AS last FROM edge;
INSERT INTO edge VALUES ('a', 'b'), ('b', 'c');
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "graph.sql"
    file.write_text(PROGRAM)
    return file


def changes(program: Path, text: str) -> list[str]:
    file = program.with_name("day.sql")
    file.write_text(text)
    return ["--changes", str(file)]


def out(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """What a run that goes well prints."""
    code = main(["run", *map(str, arguments)])
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    return printed.out


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """What a run that fails prints to stderr."""
    assert main(["run", *map(str, arguments)]) == 1
    return capsys.readouterr().err


def misuse(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(list(map(str, arguments)))
    assert stopped.value.code == 2
    return capsys.readouterr().err


def test_views_as_tables(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    assert (
        out(capsys, program)
        == """\
Tables: edge has 2 rows.

path: 3 rows
  x  y
  a  b
  a  c
  b  c

ends: 1 row
  n  last
  2  c
"""
    )


def test_changes_as_signed_rows(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    script = changes(program, "-- The end is gone.\nDELETE FROM edge WHERE y = 'c';\nDELETE FROM edge WHERE y = 'z';")
    _, _, follows = out(capsys, program, *script).partition("\nChange 1")
    assert (
        follows
        == """\
. The end is gone.

    DELETE FROM edge WHERE y = 'c'

path: 2 rows left
    x  y
  - a  c
  - b  c

ends: 1 row left, 1 row came
    n  last
  - 2  c
  + 1  b

Change 2

    DELETE FROM edge WHERE y = 'z'

Unchanged: path, ends.
"""
    )


def test_the_row_limit(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    assert "path: 3 rows, the first 1 shown\n  x  y\n  a  b\n\n" in out(capsys, program, "--rows", "1")
    assert "path: 3 rows\n  x  y\n  a  b\n  a  c\n  b  c\n" in out(capsys, program, "--rows", "all")
    assert "bad" in misuse(capsys, "run", program, "--rows", "bad")


def test_chosen_views(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    assert "path" not in out(capsys, program, "--view", "ENDS", "--view", "edge")
    assert "did you mean 'path'?" in complaint(capsys, program, "--view", "paths")


def test_echo(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    assert "    CREATE TABLE edge(x STRING, y STRING);\n" in out(capsys, program, "--echo")


def test_csv(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    assert out(capsys, program, "--format", "csv", "--view", "path") == "x,y\na,b\na,c\nb,c\n"
    assert "path, ends" in misuse(capsys, "run", program, "--format", "csv")


def test_csv_changes(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    script = changes(program, "DELETE FROM edge WHERE y = 'b'; INSERT INTO edge VALUES (NULL, 'a,b');")
    header, *rows = out(capsys, program, "--format", "csv", "--view", "path", *script).splitlines()
    assert header == "x,y,_change_type,_commit_version,_commit_timestamp"
    assert [row.rsplit(",", 2)[0] for row in rows] == ["a,b,delete", "a,c,delete", ',"a,b",insert']


def test_json(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    lines = [json.loads(line) for line in out(capsys, program, "--format", "json").splitlines()]
    assert lines[0] == {"relation": "path", "row": {"x": "a", "y": "b"}}
    assert lines[-1] == {"relation": "ends", "row": {"n": 2, "last": "c"}}


def test_json_changes(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    script = changes(program, "INSERT INTO edge VALUES ('c', 'd')")
    lines = [
        json.loads(line) for line in out(capsys, program, "--format", "json", "--view", "ends", *script).splitlines()
    ]
    assert [(line["_change_type"], line["row"]) for line in lines] == [
        ("delete", {"n": 2, "last": "c"}),
        ("insert", {"n": 3, "last": "d"}),
    ]


def test_datalog_shows_its_outputs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "graph.dl"
    rules = 'edge("a", "b"). edge("b", "c").\npath(x, y) :- edge(x, y).\nends(y) :- path(_, y), !edge(y, _).\n'
    file.write_text(rules)
    assert {"path", "ends"} == {line.split(":")[0] for line in out(capsys, file).splitlines() if ": " in line} - {
        "Tables"
    }
    file.write_text(rules + ".output ends\n")
    assert "path" not in out(capsys, file)


def test_both_languages_tell_the_same_of_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    script = ("--changes", BACKBONE / "failures.sql", "--rows", "all")
    in_sql = out(capsys, BACKBONE / "backbone.sql", *script)
    in_datalog = out(capsys, BACKBONE / "backbone.dl", *script)
    assert in_sql == in_datalog
    assert "cut_off: 1 row came\n    name       country\n  + Reykjavik  IS\n" in in_sql


def test_values_cannot_break_a_line_or_reach_the_terminal(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    rows = "INSERT INTO edge VALUES ('\x1b[31m', 'a\nb'), ('日本', '[red]'), (NULL, '" + "x" * 100 + "')"
    printed = out(capsys, program, "--view", "edge", *changes(program, rows))
    table = printed[printed.rindex("edge: ") :].splitlines()[2:]
    assert sorted(line.split()[1] for line in table) == sorted(["NULL", r"\x1b[31m", "日本"])
    assert r"a\nb" in "".join(table)
    assert "[red]" in "".join(table)
    assert "x" * 59 + "…" in "".join(table)


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("missing.sql", "there is no file"),
        ("no/such/place.sql", "there is no directory"),
        (".", "is a directory"),
    ],
)
def test_files_that_cannot_be_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert says in complaint(capsys, file)


def test_the_file_that_was_meant(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    assert "did you mean 'graph.sql'?" in complaint(capsys, program.with_name("grahp.sql"))
    assert "graph.sql" in complaint(capsys, program.parent)


def test_a_script_that_is_missing_stops_before_anything_runs(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    assert main(["run", str(program), "--changes", str(program.with_name("none.sql"))]) == 1
    assert capsys.readouterr().out == ""


def test_wrong_usage(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    assert "a program is a .sql or .dl file" in misuse(capsys, "run", program.with_suffix(".txt"))
    assert "usage: whence run [-h]" in misuse(capsys, "run", program, "--loudly")
    assert "usage:" in misuse(capsys, "walk")
    assert "usage:" in misuse(capsys, "--loudly")


def test_no_command_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "tell why a row is there" in capsys.readouterr().out


def test_not_utf8(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    program.write_bytes(b"-- caf\xe9\nCREATE TABLE t(x INT);")
    assert "is not UTF-8" in complaint(capsys, program)


def test_an_error_in_the_program(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    program.write_text("CREATE TABLE edge(x STRING);\nCREATE VIEW v AS SELECT y FROM edge;\n")
    first, place, *_ = complaint(capsys, program).splitlines()
    assert "'y'" in first
    assert place.endswith(f"--> {program}:2:25")


def test_an_error_in_a_script_comes_after_what_worked(capsys: pytest.CaptureFixture[str], program: Path) -> None:
    script = changes(program, "DELETE FROM edge WHERE y = 'c';\n\nDELETE FROM edges;")
    assert main(["run", str(program), *script]) == 1
    printed = capsys.readouterr()
    assert "path: 2 rows left" in printed.out
    assert f"--> {script[1]}:3:13\n" in printed.err


def run_process(arguments: list[str | Path], stdout: int, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "whence", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment},
    )


@pytest.mark.parametrize("format_", ["table", "json"])
def test_a_reader_that_leaves_early(format_: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with run_process(["run", BACKBONE / "backbone.sql", "--rows", "all", "--format", format_], writing) as process:
        os.close(writing)
        _, errors = process.communicate()
    assert errors == ""
    assert process.returncode == 1


def test_colours_are_for_terminals(program: Path) -> None:
    with run_process(["run", program, *changes(program, "DELETE FROM edge;")], subprocess.PIPE) as process:
        printed, errors = process.communicate()
    assert process.returncode == 0
    assert errors == ""
    assert "\x1b" not in printed


def test_an_encoding_that_lacks_characters(program: Path) -> None:
    more = changes(program, "INSERT INTO edge VALUES ('日', '本');")
    with run_process(["run", program, *more], subprocess.PIPE, PYTHONIOENCODING="ascii") as process:
        printed, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert r"+ \u65e5" in printed


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    assert "run a program and show its views" in capsys.readouterr().out


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith("whence")
