"""The simulation without databases: what sites know, and their conversations, with a recursive view done by hand.

A run takes a few milliseconds, so that thousands of them fit into a suite.
"""

from __future__ import annotations

import random

from whence.model.schema import Column, Relation
from whence.model.types import INT, Row
from whence.replica.augmented import Augmented, TableDeltas
from whence.replica.conversation import Conversation, Follow
from whence.replica.knowledge import Told
from whence.replica.membership import Membership
from whence.replica.messages import Batch, Offered, Request, pack, unpack
from whence.replica.presence import Derivation
from whence.replica.rows import Id, RowText, id_of, schema_of, space_of

LINK = Relation("link", (Column("a", INT), Column("b", INT)), distinct=True)
TEXT = RowText(LINK, "link")
Pair = tuple[int, int]


class SmallSite:
    """Shares `link`, or follows `path` of others, which are all pairs that links lead from and to."""

    def __init__(self, name: str, sources: tuple[str, ...] = ()) -> None:
        self.name = name
        self.rows: set[Row] = set()
        self.augmented = Augmented(name)
        self.membership = Membership(self.augmented, f"{name}-1")
        self.follows = {"path": Follow([(source, "path") for source in sources])} if sources else {}
        self.conversation = Conversation(self.augmented, self.membership, self.follows, self._offer, self._make_table)
        if not sources:
            self.augmented.share(LINK)
        self._is_telling = False
        # What holds now.
        self._held: set[Derivation] = set()

    def change(self, row: Pair, *, is_there: bool) -> None:
        if (row in self.rows) != is_there:
            self._apply({"link": {row: 1 if is_there else -1}})
            self.augmented.absorb({"link": {row: 1 if is_there else -1}}, lambda _: {}, is_merge=False)
            self._tell()

    def ask(self, to: str) -> bytes:
        return pack(self.conversation.request(to))

    def handle(self, data: bytes) -> bytes | None:
        message = unpack(data)
        answer: Batch | Request | None
        if isinstance(message, Request):
            answer = self.conversation.answer(message)
        else:
            deltas = self.conversation.take(message)
            self._apply(deltas or {})
            self._tell()
            answer = None if deltas is None or message.is_last else self.conversation.request(message.head.site)
        self.membership.collect()
        return None if answer is None else pack(answer)

    def exchange(self, other: SmallSite) -> None:
        for one, another in ((self, other), (other, self)):
            data: bytes | None = one.ask(another.name)
            while data is not None:
                answer = another.handle(data)
                assert answer is not None
                data = one.handle(answer)

    def _apply(self, deltas: TableDeltas) -> None:
        for delta in deltas.values():
            for row, change in delta.items():
                assert (row in self.rows) == (change < 0)
                (self.rows.add if change > 0 else self.rows.discard)(row)

    def _offer(self, _: str) -> Offered:
        self._is_telling = True
        self._tell()
        space = space_of(self.name, "path")
        return Offered(space, schema_of(LINK.columns), [space, "link", *self._below()])

    def _below(self) -> list[str]:
        return [space for follow in self.follows.values() for under in follow.spaces.values() for space in under]

    def _make_table(self, table: str, offered: Offered, _: object) -> None:
        if offered.space not in self.follows[table].spaces:
            self.augmented.follow(offered.space, table, TEXT)
        self.follows[table].spaces[offered.space] = offered.spaces

    def _tell(self) -> None:
        """path(a, b) :- link(a, b).   path(a, c) :- link(a, b), path(b, c)."""
        if not self._is_telling or self.follows:
            return
        space = space_of(self.name, "path")
        paths = closure(self.rows)
        held: dict[Derivation, str] = {}
        for a, b in self.rows:
            _hold(held, space, (a, b), [_id("link", (a, b))])
            for c in [c for start, c in paths if start == b]:
                _hold(held, space, (a, c), [_id("link", (a, b)), _id(space, (b, c))])
        knowledge = self.augmented.knowledge
        for derivation, text in held.items():
            if derivation not in self._held:
                knowledge.learn_derivation(derivation, Told(space, text, knowledge.number, derivation.needs))
        self._held = set(held)


def _hold(held: dict[Derivation, str], space: str, row: Row, needs: list[Id]) -> None:
    text = TEXT.text(row)
    held[Derivation(id_of(space, text), tuple(sorted(needs)))] = text


def _id(space: str, row: Row) -> Id:
    return id_of(space, TEXT.text(row))


def closure(links: set[Row]) -> set[Row]:
    paths = set(links)
    while True:
        more = {(a, d) for a, b in links for c, d in paths if b == c} - paths
        if not more:
            return paths
        paths |= more


def run(seed: int, steps: int = 60, *, forgets: float = 0.0) -> list[SmallSite]:
    """Some sites that share, some that follow; messages are lost, repeated and reordered; then all meet.

    Now and then, a site forgets how far it has come with another.
    """
    chance = random.Random(seed)
    bases = [SmallSite(f"base{number}") for number in range(chance.randint(1, 4))]
    names = [base.name for base in bases]
    edges = [
        SmallSite(f"edge{number}", tuple(chance.sample(names, chance.randint(1, len(names)))))
        for number in range(chance.randint(0, 2))
    ]
    far = [SmallSite("far", (edges[0].name,))] if edges and chance.random() < 0.5 else []
    sites = {site.name: site for site in (*bases, *edges, *far)}
    pairs = [(one, other) for one in names for other in names if one < other]
    for site in (*edges, *far):
        pairs += [(site.name, source) for source, _ in site.follows["path"].sources]
    network: list[tuple[str, str, bytes]] = []
    for _ in range(steps):
        what = chance.random()
        if what < 0.4 or not pairs:
            row = (chance.randint(0, 2), chance.randint(0, 2))
            chance.choice(bases).change(row, is_there=chance.random() < 0.6)
        elif what < 0.65:
            one, other = chance.sample(chance.choice(pairs), 2)
            network.append((one, other, sites[one].ask(other)))
        elif what > 1 - forgets:
            site = chance.choice(list(sites.values()))
            for peer in site.membership.peers.values():
                peer.interest = ""
        elif network:
            at = chance.randrange(len(network))
            sender, to, data = network[at]
            if chance.random() < 0.7:
                network.pop(at)
            if chance.random() < 0.8 and (answer := sites[to].handle(data)) is not None:
                network.append((to, sender, answer))
    for _ in range(3):
        for one, other in pairs:
            sites[one].exchange(sites[other])
    for base in bases:
        assert base.rows == bases[0].rows == base.augmented.expected("link"), f"seed {seed}: {base.name}"
    for site in (*edges, *far):
        assert site.rows == closure(bases[0].rows), f"seed {seed}: {site.name}"
    return list(sites.values())
