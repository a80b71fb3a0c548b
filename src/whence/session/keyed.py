"""What a draft has made of the keys of a table so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from operator import ne

from whence.incremental.keyed import Key, KeyedDelta, key_positions
from whence.model.schema import Relation
from whence.model.types import Row


class KeyedChanges:
    """By key that was touched, the row it has by now, or None; and the row that `stored` has for it, if it has one.

    Many rows at once are handled as a whole: whether all of them can come or go is seen without looking at each.
    """

    def __init__(self, relation: Relation, stored: Mapping[Key, Row], key_of: Callable[[Row], Key]) -> None:
        self.after: dict[Key, Row | None] = {}
        self._positions = key_positions(relation)
        self._stored = stored
        self._key_of = key_of
        self._before: dict[Key, Row] = {}
        self._delta: KeyedDelta | None = None

    def holder(self, row: Row) -> Row | None:
        """The row that by now has this one's key."""
        key = self._key_of(row)
        return self.after[key] if key in self.after else self._stored.get(key)

    def take(self, row: Row) -> None:
        """A row comes, and nothing holds its key."""
        self._delta = None
        self.after[self._key_of(row)] = row

    def free(self, row: Row) -> None:
        """A row goes, which holds its key."""
        self._delta = None
        key = self._key_of(row)
        if key not in self.after:
            # Of two equal rows, the one that is stored has its values at hand.
            self._before[key] = self._stored[key]
        self.after[key] = None

    def take_all(self, rows: Sequence[Row]) -> bool:
        """Let all rows come if each of them has a key that is free, and none the key of another."""
        coming = dict(zip(map(self._key_of, rows), rows, strict=True))
        after, stored = self.after, self._stored
        holders = [after[key] if key in after else stored.get(key) for key in coming]
        if len(coming) != len(rows) or holders.count(None) != len(holders):
            return False
        self._delta = None
        after.update(coming)
        return True

    def free_all(self, rows: list[Row]) -> bool:
        """Let all rows go if they are the ones that are stored, none is there twice, and no key was touched before."""
        going = dict.fromkeys(map(self._key_of, rows))
        if len(going) != len(rows) or not self.after.keys().isdisjoint(going):
            return False
        holders = {key: row for key, row in zip(going, map(self._stored.get, going), strict=True) if row is not None}
        if list(holders.values()) != rows:
            return False
        self._delta = None
        self._before.update(holders)
        self.after.update(going)
        return True

    @property
    def delta(self) -> KeyedDelta:
        """What has changed. A row that went and came again has not."""
        if self._delta is None:
            before, after = list(map(self._before.get, self.after)), list(self.after.values())
            differ = list(map(ne, before, after))
            self._delta = KeyedDelta(
                self._positions,
                list(compress(self.after, differ)),
                list(compress(before, differ)),
                list(compress(after, differ)),
            )
        return self._delta
