"""Messages that must not be taken: each is refused with its reason, nothing changes, and the next one counts."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import pytest

import whence
from whence.errors import DataError, WhenceError
from whence.replica import messages
from whence.replica.messages import RefusedMessageError, unpack
from whence.replica.site import Site


def pair() -> tuple[Site, Site]:
    one, two = whence.site("one"), whence.site("two")
    for site in (one, two):
        site.execute("CREATE TABLE r(a INT, b STRING, PRIMARY KEY (a, b))")
        site.share("r")
    one.insert("r", [(1, "x"), (2, "y")])
    two.insert("r", [(3, "z")])
    two.delete("r", [(3, "z")])
    return one, two


def batch_for(one: Site, two: Site) -> bytes:
    """What `one` tells `two`."""
    answer = one.handle(two.ask("one"))
    assert answer is not None
    return answer


def state(site: Site) -> object:
    knowledge = site.augmented.knowledge
    return site.rows("r"), dict(knowledge.lengths), dict(knowledge.told), site.augmented.seen, site.status()


def altered(data: bytes, change: Callable[[Any], object]) -> bytes:
    """A message that says something else, and is whole."""
    header = len(messages.MARK) + 1 + messages.DIGEST_BYTES
    content = json.loads(zlib.decompress(data[header:]))
    change(content[1])
    body = zlib.compress(json.dumps(content).encode())
    return data[: len(messages.MARK) + 1] + blake2b(body, digest_size=messages.DIGEST_BYTES).digest() + body


def refuse(site: Site, data: bytes, words: str) -> None:
    before = state(site)
    with pytest.raises(WhenceError, match=words):
        site.handle(data)
    assert state(site) == before


def test_bytes_that_are_not_whole() -> None:
    one, two = pair()
    data = batch_for(one, two)
    refuse(two, b"", "not a message")
    refuse(two, b"GET / HTTP/1.1", "not a message")
    refuse(two, data[:20], "truncated")
    refuse(two, data[:-5], "truncated or altered")
    refuse(two, data[:-1] + b"?", "truncated or altered")
    version = len(messages.MARK)
    refuse(two, data[:version] + b"\x09" + data[version + 1 :], "has format 9, and this site speaks format 2")
    two.handle(data)
    assert two.rows("r") == {(1, "x"), (2, "y")}


def test_any_byte_may_be_wrong() -> None:
    one, two = pair()
    message = batch_for(one, two)
    for at in range(len(message)):
        wrong = bytearray(message)
        wrong[at] ^= 1 << at % 8
        with pytest.raises(RefusedMessageError):
            unpack(bytes(wrong))


def test_messages_that_lie() -> None:
    one, two = pair()
    data = batch_for(one, two)

    def setting(*path: Any) -> Callable[[Any], object]:
        *way, last, value = path

        def change(content: Any) -> None:
            for step in way:
                content = content[step]
            content[last] = value

        return change

    for change, words in [
        (setting("head", "to", "three"), "the message is for 'three', and this is 'two'"),
        (setting("head", "site", "two"), "another site with the name of this one, 'two'"),
        (setting("lengths", 0, 1, '["no number","x"]'), "has no INT in column 'a'|column 'a' is INT"),
        (setting("lengths", 0, 1, "[1]"), "cannot be read"),
        (setting("lengths", 0, 1, '[1, "x"]'), "written in an unknown way"),
        (setting("lengths", 0, 2, 0), "cannot be understood"),
        (setting("lengths", 0, 2, -1), "cannot be understood"),
        (setting("lengths", 0, 2, 1.5), "cannot be understood"),
        (setting("lengths", 0, 0, 77), "cannot be understood"),
        (setting("lengths", None), "cannot be understood"),
        (setting("told", [[0, "[]", 0, "abc", ""]]), "cannot be understood"),
        (setting("head", "members", "r", "one", {"two": 99}), "knows updates of 'two' which this site has not made"),
    ]:
        refuse(two, altered(data, change), words)
    two.handle(data)
    assert two.rows("r") == {(1, "x"), (2, "y")}


def test_an_update_that_this_site_never_made() -> None:
    one, two = pair()
    data = batch_for(one, two)

    def claim(content: Any) -> None:
        content["names"].append("two")
        content["lengths"][0][3:] = [len(content["names"]) - 1, 1_000]

    refuse(two, altered(data, claim), "an update of 'two' which this site has not made")


def test_what_comes_again_or_too_late_changes_nothing() -> None:
    one, two = pair()
    first = batch_for(one, two)
    two.handle(first)
    one.delete("r", [(1, "x")])
    second = batch_for(one, two)
    two.handle(second)
    assert two.rows("r") == {(2, "y")}
    for replayed in (first, second, first):
        before = state(two)
        assert two.handle(replayed) is None
        assert state(two) == before


def test_two_sites_with_one_name() -> None:
    one, two = pair()
    one.exchange(two)
    impostor = whence.site("two")
    impostor.execute("CREATE TABLE r(a INT, b STRING, PRIMARY KEY (a, b))")
    impostor.share("r")
    impostor.insert("r", [(9, "not two's")])
    before = state(one)
    with pytest.raises(RefusedMessageError, match="there are two sites with the name 'two'"):
        one.handle(impostor.ask("one"))
    assert state(one) == before
    with pytest.raises(RefusedMessageError, match="another site with the name of this one"):
        two.exchange(impostor)
    one.exchange(two)


def test_a_schema_that_differs() -> None:
    one, _ = pair()
    for definition, words in [
        ("a INT, b STRING, c INT, PRIMARY KEY (a, b, c)", "column 3 is missing at 'one' and c INT NOT NULL at 'other'"),
        ("a INT, b INT, PRIMARY KEY (a, b)", "column 2 is b STRING NOT NULL at 'one' and b INT NOT NULL at 'other'"),
        ("b INT, a STRING, PRIMARY KEY (b, a)", "column 1 is a INT NOT NULL at 'one' and b INT NOT NULL at 'other'"),
    ]:
        other = whence.site("other")
        other.execute(f"CREATE TABLE r({definition})")
        other.share("r")
        before = state(one)
        with pytest.raises(RefusedMessageError, match=words):
            one.exchange(other)
        assert state(one) == before


def test_what_cannot_be_followed_or_shared() -> None:
    one, two = pair()
    one.execute(
        "CREATE VIEW copies AS SELECT a FROM r; CREATE TABLE bag(x INT); CREATE TABLE k(x INT PRIMARY KEY, y INT)"
    )
    two.follow("one", "nothing")
    with pytest.raises(WhenceError, match="'one' has no relation 'nothing'"):
        two.exchange(one)
    three = whence.site("three")
    three.follow("one", "copies")
    with pytest.raises(WhenceError, match="'copies' can have several copies of a row"):
        three.exchange(one)
    with pytest.raises(WhenceError, match="'bag' can have several copies"):
        one.share("bag")
    with pytest.raises(WhenceError, match="'copies' is a view"):
        one.share("copies")
    for name in ("", "a b", "x" * 65, "../up", None):
        with pytest.raises(WhenceError, match="is no name of a site"):
            whence.site(name)  # type: ignore[arg-type]


def test_what_is_followed_is_not_written_here() -> None:
    one, edge = pair()[0], whence.site("edge")
    one.execute("CREATE VIEW v AS SELECT DISTINCT a FROM r")
    edge.follow("one", "v")
    edge.exchange(one)
    with pytest.raises(DataError, match="'v' follows 'v' of 'one', and cannot be changed here"):
        edge.insert("v", [(9,)])
    with pytest.raises(WhenceError, match="'v' is replicated, and cannot be dropped"):
        edge.execute("DROP TABLE v")
    with pytest.raises(WhenceError, match="'v' is followed by other sites"):
        one.execute("CREATE OR REPLACE VIEW v AS SELECT DISTINCT a + 1 AS a FROM r")
    assert edge.rows("v") == {(1,), (2,)}


def test_a_site_that_was_forgotten_stays_away() -> None:
    one, two = pair()
    one.exchange(two)
    one.delete("r", [(1, "x")])
    assert one.status().gone == 1
    one.forget("two")
    assert one.status().gone == 0
    with pytest.raises(RefusedMessageError, match="'two' has been forgotten"):
        two.exchange(one)
    assert one.rows("r") == {(2, "y")}
    with pytest.raises(WhenceError, match="no site 'nobody' is known"):
        one.forget("nobody")
