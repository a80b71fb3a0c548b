"""Who may ask, and how much: every request that must not be answered is refused with a reason."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from starlette.websockets import WebSocketDisconnect

from whence.database.database import Database
from whence.web import app
from whence.web.cells import RequestLimits
from whence.web.requests import RefusedRequestError, Workers

TOKEN = "a-token-that-nobody-guesses"  # noqa: S105 - a secret of this test
JSON = {"Content-Type": "application/json"}


def words(answer: Response) -> str:
    text: str = answer.json()["error"]["text"]
    return text


@pytest.fixture
def guarded(db: Database) -> Iterator[TestClient]:
    with TestClient(app(db, token=TOKEN, hosts=None), base_url="http://box:8753", follow_redirects=False) as made:
        yield made


def test_a_foreign_name_for_this_machine_is_refused(client: TestClient) -> None:
    for path in ("/", "/api/database"):
        answer = client.get(path, headers={"Host": "evil.example:8753"})
        assert answer.status_code == 403
        assert "goes by 127.0.0.1 and [::1] and localhost, and not by 'evil.example'" in answer.text
    for host in ("localhost:9", "127.0.0.1", "[::1]:8753", "LOCALHOST"):
        assert client.get("/api/database", headers={"Host": host}).status_code == 200


def test_other_sites_are_refused(client: TestClient) -> None:
    for site in ("cross-site", "same-site"):
        answer = client.get("/api/database", headers={"Sec-Fetch-Site": site})
        assert (answer.status_code, words(answer)) == (403, "this request comes from another site")
    answer = client.post("/api/query", json={"sql": "SELECT 1"}, headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403
    assert "from another site, 'https://evil.example'" in words(answer)
    same = client.post("/api/query", json={"sql": "SELECT 1"}, headers={"Origin": "http://localhost:8753"})
    assert same.status_code == 200
    # No other origin is ever told that it may read an answer.
    assert not [name for name in same.headers if name.startswith("access-control")]


def test_what_a_form_could_send_is_refused(client: TestClient) -> None:
    answer = client.post("/api/query", content=b'{"sql": "SELECT 1"}', headers={"Content-Type": "text/plain"})
    assert answer.status_code == 415
    assert words(answer) == "a question comes as JSON\nhint: send it with Content-Type: application/json"


def test_the_page_runs_nothing_but_its_own_scripts(client: TestClient) -> None:
    for path in ("/", "/main.js", "/api/database", "/nowhere"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    page = client.get("/").text
    assert "http" not in page.replace("http-equiv", "")
    assert "<script>" not in page and "style=" not in page and "onclick" not in page


def test_without_the_token_nothing_is_answered(guarded: TestClient) -> None:
    for path in ("/", "/main.js", "/api/database", "/api/events"):
        answer = guarded.get(path)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "this page needs its token" in answer.text
        assert "open the address that `whence serve` printed" in answer.text
    for wrong in ("", "Bearer", "Bearer x", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer é"):
        headers = [(b"authorization", wrong.encode("latin-1"))]
        assert guarded.get("/api/database", headers=headers).status_code == 401
    assert guarded.get("/?token=wrong").status_code == 401
    assert guarded.get("/api/database", headers={"Cookie": f"whence_8753={TOKEN[:-1]}; ;=="}).status_code == 401


def test_the_token_as_a_header(guarded: TestClient) -> None:
    assert guarded.get("/api/database", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_the_token_in_the_address_becomes_a_cookie(guarded: TestClient) -> None:
    answer = guarded.get(f"/?token={TOKEN}&x=1")
    assert (answer.status_code, answer.headers["location"]) == (303, "/?x=1")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie
    assert guarded.get("/api/database").status_code == 200
    # A question that changes something cannot be told by an address alone.
    guarded.cookies.clear()
    assert guarded.post(f"/api/query?token={TOKEN}", json={"sql": "SELECT 1"}).status_code == 401


def test_the_way_back_stays_on_this_server(guarded: TestClient) -> None:
    answer = guarded.get(f"http://box:8753//evil.example/?token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/evil.example/")


def test_web_sockets_are_closed(client: TestClient) -> None:
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/api/events"):
        pass


def test_a_page_for_everybody_needs_a_token(db: Database) -> None:
    with pytest.raises(ValueError, match="needs a token"):
        app(db, hosts=None)


def test_a_huge_body_is_not_read(db: Database) -> None:
    with TestClient(app(db, limits=RequestLimits(body=1_000)), base_url="http://localhost") as client:
        answer = client.post("/api/query", json={"sql": "x" * 2_000})
        assert answer.status_code == 413
        assert words(answer) == "the request is larger than 1,000 bytes\nhint: ask in smaller parts"

        def endless() -> Iterator[bytes]:
            for _ in range(100):
                yield b" " * 100

        # Nobody said how large it is.
        assert client.post("/api/query", content=endless(), headers=JSON).status_code == 413
        assert client.post("/api/query", json={"sql": "SELECT 1 AS one"}).status_code == 200


@contextmanager
def held(db: Database) -> Iterator[None]:
    """The database, as if a commit took its time."""
    busy, done = threading.Event(), threading.Event()

    def hold() -> None:
        with db._reading():  # noqa: SLF001 - nothing outside takes so long
            busy.set()
            done.wait(20)

    holding = threading.Thread(target=hold)
    holding.start()
    busy.wait(20)
    try:
        yield
    finally:
        done.set()
        holding.join()


def test_too_many_questions_at_once(db: Database) -> None:
    workers = Workers(RequestLimits(seconds=20, at_once=1))

    async def ask_twice() -> None:
        async with anyio.create_task_group() as asking:
            asking.start_soon(workers.run, lambda: db.rows("link"))
            await anyio.sleep(0.1)
            with pytest.raises(RefusedRequestError) as refused:
                await workers.run(lambda: db.rows("link"))
            assert (refused.value.status, refused.value.hint) == (503, "try again later")
            assert refused.value.message == "1 questions are being answered already"
            asking.cancel_scope.cancel()

    with held(db):
        anyio.run(ask_twice)


def test_too_long_a_question(db: Database) -> None:
    limits = RequestLimits(seconds=0.5, at_once=1)
    with TestClient(app(db, limits=limits), base_url="http://localhost") as client:
        with held(db):
            answer = client.get("/api/rows", params={"relation": "link"})
            assert answer.status_code == 504
            assert words(answer) == "the database is busy with a commit or with another question\nhint: ask again later"
            # Whoever waited has gone, and there is room for others to wait.
            assert client.get("/api/rows", params={"relation": "link"}).status_code == 504
        deadline = time.monotonic() + 20
        while client.get("/api/rows", params={"relation": "link"}).status_code != 200:
            assert time.monotonic() < deadline
            time.sleep(0.05)
