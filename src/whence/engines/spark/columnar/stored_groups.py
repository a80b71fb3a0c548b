"""The groups of a view that a change touches: what is stored of them is loaded when they are first met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute

from whence.analysis.typed_rules import TypedRule
from whence.columns import NotInColumnsError
from whence.columns.delta import ColumnDelta
from whence.columns.encoding import Array, Encoding, Encodings
from whence.columns.groups import BINDINGS, ROW
from whence.columns.hash_index import NOTHING
from whence.columns.numbered_rows import NumberedRows, as_words
from whence.columns.table import ColumnTable, Matches
from whence.engines.spark.columnar.paged_table import Find, NewKeys, added_up, encoded_table, one_chunk
from whence.engines.spark.columnar.stored_totals import as_integers, load, unload
from whence.engines.spark.payloads import FoldColumns
from whence.incremental.columnar.value_folds import GroupValues, ValueFold
from whence.incremental.columnar.views import ColumnGroups
from whence.model.schema import Relation
from whence.model.types import BIGINT


class MemberTable(ColumnTable):
    """The values of groups, by the numbers that these have here: looked up in the state before they change.

    `find` finds rows of group terms and a value.
    """

    def __init__(self, keys: NumberedRows, value: Encoding, find: Find) -> None:
        super().__init__((Encoding(BIGINT), value), is_set=True)
        self._keys = keys
        self._find = find
        self._pairs, self._groups = NewKeys(self.encodings), NewKeys(self.encodings[:1])

    def stage(self, words: Array, weights: Array) -> ColumnDelta:
        new = self._pairs.take(self.of_words(words), words.shape[1])
        if new is not None:
            groups, values = new
            positions = tuple(range(self._keys.width + 1))
            self._take(self._find(positions, [*self._key_columns(groups), values]))
        return super().stage(words, weights)

    def probe(
        self, positions: tuple[int, ...], keys: Sequence[Array], length: int, *, is_after: bool, most: int | None = None
    ) -> Matches | None:
        assert positions == (0,), "values are looked up by their groups"
        new = self._groups.take(keys, length)
        if new is not None:
            self._take(self._find(tuple(range(self._keys.width)), self._key_columns(new[0])))
        return super().probe(positions, keys, length, is_after=is_after, most=most)

    def change(self) -> dict[str, pa.Array]:
        """By how much the copies of values change, as columns of the state."""
        rows, weights = self.pending()
        groups, values = self.columns(rows)
        columns = zip(self._keys.encodings, self._keys.columns(groups), strict=True)
        arrays = [*(each.to_arrow(column) for each, column in columns), self.encodings[1].to_arrow(values)]
        named = {f"c{at}": array for at, array in enumerate(arrays)}
        return {**named, "n": as_integers(weights)}

    def _key_columns(self, groups: pa.Array) -> list[pa.Array]:
        columns = self._keys.columns(groups.to_numpy(zero_copy_only=False))
        return [each.to_arrow(column) for each, column in zip(self._keys.encodings, columns, strict=True)]

    def _take(self, found: pa.Table) -> None:
        if not found.num_rows:
            return
        groups = self._keys.find(encoded_table(self._keys.encodings, found))
        known = groups != NOTHING
        values = self.encodings[1].from_arrow(one_chunk(found.column(self._keys.width)))
        rows = self.enter(as_words([groups[known], values[known]], int(known.sum())))
        self.take_as_there(rows, added_up(rows, one_chunk(found.column("n")).to_numpy()[known]))


class StoredColumnGroups(ColumnGroups):
    """`find` finds what is stored of groups by their terms, and `find_values` the values of a fold."""

    def __init__(
        self,
        relation: Relation,
        rules: Sequence[TypedRule],
        encodings: Encodings,
        kept: Sequence[FoldColumns],
        find: Find,
        find_values: Mapping[int, Find],
    ) -> None:
        super().__init__(relation, rules, encodings)
        self._stored = kept
        self._find = find
        self._members: dict[int, MemberTable] = {}
        for number, fold in enumerate(self._kept):
            if isinstance(fold, ValueFold) is not (number in find_values):
                raise NotInColumnsError("an aggregate that is stored otherwise")
            if isinstance(fold, ValueFold):
                table = self._members[number] = MemberTable(self._keys, fold.given, find_values[number])
                fold.values = GroupValues(fold.given, table)

    def totals(self) -> tuple[list[pa.Array], dict[str, pa.Array]]:
        """What is to be stored of the groups that were touched: their terms, and the totals, NULL where one is gone."""
        groups = self.touched()
        columns = zip(self._keys.encodings, self._keys.columns(groups), strict=True)
        found = {"bindings": as_integers(self._state[groups, BINDINGS])}
        for fold, kept in zip(self._kept, self._stored, strict=True):
            found.update(unload(fold, kept, self._state, groups))
        if self._plain:
            gone = pa.array(self._state[groups, BINDINGS] == 0)
            found = {name: compute.if_else(gone, pa.scalar(None, each.type), each) for name, each in found.items()}
        return [each.to_arrow(column) for each, column in columns], found

    def members(self) -> dict[int, dict[str, pa.Array]]:
        """By fold, how its values change."""
        return {number: table.change() for number, table in self._members.items()}

    def _bind(self, keys: Sequence[Array], weights: Array) -> Array:
        known = self._keys.size
        self._keys.enter(as_words(keys, len(weights)))
        if self._keys.size > known:
            self._grow()
            self._load(known)
        return super()._bind(keys, weights)

    def _load(self, first: int) -> None:
        """What is stored of the groups from this number on."""
        new = np.arange(first, self._keys.size)
        columns = zip(self._keys.encodings, self._keys.columns(new), strict=True)
        found = self._find(range(self._keys.width), [each.to_arrow(column) for each, column in columns])
        if not found.num_rows:
            return
        groups = self._keys.find(encoded_table(self._keys.encodings, found))
        is_new = groups >= first
        if not is_new.all():
            found, groups = found.filter(pa.array(is_new)), groups[is_new]
        self._state[groups, BINDINGS] = one_chunk(found.column("bindings")).to_numpy(zero_copy_only=False)
        for fold, kept in zip(self._kept, self._stored, strict=True):
            load(fold, kept, self._state, groups, found)
        self._enter_rows(groups)

    def _enter_rows(self, groups: Array) -> None:
        """The rows that groups have had so far."""
        if self._plain:
            groups = groups[self._state[groups, BINDINGS] > 0]
        kept = self._state.take(groups, axis=0)
        results = dict(zip(self._plain, self._keys.columns(groups), strict=True))
        for at, fold in self._folds.items():
            results[at] = kept[:, BINDINGS] if fold is None else fold.results(kept, groups)
        rows = self.table.enter(as_words([results[at] for at in range(self.table.width)], len(groups)))
        self.table.take_as_there(rows)
        self._state[groups, ROW] = rows
