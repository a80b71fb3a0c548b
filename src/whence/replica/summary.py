"""Summaries of what a site knows: how much of it begins with a prefix, and one number that stands for all of that.

Two sites that have lost count of each other compare these numbers, first for everything and then for longer and longer
prefixes, only where they differ. So what goes over follows what differs, and not what is known.

Each piece of knowledge has a *place*, 64 bits that its id begins with, and a *print*, 64 bits that another state of it
would have otherwise. The number of a prefix is the sum of the prints of all places that begin with it. Sums are taken
over sorted runs, as differences of running totals; a change appends a run with the difference that it makes, and runs
of like size are merged. So a change costs little, however much is known, and so does the number of a prefix.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from whence.replica.knowledge import Key, Knowledge, Length

Words: TypeAlias = npt.NDArray[np.uint64]
Counts: TypeAlias = npt.NDArray[np.int64]

PLACE_DIGITS = 16  # of a place, in hexadecimal digits: what prefixes are made of
BRANCHES = 16


class Part(NamedTuple):
    """What is compared by itself: all base rows of a space, those that its derivations mention, its derivations."""

    kind: Literal["rows", "mentioned", "derivations"]
    space: str


class Total(NamedTuple):
    """The number that stands for a prefix, and how many pieces of knowledge begin with it."""

    number: int
    pieces: int


class _Run:
    """Places in order without repetition, with running totals of what they add."""

    def __init__(self, places: Words, prints: Words, counts: Counts) -> None:
        self.places = places
        self.prints = np.concatenate((np.zeros(1, np.uint64), np.cumsum(prints, dtype=np.uint64)))
        self.counts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)))

    def __len__(self) -> int:
        return len(self.places)


class PrefixSums:
    """Prints by place. Those of a place that changes are replaced."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []

    def put(self, places: Words, prints: Words) -> None:
        """Each of these places has this print from now on; 0 where there is nothing any more."""
        places, first = np.unique(places, return_index=True)
        prints = prints[first]
        numbers, counts = self.totals(places, places)
        change, more = prints - numbers, (prints != 0).astype(np.int64) - counts
        self._append(places, change, more)

    def totals(self, first: Words, last: Words) -> tuple[Words, Counts]:
        """For each range of places, both ends included, the sum of the prints and how many there are."""
        numbers, counts = np.zeros(len(first), np.uint64), np.zeros(len(first), np.int64)
        for run in self._runs:
            begins, ends = np.searchsorted(run.places, first, "left"), np.searchsorted(run.places, last, "right")
            numbers += run.prints[ends] - run.prints[begins]
            counts += run.counts[ends] - run.counts[begins]
        return numbers, counts

    def inside(self, first: int, last: int) -> tuple[Words, Words]:
        """The places of a range, and their prints."""
        places: list[Words] = []
        for run in self._runs:
            begins = np.searchsorted(run.places, np.uint64(first), "left")
            ends = np.searchsorted(run.places, np.uint64(last), "right")
            places.append(run.places[begins:ends])
        found = np.unique(np.concatenate(places)) if places else np.zeros(0, np.uint64)
        prints, counts = self.totals(found, found)
        is_there = counts > 0
        return found[is_there], prints[is_there]

    def _append(self, places: Words, prints: Words, counts: Counts) -> None:
        matters = (prints != 0) | (counts != 0)
        if not matters.any():
            return
        self._runs.append(_Run(places[matters], prints[matters], counts[matters]))
        while len(self._runs) > 1 and len(self._runs[-2]) <= 2 * len(self._runs[-1]):
            later, earlier = self._runs.pop(), self._runs.pop()
            both = np.concatenate((earlier.places, later.places))
            order = np.argsort(both, kind="stable")
            places, starts = np.unique(both[order], return_index=True)
            prints = np.concatenate((np.diff(earlier.prints), np.diff(later.prints)))[order]
            counts = np.concatenate((np.diff(earlier.counts), np.diff(later.counts)))[order]
            prints, counts = np.add.reduceat(prints, starts), np.add.reduceat(counts, starts)
            matters = (prints != 0) | (counts != 0)
            self._runs.append(_Run(places[matters], prints[matters], counts[matters]))


class Summaries:
    """Of all that is known, by part. They follow what changed when somebody asks for them."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._parts: dict[Part, PrefixSums] = {}
        self._keys: dict[int, Key] = {}
        self._number = 0
        self._forgotten: dict[Part, list[int]] = {}

    def total(self, part: Part, prefix: str) -> Total:
        return self.totals(part, [prefix])[0]

    def totals(self, part: Part, prefixes: Sequence[str]) -> list[Total]:
        self._follow()
        sums = self._parts.get(part)
        if sums is None:
            return [Total(0, 0)] * len(prefixes)
        ranges = [_range(prefix) for prefix in prefixes]
        first, last = (np.array([each[end] for each in ranges], np.uint64) for end in (0, 1))
        numbers, counts = sums.totals(first, last)
        return list(map(Total, numbers.tolist(), counts.tolist()))

    def prints(self, part: Part, prefix: str) -> dict[int, Key]:
        """What begins with a prefix, by print."""
        self._follow()
        sums = self._parts.get(part)
        if sums is None:
            return {}
        places, prints = sums.inside(*_range(prefix))
        return {each: self._keys[place] for place, each in zip(places.tolist(), prints.tolist(), strict=True)}

    def forget(self, keys: Iterable[Key]) -> None:
        """These are about to be forgotten."""
        for key in keys:
            place = _place(key)
            if self._keys.pop(place, None) is not None:
                for part in _parts_of(self._knowledge, key):
                    self._forgotten.setdefault(part, []).append(place)

    def _follow(self) -> None:
        """Take in what changed since the last time."""
        for part, gone in self._forgotten.items():
            if part in self._parts:
                self._parts[part].put(np.array(gone, np.uint64), np.zeros(len(gone), np.uint64))
        self._forgotten.clear()
        changed: dict[Part, list[int]] = {}
        keys: list[Key] = []
        for at, (key, _) in enumerate(self._knowledge.since(self._number)):
            keys.append(key)
            for part in _parts_of(self._knowledge, key):
                changed.setdefault(part, []).append(at)
        self._number = self._knowledge.number
        if keys:
            places, prints = _marks(self._knowledge, keys)
            self._keys.update(zip(places.tolist(), keys, strict=True))
            for part, those in changed.items():
                self._parts.setdefault(part, PrefixSums()).put(places[those], prints[those])


def _parts_of(knowledge: Knowledge, key: Key) -> list[Part]:
    if isinstance(key, bytes):
        mentioned = [Part("mentioned", space) for space in knowledge.mentioning.get(key, ())]
        return [Part("rows", knowledge.lengths[key].space), *mentioned]
    return [Part("derivations", knowledge.told[key].space)]


def _digest(key: Key) -> bytes:
    if isinstance(key, bytes):
        return key
    return blake2b(b"".join((key.head, *key.needs, b"-", *key.without)), digest_size=16).digest()


def _place(key: Key) -> int:
    return int.from_bytes(_digest(key)[:8], "big")


def _marks(knowledge: Knowledge, keys: Sequence[Key]) -> tuple[Words, Words]:
    """The places of pieces of knowledge, and the prints of their states."""
    words = np.frombuffer(b"".join(map(_digest, keys)), ">u8").astype(np.uint64).reshape(-1, 2)
    # Equal states are equal at all sites: a length with its last update, a derivation as often as it was told.
    sites: dict[str, int] = {}
    states: list[tuple[int, int, int]] = []
    for key in keys:
        item = knowledge.item(key)
        if isinstance(item, Length):
            site = sites.get(item.site)
            if site is None:
                digest = blake2b(item.site.encode(), digest_size=8).digest()
                site = sites[item.site] = int.from_bytes(digest, "big")
            states.append((item.length, item.update, site))
        else:
            states.append((0, item.number, 0))
    prints = words[:, 1].copy()
    for column in np.array(states, np.uint64).T:
        prints = _mixed(prints + column)
    # 0 stands for nothing.
    return words[:, 0], prints | np.uint64(1)


def _mixed(words: Words) -> Words:
    """All bits of a word depend on all that it had: the finalizer of splitmix64, after a step of its generator."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _range(prefix: str) -> tuple[int, int]:
    """The first and the last place that begins with it."""
    return int(prefix.ljust(PLACE_DIGITS, "0"), 16), int(prefix.ljust(PLACE_DIGITS, "f"), 16)
