"""The page on a real server, and `whence serve`."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx
import pytest

import whence
from whence.cli import main
from whence.database.database import Database
from whence.errors import StateError, UnsupportedError
from whence.web import serve


def test_a_database_of_this_process(db: Database) -> None:
    with serve(db, port=0) as page:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", page.url)
        assert "<title>whence</title>" in httpx.get(page.url).text
        assert httpx.get(f"{page.url}api/database").json()["title"] == "a database"
        with httpx.stream("GET", f"{page.url}api/events") as events:
            lines = events.iter_lines()
            assert next(line for line in lines if line.startswith("event")) == "event: hello"
            db.insert("closed", [("a",)])
            assert next(line for line in lines if line.startswith("event")) == "event: commit"
            # The page ends although somebody is listening.
            page.close()
    with pytest.raises(httpx.ConnectError):
        httpx.get(page.url)
    assert db.rows("closed") == {("a",)}


def test_other_machines_need_a_token(db: Database) -> None:
    with serve(db, host="0.0.0.0", port=0) as page:  # noqa: S104 - that is what is tested
        assert page.token is not None and len(page.token) > 32
        assert page.url.endswith(f"/?token={page.token}")
        local = f"http://127.0.0.1:{page.port}/api/database"
        assert httpx.get(local).status_code == 401
        assert httpx.get(local, headers={"Authorization": f"Bearer {page.token}"}).status_code == 200


@pytest.mark.parametrize("token", ["", "short", "with spaces and so on", "0123456789abcdeé"])
def test_a_token_that_is_none(db: Database, token: str) -> None:
    with pytest.raises(UnsupportedError, match="a token has at least 16 letters, digits, '-' and '_'"):
        serve(db, port=0, token=token)


def test_a_port_that_is_taken(db: Database) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(StateError, match=f"cannot be served at 127.0.0.1:{port}: address already in use"):
            serve(db, port=port)


def test_a_host_that_there_is_not(db: Database) -> None:
    with pytest.raises(UnsupportedError, match="there is no address"):
        serve(db, host="no.such.host.invalid", port=0)


@contextmanager
def running(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "whence", "serve", *arguments, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        first = process.stdout.readline()
        assert process.stdout.readline() == "Ctrl-C ends it.\n"
        yield first, process
    finally:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert err == ""


def test_the_command_for_a_program(tmp_path: Path) -> None:
    program = tmp_path / "graph.sql"
    program.write_text(
        "CREATE TABLE edge(x INT, y INT); INSERT INTO edge VALUES (1, 2); CREATE VIEW v AS SELECT y FROM edge;"
    )
    with running(str(program)) as (first, process):
        found = re.fullmatch(r".*graph\.sql is at (http://127\.0\.0\.1:\d+/)\n", first)
        assert found is not None, first
        content = httpx.get(f"{found[1]}api/database").json()
        assert content["title"] == "graph.sql"
        assert [(each["name"], each["size"]) for each in content["relations"]] == [("edge", 1), ("v", 1)]
    assert process.returncode == 130


def test_the_command_for_a_directory(tmp_path: Path) -> None:
    with whence.connect(tmp_path / "state") as db:
        db.execute("CREATE TABLE t(x INT); INSERT INTO t VALUES (1), (2)")
    with running(str(tmp_path / "state"), "--allow-changes") as (first, _):
        address = first.split()[-1]
        answer = httpx.post(f"{address}api/changes", json={"insert": {"t": [[3]]}})
        assert answer.status_code == 200, answer.text
    with whence.connect(tmp_path / "state") as db:
        assert db.rows("t") == {(1,), (2,), (3,)}


RUN = """
import sys, whence
with whence.connect(sys.argv[1]) as db:
    db.execute("CREATE TABLE link(src STRING, dst STRING)")
    db.rules("reach(x, y) :- link(x, y). reach(x, z) :- link(x, y), reach(y, z).")
    print("open", flush=True)
    for line in sys.stdin:
        db.execute(line)
"""


def test_the_command_beside_a_process_that_commits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = tmp_path / "state"
    writing = [sys.executable, "-c", RUN, str(state)]
    with subprocess.Popen(writing, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None and other.stdout is not None and other.stdout.readline() == "open\n"

        def commit(statement: str) -> None:
            print(statement, file=other.stdin, flush=True)

        with running(str(state)) as (first, _):
            address = first.split()[-1]
            assert httpx.get(f"{address}api/database").json()["version"] == 2
            with httpx.stream("GET", f"{address}api/events") as events:
                lines = events.iter_lines()
                assert next(line for line in lines if line.startswith("event")) == "event: hello"
                commit("INSERT INTO link VALUES ('a', 'b'), ('b', 'c')")
                assert next(line for line in lines if line.startswith("event")) == "event: commit"
                news = json.loads(next(lines).removeprefix("id: 3") or next(lines).removeprefix("data: "))
                assert {each["relation"]: each["inserted"] for each in news["relations"]} == {"link": 2, "reach": 3}
                commit("CREATE VIEW ends AS SELECT DISTINCT dst FROM link")
                assert next(line for line in lines if line.startswith("event")) == "event: commit"
            rows = httpx.get(f"{address}api/rows", params={"relation": "ends"}).json()["rows"]
            assert sorted(rows) == [["b"], ["c"]]
            proof = httpx.post(f"{address}api/why", json={"relation": "reach", "row": ["a", "c"]}).json()
            assert "link('b', 'c')" in proof["text"]
            refused = httpx.post(f"{address}api/changes", json={"insert": {"link": [["x", "y"]]}})
            assert refused.status_code == 403
            assert main(["serve", str(state), "--allow-changes"]) == 1
            assert f"is open already, in process {other.pid}" in capsys.readouterr().err
            other.kill()
            assert httpx.get(f"{address}api/database").json()["version"] == 4


def test_targets_that_cannot_be_served(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "one.sql").write_text("CREATE TABLE t(x INT)")
    (tmp_path / "on_spark" / "commits").mkdir(parents=True)
    for arguments, words in {
        ("empty",): "there is no database in",
        ("none.sql",): "there is no file",
        ("one.sql", "--engine", "spark"): "a program is run in memory, and --engine is for a directory",
        ("empty", "--changes", "one.sql"): "--changes are for a program",
        ("one.sql", "--token", "short"): "a token has at least 16 letters",
        ("on_spark",): f"is one on Spark\nhint: whence serve {tmp_path}/on_spark --engine spark",
    }.items():
        assert main(["serve", str(tmp_path / arguments[0]), *arguments[1:]]) == 1
        assert words in capsys.readouterr().err
    for wrong in (["state"], ["one.sql", "--port", "70000"], ["one.sql", "--port", "-1"]):
        with pytest.raises(SystemExit):
            main(["serve", str(tmp_path / wrong[0]), *wrong[1:]])
    error = capsys.readouterr().err
    assert "a database a directory, not" in error
    assert "a port is a number up to 65535, not '70000'" in error
    assert not (tmp_path / "state").exists()


def test_a_directory_without_a_database_stays_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["serve", str(tmp_path)]) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]
    assert capsys.readouterr().err


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in [name for name in sys.modules if name.startswith("whence.web")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    assert main(["serve", "x.sql"]) == 1
    error = capsys.readouterr().err
    assert "the page needs fastapi, which is not installed" in error
    assert "pip install 'whence[serve]'" in error
