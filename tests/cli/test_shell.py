"""`whence shell`: piped in, at a prompt, and on a terminal."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.console import Console

import whence
from whence.cli import main
from whence.cli.shell import Shell, is_complete, kind_of, pieces, run_all
from whence.cli.shell_prompt import completions, prompted

PROGRAM = """\
.decl link(src: symbol, dst: symbol)
link("a", "b"). link("b", "c").
reachable(x, y) :- link(x, y).
reachable(x, y) :- link(x, z), reachable(z, y).
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    Path("net.dl").write_text(PROGRAM)
    return tmp_path / "home"


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Piped:
    return Piped(monkeypatch, capsys)


class Piped:
    """What the shell makes of a text on its standard input."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, text: str, *arguments: str) -> tuple[int, str, str]:
        self._monkeypatch.setattr("sys.stdin", io.StringIO(text))
        try:
            code = main(["shell", *arguments])
        except SystemExit as end:
            code = int(str(end.code))
        printed = self._capsys.readouterr()
        return code, printed.out, printed.err


def test_sql_datalog_and_questions(piped: Piped) -> None:
    code, out, err = piped(
        "CREATE TABLE link(src STRING,\n  dst STRING); -- two lines\n"
        "INSERT INTO link VALUES ('a', 'b'), ('b', 'c');\n"
        "-- a comment\n\n"
        "two(x, y) :-\n  link(x, z),\n  link(z, y).\n"
        ".why two a c\n"
        "SELECT * FROM two;\n"
        ".quit\n"
        "this is not reached\n"
    )
    assert (code, err) == (0, "")
    assert out == (
        "version 1: no row changed\n"
        "version 2: link +2\n"
        "version 3: two +1\n"
        "two('a', 'c')\n"
        "│  by two(x, y) :- link(x, z), link(z, y).   [<shell>:1:1]\n"
        "├─ link('a', 'b')\n"
        "└─ link('b', 'c')\n"
        "1 row\n"
        "  x  y\n"
        "  a  c\n"
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (".whynot reachable a z", "missing: link('a', 'z')"),
        (".whatif insert link c d delete link a b", "reachable: 2 rows go, 2 rows come"),
        (".impact link a b", "derived by way of it, and perhaps in other ways, too\n  reachable: 2 rows"),
        (".at 1 reachable a c", "reachable('a', 'c') came in version 1, "),
        (".explain reachable", "kept by absorption"),
        (".changes reachable", "  + reachable('a', 'c')"),
        (".changes reachable 1", "no changes"),
        (".tables", "view   reachable(x STRING, y STRING)"),
        (".help", ".whynot VIEW VALUE ..."),
    ],
)
def test_questions(piped: Piped, line: str, words: str) -> None:
    code, out, err = piped(f"{line}\n", "net.dl")
    assert (code, err) == (0, "")
    assert words in out


def test_a_file_is_read(piped: Piped) -> None:
    code, out, err = piped(".read net.dl\n.why link a b\n")
    assert (code, err) == (0, "")
    assert out == (
        "table  link(src STRING, dst STRING)\nview   reachable(x STRING, y STRING)\n"
        "link('a', 'b')\n└─ a row of the table: it was inserted\n"
    )
    assert piped(".read net.txt\n")[2] == "a program is a .sql or .dl file, not 'net.txt'\n"
    assert piped(".read nut.dl\n")[2] == "there is no file 'nut.dl'\nhint: did you mean 'net.dl'?\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (".wy reachable a c\n", "there is no question '.wy'\nhint: did you mean '.why'?\n"),
        (".why\n", "a table or view is missing\nhint: write its name, and a value for each column\n"),
        (".why reachable a 'c\n", "a quote is not closed\n"),
        (
            ".whatif link a b\n",
            "what to do with which row?\nhint: write .whatif insert TABLE VALUE ... delete TABLE ...\n",
        ),
        (".at reachable a c\n", "a version is missing\nhint: write .at VERSION VIEW VALUE ...\n"),
        (".removed reachable a z\n", "reachable('a', 'z') was not there up to version 1\n"),
        (
            "SELECT 1;\nINSERT INTO lnk VALUES ('a', 'b');\n",
            (
                "unknown table 'lnk'\n"
                " --> <shell>:1:13\n"
                "  |\n"
                "1 | INSERT INTO lnk VALUES ('a', 'b');\n"
                "  |             ^^^\n"
                "hint: did you mean 'link'?\n"
            ),
        ),
        ("p(x) :- q(y).\n", "x"),
        # What nobody knows does not take in what comes after it.
        (
            "SELEC 1;\n",
            (
                "expected '(' after 'SELEC', found '1'\n"
                " --> <shell>:1:7\n"
                "  |\n"
                "1 | SELEC 1;\n"
                "  |       ^\n"
                "hint: did you mean 'select'?\n"
            ),
        ),
    ],
)
def test_mistakes_are_told_and_the_shell_goes_on(piped: Piped, text: str, words: str) -> None:
    code, out, err = piped(f"{text}.why link a b\n", "net.dl")
    assert code == 1
    assert err == words or (len(words) == 1 and words in err)
    assert out.endswith("link('a', 'b')\n└─ a row of the table: it was inserted\n")


def test_a_directory_is_changed(piped: Piped) -> None:
    _, _, err = piped(f"{PROGRAM}INSERT INTO link VALUES ('c', 'd');\n", "state")
    assert err == "note: there was no database in state; this is a new one\n"
    code, out, err = piped(".removed reachable a d\n.why reachable a d\n", "state")
    assert "note:" not in err
    assert code == 1 and "reachable('a', 'd')" in out
    with whence.connect("state") as db:
        assert ("a", "d") in db.rows("reachable")
        _, _, err = piped(".tables\n", "state")
        assert "is open already" in err


def test_inputs_are_put_together() -> None:
    lines = [
        "SELECT ';\n",
        "';\n",
        "\n",
        "p(x) :- q(x), // .\n",
        'x != "a.".\n',
        ".decl p(\n",
        "x: symbol)\n",
        ".help\n",
    ]
    assert [*pieces(lines)] == [
        "SELECT ';\n';\n",
        'p(x) :- q(x), // .\nx != "a.".\n.decl p(\nx: symbol)\n',
        ".help\n",
    ]
    assert [*pieces(["SELECT 1\n"])] == ["SELECT 1\n"]
    assert [*pieces(["q(1).\n", "p(x) :-\n"])] == ["q(1).\n", "p(x) :-\n"]
    assert not is_complete("/* SELECT 1;") and kind_of("-- only words").value == "nothing"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (".wh", [".why", ".whynot", ".whatif"]),
        (".why re", ["reachable"]),
        (".why reachable ", []),
        (".impact ", ["link"]),
        (".whatif ins", ["insert"]),
        (".whatif insert l", ["link"]),
        (".at 3 r", ["reachable"]),
        ("SELECT * FROM re", ["reachable", "RECURSIVE", "REAL"]),
        ("SELECT * FROM ", ["link", "reachable"]),
        ("SELECT link.", ["src", "dst"]),
        ("SELECT sr", ["src"]),
        ("p(x) :- li", ["link"]),
        (".de", [".decl"]),
    ],
)
def test_completion(text: str, found: list[str]) -> None:
    db = whence.connect()
    db.rules(PROGRAM)
    assert completions(text, db.catalog())[1] == found


@pytest.fixture
def keys() -> Iterator[PipeInput]:
    with create_pipe_input() as pipe:
        yield pipe


def test_the_prompt(keys: PipeInput, home: Path) -> None:
    """Lines go on until they are complete, Tab completes, Ctrl-C gives up what was typed, and all is remembered."""
    db = whence.connect()
    db.rules(PROGRAM)
    out = io.StringIO()
    console = Console(file=out, highlight=False)
    keys.send_text("SELECT count(*) AS n\nFROM reachable;\n.why rea\t a c\nnever mind\x03")
    keys.send_text('p(x) :- link(x, _).\np(x) :- link(_, x).\n\nlink("c", "d").\n.quit\n')
    with create_app_session(input=keys, output=DummyOutput()):
        run_all(Shell(db, console, console), prompted(db, keys, DummyOutput()))
    assert out.getvalue().startswith("1 row\n  n\n  3\nreachable('a', 'c')\n")
    assert out.getvalue().endswith("version 2: p +3\nversion 3: link +1, reachable +3, p +1\n")
    assert "FROM reachable;" in (home / "whence" / "history").read_text()


def test_a_terminal(home: Path) -> None:
    """The command on a terminal of its own."""
    master, slave = pty.openpty()
    environment = {
        **os.environ,
        "TERM": "xterm",
        "PYTHONPATH": str(Path(whence.__file__).parent.parent),
        "XDG_STATE_HOME": str(home),
    }
    command = [sys.executable, "-m", "whence", "shell", "net.dl"]
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment, close_fds=True) as shell:
        os.close(slave)
        seen = read_until(master, "whence>")
        os.write(master, b".why reachable a c\r")
        seen += read_until(master, "link('b', 'c')")
        os.write(master, b".quit\r")
        assert shell.wait(60) == 0
    os.close(master)
    assert "Type .help for help" in seen
    assert "\x1b[36m" in seen, "the rules of a proof are coloured"


def read_until(terminal: int, words: str, seconds: float = 120) -> str:
    """What a terminal shows, until it has shown some words."""
    seen = ""
    end = time.monotonic() + seconds
    while words not in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen):
        assert time.monotonic() < end, seen
        if select.select([terminal], [], [], 0.1)[0]:
            data = os.read(terminal, 4096)
            if b"\x1b[6n" in data:
                # It asks where the cursor is.
                os.write(terminal, b"\x1b[1;1R")
            seen += data.decode(errors="replace")
    return seen
