"""How a session makes a commit in its engine, writes it down, and reads back what commits changed."""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias

from whence.algebra.deltas import negated
from whence.analysis.analyze import analyze
from whence.engines.engine import Engine
from whence.errors import Hint, NextStep, StateError
from whence.model.program import Program
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta, Update, Version
from whence.rewriting.adaptation import Adaptation
from whence.session.contents import row_order
from whence.session.definitions import Definitions, renewed
from whence.session.draft import key_of
from whence.session.lifetimes import Tick


@dataclass(frozen=True, slots=True)
class Entry:
    """The change of one relation in one commit."""

    version: Version
    timestamp: datetime.datetime
    delta: Delta


# A changed row, how it changed, and the commit's version and time.
Change: TypeAlias = tuple[Row, str, Version, datetime.datetime]


# How many versions' changes are kept unless said otherwise.
KEEP_VERSIONS = 1000
KEEPING = NextStep("keep", "connect(keep_versions=...)")


class ForgottenError(StateError):
    """Changes that are not kept any more; `dropped` is the version of the newest of them."""

    def __init__(self, name: str, dropped: Version, keep_versions: int | None) -> None:
        now = "" if keep_versions is None else f", which is {keep_versions} now"
        super().__init__(
            f"the changes of {name!r} are there from version {dropped + 1} on; older ones are forgotten",
            hint=Hint(
                f"ask for those {{}} or later, or keep more with {{}}{now}",
                (NextStep("since", f"since={dropped}", (dropped,)), KEEPING),
            ),
        )
        self.dropped = dropped


def check_kept(name: str, since: int, dropped: Version, keep_versions: int | None) -> None:
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
    last advance, whether it is this commit or one before it; `batches` are what streams bring with it.
    """

    version: Version
    timestamp: datetime.datetime
    before: Definitions
    after: Definitions
    # Computed when a journal writes it down.
    tables: Callable[[], Sequence[TableChange]]
    seen: Mapping[str, Delta]
    tick: Tick | None
    notices: Sequence[str]
    batches: Mapping[str, int]


class Journal(ABC):
    """Where commits are kept, and the changes of the last versions are read."""

    @property
    @abstractmethod
    def version(self) -> Version:
        """The version of the last commit that is kept."""

    def begin(self, version: Version) -> None:  # noqa: B027 - whatever comes can be kept, unless one says otherwise
        """A commit is about to make this version. Raises where it could not be kept."""

    @abstractmethod
    def append(self, record: Record) -> None:
        """Keep the commit for good. If this raises, `version` tells whether it is kept all the same."""

    @abstractmethod
    def since(self, name: str, version: Version) -> Sequence[Entry]:
        """The entries of a relation after a version, oldest first. Raises where some of them have been dropped."""

    def compact(self) -> None:  # noqa: B027 - not every journal has files, or has to care for them
        """Rows have been committed: where much has come together, write it down in less. Does not raise."""

    def close(self) -> None:  # noqa: B027 - nor anything to let go of
        """Let go of what is kept outside of this process."""


@dataclass(frozen=True, slots=True)
class TableState:
    """The rows of a base table, and what `TableChange` says about their copies.

    `later` are changes that came after those rows. A table with copies that leave, or with a window, has none.
    """

    counts: Mapping[Row, int]
    leaves: Mapping[Row, Sequence[datetime.datetime]]
    arrivals: Mapping[Row, Sequence[int]]
    later: Sequence[Delta] = ()


@dataclass(frozen=True, slots=True)
class State:
    """A session as it was after its last commit, at `timestamp`. The rows of views follow from those of the tables."""

    version: Version
    definitions: Definitions
    tables: Mapping[str, TableState]
    tick: Tick | None
    notices: Sequence[str]
    timestamp: datetime.datetime | None = None
    # Whether the engine has got what it kept then, rows and views: then `tables` may lack rows.
    is_loaded: bool = False


class MemoryJournal(Journal):
    """The journal of a database that nobody keeps: entries per relation, oldest first, for the last versions."""

    version = Version(0)

    def __init__(self, keep_versions: int = KEEP_VERSIONS) -> None:
        self._keep_versions = keep_versions
        self._entries: dict[str, deque[Entry]] = {}
        # Every relation's entries together, as they came: what is to be dropped next.
        self._order: deque[tuple[Version, str]] = deque()
        # The version of the newest entry that was dropped, per relation.
        self._dropped: dict[str, Version] = {}

    def append(self, record: Record) -> None:
        if record.after is not record.before:
            for name in renewed(record.before, record.after):
                self._entries.pop(name, None)
                self._dropped.pop(name, None)
        version = self.version = record.version
        for name, delta in record.seen.items():
            self._entries.setdefault(name, deque()).append(Entry(version, record.timestamp, delta))
            self._order.append((version, name))
        while self._order and self._order[0][0] <= version - self._keep_versions:
            old, name = self._order.popleft()
            entries = self._entries.get(name)
            # A relation that is gone has no entries of that time.
            if entries and entries[0].version == old:
                entries.popleft()
                self._dropped[name] = old

    def since(self, name: str, version: Version) -> Sequence[Entry]:
        check_kept(name, version, self._dropped.get(name, Version(0)), self._keep_versions)
        return [entry for entry in self._entries.get(name, ()) if entry.version > version]


class Made(NamedTuple):
    """What changed in consequence of a change, and what undoes it in the engine, before the next one."""

    deltas: Mapping[str, Delta]
    take_back: Callable[[], None]


class EngineChanges(Protocol):
    def restore(self, state: State) -> None:
        """Let the engine hold what was kept. Before the first change only."""

    def make(
        self, before: Definitions, after: Definitions, update: Update, adaptation: Adaptation | None = None
    ) -> Made:
        """Tables change, and definitions if they are others, along a plan if there is one. If this raises, nothing
        has.
        """


def derive(
    engine: Engine, before: Definitions, after: Definitions, update: Update, adaptation: Adaptation | None = None
) -> Mapping[str, Delta]:
    """Let an engine do it. What concerns views that wait for a function is refused."""
    if before.waiting.views:
        before.waiting.check_change(update)
    if after is before:
        return engine.apply(update)
    before.waiting.check_definitions(after.waiting)
    adapts = engine.capabilities.adaptation
    if adapts is not None and adaptation is not None:
        return adapts.adapt(after.waiting.computable, after.functions, update, adaptation)
    return engine.define(after.waiting.computable, after.functions, update)


class ReversibleChanges:
    """In an engine that has all rows in memory: what it did is taken back by the opposite change."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def restore(self, state: State) -> None:
        if state.is_loaded:
            return
        definitions = state.definitions
        tables = tuple(definitions.relations[name] for name in state.tables)
        rows = Update({name: table.counts for name, table in state.tables.items()})
        # Rows first: views over rows that are there are built at once, and not change by change.
        self._engine.define(analyze(Program(tables)), {}, rows)
        for name, table in state.tables.items():
            for delta in table.later:
                self._engine.apply(Update({name: delta}))
        self._engine.define(definitions.waiting.computable, definitions.functions, Update())

    def make(
        self, before: Definitions, after: Definitions, update: Update, adaptation: Adaptation | None = None
    ) -> Made:
        # The rows of tables that will be gone, in case they have to come back.
        lost: Mapping[str, Delta] = {}
        if after is not before:
            lost = {name: self._engine.counts(name) for name in renewed(before, after) if name not in before.views}
        deltas = derive(self._engine, before, after, update, adaptation)
        return Made(deltas, partial(self._take_back, before, after, update, lost))

    def _take_back(self, before: Definitions, after: Definitions, update: Update, lost: Mapping[str, Delta]) -> None:
        inverse = {
            name: negated(delta)
            for name, delta in update.deltas.items()
            if name in before.relations and name not in lost
        }
        if after is before:
            self._engine.apply(Update(inverse))
        else:
            self._engine.define(before.waiting.computable, before.functions, Update({**inverse, **lost}))
