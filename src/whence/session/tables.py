"""What a session keeps beside the rows of base tables: their keys, when rows leave, and in which order they came."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence

from whence.engines.engine import Engine
from whence.incremental.keyed import Key
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta
from whence.session.definitions import Definitions
from whence.session.draft import Draft, TableContents, key_of
from whence.session.journal import TableChange, TableState
from whence.session.lifetimes import Lifetimes
from whence.session.windows import Window, restored_window


class Tables:
    """All base tables of a program.

    Keys are kept here only for an engine that cannot look rows up by them. Lifetimes are made by `new_lifetimes`, for a
    table that has one and no rows yet.
    """

    def __init__(self, engine: Engine, new_lifetimes: Callable[[Relation], Lifetimes] = Lifetimes) -> None:
        self._engine = engine
        self._index = engine.capabilities.keys
        self._new_lifetimes = new_lifetimes
        self._relations: Mapping[str, Relation] = {}
        self._keys: dict[str, dict[Key, Row]] = {}
        self._lifetimes: dict[str, Lifetimes] = {}
        self._windows: dict[str, Window] = {}

    def define(self, definitions: Definitions, renewed: Sequence[str] = ()) -> None:
        """These tables are there from now on. What was known about the `renewed` ones is void."""
        for name in renewed:
            for kept in (self._keys, self._lifetimes, self._windows):
                kept.pop(name, None)
        self._relations = definitions.relations
        for name, relation in definitions.relations.items():
            if relation.ttl is not None and name not in self._lifetimes:
                self._lifetimes[name] = self._new_lifetimes(relation)
            if relation.window is not None and name not in self._windows:
                self._windows[name] = Window(relation)

    def restore(self, definitions: Definitions, tables: Mapping[str, TableState]) -> None:
        """The engine has rows, and this is what was known about them."""
        self.define(definitions)
        for name, table in tables.items():
            key = key_of(self._relations[name])
            if key is not None and self._index is None:
                self._keys[name] = {key(row): row for row in table.counts}
                for delta in table.later:
                    self.follow({name: delta})
            if name in self._lifetimes:
                self._lifetimes[name].restore(table.counts, table.leaves)
            if name in self._windows:
                self.restore_window(name, table.arrivals)

    def restore_window(self, name: str, arrivals: Mapping[Row, Sequence[int]]) -> None:
        self._windows[name] = restored_window(self._relations[name], arrivals)

    def contents(self, relation: Relation) -> TableContents:
        """A table as it is now. One of definitions that are still to come has no rows."""
        name = relation.name
        if name not in self._relations:
            return TableContents(relation, {}, {}, None if relation.window is None else Window(relation))
        window = self._windows.get(name)
        if not relation.key:
            return TableContents(relation, self._engine.counts(name), {}, window)
        keys = self._keys.setdefault(name, {}) if self._index is None else self._index.by_key(name)
        return TableContents(relation, {}, keys, window)

    def expire(self, draft: Draft, moment: datetime.datetime) -> None:
        """Let rows leave whose time has come by then. Those that leave in the draft already do not leave twice."""
        for name, lifetimes in self._lifetimes.items():
            due = lifetimes.due(moment)
            if due:
                table = draft.table(self._relations[name])
                left = {row: copies + table.delta.get(row, 0) for row, copies in due.items()}
                table.expire({row: copies for row, copies in left.items() if copies > 0})

    def changes(self, draft: Draft) -> list[TableChange]:
        """What a draft has made of tables; the engine has it already, and nothing here has followed."""
        found = []
        for name, table in draft.tables.items():
            relation, delta = table.relation, table.delta
            arrivals = {} if table.window is None else table.window.after()
            leaves: Mapping[Row, Sequence[datetime.datetime]] = {}
            if relation.ttl is not None:
                # Also those of rows that stay for ever from now on: what is written about a row is everything.
                touched = (*delta, *arrivals) if relation.ttl.column is None else ()
                leaves = (self._lifetimes.get(name) or Lifetimes(relation)).after(table.events, touched)
            if delta or leaves or arrivals:
                found.append(TableChange(relation, delta, self._engine.counts(name), leaves, arrivals))
        return found

    def settle(self, draft: Draft) -> None:
        """What a draft says has happened."""
        for name, table in draft.tables.items():
            if self._index is None and table.keys:
                self._follow_keys(name, table.keys)
            elif self._index is None:
                # Rows that came or went as a whole.
                self.follow({name: table.delta})
            if table.relation.ttl is not None:
                self._lifetimes[name].record(table.events)
            if table.window is not None:
                self._windows[name] = table.window.settle()

    def pass_time(self, moment: datetime.datetime) -> None:
        """What was due by then has left."""
        for lifetimes in self._lifetimes.values():
            lifetimes.settle(moment)

    def follow(self, deltas: Mapping[str, Delta]) -> None:
        """Rows of tables have changed in another process, and here in the engine."""
        for name, delta in deltas.items():
            key = key_of(self._relations[name])
            if key is not None and self._index is None:
                gone = {key(row): None for row, count in delta.items() if count < 0}
                self._follow_keys(name, {**gone, **{key(row): row for row, count in delta.items() if count > 0}})

    def _follow_keys(self, name: str, changed: Mapping[Key, Row | None]) -> None:
        keys = self._keys.setdefault(name, {})
        for key, row in changed.items():
            if row is None:
                keys.pop(key, None)
            else:
                keys[key] = row
