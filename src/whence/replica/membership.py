"""Who else there is, what each of them is known to know, and therefore what nobody needs any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from whence.replica.augmented import Augmented
from whence.replica.knowledge import Dot, Key, Vectors, covers, raise_to
from whence.replica.messages import Head, RefusedMessageError
from whence.replica.rows import Id, space_of

# Collecting looks at all derivations once, so that it waits until there is something to gain.
_WORTH = 16


@dataclass
class Peer:
    """A neighbour, as it was met.

    Its numbers up to `cursor` are known here, about `interest`; it knows ours up to `acked`, about all rows of
    `tables` and what views of `spaces` rest on. `seen` has the updates that it had seen when it last told all that it
    knew.
    """

    instance: str
    cursor: int = 0
    interest: str = ""
    acked: int = 0
    tables: frozenset[str] = frozenset()
    spaces: frozenset[str] = frozenset()
    follows: tuple[str, ...] = ()
    seen: Vectors = field(default_factory=dict)


class Membership:
    def __init__(self, augmented: Augmented, instance: str) -> None:
        self._augmented = augmented
        self.site = augmented.site
        self.instance = instance
        self.peers: dict[str, Peer] = {}
        # By shared table, the updates that each member is known to know.
        self.members: dict[str, Vectors] = {}
        # Sites that are let in when they write, though nobody has met them.
        self.introduced: set[str] = set()
        # Sites that are members no more, and the instance that they were.
        self.forgotten: dict[str, str] = {}

    def head(self, to: str) -> Head:
        for table in self._augmented.shared:
            mine = self.members.setdefault(table, {}).setdefault(self.site, {})
            raise_to(mine, self._augmented.seen.get(table, {}))
        floors = {table: floor for table, floor in self._augmented.floors.items() if table in self._augmented.shared}
        return Head(self.site, self.instance, to, self.members, floors, self.forgotten)

    def check_introduced(self, site: str) -> None:
        """Refuse a site that nobody here knows: neither met, nor named, nor a member by what others tell."""
        known = site in self.introduced or site in self.peers or any(site in each for each in self.members.values())
        # What was forgotten, and a message of this site itself, are refused with their own reasons.
        if not known and site not in self.forgotten and site != self.site:
            raise RefusedMessageError(
                f"{site!r} has not been introduced to {self.site!r}",
                hint=f'introduce("{site}") at {self.site!r} lets it in',
            )

    def check(self, head: Head) -> None:
        """Refuse a sender that cannot be who it says it is, or claims what cannot be. Nothing changes."""
        if head.site == self.site:
            whom = "this site itself" if head.instance == self.instance else "another site with the name of this one"
            raise RefusedMessageError(f"the message is from {whom}, {self.site!r}", hint="each site needs its own name")
        if head.to not in ("", self.site):
            raise RefusedMessageError(f"the message is for {head.to!r}, and this is {self.site!r}")
        if self.forgotten.get(head.site) == head.instance:
            raise RefusedMessageError(
                f"{head.site!r} has been forgotten, so that rows may have been collected which it still has",
                hint="let it start again from an empty directory; what it alone has can be inserted there",
            )
        known = self.peers.get(head.site)
        if known is not None and known.instance != head.instance and self.forgotten.get(head.site) != known.instance:
            raise RefusedMessageError(
                f"there are two sites with the name {head.site!r}",
                hint=f"give one of them another name; if the first is lost for good, forget({head.site!r}) it",
            )
        for vectors in head.members.values():
            for vector in vectors.values():
                if vector.get(self.site, 0) > self._augmented.updates:
                    raise RefusedMessageError(
                        f"{head.site!r} knows updates of {self.site!r} which this site has not made",
                        hint="it may have been brought back from an old copy: let it start again under a new name",
                    )

    def greet(self, head: Head) -> Peer:
        """The neighbour that a checked message is from; what it knows about others is known here, too."""
        peer = self.peers.get(head.site)
        if peer is None or peer.instance != head.instance:
            peer = self.peers[head.site] = Peer(head.instance)
            self.forgotten.pop(head.site, None)
        for name, instance in head.forgotten.items():
            if name != self.site:
                self.forget(name, instance)
        for table in self._shared_with(head):
            self._greet_members(head, table, head.members[table])
        return peer

    def state(self) -> dict[str, object]:
        """What is to be kept of it, as JSON takes it."""
        peers = {
            name: {**vars(peer), **{each: sorted(getattr(peer, each)) for each in ("tables", "spaces", "follows")}}
            for name, peer in self.peers.items()
        }
        introduced = sorted(self.introduced)
        return {"peers": peers, "members": self.members, "forgotten": self.forgotten, "introduced": introduced}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.instance = state["instance"]
        self.members, self.forgotten = state["members"], state["forgotten"]
        self.introduced = set(state.get("introduced", ()))
        for name, kept in state["peers"].items():
            sets = {each: frozenset(kept[each]) for each in ("tables", "spaces")}
            self.peers[name] = Peer(**{**kept, **sets, "follows": tuple(kept["follows"])})

    def is_behind(self, head: Head) -> bool:
        """Whether a site does not know yet what has been collected here. Its rows could be older than they look."""
        floors = self._augmented.floors
        return any(head.floors.get(table, 0) < floors.get(table, 0) for table in self._shared_with(head))

    def _shared_with(self, head: Head) -> list[str]:
        return [table for table in head.members if table in self._augmented.shared]

    def _greet_members(self, head: Head, table: str, vectors: Vectors) -> None:
        members = self.members.setdefault(table, {})
        floor, theirs = self._augmented.floors.get(table, 0), head.floors.get(table, 0)
        if theirs > floor:
            self._augmented.floors[table] = theirs
            if self.site not in vectors:
                # They have collected rows without waiting for this site, whose updates must not look older than these.
                self._augmented.lift(table, theirs, vectors)
        for site, vector in vectors.items():
            # A newcomer becomes a member when it knows what was collected before it came.
            if site not in self.forgotten and (site in members or theirs >= floor):
                raise_to(members.setdefault(site, {}), vector)

    def forget(self, name: str, instance: str | None = None) -> bool:
        """A site is gone for good: nobody waits for it any more. False if nobody knew it."""
        peer = self.peers.get(name)
        known = any(name in vectors for vectors in self.members.values()) or peer is not None
        if instance is None:
            instance = "" if peer is None else peer.instance
        if peer is not None and peer.instance != instance:
            return False
        self.forgotten[name] = instance
        self.peers.pop(name, None)
        for vectors in self.members.values():
            vectors.pop(name, None)
        return known

    def collect(self) -> list[Key]:
        """Forget the rows that all have seen go, and what rests on them."""
        ready = set(self._ready())
        if not ready or len(ready) * _WORTH < len(self._augmented.knowledge.told):
            return []
        return self._augmented.forget(ready)

    def _ready(self) -> Iterator[Id]:
        knowledge = self._augmented.knowledge
        self.head("")
        for node in self._augmented.gone:
            length = knowledge.lengths[node]
            space, dot = length.space, length.dot
            if space in self._augmented.shared:
                # And this site knows what each of them had done until then.
                seen = self._augmented.seen[space]
                is_known = all(
                    covers(vector, dot) and covers(seen, Dot(vector.get(site, 0), site))
                    for site, vector in self.members[space].items()
                )
            elif space.startswith(space_of(self.site, "")):
                is_known = True
            else:
                # Nobody that this site hears of it from may come with an older state.
                sources = (peer.seen[space] for peer in self.peers.values() if space in peer.seen)
                is_known = all(covers(vector, dot) for vector in sources)
            if is_known and all(
                knowledge.numbers[node] <= peer.acked
                for peer in self.peers.values()
                if peer.follows and knowledge.concerns(node, peer.tables, peer.spaces)
            ):
                yield node
