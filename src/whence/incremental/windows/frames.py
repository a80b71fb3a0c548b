"""Window functions of a frame: aggregates, and first, last and nth values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from whence.incremental.windows.folds import FrameFold
from whence.incremental.windows.ordered_rows import Entry, OrderedRows
from whence.incremental.windows.partition_change import Event, Interval, PartitionChange
from whence.model.terms import Constant, Frame
from whence.model.types import Value
from whence.model.types.decimals import CONTEXT


class Framed:
    """A fold over the frame of each row. Both ends of frames only ever move on from row to row."""

    def __init__(self, frame: Frame, fold: FrameFold) -> None:
        self._by_rows = frame.unit == "rows"
        self._start, self._end = _value(frame.start), _value(frame.end)
        self._fold = fold
        self._is_invertible = fold.minus(fold.zero, fold.zero) is not None

    def touched(self, change: PartitionChange) -> Iterable[Interval]:
        if self._start is None and self._end is None:
            is_same = self._state(change.before, 0, len(change.before)) == self._state(
                change.after, 0, len(change.after)
            )
            return () if is_same else change.everything()
        if self._start is None and not self._end:
            return self._running(change) if self._is_invertible else self._walked(change)
        return [self._reached(change.before, event) for event in change.events]

    def values(self, rows: OrderedRows, start: int, end: int) -> Iterable[Value]:
        fold = self._fold
        low = high = -1
        state: Any = fold.zero
        result: Value = None
        for at, (begin, stop) in self._frames(rows, start, end):
            if (begin, stop) != (low, high):
                is_near = at > start and begin < high and (begin == low or self._is_invertible)
                if is_near:
                    if begin > low:
                        state = fold.minus(state, self._state(rows, low, begin))
                    state = fold.fold(state, list(rows.between(high, stop)))
                else:
                    state = self._state(rows, begin, stop)
                low, high = begin, stop
                result = fold.result(state)
            yield result

    def _state(self, rows: OrderedRows, start: int, end: int) -> Any:
        return rows.folded(self, start, end, self._fold.fold, self._fold.plus, self._fold.zero)

    # Where frames are

    def _frames(self, rows: OrderedRows, start: int, end: int) -> Iterator[tuple[int, Interval]]:
        """Places, and the frame of the row there."""
        size = len(rows)
        if self._by_rows:
            for at in range(start, end):
                low = 0 if self._start is None else min(max(at + self._start, 0), size)
                high = size if self._end is None else min(max(at + self._end + 1, 0), size)
                yield at, (low, max(low, high))
            return
        last: Any = None
        frame = (0, 0)
        for at, (key, _, _) in enumerate(rows.between(start, end), start):
            if at == start or key != last:
                low = 0 if self._start is None else rows.first_peer(_moved(key, self._start))
                high = size if self._end is None else rows.after_peers(_moved(key, self._end))
                frame, last = (low, max(low, high)), key
            yield at, frame

    def _reached(self, rows: OrderedRows, event: Event) -> Interval:
        """The places of rows whose frame is another one when an entry comes or goes.

        By rows, a frame that is all before its row or all behind it is, too, if the place lies in between.
        """
        size, place, key = len(rows), event.place, event.entry[0]
        if self._by_rows:
            low = 0 if self._end is None else place - max(self._end, 0) - 1
            return low, size if self._start is None else place - min(self._start, 0) + 1
        low = 0 if self._end is None else rows.first_peer(_moved(key, -self._end))
        return low, size if self._start is None else rows.after_peers(_moved(key, -self._start))

    # Frames from the beginning to the row

    def _begin(self, rows: OrderedRows, event: Event) -> int:
        return event.place if self._by_rows else rows.first_peer(event.entry[0])

    def _running(self, change: PartitionChange) -> Iterable[Interval]:
        """Where what has come and gone so far does not make up for each other."""
        fold, difference = self._fold, self._fold.zero
        at = 0
        for event in change.events:
            place = self._begin(change.before, event)
            if difference != fold.zero and place > at:
                yield at, place
            at = max(at, place)
            part = fold.fold(fold.zero, [event.entry])
            difference = fold.plus(difference, part) if event.sign > 0 else fold.minus(difference, part)
        if difference != fold.zero:
            yield at, len(change.before)

    def _walked(self, change: PartitionChange) -> Iterable[Interval]:
        """From each event on until the states before and after the change are the same again."""
        fold, before, after = self._fold, change.before, change.after
        events = change.events
        number = moved = 0
        while number < len(events):
            start = at = events[number].place
            begin = self._begin(before, events[number])
            old, new = self._state(before, 0, start), self._state(after, 0, start + moved)
            while True:
                while number < len(events) and events[number].place == at:
                    event = events[number]
                    number, moved = number + 1, moved + event.sign
                    if event.sign > 0:
                        new = fold.fold(new, [event.entry])
                    else:
                        old = fold.fold(old, [event.entry])
                        at += 1
                if old == new or at >= len(before):
                    break
                entry: list[Entry] = [before[at]]
                old, new = fold.fold(old, entry), fold.fold(new, entry)
                at += 1
            yield begin, at


def _value(bound: Constant | None) -> Any:
    return None if bound is None else bound.value


def _moved(key: Any, distance: Any) -> Any:
    """The sort key so far away; NULL is nowhere else."""
    if not distance:
        return key
    if isinstance(key, tuple):
        return key if key[0] != 1 else (1, _added(key[1], distance))
    return _added(key, distance)


def _added(value: Any, distance: Any) -> Any:
    add: Callable[[Any, Any], Any] = CONTEXT.add if hasattr(value, "as_tuple") else lambda a, b: a + b
    return add(value, distance)
