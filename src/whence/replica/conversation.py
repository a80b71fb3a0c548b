"""How two sites bring each other up to date: requests, and batches in answer to them.

A request says how far its sender has come in the numbers of the other. A batch goes on from there, and counts only
where its beginning is where the receiver is: what is lost is asked for again, and what comes twice or too late
changes nothing. Where the sender has lost count, or never had one, and knows much nevertheless, the two compare
summaries first: see `comparison`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from whence.model.schema import Column
from whence.replica import comparison
from whence.replica.augmented import Augmented, TableDeltas
from whence.replica.comparison import Comparison
from whence.replica.knowledge import Item, Key, Length, Vector, covers, raise_to
from whence.replica.membership import Membership, Peer
from whence.replica.messages import Batch, Offered, RefusedMessageError, Request
from whence.replica.rows import columns_of, difference, schema_of
from whence.replica.summary import Part, Summaries

BATCH_ITEMS = 20_000  # a few megabytes, and well under a second of work


@dataclass
class Follow:
    """A table of this site, and what it follows: relations of other sites that are the same, all of which count."""

    sources: list[tuple[str, str]] = field(default_factory=list)
    # The spaces that their rows turned out to have, each with all that it rests on. Before, there is no table.
    spaces: dict[str, list[str]] = field(default_factory=dict)


class Conversation:
    """`offer` prepares a relation of this site to be followed. `make_table` makes one that follows, when its columns
    are known, or raises where it has others.
    """

    def __init__(
        self,
        augmented: Augmented,
        membership: Membership,
        follows: dict[str, Follow],
        offer: Callable[[str], Offered],
        make_table: Callable[[str, Offered, tuple[Column, ...]], None],
    ) -> None:
        self._augmented = augmented
        self._membership = membership
        self._follows = follows
        self._offer = offer
        self._make_table = make_table
        # By site, where this one compares.
        self._comparisons: dict[str, Comparison] = {}
        self._made: Summaries | None = None

    @property
    def summaries(self) -> Summaries:
        if self._made is None:
            self._made = Summaries(self._augmented.knowledge)
            self._augmented.knowledge.readers.append(self._made)
        return self._made

    def request(self, to: str) -> Request:
        """What to ask a site for, by its name, or by "" where it is not known yet."""
        shares = {name: schema_of(text.relation.columns) for name, text in self._augmented.shared.items()}
        follows = sorted({view for follow in self._follows.values() for site, view in follow.sources if site == to})
        interest = blake2b(repr((sorted(shares), follows)).encode(), digest_size=8).hexdigest()
        peer = self._membership.peers.get(to)
        open_round = self._comparisons.get(to)
        if open_round is not None and open_round.interest != interest:
            del self._comparisons[to]
            open_round = None
        return Request(
            self._membership.head(to),
            "" if peer is None else peer.instance,
            peer.cursor if peer is not None and peer.interest == interest else 0,
            shares,
            follows,
            interest,
            len(self._augmented.knowledge.numbers),
            "" if open_round is None else open_round.round,
            [] if open_round is None else open_round.queries,
        )

    def answer(self, request: Request) -> Batch:
        """What a site lacks, or the first part of it."""
        head, augmented = request.head, self._augmented
        self._membership.check(head)
        if request.of not in ("", self._membership.instance):
            raise RefusedMessageError(f"{head.site!r} knows another site by the name of {augmented.site!r}")
        if request.cursor > augmented.knowledge.number:
            raise RefusedMessageError(
                f"{head.site!r} knows more of {augmented.site!r} than this site does",
                hint="this site may have been brought back from an old copy: let it start again under a new name",
            )
        for name in request.shares.keys() & augmented.shared.keys():
            theirs = columns_of(request.shares[name], f"table {name!r} of {head.site!r}")
            ours = augmented.shared[name].relation.columns
            if words := difference(ours, theirs, augmented.site, head.site):
                raise RefusedMessageError(f"table {name!r} is not the same everywhere: {words}")
        offers = {name: self._offer(name) for name in request.follows}
        peer = self._membership.greet(head)
        shared = frozenset(request.shares.keys() & augmented.shared.keys())
        peer.tables = shared | {offered.space for offered in offers.values() if offered.spaces == [offered.space]}
        spaces = peer.tables.union(*(offered.spaces for offered in offers.values()))
        if request.cursor and not spaces <= peer.spaces:
            # What a view rests on has grown below, at another site.
            augmented.knowledge.touch(spaces - peer.spaces)
        peer.spaces = spaces
        peer.follows = tuple(request.follows)
        peer.acked = request.cursor
        if self._membership.is_behind(head):
            # First it learns what has been collected here; until then it is no member, and nothing waits for it.
            cursor, members = request.cursor, self._membership.head(head.site)
            return Batch(members, cursor, cursor, request.interest, False, offers, {}, [], request.round)
        return self._compared(request, peer, offers) if request.round else self._batch(request, peer, offers)

    def _compared(self, request: Request, peer: Peer, offers: dict[str, Offered]) -> Batch:
        """What a site lacks by summaries of its own, or how those of this site go on."""
        knowledge = self._augmented.knowledge
        allowed = set(_parts(peer))
        if not all(query.part in allowed for query in request.queries):
            raise RefusedMessageError(f"{request.head.site!r} compares what it neither shares nor follows")
        keys, splits, answered = comparison.answer(self.summaries, request.queries, BATCH_ITEMS)
        items = [knowledge.item(key) for key in keys]
        head = self._membership.head(request.head.site)
        ends = knowledge.number
        return Batch(head, 0, ends, request.interest, False, offers, {}, items, request.round, answered, splits)

    def _batch(self, request: Request, peer: Peer, offers: dict[str, Offered]) -> Batch:
        knowledge, name = self._augmented.knowledge, request.head.site
        # Of shared tables it says which updates it has seen, from whomever.
        has_seen = {table: vectors.get(name) for table, vectors in request.head.members.items() if table in peer.tables}
        found: list[Key] = [
            key
            for key, _ in knowledge.since(request.cursor)
            if knowledge.via.get(key) != name
            and knowledge.concerns(key, peer.tables, peer.spaces)
            and not (isinstance(key, bytes) and _is_seen(knowledge.lengths[key], has_seen))
        ]
        found.reverse()
        if not request.cursor and len(found) > comparison.WORTH_COMPARING and request.known * 2 > len(found):
            splits = comparison.first_splits(self.summaries, _parts(peer))
            head, ends = self._membership.head(name), knowledge.number
            return Batch(head, 0, ends, request.interest, False, offers, {}, [], splits=splits)
        is_last = len(found) <= BATCH_ITEMS
        items: list[Item] = [knowledge.item(key) for key in found[:BATCH_ITEMS]]
        ends = knowledge.number if is_last else knowledge.numbers[found[BATCH_ITEMS - 1]]
        seen = {space: vector for space, vector in self._seen().items() if space in peer.spaces} if is_last else {}
        head = self._membership.head(name)
        return Batch(head, request.cursor, ends, request.interest, is_last, offers, seen, items)

    def _seen(self) -> dict[str, dict[str, int]]:
        """Of followed spaces, what all sites know from which this one hears of them."""
        seen = {space: dict(vector) for space, vector in self._augmented.seen.items()}
        for peer in self._membership.peers.values():
            for space, vector in peer.seen.items():
                if space not in self._augmented.seen:
                    known = seen.setdefault(space, dict(vector))
                    seen[space] = {site: min(known.get(site, 0), vector.get(site, 0)) for site in known}
        return seen

    def take(self, batch: Batch) -> TableDeltas | None:
        """What a site told: the rows that tables gain and lose. None if it is not what comes next."""
        head, augmented = batch.head, self._augmented
        self._membership.check(head)
        asked = self.request(head.site)
        is_next = (batch.interest, batch.begins, batch.round) == (asked.interest, asked.cursor, asked.round)
        if not is_next or asked.of not in ("", head.instance) or self._membership.is_behind(head):
            return None
        if batch.ends < batch.begins:
            raise RefusedMessageError("the message ends before it begins")
        self._check_items(batch)
        theirs = f"of {head.site!r}"
        offers = {name: (each, columns_of(each.schema, f"{name!r} {theirs}")) for name, each in batch.offers.items()}
        for name in asked.follows:
            if name not in offers:
                raise RefusedMessageError(f"{head.site!r} says nothing about {name!r}")
        for table, follow in self._follows.items():
            for name in (view for site, view in follow.sources if site == head.site):
                offered, columns = offers[name]
                self._make_table(table, offered, columns)
        peer = self._membership.greet(head)
        deltas = augmented.merge(batch.items, head.site)
        if batch.round or batch.splits:
            compared = self._comparisons.setdefault(head.site, Comparison(batch.interest, batch.ends))
            if not compared.take(self.summaries, batch.splits, batch.answered):
                return deltas
            del self._comparisons[head.site]
            ends = compared.ends
        else:
            ends = batch.ends
        peer.interest, peer.cursor = batch.interest, ends
        # With the last part, all that the other one knows is known here, too.
        for space, vector in batch.seen.items():
            if space in augmented.shared:
                raise_to(augmented.seen.setdefault(space, {}), vector)
            else:
                peer.seen[space] = vector
        return deltas

    def _check_items(self, batch: Batch) -> None:
        augmented = self._augmented
        by_space: dict[str, list[str]] = {}
        for item in batch.items:
            by_space.setdefault(item.space, []).append(item.text)
            if isinstance(item, Length) and item.site == augmented.site and item.update > augmented.updates:
                raise RefusedMessageError(
                    f"{batch.head.site!r} tells an update of {augmented.site!r} which this site has not made",
                    hint="it may have been brought back from an old copy: let it start again under a new name",
                )
        # Whether they are rows at all is seen now, and not in the middle of merging.
        for space, texts in by_space.items():
            readers = [text for _, text in augmented.followed.get(space, ())]
            for reader in [augmented.shared[space], *readers] if space in augmented.shared else readers:
                reader.check(texts)


def _is_seen(length: Length, has_seen: Mapping[str, Vector | None]) -> bool:
    return covers(has_seen.get(length.space), length.dot)


def _parts(peer: Peer) -> list[Part]:
    """What concerns a neighbour: all rows of tables, and what views rest on."""
    views = sorted(peer.spaces - peer.tables)
    parts = [Part("rows", table) for table in sorted(peer.tables)]
    return [*parts, *(Part(kind, space) for space in views for kind in ("mentioned", "derivations"))]
