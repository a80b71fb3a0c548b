"""What sites send each other: bytes that say by themselves whether they are whole, and of which format.

A message is a header (the mark of whence, the format's version, a digest) and compressed JSON. Nothing in it is
executed, no name in it is trusted, and it is looked at completely before anything changes.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from whence.errors import WhenceError
from whence.replica.knowledge import Dot, Item, Length, Told, Vectors
from whence.replica.rows import ID_BYTES, Id, Schema
from whence.replica.summary import BRANCHES, PLACE_DIGITS, Part, Total

MARK = b"whence-site"
FORMAT_VERSION = 2
DIGEST_BYTES = 16
_HEADER = len(MARK) + 1 + DIGEST_BYTES
# What a message unpacks to at most: many times a batch, and far less than memory.
MOST_BYTES = 256 * 1024 * 1024
_HIGHEST = 2**53  # numbers that every JSON reader takes as they are

T = TypeVar("T")


class RefusedMessageError(WhenceError):
    """A message that is not taken; nothing has changed."""


@dataclass(frozen=True)
class Head:
    """What every message says about its sender, a site by its name and the instance that it is.

    `to` is whom it is for. `members` tells for each shared table which updates each of its sites is known to know,
    `floors` what has been collected, and `forgotten` the sites that are members no more.
    """

    site: str
    instance: str
    to: str
    members: dict[str, Vectors] = field(default_factory=dict)
    floors: dict[str, int] = field(default_factory=dict)
    forgotten: dict[str, str] = field(default_factory=dict)


class Query(NamedTuple):
    """What a site has that begins with a prefix: in all, or the prints of each piece."""

    part: Part
    prefix: str
    total: Total
    prints: tuple[int, ...] | None = None


class Split(NamedTuple):
    """What a site has that begins with a prefix, by the digit that comes next."""

    part: Part
    prefix: str
    totals: tuple[Total, ...]


@dataclass(frozen=True)
class Request:
    """Asks for what came after `cursor`, a number of the instance `of`, about tables that both share and what is
    followed. `interest` names all that, so that an answer to another question is told from one to this.

    `known` is how much its sender knows: where that is much and there is no cursor, the answer may be to compare. Then
    `round` names the question, and `queries` are what is to be compared.
    """

    head: Head
    of: str
    cursor: int
    shares: dict[str, Schema]
    follows: list[str]
    interest: str
    known: int = 0
    round: str = ""
    queries: list[Query] = field(default_factory=list)


@dataclass(frozen=True)
class Offered:
    """A relation that is followed: the space of its rows, its columns, and all spaces that it rests on.

    A table rests on its own alone, and all its rows are wanted; of what is below a view, those that it rests on.
    """

    space: str
    schema: Schema
    spaces: list[str]


@dataclass(frozen=True)
class Batch:
    """What came between two numbers of the sender. The last one says which updates the sender has `seen`.

    Where summaries are compared, it answers the first so many queries of a `round`: items that its receiver lacks, and
    how the sender's summaries go on.
    """

    head: Head
    begins: int
    ends: int
    interest: str
    is_last: bool
    offers: dict[str, Offered]
    seen: Vectors
    items: list[Item]
    round: str = ""
    answered: int = 0
    splits: list[Split] = field(default_factory=list)


def pack(message: Request | Batch) -> bytes:
    if isinstance(message, Request):
        kind, content = "request", {**vars(message), "queries": [_query_content(each) for each in message.queries]}
    else:
        kind, content = "batch", _batch_content(message)
    content["head"] = vars(message.head)
    body = zlib.compress(json.dumps([kind, content], separators=(",", ":")).encode(), 3)
    return MARK + bytes([FORMAT_VERSION]) + _digest(body) + body


def unpack(data: bytes) -> Request | Batch:
    """The message; raises RefusedMessageError where it is none that can be taken."""
    if not data.startswith(MARK):
        raise RefusedMessageError("this is not a message of a site of whence")
    if len(data) <= _HEADER:
        raise RefusedMessageError("the message is truncated")
    if data[len(MARK)] != FORMAT_VERSION:
        raise RefusedMessageError(
            f"the message has format {data[len(MARK)]}, and this site speaks format {FORMAT_VERSION}",
            hint="bring both sites to one version of whence",
        )
    body = data[_HEADER:]
    if _digest(body) != data[len(MARK) + 1 : _HEADER]:
        raise RefusedMessageError("the message is truncated or altered: its digest is another one")
    try:
        inflate = zlib.decompressobj()
        text = inflate.decompress(body, MOST_BYTES)
        if inflate.unconsumed_tail:
            raise RefusedMessageError(f"the message unpacks to more than {MOST_BYTES:,} bytes")
        kind, content = json.loads(text)
        match kind:
            case "request":
                return _request(content)
            case "batch":
                return _batch(content)
    except (zlib.error, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        pass
    raise RefusedMessageError("the message cannot be understood")


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=DIGEST_BYTES).digest()


def _batch_content(batch: Batch) -> dict[str, Any]:
    offers = {name: vars(offered) for name, offered in batch.offers.items()}
    splits = [_split_content(each) for each in batch.splits]
    content = {**vars(batch), "offers": offers, "splits": splits}
    del content["items"]
    # Names that come again and again are told once.
    names: dict[str, int] = {}
    lengths: list[list[object]] = []
    told: list[list[object]] = []
    for item in batch.items:
        space = names.setdefault(item.space, len(names))
        if isinstance(item, Length):
            site = names.setdefault(item.site, len(names))
            stamps = [[names.setdefault(each.site, len(names)), each.number] for each in item.stamps or ()]
            lengths.append([space, item.text, item.length, site, item.update, *stamps])
        else:
            told.append([space, item.text, item.number, _joined(item.needs), _joined(item.without)])
    content |= {"names": list(names), "lengths": lengths, "told": told}
    return content


def _joined(ids: Iterable[Id]) -> str:
    return b"".join(ids).hex()


def _query_content(query: Query) -> list[object]:
    known = [_words(query.prints)] if query.prints is not None else []
    return [*query.part, query.prefix, _words([query.total.number]), query.total.pieces, *known]


def _split_content(split: Split) -> list[object]:
    numbers = _words([each.number for each in split.totals])
    return [*split.part, split.prefix, numbers, [each.pieces for each in split.totals]]


def _words(numbers: Iterable[int]) -> str:
    """Words of 64 bits: more than numbers of JSON have."""
    return "".join([f"{each:016x}" for each in numbers])


def _request(content: dict[str, Any]) -> Request:
    return Request(
        head=_head(content["head"]),
        of=_text(content["of"]),
        cursor=_number(content["cursor"]),
        shares=_mapping(content["shares"], _schema),
        follows=[_text(each) for each in _listed(content["follows"])],
        interest=_text(content["interest"]),
        known=_number(content["known"]),
        round=_text(content["round"]),
        queries=[_query(*each) for each in _listed(content["queries"])],
    )


def _batch(content: dict[str, Any]) -> Batch:
    names = [_text(each) for each in _listed(content["names"])]
    items: list[Item] = []
    for space, text, length, site, number, *stamps in _listed(content["lengths"]):
        of_columns = tuple([Dot(_positive(each), names[_number(by)]) for by, each in stamps]) or None
        items.append(
            Length(
                names[_number(space)],
                _text(text),
                _positive(length),
                _positive(number),
                names[_number(site)],
                of_columns,
            )
        )
    items += [
        Told(names[_number(space)], _text(text), _number(number), _split(needs), _split(without))
        for space, text, number, needs, without in _listed(content["told"])
    ]
    return Batch(
        head=_head(content["head"]),
        begins=_number(content["begins"]),
        ends=_number(content["ends"]),
        interest=_text(content["interest"]),
        is_last=content["is_last"] is True,
        offers=_mapping(content["offers"], _offered),
        seen=_mapping(content["seen"], _vector),
        items=items,
        round=_text(content["round"]),
        answered=_number(content["answered"]),
        splits=[_split_of(*each) for each in _listed(content["splits"])],
    )


def _query(kind: object, space: object, prefix: object, number: object, count: object, *prints: object) -> Query:
    (total,) = _numbers(number)
    known = tuple(_numbers(prints[0])) if prints else None
    return Query(_part(kind, space), _prefix(prefix), Total(total, _number(count)), known)


def _split_of(kind: object, space: object, prefix: object, numbers: object, counts: object) -> Split:
    totals = tuple(map(Total, _numbers(numbers), map(_number, _listed(counts))))
    if len(totals) != BRANCHES or len(_prefix(prefix)) >= PLACE_DIGITS:
        raise ValueError
    return Split(_part(kind, space), _prefix(prefix), totals)


def _part(kind: object, space: object) -> Part:
    if kind not in ("rows", "mentioned", "derivations"):
        raise ValueError
    return Part(kind, _text(space))


def _prefix(value: object) -> str:
    prefix = _text(value)
    if len(prefix) > PLACE_DIGITS or prefix.strip("0123456789abcdef"):
        raise ValueError
    return prefix


def _numbers(text: object) -> list[int]:
    data = bytes.fromhex(_text(text))
    if len(data) % 8:
        raise ValueError
    return [int.from_bytes(data[at : at + 8], "big") for at in range(0, len(data), 8)]


def _head(content: dict[str, Any]) -> Head:
    return Head(
        site=_text(content["site"]),
        instance=_text(content["instance"]),
        to=_text(content["to"]),
        members=_mapping(content["members"], lambda of: _mapping(of, _vector)),
        floors=_mapping(content["floors"], _number),
        forgotten=_mapping(content["forgotten"], _text),
    )


def _offered(content: dict[str, Any]) -> Offered:
    spaces = [_text(each) for each in _listed(content["spaces"])]
    return Offered(_text(content["space"]), _schema(content["schema"]), spaces)


def _schema(content: object) -> Schema:
    return [_listed(each) for each in _listed(content)]


def _vector(content: object) -> dict[str, int]:
    return _mapping(content, _number)


def _split(text: object) -> tuple[Id, ...]:
    data = bytes.fromhex(_text(text))
    if len(data) % ID_BYTES:
        raise ValueError
    found = [data[at : at + ID_BYTES] for at in range(0, len(data), ID_BYTES)]
    # In order and without repetition, or one derivation would be two.
    if any(one >= other for one, other in pairwise(found)):
        raise ValueError
    return tuple(found)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: object) -> int:
    if type(value) is not int or not 0 <= value < _HIGHEST:
        raise TypeError
    return value


def _positive(value: object) -> int:
    if not _number(value):
        raise ValueError
    return _number(value)


def _listed(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _mapping(value: object, read: Callable[[Any], T]) -> dict[str, T]:
    if not isinstance(value, dict):
        raise TypeError
    return {name: read(each) for name, each in value.items()}
