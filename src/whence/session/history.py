"""What every commit changed: the feeds behind `changes` and `subscribe`."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta
from whence.session.draft import key_of
from whence.session.sorting import row_order


@dataclass(frozen=True, slots=True)
class Entry:
    """The change of one relation in one commit."""

    version: int
    timestamp: datetime.datetime
    delta: Delta


# A changed row, how it changed, and the commit's version and time.
Change: TypeAlias = tuple[Row, str, int, datetime.datetime]


class History:
    """Entries per relation, oldest first."""

    def __init__(self) -> None:
        self._entries: dict[str, list[Entry]] = {}

    def record(self, name: str, entry: Entry) -> None:
        self._entries.setdefault(name, []).append(entry)

    def forget(self, name: str) -> None:
        self._entries.pop(name, None)

    def since(self, name: str, version: int) -> Sequence[Entry]:
        return [entry for entry in self._entries.get(name, ()) if entry.version > version]


def changes(relation: Relation, entries: Sequence[Entry]) -> Iterator[Change]:
    """The changes row by row: by version, and within it deletes, updates, inserts, each in the order of the rows.

    Where a key stays and its row changes, the old and the new row are the two images of an update.
    """
    key = key_of(relation)
    order = row_order(relation)
    for entry in entries:
        deleted = sorted((row for row, count in entry.delta.items() if count < 0), key=order)
        inserted = sorted((row for row, count in entry.delta.items() if count > 0), key=order)
        updated = {}
        if key is not None:
            old = {key(row): row for row in deleted}
            updated = {old[key(row)]: row for row in inserted if key(row) in old}
        replaced = set(updated.values())
        stamp = (entry.version, entry.timestamp)
        for row in deleted:
            if row not in updated:
                yield from [(row, "delete", *stamp)] * -entry.delta[row]
        for before, after in updated.items():
            yield (before, "update_preimage", *stamp)
            yield (after, "update_postimage", *stamp)
        for row in inserted:
            if row not in replaced:
                yield from [(row, "insert", *stamp)] * entry.delta[row]
