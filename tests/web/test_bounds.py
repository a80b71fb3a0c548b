"""Whatever somebody sends, or does not send: an answer in the user's words, in time, and with little memory."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2 as httpx
import pytest
from fastapi.testclient import TestClient

import whence
from tests.web.conftest import LINKS, PROGRAM
from whence.database.database import Database
from whence.web import Page, app, serve
from whence.web.cells import RequestLimits

LIMITS = RequestLimits(arrival=1.0, connections=40, listeners=5)
# On a machine that has other things to do.
IN_TIME = 15.0


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with whence.connect() as db:
        db.execute(PROGRAM, name="network.sql")
        db.insert("link", LINKS)
        with serve(db, port=0, limits=LIMITS) as made:
            yield made


def said(address: Page, data: bytes, *more: bytes, pause: float = 0.0) -> bytes:
    """All that the server says until it hangs up."""
    with socket.create_connection(("127.0.0.1", address.port), timeout=IN_TIME) as line:
        for part in (data, *more):
            try:
                line.sendall(part)
            except OSError:
                break
            time.sleep(pause)
        found = b""
        try:
            while part := line.recv(65_536):
                found += part
        except ConnectionResetError:
            pass
        return found


def error_of(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]["message"]


def test_who_says_nothing_is_not_waited_for(page: Page) -> None:
    assert error_of(said(page, b"")) == (408, "the request did not come within 1 seconds")


def test_headers_that_come_too_slowly(page: Page) -> None:
    slow = [bytes([byte]) for byte in b"GET / HTTP/1.1\r\nHost: localhost\r\nX: yyyyyyyyyyyyyyyyyyyy"]
    started = time.monotonic()
    assert error_of(said(page, *slow, pause=0.1))[0] == 408
    assert time.monotonic() - started < IN_TIME


def test_a_body_that_does_not_come(page: Page) -> None:
    head = (
        b"POST /api/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"
    )
    assert error_of(said(page, head))[0] == 408
    assert error_of(said(page, head, b" ", b" ", b" ", pause=0.5))[0] == 408


def test_the_second_request_of_a_connection_has_its_time_too(page: Page) -> None:
    whole = b"GET /api/rows?relation=link HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answer = said(page, whole, b"GET /api/rows", pause=0.3)
    assert answer.count(b"HTTP/1.1 200") == 1
    assert b"HTTP/1.1 408" in answer


def test_half_a_question_is_not_acted_upon(db: Database) -> None:
    with serve(db, port=0, allow_changes=True, limits=LIMITS) as page:
        body = b'{"insert": {"closed": [["x"]]}}'
        head = "POST /api/changes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(body) + 1}\r\n\r\n"
        assert error_of(said(page, head.encode() + body))[0] == 408
        with socket.create_connection(("127.0.0.1", page.port)) as line:
            line.sendall(head.encode() + body)
        time.sleep(0.3)
        assert db.rows("closed") == set()


def test_only_so_many_connections(db: Database) -> None:
    with serve(db, port=0, limits=RequestLimits(arrival=20, connections=3)) as page:
        lines = [socket.create_connection(("127.0.0.1", page.port)) for _ in range(3)]
        time.sleep(0.2)
        assert error_of(said(page, b"")) == (503, "3 connections are open already")
        for line in lines:
            line.close()
        time.sleep(0.2)
        assert httpx.get(f"{page.url}api/database").status_code == 200


def test_who_does_not_read_is_not_waited_for(page: Page) -> None:
    with socket.create_connection(("127.0.0.1", page.port)) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        body = json.dumps({"sql": "SELECT repeat('x', 10000) AS x FROM (SELECT explode(sequence(1, 150)))"}).encode()
        head = "POST /api/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
        line.sendall(f"{head}{len(body)}\r\n\r\n".encode() + body)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            send_for(line, IN_TIME)


def send_for(line: socket.socket, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(0.5)
        line.sendall(b"G")


def test_what_is_no_http(page: Page) -> None:
    for noise in (
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET\r\n\r\n",
        b"\r\n" * 10 + b"x y z\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
    ):
        assert error_of(said(page, noise)) == (400, "this is no HTTP request")
    twice = b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"
    assert error_of(said(page, twice)) == (400, "this is no HTTP request")
    # Headers without end.
    assert error_of(said(page, b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20_000))[0] == 400


def test_the_token_comes_before_the_body(db: Database) -> None:
    with serve(db, port=0, token="0123456789abcdef-token", limits=LIMITS) as page:  # noqa: S106 - of this test
        head = b"POST /api/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        with socket.create_connection(("127.0.0.1", page.port), timeout=IN_TIME) as line:
            line.sendall(head + b"Expect: 100-continue\r\nContent-Length: 900000\r\n\r\n")
            assert line.recv(12) == b"HTTP/1.1 401"


# Each ends at a bar.
ODD_HOSTS = (
    "| |localhost.|localhost:|localhost:80:80|localhost:99999|user@localhost|localhost@evil.example|localhost#|"
    "localhost,evil.example|localhost evil|[::1|::1|[::1]x|[::1%25lo]|127.0.0.1.nip.io|127.1|2130706433|0x7f000001|"
    "017700000001|localhost/evil|localhost\\evil|l\u043ecalhost|0.0.0.0"
).split("|")


@pytest.mark.parametrize("host", ODD_HOSTS)
def test_odd_names_of_this_machine(client: TestClient, host: str) -> None:
    answer = client.get("/api/database", headers=[(b"host", host.encode())])
    assert answer.status_code in (400, 403)
    assert answer.json()["error"]["message"]


def test_odd_names_are_refused_with_a_token_too(db: Database) -> None:
    token = "0123456789abcdef-token"  # noqa: S105 - of this test
    with TestClient(app(db, token=token, hosts=None), base_url="http://box") as client:
        headers = [(b"authorization", f"Bearer {token}".encode())]
        assert client.get("/api/database", headers=headers).status_code == 200
        for host in (b"", b"user@box", b"box:99999", b"box, other"):
            assert client.get("/api/database", headers=[*headers, (b"host", host)]).status_code == 400


def test_listeners_that_come_all_at_once(page: Page) -> None:
    """There is no moment between looking for a place and taking it."""
    lines = [socket.create_connection(("127.0.0.1", page.port), timeout=IN_TIME) for _ in range(25)]
    for line in lines:
        line.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    statuses = [int(line.recv(12).split()[1]) for line in lines]
    assert sorted(statuses) == [200] * 5 + [503] * 20
    for line in lines:
        line.close()
    deadline = time.monotonic() + IN_TIME
    while True:
        with httpx.stream("GET", f"{page.url}api/events") as again:
            if again.status_code == 200:
                break
        assert time.monotonic() < deadline
        time.sleep(0.2)


def asked(page: Page, sql: str) -> httpx.Response:
    return httpx.post(f"{page.url}api/query", json={"sql": sql}, timeout=60)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT repeat('x', 4000000000) AS x",
        "SELECT sequence(1, 100000000) AS x",
        "SELECT collect_list(repeat('x', 100000)) AS x FROM (SELECT explode(sequence(1, 9000)))",
        "SELECT repeat('x', 1000000) AS x FROM (SELECT explode(sequence(1, 1000)))",
    ],
)
def test_queries_that_take_more_memory_than_they_may(page: Page, sql: str) -> None:
    before, started = memory(), time.monotonic()
    answer = asked(page, sql)
    assert time.monotonic() - started < IN_TIME
    assert (answer.status_code, len(answer.content) < 3_000_000) in ((400, True), (200, True))
    if answer.status_code == 400:
        assert answer.json()["error"]["message"] == "the query needs more memory than it may use"
    assert memory() - before < 100_000_000
    # And the next one has a process that is well.
    assert asked(page, "SELECT 1 AS one").json()["rows"] == [[1]]


def memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4_096


def test_long_cells_and_long_answers_are_cut(page: Page) -> None:
    answer = asked(
        page, "SELECT repeat('x', 50000) AS x, sequence(1, 5000) AS y FROM (SELECT explode(sequence(1, 900)))"
    )
    content = answer.json()
    assert len(answer.content) < 4_000_000
    assert content["more"] and content["full"] and 0 < len(content["rows"]) < 900
    assert content["shortened"] == 2 * len(content["rows"])
    assert content["rows"][0][0] == "x" * 10_000 + "…" and content["rows"][0][1][-1] == "…"
    whole = asked(page, "SELECT 'x' AS x").json()
    assert (whole["more"], whole["full"], whole["shortened"]) == (False, False, 0)


def test_long_texts_in_tables_are_cut_everywhere() -> None:
    with whence.connect() as db:
        db.execute("CREATE TABLE t(x STRING, y INT); CREATE VIEW v AS SELECT x, y FROM t")
        db.insert("t", [("é" * 1_000_000, at) for at in range(20)])
        limits = RequestLimits(answer=400_000)
        with TestClient(app(db, limits=limits), base_url="http://localhost") as client:
            row = {"y": "3"}
            answers = [client.get("/api/database"), client.get("/api/rows?relation=t")]
            for kind in ("why", "impact", "critical", "why-not"):
                relation = "t" if kind == "impact" else "v"
                asked_row = {"y": "99"} if kind == "why-not" else row
                answers.append(client.post(f"/api/{kind}", json={"relation": relation, "row": asked_row}))
            answers.append(client.post("/api/what-if", json={"insert": {"t": [["é" * 400_000, 99]]}}))
            for answer in answers:
                assert answer.status_code in (200, 413), answer.text[:200]
                assert len(answer.content) <= 400_000
            assert answers[1].json()["shortened"] > 0


DEEP = {
    "parentheses": "SELECT " + "(" * 960_000,
    "as many as may be": "SELECT " + "(" * 90_000,
    "quotes": "SELECT " + "'" * 99_001,
    "comments": "SELECT 1 " + "-- \n" * 20_000,
    "types": "SELECT CAST(1 AS " + "ARRAY<" * 9_000 + "INT" + ">" * 9_000 + ")",
    "calls": "SELECT " + "f(" * 99 + "1" + ")" * 99,
    "brackets": "SELECT " + "(" * 99 + "1" + ")" * 99,
    "negations": "SELECT " + "NOT " * 15_000 + "TRUE",
    "subqueries": "SELECT * FROM " + "(SELECT * FROM " * 99 + "link" + ")" * 99,
    "alternatives": "SELECT 1 FROM link WHERE " + " OR ".join(["km = 1"] * 1_500),
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_and_long_sql_keeps_nobody_waiting(page: Page, name: str) -> None:
    with ThreadPoolExecutor() as pool:
        started = time.monotonic()
        deep = pool.submit(asked, page, DEEP[name])
        time.sleep(0.05)
        other = httpx.get(f"{page.url}api/rows?relation=link", timeout=60)
        assert other.status_code == 200
        answer = deep.result()
        assert time.monotonic() - started < IN_TIME
    assert answer.status_code in (200, 400, 404, 413, 504), answer.text[:300]
    if answer.status_code != 200:
        error = answer.json()["error"]
        assert error["message"] and "Error" not in error["message"] and "recursion" not in error["text"]


def test_sql_that_is_too_long_says_so(page: Page) -> None:
    answer = asked(page, DEEP["parentheses"])
    assert answer.status_code == 413
    assert answer.json()["error"]["message"] == "the query is longer than 100,000 characters"


def test_a_query_does_not_keep_the_database(db: Database) -> None:
    numbers = "WITH n AS (SELECT explode(sequence(1, 100000)) AS i)"
    endless = f"{numbers} SELECT count(*) FROM n a, n b, n c WHERE a.i + b.i * c.i = 7"
    with ThreadPoolExecutor() as pool, serve(db, port=0, limits=RequestLimits(seconds=4.0)) as page:
        long = pool.submit(asked, page, endless)
        time.sleep(0.5)
        assert httpx.get(f"{page.url}api/rows?relation=link", timeout=60).status_code == 200
        assert not long.done()
        assert "was stopped after 3.2 seconds" in long.result().json()["error"]["message"]


def test_a_page_that_is_closed_leaves_no_process(db: Database) -> None:
    before = children()
    with serve(db, port=0) as page:
        assert asked(page, "SELECT 1 AS one").status_code == 200
        assert children() - before
    deadline = time.monotonic() + IN_TIME
    while mine := children() - before:
        assert time.monotonic() < deadline, mine
        time.sleep(0.1)


def children() -> set[str]:
    tasks = Path("/proc/self/task").glob("*/children")
    numbers = " ".join(each.read_text() for each in tasks).split()
    return {number for number in numbers if b"query_child" in Path(f"/proc/{number}/cmdline").read_bytes()}


def test_the_loop_is_free_while_an_answer_is_written(page: Page) -> None:
    """A large answer is turned into text where it was found, and others do not wait for that."""
    slowest = 0.0
    done = threading.Event()

    def look() -> None:
        nonlocal slowest
        while not done.is_set():
            started = time.monotonic()
            httpx.get(f"{page.url}icon.svg", timeout=60)
            slowest = max(slowest, time.monotonic() - started)

    looking = threading.Thread(target=look)
    looking.start()
    sql = "SELECT sequence(1, 900) AS y FROM (SELECT explode(sequence(1, 1000)))"
    assert asked(page, sql).status_code == 200
    done.set()
    looking.join()
    assert slowest < 5.0
