"""The rows of one partition in order, in blocks: a row, a place and a sum over many rows are found block by block.

A change makes a new version, which shares all blocks but the changed ones with the one before. So a commit sees the
partition as it was and as it will be, and whoever undoes it drops the new version. Rows are compared by entries: the
sort keys as one value that Python compares as SQL orders them, and the columns likewise.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from functools import cached_property
from itertools import accumulate, chain
from operator import itemgetter
from typing import Any, TypeAlias

from whence.incremental.aggregates import best_first
from whence.model.rules import Atom, Rule
from whence.model.schema import Column, Relation
from whence.model.terms import Frame, SortKey, Term, Variable, Window
from whence.model.types import Row, Type

# The sort keys as one comparable value, the row's columns likewise, and the row itself.
Entry: TypeAlias = tuple[Any, Any, Row]

# About so many rows are in a block: a partition of a million has as many blocks as a block has rows.
BLOCK_ROWS = 1024
_Part: TypeAlias = Callable[[Row], Any]

_FIRST_MOMENT = datetime(1, 1, 1)  # noqa: DTZ001 - a TIMESTAMP is what a clock shows

# NULL and other values, in whichever order they come.
_NULL_FIRST = (0, 0)
_NULL_LAST = (2, 0)


class _AfterAll:
    """Comes after everything else."""

    __slots__ = ()

    def __lt__(self, _: object) -> bool:
        return False

    def __gt__(self, _: object) -> bool:
        return True


AFTER_ALL = _AfterAll()


class Block:
    """Some entries one after the other, which never change, and what was found out about all of them."""

    __slots__ = ("entries", "known")

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries
        # By who asks.
        self.known: dict[object, Any] = {}


def _first(block: Block) -> Entry:
    return block.entries[0]


class OrderedRows:
    """A version of a partition. Equal rows have an entry for each copy."""

    def __init__(self, blocks: Sequence[Block] = ()) -> None:
        self.blocks = blocks

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> OrderedRows:
        """From entries in order."""
        return cls([Block(list(entries[at : at + BLOCK_ROWS])) for at in range(0, len(entries), BLOCK_ROWS)])

    def __len__(self) -> int:
        return self.starts[-1]

    @cached_property
    def starts(self) -> list[int]:
        """The places at which blocks begin, and behind the last one the number of entries."""
        return [0, *accumulate(len(block.entries) for block in self.blocks)]

    def place(self, probe: tuple[Any, ...]) -> int:
        """How many entries come before an entry, or before the beginning of one."""
        if not self.blocks:
            return 0
        at = max(bisect_left(self.blocks, probe, key=_first) - 1, 0)
        return self.starts[at] + bisect_left(self.blocks[at].entries, probe)

    def first_peer(self, key: Any) -> int:
        """How many entries have smaller sort keys."""
        return self.place((key,))

    def after_peers(self, key: Any) -> int:
        """How many entries have smaller sort keys, or these."""
        return self.place((key, AFTER_ALL))

    def __getitem__(self, place: int) -> Entry:
        at = bisect_right(self.starts, place) - 1
        return self.blocks[at].entries[place - self.starts[at]]

    def between(self, start: int, end: int) -> Iterator[Entry]:
        """The entries from one place to before another."""
        return chain.from_iterable(self._pieces(start, end))

    def _pieces(self, start: int, end: int) -> Iterator[Sequence[Entry]]:
        if start >= end:
            return
        at = bisect_right(self.starts, start) - 1
        while at < len(self.blocks) and self.starts[at] < end:
            entries, begin = self.blocks[at].entries, self.starts[at]
            is_whole = start <= begin and end >= begin + len(entries)
            yield entries if is_whole else entries[max(start - begin, 0) : end - begin]
            at += 1

    def folded(
        self, who: object, start: int, end: int, fold: Callable[[Any, Sequence[Entry]], Any], plus: Any, zero: Any
    ) -> Any:
        """What `fold` makes of the entries from one place to before another, beginning with `zero`.

        What it makes of a whole block is remembered under `who`, and `plus` puts two results together.
        """
        if start >= end:
            return zero
        result = zero
        at = bisect_right(self.starts, start) - 1
        while at < len(self.blocks) and self.starts[at] < end:
            block, begin = self.blocks[at], self.starts[at]
            if start <= begin and end >= begin + len(block.entries):
                if who not in block.known:
                    block.known[who] = fold(zero, block.entries)
                result = plus(result, block.known[who])
            else:
                result = fold(result, block.entries[max(start - begin, 0) : end - begin])
            at += 1
        return result

    def places(self, entries: Sequence[Entry]) -> Iterator[tuple[int, Entry]]:
        """The place of each of some entries that are there, in order; copies are at one place after the other."""
        before: Entry | None = None
        place = 0
        for entry in entries:
            place = place + 1 if entry == before else self.place(entry)
            before = entry
            yield place, entry

    def changed(self, gone: Sequence[Entry], came: Sequence[Entry]) -> OrderedRows:
        """Without some entries, which are there, and with others; both are in order."""
        if not self.blocks or len(gone) + len(came) > len(self) // 4:
            return OrderedRows.of(_merged(list(self.between(0, len(self))), gone, came))
        by_block: dict[int, tuple[list[Entry], list[Entry]]] = {}
        for place, entry in self.places(gone):
            by_block.setdefault(bisect_right(self.starts, place) - 1, ([], []))[0].append(entry)
        for entry in came:
            at = max(bisect_right(self.blocks, entry, key=_first) - 1, 0)
            by_block.setdefault(at, ([], []))[1].append(entry)
        blocks: list[Block] = []
        done = 0
        for at in sorted(by_block):
            blocks.extend(self.blocks[done:at])
            entries = _merged(list(self.blocks[at].entries), *by_block[at])
            if blocks and len(entries) + len(blocks[-1].entries) <= BLOCK_ROWS // 2:
                entries = blocks.pop().entries + entries
            parts = -(-len(entries) // (2 * BLOCK_ROWS))
            size = -(-len(entries) // parts) if parts else 1
            blocks.extend(Block(entries[place : place + size]) for place in range(0, len(entries), size))
            done = at + 1
        blocks.extend(self.blocks[done:])
        return OrderedRows(blocks)


# So many entries are taken out and put in one by one.
FEW = 8


def _merged(entries: list[Entry], gone: Sequence[Entry], came: Sequence[Entry]) -> list[Entry]:
    """A list of its own with the change made."""
    if len(gone) + len(came) <= FEW:
        for entry in gone:
            del entries[bisect_left(entries, entry)]
        for entry in came:
            entries.insert(bisect_left(entries, entry), entry)
        return entries
    if gone:
        left = Counter(row for _, _, row in gone)
        kept = []
        for entry in entries:
            if left.get(entry[2]):
                left[entry[2]] -= 1
            else:
                kept.append(entry)
        entries = kept
    entries.extend(came)
    entries.sort()
    return entries


class RowOrder:
    """The partition of each row of a rule's atom, and its entry there."""

    def __init__(self, rule: Rule, below: Relation) -> None:
        (atom,) = rule.body
        assert isinstance(atom, Atom)
        self._columns = below.columns
        self._places = {term.name: place for place, term in enumerate(atom.terms) if isinstance(term, Variable)}
        windows = [term for term in rule.head.terms if isinstance(term, Window)]
        self.partition: Callable[[Row], Any] = _picked([self.place(term) for term in windows[0].partition])
        measured = any(_measures(window.frame) for window in windows)
        parts = [self._part(key, measured=measured) for key in windows[0].order]
        self._key: _Part = parts[0] if len(parts) == 1 else lambda row: tuple([part(row) for part in parts])
        columns = [_ascending(at, column) for at, column in enumerate(below.columns)]
        # Rows without NULL, of types that Python orders as SQL does, are their own keys.
        self._tie: _Part | None = None
        if any(column.nullable or column.type.sort_key is not None for column in below.columns):
            self._tie = lambda row: tuple([column(row) for column in columns])

    def place(self, term: Term) -> int:
        """The column of the atom that a variable stands for."""
        assert isinstance(term, Variable)
        return self._places[term.name]

    def entry(self, row: Row) -> Entry:
        return (self._key(row), row if self._tie is None else self._tie(row), row)

    def entries(self, rows: Sequence[Row]) -> list[Entry]:
        """Those of many rows, in order."""
        key, tie = self._key, self._tie
        if tie is None:
            return sorted([(key(row), row, row) for row in rows])
        return sorted([(key(row), tie(row), row) for row in rows])

    def _part(self, key: SortKey, *, measured: bool) -> _Part:
        at = self.place(key.term)
        column = self._columns[at]
        value = _measured(column.type, key.descending) if measured else _ordered(column.type, key.descending)
        return _with_null(at, value, column.nullable, nulls_last=key.nulls_last)


def _measures(frame: Frame | None) -> bool:
    """Whether a frame goes by how far the values of the sort key are apart."""
    return (
        frame is not None and frame.unit == "range" and any(b is not None and b.value for b in (frame.start, frame.end))
    )


def _picked(places: Sequence[int]) -> Callable[[Row], Any]:
    return itemgetter(*places) if places else lambda _: ()


def _ordered(kind: Type, descending: bool) -> Callable[[Any], Any] | None:
    if descending:
        return best_first("max", kind)
    return kind.sort_key


def _measured(kind: Type, descending: bool) -> Callable[[Any], Any] | None:
    """Values as numbers, so that distances can be added to them."""
    number = _as_number(kind)
    if not descending:
        return number
    return best_first("max", kind) if number is None else (lambda value: -number(value))


def _as_number(kind: Type) -> Callable[[Any], Any] | None:
    """Days of a DATE, microseconds of a TIMESTAMP; None for what is a number anyway."""
    if issubclass(kind.python, datetime):
        return lambda value: (value - _FIRST_MOMENT) // datetime.resolution
    return date.toordinal if issubclass(kind.python, date) else None


def _with_null(at: int, value: Callable[[Any], Any] | None, nullable: bool, *, nulls_last: bool) -> _Part:
    if not nullable:
        return itemgetter(at) if value is None else lambda row: value(row[at])
    null = _NULL_LAST if nulls_last else _NULL_FIRST
    if value is None:
        return lambda row: null if row[at] is None else (1, row[at])
    return lambda row: null if row[at] is None else (1, value(row[at]))


def _ascending(at: int, column: Column) -> _Part:
    return _with_null(at, column.type.sort_key, column.nullable, nulls_last=False)
