"""`whence why`, `why-not`, `impact`, `what-if` and `changes` from the outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import whence
from whence.cli import main

PROGRAM = """\
.decl link(src: symbol, dst: symbol)
.decl load(src: symbol, mbps: number, day: date nullable)
link("a", "b"). link("b", "c"). link("d", "e").
load("a", 5, null).
reachable(x, y) :- link(x, y).
reachable(x, y) :- link(x, z), reachable(z, y).
busy(x) :- load(x, m, _), m > 3.
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("net.dl").write_text(PROGRAM)
    return "net.dl"


@pytest.fixture
def directory(tmp_path: Path, program: str) -> str:
    with whence.connect(tmp_path / "state") as db:
        db.rules(PROGRAM)
        db.insert("link", [("c", "d")])
        db.delete("link", [("a", "b")])
    return "state"


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


def test_why(capsys: pytest.CaptureFixture[str], program: str) -> None:
    assert told(capsys, "why", program, "REACHABLE", "a", "c") == (
        "reachable('a', 'c')\n"
        "│  by reachable(x, y) :- link(x, z), reachable(z, y).   [net.dl:6:1]\n"
        "├─ link('a', 'b')\n"
        "└─ reachable('b', 'c')\n"
        "   │  by reachable(x, y) :- link(x, y).   [net.dl:5:1]\n"
        "   └─ link('b', 'c')\n"
    )


def test_why_of_all_that_match(capsys: pytest.CaptureFixture[str], program: str) -> None:
    text = told(capsys, "why", program, "reachable", "a", "_")
    assert "reachable('a', 'b')" in text and "reachable('a', 'c')" in text


def test_why_in_other_forms(capsys: pytest.CaptureFixture[str], program: str) -> None:
    row = ("why", program, "reachable", "a", "c")
    assert json.loads(told(capsys, *row, "--json"))["roots"][0]["row"] == ["a", "c"]
    assert told(capsys, *row, "--dot").startswith("digraph")
    assert told(capsys, *row, "--svg").startswith("<svg")
    assert told(capsys, *row, "--supports", "2") == "link('a', 'b') and link('b', 'c')\n"
    supports = json.loads(told(capsys, *row, "--supports", "2", "--json"))
    assert supports == {
        "supports": [[{"relation": "link", "row": ["a", "b"]}, {"relation": "link", "row": ["b", "c"]}]]
    }
    assert "link('b', 'c')" not in told(capsys, *row, "--depth", "1")
    assert told(capsys, *row, "--at", "1.2").startswith("reachable('b', 'c')")


def test_why_not(capsys: pytest.CaptureFixture[str], program: str) -> None:
    text = told(capsys, "why-not", program, "reachable", "a", "e")
    assert "  holds: link('a', 'b')\n  missing: reachable('b', 'e')\n" in text
    assert json.loads(told(capsys, "why-not", program, "reachable", "a", "e", "--json"))["missing"] == [
        {"relation": "link", "row": ["a", "e"]}
    ]


def test_impact(capsys: pytest.CaptureFixture[str], program: str) -> None:
    assert told(capsys, "impact", program, "link", "a", "b") == (
        "link('a', 'b')\n"
        "\n"
        "without it\n"
        "  reachable: 2 rows go\n"
        "    - ('a', 'b')\n"
        "    - ('a', 'c')\n"
        "\n"
        "derived by way of it, and perhaps in other ways, too\n"
        "  reachable: 2 rows\n"
    )


def test_what_if(capsys: pytest.CaptureFixture[str], program: str) -> None:
    rows = ("--insert", "link", "c", "x", "--delete", "link", "a", "b", "--insert", "load", "'NULL'", "-7", "NULL")
    assert told(capsys, "what-if", program, *rows) == (
        "link: 1 row goes, 1 row comes\n"
        "  - ('a', 'b')\n"
        "  + ('c', 'x')\n"
        "\n"
        "load: 1 row comes\n"
        "  + ('NULL', -7, NULL)\n"
        "\n"
        "reachable: 2 rows go, 2 rows come\n"
        "  - ('a', 'b')\n"
        "  - ('a', 'c')\n"
        "  + ('b', 'x')\n"
        "  + ('c', 'x')\n"
    )
    answer = json.loads(told(capsys, "what-if", program, "--delete", "load", "a", "5", "NULL", "--json"))
    assert answer == {
        "changes": {"load": [{"row": ["a", 5, None], "count": -1}], "busy": [{"row": ["a"], "count": -1}]}
    }


def test_changes_before_the_question(capsys: pytest.CaptureFixture[str], program: str) -> None:
    Path("day.sql").write_text("INSERT INTO link VALUES ('c', 'd'); DELETE FROM link WHERE src = 'a';")
    text = told(capsys, "why", program, "reachable", "a", "e", "--removed", "--changes", "day.sql")
    assert text.startswith("reachable('a', 'e') went in version 3, ")
    assert "\n  - link('a', 'b')\n" in text


def test_a_directory(capsys: pytest.CaptureFixture[str], directory: str) -> None:
    assert "link('c', 'd')" in told(capsys, "why", directory, "reachable", "b", "d")
    history = told(capsys, "why", directory, "reachable", "a", "e", "--version", "2")
    assert history.startswith("reachable('a', 'e') came in version 2, ")
    assert "\n  + link('c', 'd')\n" in history
    assert "kept by absorption" in told(capsys, "explain", directory, "reachable")
    assert "busy: 1 row goes" in told(capsys, "what-if", directory, "--delete", "load", "a", "5", "NULL")
    with whence.connect(directory) as db:
        assert db.version == 3


def test_a_directory_that_is_in_use(capsys: pytest.CaptureFixture[str], directory: str) -> None:
    with whence.connect(directory) as db:
        db.insert("link", [("e", "f")])
        assert "link('e', 'f')" in told(capsys, "why", directory, "reachable", "b", "f")
        assert told(capsys, "changes", directory, "link", "--since", "3").splitlines()[1:] == ["  + link('e', 'f')"]


def test_changes(capsys: pytest.CaptureFixture[str], directory: str, program: str) -> None:
    lines = told(capsys, "changes", directory, "link").splitlines()
    assert [line for line in lines if not line.startswith("version")] == [
        "  + link('a', 'b')",
        "  + link('b', 'c')",
        "  + link('d', 'e')",
        "  + link('c', 'd')",
        "  - link('a', 'b')",
    ]
    (last,) = map(json.loads, told(capsys, "changes", directory, "link", "--since", "2", "--json").splitlines())
    assert last.pop("_commit_timestamp")
    assert last == {
        "relation": "link",
        "_change_type": "delete",
        "_commit_version": 3,
        "row": {"src": "a", "dst": "b"},
    }
    assert "  + busy('a')" in told(capsys, "changes", program, "busy")


def test_following_another_process(directory: str) -> None:
    """Commits of this process, as another one sees them."""
    command = [sys.executable, "-m", "whence", "changes", directory, "reachable", "--since", "3", "--follow", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(Path(whence.__file__).parent.parent)}
    with (
        whence.connect(directory) as db,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as follower,
    ):
        assert follower.stdout is not None
        try:
            for name in "xyz":
                db.insert("link", [("q", name)])
                found = json.loads(follower.stdout.readline())
                assert (found["_commit_version"], found["row"]) == (db.version, {"x": "q", "y": name})
        finally:
            follower.terminate()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["why", "net.dl", "reach", "a", "b"], "there is no relation 'reach'\nhint: did you mean 'reachable'?\n"),
        (
            ["why", "net.dl", "reachable", "a", "e"],
            "reachable('a', 'e') is not there\nhint: `whence why-not net.dl reachable a e` tells what is missing\n",
        ),
        (
            ["why", "net.dl", "reachable", "a"],
            (
                "'reachable' has columns 'x', 'y', and 1 value was given: a\n"
                "hint: write one value for each column, and _ for any value\n"
            ),
        ),
        (
            ["why-not", "net.dl", "reachable", "a", "b"],
            (
                "reachable('a', 'b') is there, so that nothing is missing\n"
                "hint: `whence why net.dl reachable a b` tells why it is there\n"
            ),
        ),
        (
            ["impact", "net.dl", "load", "a", "much", "_"],
            "cannot cast 'much' to BIGINT: it is not a whole number, for column 'mbps' of 'load'\n",
        ),
        (["impact", "net.dl", "link", "x", "_"], "link('x', _) is not there, and nothing depends on it\n"),
        (
            ["impact", "net.dl", "reachable", "a", "b"],
            "'reachable' is a view, and its rows follow from its definition\nhint: change the tables it reads: link\n",
        ),
        (
            ["what-if", "net.dl"],
            "nothing to ask: no row is inserted or deleted\nhint: write --insert TABLE VALUE ...\n",
        ),
        (
            ["what-if", "net.dl", "--delete", "link", "x", "y"],
            "rows[0] is not in 'link', so it cannot be deleted: ('x', 'y')\n",
        ),
        (
            ["what-if", "net.dl", "--insert", "link", "x"],
            (
                "'link' has columns 'src', 'dst', and 1 value was given: x\n"
                "hint: write one value for each column, and NULL for none\n"
            ),
        ),
        (
            ["why", "net.dl", "reachable", "a", "b", "--version", "9"],
            "there is no version 9: the latest is 1\n",
        ),
        (
            ["why", "net.dl", "reachable", "a", "b", "--removed"],
            (
                "reachable('a', 'b') is there: nothing removed it\n"
                "hint: `whence why net.dl reachable a b` tells why it is there\n"
            ),
        ),
        (["why", "empty", "p", "a"], "there is no database in empty\n"),
    ],
)
def test_bad_questions(
    capsys: pytest.CaptureFixture[str], program: str, tmp_path: Path, arguments: list[str], words: str
) -> None:
    (tmp_path / "empty").mkdir()
    assert complaint(capsys, *arguments) == words


def test_changes_are_not_for_a_database(capsys: pytest.CaptureFixture[str], directory: str) -> None:
    words = complaint(capsys, "why", directory, "reachable", "b", "c", "--changes", "day.sql")
    assert words == "--changes are for a program, and 'state' is a database\nhint: it is only read\n"


def test_a_database_on_spark(capsys: pytest.CaptureFixture[str], tmp_path: Path, program: str) -> None:
    (tmp_path / "lake" / "commits").mkdir(parents=True)
    words = 'the database in lake is one on Spark\nhint: ask it in a program: whence.connect("lake", engine="spark")\n'
    for command in (["why", "lake", "p", "a"], ["changes", "lake", "p"], ["shell", "lake"]):
        assert complaint(capsys, *command) == words


def test_following_a_program(capsys: pytest.CaptureFixture[str], program: str) -> None:
    with pytest.raises(SystemExit):
        main(["changes", program, "link", "--follow"])
    assert "--follow is for the directory of a database" in capsys.readouterr().err
