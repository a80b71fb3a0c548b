"""What a session tells whoever keeps its commits for good, and what it wants to hear when it starts again."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta
from whence.session.clock import Tick
from whence.session.definitions import Definitions


@dataclass(frozen=True, slots=True)
class TableChange:
    """What a commit makes of a base table.

    `counts` holds the rows after the commit. Of the rows that a time to live or a row window touched, `leaves` and
    `arrivals` say when their copies leave, and as which numbers they came, also after the commit.
    """

    relation: Relation
    delta: Delta
    counts: Mapping[Row, int]
    leaves: Mapping[Row, Sequence[datetime.datetime]] = field(default_factory=dict)
    arrivals: Mapping[Row, Sequence[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Record:
    """A commit that has happened in memory. `seen` is what the feeds of tables and views say about it; `tick` is the
    last advance, whether it is this commit or one before it.
    """

    version: int
    timestamp: datetime.datetime
    before: Definitions
    after: Definitions
    tables: Sequence[TableChange]
    seen: Mapping[str, Delta]
    tick: Tick | None
    notices: Sequence[str]


class Journal(Protocol):
    @property
    def version(self) -> int:
        """The version of the last commit that is kept."""

    def append(self, record: Record) -> None:
        """Keep the commit for good. If this raises, `version` tells whether it is kept all the same."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class TableState:
    """The rows of a base table, and what `TableChange` says about their copies."""

    counts: Mapping[Row, int]
    leaves: Mapping[Row, Sequence[datetime.datetime]]
    arrivals: Mapping[Row, Sequence[int]]


@dataclass(frozen=True, slots=True)
class State:
    """A session as it was after its last commit. The rows of views follow from those of the tables."""

    version: int
    definitions: Definitions
    tables: Mapping[str, TableState]
    tick: Tick | None
    notices: Sequence[str]
