"""Tables with a key: of rows that sites gave one key while they were apart, one is made.

Each column of a row knows the update that last gave it its value. Update numbers grow with all that a site has seen, so
that they follow causal order, and of two updates that did not know of each other the names of the sites decide. The row
that stays has in each column the value that was written last; it may be one of the rows, or a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whence.incremental.keyed import key_positions
from whence.model.schema import Relation
from whence.model.types import Row, Value
from whence.replica.knowledge import Dot, Length, Stamps
from whence.replica.rows import Id, RowText


class KeyedRows:
    """The present rows of a shared table, by key."""

    def __init__(self, text: RowText) -> None:
        self._text = text
        self._positions = key_positions(text.relation)
        self._present: dict[Row, dict[Id, Row]] = {}

    def key(self, row: Row) -> Row:
        return tuple([row[at] for at in self._positions])

    def turn(self, node: Id, row: Row, *, is_there: bool) -> None:
        """A row comes or goes."""
        key = self.key(row)
        rows = self._present.setdefault(key, {})
        if is_there:
            rows[node] = row
        else:
            rows.pop(node, None)
            if not rows:
                del self._present[key]

    def rows(self, key: Row) -> dict[Id, Row]:
        return self._present.get(key, {})


def has_partial_key(relation: Relation) -> bool:
    return 0 < len(relation.key) < relation.arity


def stamped(row: Row, dot: Dot, before: tuple[Row, Length] | None) -> Stamps:
    """Who gave the columns of a row their values: the update that is made, or those that `before` has them from."""
    if before is None or before[1].stamps is None:
        return (dot,) * len(row)
    old, length = before
    assert length.stamps is not None
    return tuple([stamp if value == was else dot for value, was, stamp in zip(row, old, length.stamps, strict=True)])


def merged(rows: Iterable[tuple[Row, Length]]) -> tuple[Row, Stamps]:
    """In each column the value that was written last."""
    found = [(row, length.stamps or (length.dot,) * len(row)) for row, length in rows]
    columns: Sequence[tuple[Dot, Value]] = [
        max(((stamps[at], row[at]) for row, stamps in found), key=lambda each: (each[0], repr(each[1])))
        for at in range(len(found[0][0]))
    ]
    return tuple([value for _, value in columns]), tuple([stamp for stamp, _ in columns])
