"""A database that others replicate: shared tables, followed views, and meetings with other sites."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from uuid import uuid4

from whence.database.connect import local_session
from whence.database.database import Database
from whence.errors import DataError, DuplicateNameError, StateError, UnknownNameError, UnsupportedError, WhenceError
from whence.explain.hypothetical.what_if import WhatIf
from whence.explain.hypothetical.why_not import WhyNot
from whence.explain.proofs.proof import Proof
from whence.interrupts import steady_context
from whence.model.collector import collector_paused
from whence.model.schema import Column, Relation
from whence.model.types import Row
from whence.model.updates import Delta, Update, Version
from whence.replica.augmented import Augmented, TableDeltas
from whence.replica.conversation import Conversation, Follow
from whence.replica.knowledge import Key, covers
from whence.replica.links import Http, InProcess, Link, Traffic
from whence.replica.membership import Membership
from whence.replica.messages import Batch, Offered, Request, pack, unpack
from whence.replica.offers import Offers, check_name, check_shareable
from whence.replica.provenance import BaseRow, Origin, base_facts, base_row, supports
from whence.replica.rows import RowText, difference, space_of
from whence.replica.status import History, PeerStatus, Status
from whence.replica.store import Store, site_name
from whence.session.definitions import Definitions
from whence.session.session import Session
from whence.sources.source import read_rows


class Site(Database):
    """A database with a name, which shares tables with other sites and follows relations of theirs."""

    def __init__(self, name: str, session: Session, store: Store | None = None) -> None:
        super().__init__(session)
        self.name = name
        self._store = store
        self.augmented = Augmented(name)
        self.membership = Membership(self.augmented, uuid4().hex)
        self._follows: dict[str, Follow] = {}
        self._offers = Offers(self.augmented, self._follows, session)
        self.conversation = Conversation(
            self.augmented, self.membership, self._follows, self._offers.offer, self._make_table
        )
        # Rows that tables have to gain and lose because of what others told.
        self._waiting: TableDeltas = {}
        # Those that no view could take when the site was opened.
        self._later: TableDeltas = {}
        self._is_merging = False
        # What has been written down: knowledge up to a number, and the rest as it was.
        self._saved = 0
        self._saved_state: dict[str, object] = {}
        self._forgotten: list[Key] = []
        session.observer = self
        if store is not None:
            self._recover(store)

    def share(self, table: str) -> None:
        """Replicate a table: all sites that share one of this name and columns write it, and have the same rows."""
        with self._changing() as session:
            relation = session.definitions.table(table)
            if relation.name in self.augmented.shared:
                return
            if relation.name in self._follows:
                raise UnsupportedError(f"{relation.name!r} follows another site, and only that changes it")
            check_shareable(relation)
            self.augmented.owned.pop(relation.name, None)
            self.augmented.share(relation)
            self.augmented.adopt(relation.name, session.counts(relation.name))
            # Its rows have other ids from now on.
            self._offers.tell_readers(relation.name)

    def follow(self, site: str, relation: str, name: str | None = None) -> None:
        """Have the rows of another site's table or view as a table here, which only that site's changes change.

        The table is made when the site is first met. If several relations are followed under one name, they must be the
        same, from different sites: a row is there if any of them tells so and nobody knows better.
        """
        check_name(site)
        with self._changing() as session:
            table = relation if name is None else name
            if site == self.name:
                raise UnsupportedError(f"{relation!r} is a relation of this site itself", hint="read it in a view")
            if table not in self._follows and session.definitions.find(table) is not None:
                raise DuplicateNameError(
                    f"there is a relation {table!r} already", hint='give another name: follow(..., name="...")'
                )
            follow = self._follows.setdefault(table, Follow())
            if (site, relation) not in follow.sources:
                follow.sources.append((site, relation))

    def exchange(self, other: Site) -> Traffic:
        """Meet another site of this process: what either side lacks goes over."""
        if not isinstance(other, Site):
            raise UnsupportedError(f"a site meets another site, not a {type(other).__name__}")
        return self.meet(InProcess(other))

    def pull(self, url: str, *, token: str | None = None, certificate: str | None = None) -> Traffic:
        """Meet a site that is served elsewhere. `certificate` is a file to check its own by, if the system has none."""
        with closing(Http(url, token, certificate=certificate)) as link:
            return self.meet(link)

    def meet(self, link: Link) -> Traffic:
        """Answer the site at the other end, and ask it, until each knows what the other had to tell."""
        sent = received = messages = 0
        # It asks first, so that what it tells then has what follows from this site's changes.
        asked: bytes | None = link.ask(self.name)
        while asked is not None:
            answer = self.handle(asked)
            assert answer is not None
            sent, received, messages = sent + len(answer), received + len(asked), messages + 2
            asked = link.send(answer)
        asked = self.ask(link.site)
        while asked is not None:
            answer = link.send(asked)
            if answer is None:
                raise StateError(f"{link.site!r} gives no answer to what it is asked")
            sent, received, messages = sent + len(asked), received + len(answer), messages + 2
            asked = self.handle(answer)
        return Traffic(sent, received, messages)

    def introduce(self, *sites: str) -> None:
        """Let sites in that nobody has met yet, when they write over HTTP or through a folder. Others are refused."""
        for each in sites:
            check_name(each)
        with self._changing():
            self.membership.introduced.update(sites)

    def handle(self, data: bytes, *, from_anybody: bool = True) -> bytes | None:
        """Take a message of another site, and return the answer, if there is one.

        Where whoever writes could be anybody, it is to be one that was met, followed or introduced.
        """
        with collector_paused():
            message = unpack(data)
            with self._changing():
                followed = {site for follow in self._follows.values() for site, _ in follow.sources}
                if not from_anybody and message.head.site not in followed:
                    self.membership.check_introduced(message.head.site)
                # Written while nobody else changes what is told.
                if isinstance(message, Request):
                    answer: bytes | None = pack(self.conversation.answer(message))
                else:
                    answer = self._take(message)
        self._collect()
        return answer

    def ask(self, site: str) -> bytes:
        """A message that asks a site for what is new there."""
        with self._reading():
            return pack(self.conversation.request(site))

    def forget(self, site: str) -> None:
        """A site will not come back: nothing waits for it any more, and its messages are refused."""
        with self._changing():
            if site == self.name or not self.membership.forget(site):
                known = ", ".join(sorted(self.membership.peers)) or "no other site yet"
                raise UnknownNameError(f"no site {site!r} is known here", hint=f"there is {known}")
        self._collect()

    def status(self) -> Status:
        """Which tables are shared and followed, who was met, and how much is kept about rows."""
        with self._reading() as session:
            counts = session.counts
            augmented, membership = self.augmented, self.membership
            relations = session.definitions.relations
            peers = {
                name: PeerStatus(peer.cursor, augmented.knowledge.number - peer.acked, list(peer.follows))
                for name, peer in sorted(membership.peers.items())
            }
            members = {name for vectors in membership.members.values() for name in vectors}
            return Status(
                site=self.name,
                shared={name: len(counts(name)) for name in augmented.shared},
                followed={name: len(counts(name)) if name in relations else None for name in self._follows},
                members=sorted(members | {self.name}),
                peers=peers,
                lengths=len(augmented.knowledge.lengths),
                gone=len(augmented.gone),
                derivations=len(augmented.knowledge.told),
            )

    def history(self, table: str, row: object) -> History | None:
        """How a row of a shared table came and went; None where it never did, or all have seen it go long ago."""
        with self._reading() as session:
            relation = session.definitions.table(table)
            text = self.augmented.shared.get(relation.name)
            if text is None:
                raise UnsupportedError(f"{relation.name!r} is not shared, so that nobody else changes it")
            (checked,) = read_rows([row], relation)
            found = self.augmented.knowledge.lengths.get(text.id(checked))
            if found is None:
                return None
            members = self.membership.head("").members[relation.name]
            known_by = sorted(site for site, vector in members.items() if covers(vector, found.dot))
            return History(found.length, found.site, found.update, known_by)

    def supports(self, relation: str, row: object) -> list[frozenset[BaseRow]]:
        """The minimal sets of base rows, of whichever site, each of which is enough for a row; smallest first.

        Rows that have been deleted since are among them: what came back would bring the row back.
        """
        with self._changing() as session:
            found = session.definitions.relation(relation)
            if found.name in session.definitions.views or found.name in self._follows:
                self._offers.tell(found.name)
            text = self._offers.space_of(found.name)
            (checked,) = read_rows([row], found)
            lengths = self.augmented.knowledge.lengths
            sets = supports(self.augmented.knowledge, text.id(checked))
            named = [frozenset(base_row(lengths[node]) for node in each if node in lengths) for each in sets]
            return sorted(named, key=lambda each: (len(each), sorted(each)))

    def origins(self, answer: Proof | WhyNot | WhatIf) -> list[Origin]:
        """Which update of which site each row of a table rests on, in an answer of `why`, `why_not` or `what_if`.

        Of a row that is missing, who deleted it.
        """
        with self._changing() as session:
            return [self._origin(*fact) for fact in base_facts(answer, session.definitions.tables)]

    @steady_context
    def telling(self, views: Iterable[str]) -> Generator[Augmented, None, None]:
        """What is known, with the derivations of these views, while nothing else changes. What is noted about others
        in the block is kept.
        """
        with self._changing() as session:
            for view in views:
                self._offers.tell(session.definitions.relation(view).name)
            yield self.augmented

    def make_table(self, relation: Relation) -> None:
        """A table for rows that come from elsewhere, unless there is one."""
        with self._changing() as session:
            if session.definitions.find(relation.name) is None:
                _define(session, relation)

    def text_of(self, relation: str) -> RowText:
        """The texts and ids that rows of a relation have for others."""
        return self._offers.space_of(self._session.definitions.relation(relation).name)

    def _origin(self, name: str, row: Row) -> Origin:
        lengths = self.augmented.knowledge.lengths
        if name in self.augmented.shared:
            found = lengths.get(self.augmented.shared[name].id(row))
            return Origin(name, row, () if found is None else (base_row(found),), is_shared=True)
        if name not in self._follows:
            return Origin(name, row, ())
        self._offers.tell(name)
        sets = supports(self.augmented.knowledge, self._offers.space_of(name).id(row))
        smallest = min(sets, key=lambda each: (len(each), sorted(each)), default=frozenset())
        return Origin(name, row, tuple(sorted(base_row(lengths[node]) for node in smallest if node in lengths)))

    def _take(self, batch: Batch) -> bytes | None:
        """What another site told; the next request, if there is more."""
        deltas = self.conversation.take(batch)
        if deltas is None:
            return None
        _add(self._waiting, deltas)
        # Before the tables: they can be made to follow what is known, and not the other way round.
        self._save(is_merging=True)
        return None if batch.is_last else pack(self.conversation.request(batch.head.site))

    @steady_context
    def _changing(self) -> Generator[Session, None, None]:
        with super()._changing() as session:
            yield session
            try:
                self._apply(session)
            finally:
                # What a view cannot take waits, and is to be remembered as waiting.
                self._save(is_merging=any((*self._waiting.values(), *self._later.values())))

    def _apply(self, session: Session) -> None:
        """Tables become what is known. Where a view cannot take it, the rows wait, and the error says why."""
        self._is_merging = True
        try:
            while any(self._waiting.values()):
                draft = session.draft()
                for name, delta in self._waiting.items():
                    table = draft.table(session.definitions.relations[name])
                    table.delete([row for row, change in delta.items() if change < 0])
                    table.insert([row for row, change in delta.items() if change > 0])
                session.commit(draft)
                waiting, self._waiting = self._waiting, {}
                self._expire(session, waiting)
                # Views of this site may be what others derive from, whose views it follows.
                self.augmented.settle(self._waiting)
        finally:
            self._is_merging = False

    def _expire(self, session: Session, came: TableDeltas) -> None:
        """Rows whose time had passed when they came are not in their table: this site has seen them go."""
        for name, delta in came.items():
            if session.definitions.relations[name].ttl is not None and name in self.augmented.shared:
                now = session.counts(name)
                late = [(row, False) for row, change in delta.items() if change > 0 and not now.get(row)]
                self.augmented.update(name, late)

    def _collect(self) -> None:
        with self._changing():
            self._forgotten += self.membership.collect()

    def close(self) -> None:
        super().close()
        if self._store is not None:
            self._store.close()
            self._store = None

    def _save(self, *, is_merging: bool) -> None:
        """Write down what is new since the last time."""
        if self._store is None:
            return
        membership, augmented = self.membership, self.augmented
        state: dict[str, object] = {
            "name": self.name,
            "instance": membership.instance,
            "version": self._session.version,
            "is_merging": is_merging,
            "updates": augmented.updates,
            "number": augmented.knowledge.number,
            "seen": augmented.seen,
            "floors": augmented.floors,
            "shared": list(augmented.shared),
            "followed": {table: vars(follow) for table, follow in self._follows.items()},
            "told": list(self._offers.told),
            "owned": list(augmented.owned),
            **membership.state(),
        }
        written = {name: json.dumps(value) for name, value in state.items()}
        changed = {name: text for name, text in written.items() if self._saved_state.get(name) != text}
        if changed:
            self._store.write(augmented.knowledge, self._saved, self._forgotten, changed)
            self._saved, self._forgotten = augmented.knowledge.number, []
            self._saved_state.update(changed)

    def _recover(self, store: Store) -> None:
        """Become what was written down. If tables and knowledge differ, the process died between the two."""
        state = store.read_state()
        if not state:
            with self._changing():
                return
        if state["name"] != self.name:
            raise StateError(f"the site in this directory is {state['name']!r}, and not {self.name!r}")
        augmented, session = self.augmented, self._session
        store.read_into(augmented.knowledge)
        augmented.restore(state)
        self.membership.restore(state)
        self._saved = augmented.knowledge.number
        for table, follow in state["followed"].items():
            self._follows[table] = Follow([(site, view) for site, view in follow["sources"]], follow["spaces"])
        with self._changing():
            relations = session.definitions.relations
            for name in state["shared"]:
                augmented.share(relations[name])
            for table, follow in self._follows.items():
                for space in follow.spaces:
                    augmented.follow(space, table, RowText(relations[table], space_of(self.name, table)))
            augmented.presence.settle()
            since = Version(state["version"]) if state["is_merging"] else None
            differs = False
            for name in state["shared"]:
                differs |= self._reconcile(name, since)
            for name in self._follows.keys() & relations.keys():
                self._let_follow(name, augmented.expected(name) ^ session.counts(name).keys())
            for name in state["owned"]:
                self._offers.own(name)
            for view in state["told"]:
                self._offers.tell(view, again=differs)
            try:
                self._apply(session)
            except WhenceError as error:
                # Whoever opened the site can do something about it.
                session.notice([f"rows from other sites wait, because views cannot take them: {error.message}"])
                self._later, self._waiting = self._waiting, {}
        self._waiting, self._later = self._later, {}

    def _reconcile(self, table: str, since: Version | None) -> bool:
        """Rows that commits changed which others have not been told of are told now; other differences are rows that
        others told, and the table follows. `since` is the version from which on commits were not heard of; None if
        nothing was under way, so that all differences are this site's. Whether there is something to tell.
        """
        session = self._session
        now, known = set(session.counts(table)), self.augmented.expected(table)
        ours = now ^ known
        if since is not None:
            ours &= {row for entry in session.journal.since(table, since) for row in entry.delta}
        self.augmented.update(table, [(row, row in now) for row in ours])
        self._let_follow(table, (now ^ known) - ours)
        return bool(ours)

    def _let_follow(self, table: str, rows: set[Row]) -> None:
        known = self.augmented.expected(table)
        _add(self._waiting, {table: {row: 1 if row in known else -1 for row in rows}})

    # What the session tells.

    def check(self, update: Update, after: Definitions) -> None:
        if not self._is_merging:
            for name, delta in update.deltas.items():
                if name in self._follows and delta:
                    told = " and ".join(f"{view!r} of {site!r}" for site, view in self._follows[name].sources)
                    raise DataError(f"{name!r} follows {told}, and cannot be changed here")
        if after is self._session.definitions:
            return
        for name in (*self.augmented.shared, *self._follows):
            if name not in after.relations and name in self._session.definitions.relations:
                raise StateError(f"{name!r} is replicated, and cannot be dropped")
        self._offers.check(after)

    def committed(self, deltas: Mapping[str, Delta]) -> None:
        self.augmented.absorb(deltas, self._session.engine.counts, is_merge=self._is_merging)
        if not self._is_merging and self.augmented.followed:
            waiting: TableDeltas = {}
            self.augmented.settle(waiting)
            _add(self._waiting, waiting)

    def _make_table(self, table: str, offered: Offered, columns: tuple[Column, ...]) -> None:
        follow, session = self._follows[table], self._session
        relation = session.definitions.relations.get(table)
        if relation is None:
            relation = Relation(table, columns, distinct=True)
            _define(session, relation)
        elif words := difference(relation.columns, columns, self.name, offered.space):
            raise DataError(f"{table!r} cannot follow relations with other columns: {words}")
        if offered.space not in follow.spaces:
            self.augmented.follow(offered.space, table, RowText(relation, space_of(self.name, table)))
        follow.spaces[offered.space] = offered.spaces


def site(name: str, path: str | os.PathLike[str] | None = None) -> Site:
    """A database with a name, in memory or in a directory, that others replicate."""
    session = local_session(None if path is None else path)
    if path is None:
        return Site(check_name(name), session)
    try:
        return Site(check_name(name), session, Store(Path(path)))
    except BaseException:
        session.close()
        raise


def open_site(path: str | os.PathLike[str]) -> Site:
    """The site that is in a directory, whatever its name."""
    return site(site_name(Path(path)), path)


def _define(session: Session, table: Relation) -> None:
    session.define(session.definitions.adding([table], (), ()))


def _add(total: TableDeltas, deltas: TableDeltas) -> None:
    for name, delta in deltas.items():
        rows = total.setdefault(name, {})
        for row, change in delta.items():
            count = rows.pop(row, 0) + change
            if count:
                rows[row] = count
