"""`db.what_if`: what a change would do."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whence.errors import UnknownNameError, did_you_mean
from whence.explain.changes.wording import change_lines, json_changes
from whence.model.schema import Relation
from whence.model.types import Row
from whence.session.batch import Delete, Insert
from whence.session.clock import wall_clock
from whence.session.history import Entry, changes
from whence.session.session import Session

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class WhatIf:
    """What would change, in tables and in views: how often each row would come or go. Nothing of it has happened.

    `version` and `timestamp` are those that a commit would have had at the time of the question.
    """

    changes: Mapping[str, Mapping[Row, int]]
    relations: Mapping[str, Relation]
    version: int
    timestamp: datetime.datetime

    def table(self, relation: str) -> pa.Table:
        """The changes of one relation in the shape of `db.changes`."""
        from whence.session.arrow import changes_table

        found = next((each for name, each in self.relations.items() if name.lower() == relation.lower()), None)
        if found is None:
            raise UnknownNameError(f"there is no relation {relation!r}", hint=did_you_mean(relation, self.relations))
        delta = self.changes.get(found.name)
        entries = [] if delta is None else [Entry(self.version, self.timestamp, delta)]
        return changes_table(found, changes(found, entries))

    def json(self) -> dict[str, object]:
        return {"changes": {name: json_changes(self.relations[name], delta) for name, delta in self.changes.items()}}

    def __str__(self) -> str:
        if not self.changes:
            return "nothing would change"
        parts = (change_lines(self.relations[name], delta) for name, delta in self.changes.items())
        return "\n\n".join("\n".join(lines) for lines in parts)

    __repr__ = __str__


def what_if(session: Session, changed: Sequence[Insert | Delete]) -> WhatIf:
    """What would follow from changes that are made one after the other, in one commit."""
    session.expect(changed)
    draft = session.draft()
    for change in changed:
        change.add_to(draft)
    seen = session.foresee(draft.update)
    # Some changes are read where the engine works, and only as long as it does.
    found = {name: dict(delta.items()) for name, delta in seen.items()}
    relations = session.definitions.visible
    tables_first = sorted(found, key=lambda name: (name in session.definitions.views, [*relations].index(name)))
    return WhatIf({name: found[name] for name in tables_first}, relations, session.version + 1, wall_clock())
