"""The relations beside those that applications see: provenance and causal lengths, and what follows from them.

`absorb` takes in what a commit of this site changed (the paper's Algorithms 1 and 2, for many rows at once). `merge`
takes in what another site tells (Algorithm 3), and answers with the rows that come and go in tables here. Joins,
projections and unions (Algorithms 4 and 5) are the engine's: see `proof_views`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import compress, repeat
from typing import Any, TypeAlias

from whence.algebra.causal import deleted, inserted, is_present
from whence.model.collector import collector_paused
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import CountedDelta, Delta
from whence.replica.keys import KeyedRows, has_partial_key, merged, stamped
from whence.replica.knowledge import Dot, Item, Key, Knowledge, Length, Stamps, Told, Vectors, covers
from whence.replica.presence import Derivation, Presence
from whence.replica.rows import Id, RowText, id_of, space_of

# By table, the rows that come and go.
TableDeltas: TypeAlias = dict[str, dict[Row, int]]
# The rows of a relation now, and how often each is there.
Counts: TypeAlias = Callable[[str], Mapping[Row, int]]
# Changes that take others back, and wait: some 100 MB. What only came would take more once it is taken in.
MOST_CHURN = 500_000
# What `proof_views` makes of rows of a hidden view.
ReadProofs: TypeAlias = Callable[[Sequence[Row], int], tuple[str, dict[Derivation, Told]]]


# Without the checks of arguments, which take as long again.
_new_length: Callable[[tuple[str, str, int, int, str, None]], Length] = partial(tuple.__new__, Length)


class Augmented:
    """`site` is the name that updates of this site go by."""

    def __init__(self, site: str) -> None:
        self.site = site
        self.presence = Presence()
        # Changes of rows that have not been taken in: ids are only worked out when somebody asks.
        self._pending: list[tuple[str, list[Row], list[int]]] = []
        self._churn = 0
        self._knowledge = Knowledge()
        self._seen: Vectors = {}
        self._updates = 0
        # The greatest length that was collected, by space: a row that comes again comes after it.
        self.floors: dict[str, int] = {}
        self._gone: dict[Id, None] = {}
        self.shared: dict[str, RowText] = {}
        # Of these, the tables with a key that leaves columns out.
        self.keyed: dict[str, KeyedRows] = {}
        # Relations whose rows this site tells: tables of its own, aggregates.
        self.owned: dict[str, RowText] = {}
        # Hidden views.
        self.proofs: dict[str, ReadProofs] = {}
        # Tables that follow others: by the space of what they follow.
        self.followed: dict[str, list[tuple[str, RowText]]] = {}
        # Rows of these tables by the id that they have here.
        self._rows: dict[Id, tuple[str, Row]] = {}

    @property
    def knowledge(self) -> Knowledge:
        self._take_pending()
        return self._knowledge

    @property
    def seen(self) -> Vectors:
        """Which updates of whom are known here, by space."""
        self._take_pending()
        return self._seen

    @property
    def updates(self) -> int:
        """How many updates this site has made."""
        self._take_pending()
        return self._updates

    @property
    def gone(self) -> dict[Id, None]:
        """Rows that are not there any more."""
        self._take_pending()
        return self._gone

    def absorb(
        self, deltas: Mapping[str, Delta], counts: Callable[[str], Mapping[Row, int]], *, is_merge: bool
    ) -> None:
        """A commit changed rows. Where it is one that `merge` asked for, shared tables follow what is known already."""
        can_wait = not is_merge and not self.followed and not self.keyed and self.owned.keys().isdisjoint(deltas)
        for name, delta in deltas.items():
            if name in self.shared and not is_merge:
                self._wait(name, delta)
            elif name in self.owned:
                self._take_pending()
                now = counts(name)
                rows = list(delta)
                self._update(self.owned[name], rows, [now.get(row, 0) > 0 for row in rows])
            elif name in self.proofs:
                self._wait(name, delta)
        if not can_wait or self._churn > MOST_CHURN:
            self._take_pending()

    def _wait(self, name: str, delta: Delta) -> None:
        rows, changes = _changes(delta)
        self._pending.append((name, rows, changes))
        self._churn += sum([change < 0 for change in changes])

    def _take_pending(self) -> None:
        """Take in what commits changed, in their order. It is the same whenever that happens."""
        if self._pending:
            pending, self._pending, self._churn = self._pending, [], 0
            with collector_paused():
                for name, rows, changes in pending:
                    is_there = [change > 0 for change in changes]
                    if name in self.proofs:
                        self.tell(name, compress(rows, is_there), again=True)
                    else:
                        self._update(self.shared[name], rows, is_there)

    def tell(self, proofs: str, rows: Iterable[Row], *, again: bool) -> None:
        """Rows of a hidden view are derivations. Those that are known are told once more if they hold `again`."""
        self._take_pending()
        knowledge, known = self._knowledge, self._knowledge.told
        space, found = self.proofs[proofs](list(rows), knowledge.number)
        if not known.keys().isdisjoint(found):
            if again:
                for derivation in found.keys() & known.keys():
                    knowledge.learn_derivation(derivation, found[derivation])
            found = {derivation: told for derivation, told in found.items() if derivation not in known}
        knowledge.learn_derivations(found, space)
        if self.followed:
            for derivation in found:
                self.presence.add(derivation)

    def adopt(self, name: str, rows: Iterable[Row]) -> bool:
        """All rows of a shared or owned relation are these: whether that is new here."""
        text = self.shared[name] if name in self.shared else self.owned[name]
        there = {text.text(row): row for row in rows}
        lengths = self.knowledge.lengths.values()
        known = {each.text for each in lengths if each.space == text.space and each.is_present}
        came = [row for cells, row in there.items() if cells not in known]
        went = [text.row(cells) for cells in known if cells not in there]
        self._update(text, [*came, *went], [True] * len(came) + [False] * len(went))
        return bool(came or went)

    def update(self, table: str, rows: Iterable[tuple[Row, bool]]) -> None:
        """Rows of a shared table come and go by a change of this site."""
        changes = list(rows)
        self._update(self.shared[table], [row for row, _ in changes], [is_there for _, is_there in changes])

    def share(self, relation: Relation) -> None:
        """A table is shared, of which some rows may be known already."""
        name = relation.name
        text = self.shared[name] = RowText(relation, name)
        self.seen.setdefault(name, {})
        if has_partial_key(relation):
            keyed = self.keyed[name] = KeyedRows(text)
            for node, length in self.knowledge.lengths.items():
                if length.space == name and length.is_present:
                    keyed.turn(node, text.row(length.text), is_there=True)

    def _update(self, text: RowText, rows: Sequence[Row], is_there: Sequence[bool]) -> None:
        """Rows of this site's own come and go: Algorithms 1 and 2."""
        keyed = self.keyed.get(text.space)
        if keyed is not None:
            before = {keyed.key(row): self._holder(keyed, row) for row in compress(rows, is_there)}
            for row, comes in sorted(zip(rows, is_there, strict=True), key=lambda each: each[1]):
                self._set(text, row, comes, before.get(keyed.key(row)))
        elif not self._insert_new(text, rows, is_there):
            self._update_plain(text, rows, is_there)
        self._seen.setdefault(text.space, {})[self.site] = self._updates

    def _insert_new(self, text: RowText, rows: Sequence[Row], is_there: Sequence[bool]) -> bool:
        """Many rows at once of which nothing is known: so most of a site's rows come. False if one is known."""
        if self.followed or not all(is_there):
            return False
        ids, texts = text.ids_and_texts(rows)
        if not self._knowledge.lengths.keys().isdisjoint(ids) or len(set(ids)) != len(ids):
            return False
        first, self._updates = self._updates + 1, self._updates + len(ids)
        length, updates = inserted(self.floors.get(text.space, 0)), range(first, self._updates + 1)
        found = zip(repeat(text.space), texts, repeat(length), updates, repeat(self.site), repeat(None))
        self._knowledge.learn_lengths(ids, map(_new_length, found))
        return True

    def _update_plain(self, text: RowText, rows: Sequence[Row], comes: Sequence[bool]) -> None:
        """As `_set` for each of them."""
        knowledge, space, floor = self._knowledge, text.space, self.floors.get(text.space, 0)
        lengths = knowledge.lengths
        for node, row, is_there in zip(text.ids(rows), rows, comes, strict=True):
            known = lengths.get(node)
            length = floor if known is None else known.length
            after = inserted(length) if is_there else deleted(length)
            if after == length:
                continue
            self._updates += 1
            cells = text.text(row) if known is None else known.text
            lengths[node] = Length(space, cells, after, self._updates, self.site)
            knowledge.place(node)
            if not is_there:
                self._gone[node] = None
            elif known is not None:
                self._gone.pop(node, None)
            if self.followed:
                self.presence.set_leaf(node, is_there=is_there)

    def _holder(self, keyed: KeyedRows, row: Row) -> tuple[Row, Length] | None:
        """The row that has the key of another now."""
        held = next(iter(keyed.rows(keyed.key(row)).items()), None)
        return None if held is None else (held[1], self.knowledge.lengths[held[0]])

    def _set(
        self,
        text: RowText,
        row: Row,
        is_there: bool,
        before: tuple[Row, Length] | None = None,
        stamps: Stamps | None = None,
    ) -> bool:
        """An update of this site, unless the row is as it is to be. `before` is the row whose place it takes."""
        node = text.id(row)
        known = self.knowledge.lengths.get(node)
        length = self.floors.get(text.space, 0) if known is None else known.length
        after = inserted(length) if is_there else deleted(length)
        if after == length:
            return False
        self._updates += 1
        dot = Dot(self.updates, self.site)
        if stamps is None and is_there and text.space in self.keyed:
            stamps = stamped(row, dot, before)
        cells = text.text(row) if known is None else known.text
        self.knowledge.learn_length(node, Length(text.space, cells, after, *dot, stamps))
        self._turn(node, text, row if text.space in self.keyed else None, is_there=is_there)
        return True

    def _turn(self, node: Id, text: RowText, row: Row | None, *, is_there: bool) -> None:
        """A base row came or went."""
        if is_there:
            self.gone.pop(node, None)
        else:
            self.gone[node] = None
        if row is not None:
            self.keyed[text.space].turn(node, row, is_there=is_there)
        if self.followed:
            self.presence.set_leaf(node, is_there=is_there)

    def _resolve(self, space: str, keys: Iterable[Row], deltas: TableDeltas) -> None:
        """Keys that have several rows get one: see `keys`. Whoever knows the same does the same."""
        text, keyed = self.shared[space], self.keyed[space]
        for key in keys:
            rows = dict(keyed.rows(key))
            if len(rows) < 2:
                continue
            row, stamps = merged([(row, self.knowledge.lengths[node]) for node, row in rows.items()])
            for other in rows.values():
                if other != row and self._set(text, other, False):
                    _add(deltas, space, other, -1)
            if self._set(text, row, True, stamps=stamps):
                _add(deltas, space, row, 1)
        self.seen.setdefault(space, {})[self.site] = self.updates

    def restore(self, state: Mapping[str, Any]) -> None:
        """As it was, with knowledge that has been read already."""
        self._updates, self._seen, self.floors = state["updates"], state["seen"], state["floors"]
        self.knowledge.number = state["number"]
        self._gone = {node: None for node, length in self.knowledge.lengths.items() if not length.is_present}

    def start_following(self) -> None:
        """Presence is kept from now on, of all that is known."""
        for node, length in self.knowledge.lengths.items():
            self.presence.set_leaf(node, is_there=length.is_present)
        for derivation in self.knowledge.told:
            self.presence.add(derivation)

    def follow(self, space: str, table: str, text: RowText) -> None:
        """Rows of that space are rows of this table, from now on."""
        if not self.followed:
            self.start_following()
        self.followed.setdefault(space, []).append((table, text))
        for length in list(self.knowledge.lengths.values()):
            if length.space == space:
                self._follow_row(space, length.text, length.id)
        for derivation, told in list(self.knowledge.told.items()):
            if told.space == space:
                self._follow_row(space, told.text, derivation.head)

    def merge(self, items: Iterable[Item], via: str) -> TableDeltas:
        """What another site knows is known here, too: the rows that tables of this site gain and lose by it."""
        deltas: TableDeltas = {}
        # Of tables with a key, the rows that came.
        touched: dict[str, list[Row]] = {}
        for item in items:
            if isinstance(item, Length):
                row = self._merge_length(item, via, deltas)
                if row is not None:
                    touched.setdefault(item.space, []).append(row)
            else:
                derivation = item.derivation
                is_new = self.knowledge.learn_derivation(derivation, item, via)
                if is_new:
                    self.presence.add(derivation)
                if is_new is not False and item.space in self.followed:
                    self._follow_row(item.space, item.text, derivation.head)
        for space, rows in touched.items():
            self._resolve(space, {self.keyed[space].key(row) for row in rows}, deltas)
        self.settle(deltas)
        return deltas

    def settle(self, deltas: TableDeltas) -> None:
        """What followed tables gain and lose since presence was last looked at."""
        for node, is_there in self.presence.settle().items():
            if node in self._rows:
                table, row = self._rows[node]
                _add(deltas, table, row, 1 if is_there else -1)

    def _merge_length(self, item: Length, via: str, deltas: TableDeltas) -> Row | None:
        """Take one in; the row of a table with a key, if it came."""
        node, space = item.id, item.space
        known = self.knowledge.lengths.get(node)
        text = self.shared.get(space)
        if text is not None:
            is_old = covers(self.seen.get(space), item.dot)
            if known is None and is_old:
                # It was known here once, and has been collected.
                return None
            # What this site does from now on comes after it.
            self._updates = max(self.updates, item.update)
            if known is not None and item.length != known.length and is_old == (item.length > known.length):
                # Of two updates that did not know of each other one wins, and others may have collected it already,
                # before they heard of the other one: it is told again, as an update that is new to all of them.
                self._updates += 1
                item = max(item, known, key=_length)._replace(update=self.updates, site=self.site)
                self.seen.setdefault(space, {})[self.site] = self.updates
                via = ""
        self.knowledge.learn_length(node, item, via)
        was = known is not None and known.is_present
        now = self.knowledge.lengths[node].is_present
        if known is None and space in self.followed:
            self._follow_row(space, item.text, node)
        if was == now:
            if known is None:
                self.gone[node] = None
            return None
        if text is None:
            (self.gone.pop if now else self.gone.setdefault)(node, None)
            self.presence.set_leaf(node, is_there=now)
            return None
        row = text.row(item.text)
        _add(deltas, space, row, 1 if now else -1)
        is_keyed = space in self.keyed
        self._turn(node, text, row if is_keyed else None, is_there=now)
        return row if is_keyed and now else None

    def _follow_row(self, space: str, cells: str, node: Id) -> None:
        for table, text in self.followed[space]:
            here = space_of(self.site, table)
            head = id_of(here, cells)
            derivation = Derivation(head, (node,))
            if head not in self._rows:
                self._rows[head] = (table, text.row(cells))
            if self.knowledge.learn_derivation(derivation, Told(here, cells, self.knowledge.number, (node,))):
                self.presence.add(derivation)

    def expected(self, table: str) -> set[Row]:
        """The rows that a shared or followed table has according to what is known."""
        if table in self.shared:
            read = self.shared[table].row
            lengths = self.knowledge.lengths.values()
            return {read(each.text) for each in lengths if each.space == table and is_present(each.length)}
        return {row for node, (name, row) in self._rows.items() if name == table and node in self.presence}

    def lift(self, space: str, floor: int, members: Vectors) -> None:
        """Updates that none of these members made or knows come after all that they have collected."""
        for node, length in list(self.knowledge.lengths.items()):
            is_theirs = length.site in members or any(covers(vector, length.dot) for vector in members.values())
            if length.space == space and length.length <= floor and not is_theirs:
                self._updates += 1
                again = length._replace(length=length.length + floor, update=self.updates, site=self.site)
                self.knowledge.learn_length(node, again)
        self.seen.setdefault(space, {})[self.site] = self.updates

    def forget(self, nodes: set[Id]) -> list[Key]:
        """Collect rows that are gone for good, and the derivations that need them."""
        keys: list[Key] = list(nodes)
        for node in nodes:
            length = self.knowledge.lengths[node]
            self.floors[length.space] = max(self.floors.get(length.space, 0), length.length)
            del self.gone[node]
        keys += self._derivations_needing(nodes)
        self.presence.drop(nodes)
        self.knowledge.forget(keys)
        for node in nodes:
            self.knowledge.mentioning.pop(node, None)
        return keys

    def _derivations_needing(self, nodes: set[Id]) -> list[Derivation]:
        """And those that need rows which nothing derives any more."""
        needing: dict[Id, list[Derivation]] = {}
        heads: dict[Id, int] = {}
        for derivation in self.knowledge.told:
            heads[derivation.head] = heads.get(derivation.head, 0) + 1
            for need in derivation.needs:
                needing.setdefault(need, []).append(derivation)
        found: dict[Derivation, None] = {}
        todo = [*nodes]
        while todo:
            for derivation in needing.get(todo.pop(), ()):
                if derivation not in found:
                    found[derivation] = None
                    heads[derivation.head] -= 1
                    if not heads[derivation.head]:
                        todo.append(derivation.head)
                        nodes.add(derivation.head)
                        self._rows.pop(derivation.head, None)
        return list(found)


def _changes(delta: Delta) -> tuple[list[Row], list[int]]:
    """The rows of a change, and how many of each come or go. One that is in columns is read column by column."""
    if isinstance(delta, CountedDelta):
        columns, counts = delta.columns()
        if columns:
            return list(zip(*columns, strict=True)), list(counts)
    return list(delta), list(delta.values())


def _length(item: Length) -> int:
    return item.length


def _add(deltas: TableDeltas, table: str, row: Row, change: int) -> None:
    rows = deltas.setdefault(table, {})
    total = rows.pop(row, 0) + change
    if total:
        rows[row] = total
