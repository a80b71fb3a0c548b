"""What every commit changed: the feeds behind `changes` and `subscribe`."""

from __future__ import annotations

import datetime
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from whence.errors import Hint, StateError, Way
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


# How many versions' changes are kept unless said otherwise.
KEEP_VERSIONS = 1000
KEEPING = Way("keep", "connect(keep_versions=...)")


class History:
    """Entries per relation, oldest first, for the last `keep_versions` versions."""

    def __init__(self, keep_versions: int = KEEP_VERSIONS) -> None:
        self._keep_versions = keep_versions
        self._entries: dict[str, deque[Entry]] = {}
        # Every relation's entries together, as they came: what is to be dropped next.
        self._order: deque[tuple[int, str]] = deque()
        # The version of the newest entry that was dropped, per relation.
        self._dropped: dict[str, int] = {}

    def record(self, name: str, entry: Entry) -> None:
        self._entries.setdefault(name, deque()).append(entry)
        self._order.append((entry.version, name))

    def forget(self, name: str) -> None:
        """The relation is gone, or another one has its name."""
        self._entries.pop(name, None)
        self._dropped.pop(name, None)

    def trim(self, current: int) -> None:
        """Drop the entries that are too old at version `current`."""
        while self._order and self._order[0][0] <= current - self._keep_versions:
            version, name = self._order.popleft()
            entries = self._entries.get(name)
            # A relation that was forgotten has no entries of that time.
            if entries and entries[0].version == version:
                entries.popleft()
                self._dropped[name] = version

    def since(self, name: str, version: int) -> Sequence[Entry]:
        """The entries after a version. Raises where some of them have been dropped."""
        check_kept(name, version, self._dropped.get(name, 0), self._keep_versions)
        return [entry for entry in self._entries.get(name, ()) if entry.version > version]


class ForgottenError(StateError):
    """Changes that are not kept any more; `dropped` is the version of the newest of them."""

    def __init__(self, name: str, dropped: int, keep_versions: int | None) -> None:
        now = "" if keep_versions is None else f", which is {keep_versions} now"
        super().__init__(
            f"the changes of {name!r} are there from version {dropped + 1} on; older ones are forgotten",
            hint=Hint(
                f"ask for those {{}} or later, or keep more with {{}}{now}",
                (Way("since", f"since={dropped}", (dropped,)), KEEPING),
            ),
        )
        self.dropped = dropped


def check_kept(name: str, since: int, dropped: int, keep_versions: int | None) -> None:
    """Raises where changes after version `since` have been dropped; `dropped` is the newest that was.

    How many versions are kept is not known of a database that another process has open.
    """
    if since < dropped:
        raise ForgottenError(name, dropped, keep_versions)


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
