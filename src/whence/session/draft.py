"""Changes that are to become one commit, checked against the tables that they change."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import compress
from operator import gt, itemgetter, ne
from typing import NamedTuple, TypeAlias

from whence.columns.arrow import ArrowDelta, ArrowRows
from whence.errors import DataError, Hint, NextStep
from whence.incremental.keyed import (
    KNOWN_RELATIONS,
    Key,
    KeyedDelta,
    are_stored,
    can_come,
    can_go,
    key_positions,
    rows_of,
)
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta, Update
from whence.session.contents import counts_of
from whence.session.lifetimes import Arrival, Clock, Departure, expiry
from whence.session.windows import Window, WindowDraft
from whence.sources.rows import listed, row_text


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

    def holders(self, rows: Sequence[Row]) -> list[Row | None]:
        """The same for many rows, which are looked up together."""
        keys, after = list(map(self._key_of, rows)), self.after
        untouched = [key for key in keys if key not in after]
        stored = dict(zip(untouched, rows_of(untouched, self._stored), strict=True))
        return [after[key] if key in after else stored[key] for key in keys]

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
        after = self.after
        untouched = [key for key in coming if key not in after]
        holders = [after[key] for key in coming if key in after] + rows_of(untouched, self._stored)
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
        if not are_stored(rows, list(going), self._stored):
            return False
        holders = dict(zip(going, rows, strict=True))
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


# More rows than this are looked up together.
FEW_ROWS = 16

# What a row goes by in a message, by its index.
Place: TypeAlias = Callable[[int], str]
ROW: Place = "rows[{}]".format


class TableContents(NamedTuple):
    """A table as it is now.

    `counts` finds the rows of a table without a key, and `keys` those of one with a key, by it; the other one is empty.
    `window` is None for a table without one.
    """

    relation: Relation
    counts: Mapping[Row, int]
    keys: Mapping[Key, Row]
    window: Window | None


class Passage:
    """When the rows of a draft arrive, and how many copies `expired` or were `evicted` from windows.

    Tables have this of their draft and not the draft itself: with a way back to it, every commit would leave a cycle,
    and with it its rows, to Python's collector.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.expired = 0
        self.evicted = 0

    @cached_property
    def now(self) -> datetime.datetime:
        """All rows of a commit arrive at once."""
        return self.clock.now


class TableDraft:
    """The changes to one table."""

    def __init__(self, contents: TableContents, passage: Passage) -> None:
        self.contents = contents
        self.relation = contents.relation
        self._passage = passage
        # What was changed: by key, or by row in a table without one.
        self._counts: dict[Row, int] = {}
        key = key_of(self.relation)
        self._keyed = None if key is None else KeyedChanges(self.relation, contents.keys, key)
        self.events: list[Arrival | Departure] = []
        self.window = None if contents.window is None else WindowDraft(contents.window, self.relation)
        self._place = ROW
        self._is_plain = self.relation.ttl is None and self.window is None
        # Of rows that were looked up together, how often they are stored.
        self._stored: dict[Row, int] = {}
        # All changes, as long as they are rows in columns that come or go as a whole.
        self._whole: ArrowDelta | None = None

    @property
    def delta(self) -> Delta:
        """How often each row comes or goes."""
        if self._whole is not None:
            return self._whole
        return self._counts if self._keyed is None else self._keyed.delta

    def _take_whole(self, rows: Sequence[Row], weight: int) -> bool:
        """Let rows in columns come or go without a look at each, if that is possible and nothing came before them."""
        if (
            not isinstance(rows, ArrowRows)
            or not self._is_plain
            or self._counts
            or self.keys
            or self._whole is not None
        ):
            return False
        if not (can_come if weight > 0 else can_go)(rows, self.contents.counts, self.contents.keys):
            return False
        self._whole = ArrowDelta(rows, weight)
        return True

    def _divide(self) -> None:
        """More changes come: those so far are made row by row."""
        whole, self._whole = self._whole, None
        if whole is not None:
            (self.insert if whole.weight > 0 else self.delete)(list(whole.rows))

    @property
    def keys(self) -> Mapping[Key, Row | None]:
        """What became of the keys that changed: their row, or None for one that is free."""
        return {} if self._keyed is None else self._keyed.after

    def present(self, row: Row) -> int:
        self._divide()
        if self._keyed is not None:
            return int(self._keyed.holder(row) == row)
        stored = self._stored.get(row)
        if stored is None:
            stored = self.contents.counts.get(row, 0)
        return stored + self._counts.get(row, 0)

    def holders(self, rows: Sequence[Row]) -> list[Row | None]:
        """Of a table with a key, the rows that by now have the keys of these, if there are any."""
        assert self._keyed is not None
        self._divide()
        return self._keyed.holders(rows)

    def present_all(self, rows: Sequence[Row]) -> list[int]:
        """How often each of many rows is there by now."""
        if self._keyed is not None:
            return [int(holder == row) for holder, row in zip(self.holders(rows), rows, strict=True)]
        self._look_up(rows)
        return list(map(self.present, rows))

    def _look_up(self, rows: Sequence[Row]) -> None:
        """How often many rows are there, all at once."""
        self._stored.update(zip(rows, counts_of(self.contents.counts, rows), strict=True))

    def insert(self, rows: Sequence[Row], place: Place = ROW, *, is_new: bool = False) -> None:
        """`place` names a row in a message by its number. Where each `is_new`, the same row again is refused as well,
        if there is a key.
        """
        if not isinstance(rows, list):
            if self._take_whole(rows, 1):
                return
            rows = list(rows)
        self._divide()
        self._place = place
        if self._is_plain:
            if self._keyed is not None:
                if self._keyed.take_all(rows):
                    return
            elif not self._counts and not self.relation.distinct:
                # Into a bag they come as often as they are listed.
                self._counts = dict(Counter(rows))
                return
        for index, row in enumerate(rows):
            leaves = None if self.relation.ttl is None else expiry(self.relation, row, self._passage.now)
            if self._passage.clock.has_passed(leaves):
                self._passage.expired += 1
                continue
            is_there = self._is_there(row, index, is_new=is_new)
            if leaves is not None:
                self.events.append(Arrival(row, leaves))
            if not is_there:
                self._add(row, 1)
            if self.window is not None:
                self._make_room(self.window.insert(row))

    def delete(self, rows: Sequence[Row], *, ignore_missing: bool = False, place: Place = ROW) -> None:
        if not isinstance(rows, list):
            if self._take_whole(rows, -1):
                return
            rows = list(rows)
        self._divide()
        self._place = place
        if self._is_plain and (self._free_all(rows) if self._keyed is None else self._keyed.free_all(rows)):
            return
        if self._keyed is None and len(rows) > FEW_ROWS:
            self._look_up(rows)
        for index, row in enumerate(rows):
            if self.present(row):
                self.remove(row, 1)
            elif not ignore_missing:
                raise self._missing(row, index)

    def _free_all(self, rows: list[Row]) -> bool:
        """Let rows leave a table without a key, if nothing came before them and all are there."""
        if self._counts:
            return False
        wanted = Counter(rows)
        stored = counts_of(self.contents.counts, list(wanted))
        if any(map(gt, wanted.values(), stored)):
            return False
        self._counts = {row: -copies for row, copies in wanted.items()}
        return True

    def remove(self, row: Row, copies: int) -> None:
        self._divide()
        if self.window is not None:
            self.window.remove(row, copies)
        self._leave(row, copies)

    def expire(self, due: Mapping[Row, int]) -> None:
        """Rows whose time has come leave."""
        for row, copies in due.items():
            self.remove(row, copies)
            self._passage.expired += copies

    def _make_room(self, oldest: Row | None) -> None:
        if oldest is not None:
            self._leave(oldest, 1)
            self._passage.evicted += 1

    def _leave(self, row: Row, copies: int) -> None:
        self._add(row, -copies)
        if self.relation.ttl is not None:
            self.events += [Departure(row)] * copies

    def _add(self, row: Row, copies: int) -> None:
        """So many copies come or go. Of a row with a key there is one or none."""
        if self._keyed is not None:
            (self._keyed.take if copies > 0 else self._keyed.free)(row)
            return
        total = self._counts.pop(row, 0) + copies
        if total:
            self._counts[row] = total

    def _is_there(self, row: Row, index: int, *, is_new: bool) -> bool:
        """Whether a row that comes adds nothing to a set. Raises where another one has its key."""
        if self._keyed is None:
            return self.relation.distinct and self.present(row) > 0
        holder = self._keyed.holder(row)
        if holder is None:
            return False
        if is_new:
            raise self._conflict(row, holder, index, "each row needs a key of its own, after the change as before")
        if holder != row:
            raise self._conflict(row, holder, index, "delete that row first; in the same batch the two make an update")
        return True

    def _missing(self, row: Row, index: int) -> DataError:
        return DataError(
            f"{self._place(index)} is not in {self.relation.name!r}, so it cannot be deleted: {row_text(row)}",
            hint=Hint("{} passes over rows that are not there", (NextStep("option", 'missing="ignore"'),)),
        )

    def _conflict(self, row: Row, holder: Row, index: int, hint: str) -> DataError:
        return DataError(
            f"{self._place(index)} has the key of another row of {self.relation.name!r}, {listed(self.relation.key)}: "
            f"{row_text(row)}",
            related=[(f"the row with that key is {row_text(holder)}", None)],
            hint=hint,
        )


class Draft:
    """The changes to all tables."""

    def __init__(self, contents: Callable[[Relation], TableContents], clock: Clock) -> None:
        self.passage = Passage(clock)
        self.tables: dict[str, TableDraft] = {}
        self._contents = contents

    def table(self, relation: Relation) -> TableDraft:
        if relation.name not in self.tables:
            self.tables[relation.name] = TableDraft(self._contents(relation), self.passage)
        return self.tables[relation.name]

    @property
    def update(self) -> Update:
        deltas = {}
        for name, table in self.tables.items():
            delta = table.delta
            if delta:
                deltas[name] = delta
        return Update(deltas)


@lru_cache(maxsize=KNOWN_RELATIONS)
def key_of(relation: Relation) -> Callable[[Row], Key] | None:
    """What takes the key out of a row, or None for a relation without one."""
    if not relation.key:
        return None
    return itemgetter(*key_positions(relation))
