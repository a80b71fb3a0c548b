"""Every endpoint, asked in every wrong way: a JSON error in the user's words, in time, and the server stays small.

`WHENCE_ATTACKS=20000 pytest tests/web/test_attacks.py` tries so many random requests instead of a few.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.web.conftest import PROGRAM

ATTACKS = int(os.environ.get("WHENCE_ATTACKS", "150"))
IN_TIME = 20.0
# What the process may grow by, whatever is sent.
GROWTH = 150_000_000
JSON = {"Content-Type": "application/json"}
GETS = (
    "api/database api/relation?name=link api/rows?relation=link api/proofs/x/step?label=1 api/proofs/x/as/text "
    "api/proofs/x/supports"
).split()
POSTS: dict[str, dict[str, object]] = {
    "why": {"relation": "link", "row": ["a", "b", 1]},
    "why-not": {"relation": "link", "row": ["x", "y", 1]},
    "impact": {"relation": "link", "row": ["a", "b", 1]},
    "critical": {"relation": "reachable", "row": ["a", "b"]},
    "history": {"relation": "link", "row": ["a", "b", 1], "version": 3},
    "what-if": {"insert": {"closed": [["a"]]}, "delete": {}},
    "changes": {"insert": {"closed": [["a"]]}, "delete": {}},
    "query": {"sql": "SELECT 1 AS one"},
}
ODD: list[object] = [
    None,
    True,
    0,
    -1,
    2**63,
    2**200,
    1.5,
    1e308,
    "",
    "x",
    "\x00",
    "\ud800",
    "\u202e\u0301",
    "é" * 300,
    [],
    [[]],
    {},
    {"": None},
]
ODD_TEXTS = [
    "",
    "a\x00b",
    "\ud800",
    "\u202eknil",
    "LINK",
    "l\u0131nk",
    "link; DROP TABLE link",
    "../../etc/passwd",
    "x" * 5_000,
    "`",
    "'",
]


@dataclass(frozen=True, slots=True)
class Served:
    url: str
    process: subprocess.Popen[str]
    client: httpx.Client

    def memory(self) -> int:
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * 4_096


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    program = tmp_path_factory.mktemp("attacks") / "network.sql"
    program.write_text(PROGRAM + "INSERT INTO link VALUES ('a', 'b', 1), ('b', 'c', 2), ('c', 'd', NULL);")
    command = [sys.executable, "-m", "whence", "serve", str(program), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        with httpx.Client(timeout=60) as client:
            found = Served(process.stdout.readline().split()[-1], process, client)
            # What is loaded at the first question of each kind is not the work of an attack.
            for kind, question in POSTS.items():
                client.post(f"{found.url}api/{kind}", json=question)
            before = found.memory()
            yield found
            assert found.memory() - before < GROWTH
            assert client.get(f"{found.url}api/rows?relation=link").json()["rows"]
    finally:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert err == ""


def asked(served: Served, method: str, path: str, **request: object) -> httpx.Response:
    """An answer that is one: in time, and what is wrong said in words that no library of ours or others' uses."""
    started = time.monotonic()
    answer = served.client.request(method, served.url + path, **request)  # type: ignore[arg-type]
    assert time.monotonic() - started < IN_TIME
    assert answer.status_code < 500 or answer.status_code in (503, 504), answer.text[:500]
    if answer.status_code >= 400 and method != "HEAD":
        error = answer.json()["error"]
        assert error["message"] and error["text"]
        for internal in ("Traceback", "Exception", "RecursionError", "pydantic", "duckdb", ".py"):
            assert internal not in error["text"], error["text"]
    return answer


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE", "BREW"])
def test_wrong_methods(served: Served, method: str) -> None:
    for path in GETS:
        if method != "GET":
            assert asked(served, method, path, headers=JSON, content=b"{}").status_code == 405
            assert asked(served, method, path).status_code in (405, 415)
    for kind, question in POSTS.items():
        if method != "POST":
            assert asked(served, method, f"api/{kind}", headers=JSON, content=json.dumps(question)).status_code == 405


def test_odd_headers(served: Served) -> None:
    content = json.dumps(POSTS["query"]).encode()
    for kind in ("", "text/plain", "application/jsonx", "application/json/", "multipart/form-data; boundary=x", "é"):
        headers = [(b"content-type", kind.encode("latin-1"))]
        assert asked(served, "POST", "api/query", content=content, headers=headers).status_code == 415
    for name, value in {
        "Origin": "null", "Sec-Fetch-Site": "x", "Cookie": "=" * 5_000, "Last-Event-ID": "9" * 5_000,
        "Range": "bytes=5-1",
        "Accept": "\x7f", "Authorization": "Bearer " + "x" * 5_000, "Content-Encoding": "gzip", "Upgrade": "websocket",
        "If-None-Match": "\xff" * 99, "X-Forwarded-Host": "evil.example", "Connection": "upgrade",
    }.items():  # fmt: skip
        headers = [(name.encode(), value.encode("latin-1")), (b"content-type", b"application/json")]
        assert asked(served, "POST", "api/query", content=content, headers=headers).status_code in (200, 400, 403)


@pytest.mark.parametrize("kind", POSTS)
def test_huge_and_deep_bodies(served: Served, kind: str) -> None:
    assert asked(served, "POST", f"api/{kind}", headers=JSON, content=b" " * 5_000_000).status_code == 413
    for depth in (50, 500, 990, 5_000, 200_000):
        for start, end in (("[", "]"), ('{"relation":', "}"), ('{"row":[', "]}"), ('{"insert":{"link":[', "]}}")):
            body = (start * depth + "1" + end * depth)[:999_999]
            assert asked(served, "POST", f"api/{kind}", headers=JSON, content=body).status_code in (400, 403, 404)
    deep: object = 1
    for _ in range(400):
        deep = [deep]
    for question in ({"relation": "link", "row": [deep, "b", 1]}, {"insert": {"link": [[deep, "b", 1]]}}):
        assert asked(served, "POST", f"api/{kind}", headers=JSON, content=json.dumps(question)).status_code in (
            400,
            403,
        )
    wide = json.dumps({"relation": "link", "row": list(range(100_000))})
    assert asked(served, "POST", f"api/{kind}", headers=JSON, content=wide).status_code in (400, 403)
    many = json.dumps({"insert": {f"t{at}": [[at]] for at in range(30_000)}})
    assert asked(served, "POST", f"api/{kind}", headers=JSON, content=many).status_code in (400, 403, 404)


@pytest.mark.parametrize("kind", POSTS)
def test_wrong_types_for_every_field(served: Served, kind: str) -> None:
    for field in POSTS[kind]:
        for value in ODD:
            question = {**POSTS[kind], field: value}
            asked(served, "POST", f"api/{kind}", headers=JSON, content=json.dumps(question))
        without = {name: value for name, value in POSTS[kind].items() if name != field}
        asked(served, "POST", f"api/{kind}", headers=JSON, content=json.dumps(without))
    asked(served, "POST", f"api/{kind}", headers=JSON, content=json.dumps({**POSTS[kind], "more": 1}))


def test_odd_addresses(served: Served) -> None:
    for text in ODD_TEXTS:
        given = text.encode("utf-8", "surrogatepass")
        for path, name in (
            ("relation", "name"),
            ("rows", "relation"),
            ("rows?relation=link", "where"),
            ("proofs/x/step", "label"),
        ):
            odd = "".join(f"%{byte:02x}" for byte in given)
            asked(served, "GET", f"api/{path}{'&' if '?' in path else '?'}{name}={odd}")
    for query in (
        "offset=99999999999999999999",
        "limit=-1",
        "limit=1e9",
        "offset=é",
        "where=%5B" * 2,
        "where=" + "%5B" * 20_000,
    ):
        asked(served, "GET", f"api/rows?relation=link&{query}")
    for path in (
        "api",
        "api/",
        "api//database",
        "api/database/",
        "%00",
        "..%2f..%2fetc/passwd",
        "api/proofs/%2e%2e/as/svg",
        "x" * 9_000,
    ):
        assert asked(served, "GET", path).status_code in (200, 307, 400, 404, 405)
    asked(served, "GET", "api/events?since=x")


def random_request(dice: random.Random) -> tuple[str, bytes]:
    """A question with some of it replaced, some of it twice, and now and then a byte changed."""
    kind = dice.choice(list(POSTS))
    question: dict[str, object] = dict(POSTS[dice.choice([kind, *POSTS])])
    for field in list(question):
        if dice.random() < 0.5:
            question[field] = dice.choice(
                [dice.choice(ODD), dice.choice(ODD_TEXTS), [dice.choice(ODD) for _ in range(3)]]
            )
        if dice.random() < 0.2:
            names = dice.sample(["src", "dst", "km", "SRC", "", "é"], 2)
            question[field] = {name: dice.choice(ODD) for name in names}
    body = bytearray(json.dumps(question).encode())
    if dice.random() < 0.3:
        body[dice.randrange(len(body))] = dice.randrange(256)
    return kind, bytes(body)


def test_random_requests_in_bursts(served: Served) -> None:
    seed = random.randrange(10**9)
    dice = random.Random(seed)
    requests = [random_request(dice) for _ in range(ATTACKS)]
    with ThreadPoolExecutor(24) as pool:
        answers = [
            pool.submit(asked, served, "POST", f"api/{kind}", headers=JSON, content=body) for kind, body in requests
        ]
        for (kind, body), answer in zip(requests, answers, strict=True):
            try:
                answer.result()
            except AssertionError as error:
                raise AssertionError(f"seed {seed} of {ATTACKS}: {kind} {body!r}: {error}") from None


def test_a_burst_of_one_kind_is_answered_or_put_off(served: Served) -> None:
    with ThreadPoolExecutor(40) as pool:
        answers = [
            pool.submit(asked, served, "POST", "api/query", json={"sql": "SELECT * FROM reachable"}) for _ in range(40)
        ]
        statuses = {answer.result().status_code for answer in answers}
    assert statuses <= {200, 400, 503, 504} and 200 in statuses
