"""Ways to go on are told in the words of the place where they are read, and what is told can be typed."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import whence
from whence.cli import main
from whence.cli.shell_questions import ask
from whence.cli.targets import in_shell, on_terminal
from whence.errors import DataError, Hint, NextStep, in_python

PROGRAM = """
CREATE TABLE "owner of"(name STRING, n INT, ok BOOLEAN, at TIMESTAMP);
CREATE VIEW v AS SELECT name, n, ok, at FROM "owner of";
INSERT INTO "owner of" VALUES ('it\\'s _', 1, true, TIMESTAMP '2026-01-01 10:00:00'), ('_', NULL, false, NULL);
""".replace('"', "`")
ROWS = ["it's _", "1", "true", "2026-01-01 10:00:00"], ["'_'", "_", "false", "_"]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "a program.sql"
    file.write_text(PROGRAM)
    return file


@pytest.mark.parametrize("row", ROWS)
def test_a_hint_of_the_terminal_can_be_typed(program: Path, row: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why-not", str(program), "v", *row]) == 1
    hint = capsys.readouterr().err.partition("hint: `")[2].partition("`")[0]
    whence_, *arguments = shlex.split(hint)
    assert whence_ == "whence" and arguments == ["why", str(program), "v", *row]
    assert main(arguments) == 0
    assert "owner of" in capsys.readouterr().out


@pytest.mark.parametrize("row", ["nobody _ _ _", "'no body' 1 true _"])
def test_a_hint_of_the_shell_can_be_typed(row: str) -> None:
    with whence.connect() as db:
        db.execute(PROGRAM)
        with pytest.raises(DataError, match="is not there") as error:
            ask(db, f".why v {row}")
        told = error.value.told(in_shell)
        assert f"hint: `.whynot v {row}` tells what is missing" in told
        assert "is not there" in str(ask(db, told.partition("`")[2].partition("`")[0]))


@pytest.mark.parametrize(
    ("way", "terminal", "shell"),
    [
        (NextStep("what_if", "db.what_if"), "`whence what-if p.dl --delete TABLE VALUE ... --changes c.sql`", None),
        (NextStep("since", "since=7", (7,)), "with --since 7", "since version 7"),
        (NextStep("query", "db.query(...)"), "`whence shell`", "SELECT"),
        (NextStep("keep", "connect(keep_versions=...)"), "connect(keep_versions=...) in a Python program", None),
        (NextStep("option", "row="), None, None),
    ],
)
def test_other_ways(way: NextStep, terminal: str | None, shell: str | None) -> None:
    assert on_terminal(Path("p.dl"), [Path("c.sql")])(way) == terminal
    if shell is not None:
        assert in_shell(way) == shell


def test_a_way_that_there_is_not_is_not_told() -> None:
    error = DataError("no", hint=Hint("{} helps", (NextStep("option", "missing=..."),)))
    assert str(error) == error.told(in_python) == "no\nhint: missing=... helps"
    assert error.told(in_shell) == "no"
