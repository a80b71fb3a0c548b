"""What a version consists of: which files hold which rows, and what else a database has to remember."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from whence.model.schema import Column
from whence.model.updates import Version
from whence.session.definitions import Definitions
from whence.session.lifetimes import Tick
from whence.storage.sqlite.definitions import (
    StoredDefinition,
    called_functions,
    parts,
    restore_definitions,
    store_definition,
    touched,
)


@dataclass(frozen=True, slots=True)
class StoredProgram:
    """Tables and views, and the types of the functions that these call."""

    definitions: tuple[StoredDefinition, ...] = ()
    functions: Mapping[str, str] = field(default_factory=dict)

    def following(self, before: Definitions, after: Definitions) -> StoredProgram:
        """This program, which is that of `before`, as it is after a change. Only what changed is written again."""
        names = touched(before, after)
        if not names:
            return self
        new = parts(before, after, names)
        stored = {each.name: each for each in self.definitions if each.name in new or each.name not in names}
        for name, definition in new.items():
            stored[name] = store_definition(name, definition, is_view=name in after.views)
        return StoredProgram(tuple(stored.values()), called_functions(after.rules, after))

    def restore(self) -> Definitions:
        """The functions that views call are known by their signatures only."""
        return restore_definitions(self.definitions, self.functions)


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows as Parquet that Spark wrote: a directory, what is in it, and how many bytes its files have.

    `counts` are the least and the greatest of the counts in it, where it has counts and these are known. With `columns`
    its `c0`, `c1`, ... are those columns of its files, which another segment has written; a row can then be in it
    several times, if it `repeats`.
    """

    path: str
    rows: int
    bytes: int
    counts: tuple[int, int] | None = None
    columns: tuple[int, ...] | None = None
    repeats: bool = False

    def projected(self, columns: Sequence[int], *, repeats: bool) -> Segment:
        """Some of its columns, for which nothing has to be written."""
        chosen = tuple(columns) if self.columns is None else tuple(self.columns[at] for at in columns)
        return replace(self, columns=chosen, repeats=self.repeats or repeats)

    def in_files(self, column: str) -> str:
        """What one of its columns is called in its files. What is known of a row beside its values has no number."""
        if self.columns is None or not column[1:].isdecimal():
            return column
        return f"c{self.columns[int(column[1:])]}"


@dataclass(frozen=True, slots=True)
class Log:
    """Changes in a section of a commit's file. `number` is that of the commit."""

    number: int
    section: int
    rows: int


@dataclass(frozen=True, slots=True)
class StoredTable:
    """State of one kind: what the segments hold, and then the logs change, one after the other.

    `kind` is for its reader. Columns are those of segments and logs alike.
    """

    kind: str
    columns: tuple[Column, ...]
    segments: tuple[Segment, ...] = ()
    logs: tuple[Log, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredFeed:
    """What a commit changed, for those who look from outside. A small change is a log, a large one a segment; one that
    lies in several segments is several feeds of one version.
    """

    version: Version
    timestamp: datetime.datetime
    changes: Mapping[str, Log | Segment]


@dataclass(frozen=True, slots=True)
class Manifest:
    """A database at one version.

    `number` counts the commit files; a file that only rewrites state has a number of its own, and the version of the
    one before. `feeds` are those that are kept, oldest first; of others, `forgotten` has the newest version per
    relation. `began` is the version in which a relation came, or became another. `batches` has the last batch that
    each stream has brought.
    """

    number: int
    version: Version
    timestamp: datetime.datetime
    program: StoredProgram = field(default_factory=StoredProgram)
    tables: Mapping[str, StoredTable] = field(default_factory=dict)
    feeds: tuple[StoredFeed, ...] = ()
    forgotten: Mapping[str, Version] = field(default_factory=dict)
    began: Mapping[str, Version] = field(default_factory=dict)
    clock: Tick | None = None
    batches: Mapping[str, int] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    def after(self, step: ManifestStep) -> Manifest:
        """Raises KeyError if the step is about a table that is not there."""
        tables = dict(self.tables)
        for name, log in step.logs.items():
            tables[name] = replace(tables[name], logs=(*tables[name].logs, log))
        feeds = self.feeds
        if step.feed:
            feeds = (*feeds, StoredFeed(step.version, step.timestamp, step.feed))
        old = sum(1 for feed in feeds if feed.version <= step.kept_after)
        forgotten = dict(self.forgotten)
        for feed in feeds[:old]:
            forgotten.update(dict.fromkeys(feed.changes, feed.version))
        return replace(
            self,
            number=step.number,
            version=step.version,
            timestamp=step.timestamp,
            tables=tables,
            feeds=feeds[old:],
            forgotten=forgotten,
            clock=step.clock,
            batches=step.batches,
        )

    def logs(self) -> Iterator[Log]:
        """All that are needed, those of feeds included."""
        return (each for each in self._needed() if isinstance(each, Log))

    def segments(self) -> Iterator[Segment]:
        """All that are needed, those of feeds included."""
        return (each for each in self._needed() if isinstance(each, Segment))

    def _needed(self) -> Iterator[Log | Segment]:
        for table in self.tables.values():
            yield from table.segments
            yield from table.logs
        for feed in self.feeds:
            yield from feed.changes.values()


@dataclass(frozen=True, slots=True)
class ManifestStep:
    """What makes the next manifest of one. It is small, however large the database is.

    `since` is the number of the last commit whose file has a whole manifest. Feeds up to `kept_after` are forgotten.
    """

    number: int
    since: int
    version: Version
    timestamp: datetime.datetime
    kept_after: Version
    clock: Tick | None
    batches: Mapping[str, int]
    logs: Mapping[str, Log]
    feed: Mapping[str, Log | Segment]
