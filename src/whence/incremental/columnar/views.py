"""What becomes of a view's bindings: rows that are counted, or groups that are folded. The rows are in a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np

from whence.analysis.typed_rules import TypedRule
from whence.columns import NotInColumnsError
from whence.columns.delta import ColumnDelta
from whence.columns.encoding import INTEGER, Array, DictionaryEncoding, Encodings
from whence.columns.hash_index import NOTHING
from whence.columns.sums import different, widened
from whence.columns.table import FEW_GONE, ColumnTable
from whence.incremental.aggregates import TypedAggregate
from whence.incremental.columnar.folds import ColumnFold, linear_fold
from whence.incremental.columnar.pipeline import Batch, VectorTerms
from whence.incremental.columnar.value_folds import DistinctFold, ExtremeFold
from whence.model.schema import Relation
from whence.model.terms import Aggregate, Constant, Term
from whence.model.types import NULL, Type

# Takes a batch of bindings.
Take: TypeAlias = Callable[[Batch], None]

_NOTHING = Constant(None, NULL)


class ColumnView(Protocol):
    """The state of one relation. Nothing that happens between `begin` and `settle` counts if `undo` comes instead."""

    table: ColumnTable

    def taker(self, rule: TypedRule, number: int, terms: VectorTerms) -> Take:
        """What takes the bindings of a plan for the rule of that number."""

    def begin(self) -> None:
        """From now on bindings are taken."""

    def change(self) -> ColumnDelta:
        """What the bindings taken since `begin` change in the view. It is staged in the table."""

    def settle(self) -> None: ...

    def undo(self) -> None: ...


def head_terms(rule: TypedRule) -> list[Term]:
    """What a view reads of a binding."""
    return [(term.argument or _NOTHING) if isinstance(term, Aggregate) else term for term in rule.rule.head.terms]


class ColumnTally:
    """In a bag the number of derivations is the row's count. A set has the rows for which it is positive."""

    def __init__(self, relation: Relation, encodings: Encodings) -> None:
        self._relation = relation
        self.table = ColumnTable(encodings.of_relation(relation), is_set=relation.distinct)
        self._taken: list[tuple[list[Array], Array]] = []

    def taker(self, rule: TypedRule, number: int, terms: VectorTerms) -> Take:  # noqa: ARG002 - groups need the number
        columns = [
            terms.value(term, column.type)[0]
            for term, column in zip(rule.rule.head.terms, self._relation.columns, strict=True)
        ]

        sign = rule.rule.sign

        def take(batch: Batch) -> None:
            weights = batch.weights if sign > 0 else -batch.weights
            self._taken.append(([column(batch) for column in columns], weights))

        return take

    def begin(self) -> None:
        self._taken = []

    def change(self) -> ColumnDelta:
        taken, self._taken = self._taken, []
        if len(taken) == 1:
            columns, weights = taken[0]
            return self.table.stage(columns, weights)
        columns = [
            np.concatenate([each[at] for each, _ in taken]) if taken else np.empty(0, encoding.dtype)
            for at, encoding in enumerate(self.table.encodings)
        ]
        weights = np.concatenate([each for _, each in taken]) if taken else np.empty(0, INTEGER)
        return self.table.stage(columns, weights)

    def settle(self) -> None:
        self.table.settle()
        if self.table.is_worth_packing:
            self.table.pack()

    def undo(self) -> None:
        self._taken = []
        self.table.drop()


class ColumnGroups:
    """The groups of a view. A group has a row while it has bindings; a head without group terms has one always."""

    def __init__(self, relation: Relation, rules: Sequence[TypedRule], encodings: Encodings) -> None:
        head, positions = rules[0].rule.head, rules[0].rule.aggregates
        self._types = [column.type for column in relation.columns]
        self._plain = [position for position in range(len(head.terms)) if position not in positions]
        self._folds: dict[int, ColumnFold | None] = {}
        self._aggregates = {position: TypedAggregate(position, rules, self._types[position]) for position in positions}
        for position, aggregate in self._aggregates.items():
            # count<*> is known from the group itself.
            self._folds[position] = (
                None if aggregate.input is None else _fold(aggregate, encodings, self._types[position])
            )
        if any(each is None and self._aggregates[at].convert is not None for at, each in self._folds.items()):
            raise NotInColumnsError("a count in a column of another type")
        self._kept = [fold for fold in self._folds.values() if fold is not None]
        self.table = ColumnTable(encodings.of_relation(relation), is_set=True, identity=self._plain or None)
        self._keys = self._key_table()
        # By group: its bindings, the number of its row, and the last change that touched it.
        self._bindings: Array = np.zeros(0, INTEGER)
        self._row: Array = np.zeros(0, INTEGER)
        self._marks: Array = np.zeros(0, INTEGER)
        self._mark = 0
        self._touched: list[Array] = []
        # What groups were before each batch, so that it can be taken back.
        self._saved: list[tuple[Array, list[Array]]] = []
        self._settling: tuple[Array, Array] | None = None

    def _key_table(self) -> ColumnTable:
        return ColumnTable([self.table.encodings[at] for at in self._plain], is_set=True)

    @property
    def _arrays(self) -> list[Array]:
        return [self._bindings, *(array for fold in self._kept for array in fold.arrays)]

    def taker(self, rule: TypedRule, number: int, terms: VectorTerms) -> Take:
        head = rule.rule.head.terms
        keys = [terms.value(head[at], self._types[at])[0] for at in self._plain]
        values = [
            terms.value(aggregate.arguments[number] or _NOTHING, aggregate.input)[0]
            for aggregate in self._aggregates.values()
            if aggregate.input is not None
        ]

        def take(batch: Batch) -> None:
            computed = [value(batch) for value in values]
            groups = self._numbers([key(batch) for key in keys], batch.length)
            self._save(groups)
            np.add.at(self._bindings, groups, batch.weights)
            for fold, column in zip(self._kept, computed, strict=True):
                fold.add(groups, batch.weights, column)

        return take

    def begin(self) -> None:
        self._mark += 1
        self._touched, self._saved, self._settling = [], [], None
        if not self._plain:
            # Without group terms there is one group, even of nothing.
            self._save(self._numbers([], 1))

    def change(self) -> ColumnDelta:
        groups = np.concatenate(self._touched) if self._touched else np.empty(0, INTEGER)
        has_row = self._bindings[groups] > 0 if self._plain else np.ones(len(groups), np.bool_)
        known = groups[has_row]
        results = {at: self._keys.column(place, known) for place, at in enumerate(self._plain)}
        for at, fold in self._folds.items():
            results[at] = self._bindings[known] if fold is None else fold.results(known)
        after = np.full(len(groups), NOTHING, INTEGER)
        after[has_row] = self.table.enter([results[at] for at in range(self.table.width)], len(known))
        before = self._row[groups]
        gone, came = (before != after) & (before != NOTHING), (before != after) & (after != NOTHING)
        self._settling = groups, after
        weights = np.ones(int(gone.sum()) + int(came.sum()), INTEGER)
        weights[: int(gone.sum())] = -1
        return self.table.stage_rows(np.concatenate([before[gone], after[came]]), weights)

    def settle(self) -> None:
        if self._settling is not None:
            groups, after = self._settling
            self._row[groups] = after
        for fold in self._kept:
            fold.settle()
        self._touched, self._saved, self._settling = [], [], None
        self.table.settle()
        if self.table.is_worth_packing:
            numbers = self.table.pack()
            rows = self._row[: self._keys.size]
            self._row[: self._keys.size] = np.where(rows == NOTHING, NOTHING, numbers[rows])
        if self._plain and self._keys.size > 2 * self.table.present + FEW_GONE:
            self._pack()

    def undo(self) -> None:
        for groups, saved in reversed(self._saved):
            for array, values in zip(self._arrays, saved, strict=True):
                # Sums of DOUBLEs may have got more words in between.
                array[groups] = values if array.shape[1:] == values.shape[1:] else widened(values)
        for fold in self._kept:
            fold.undo()
        self._touched, self._saved, self._settling = [], [], None
        self.table.drop()

    def _numbers(self, keys: Sequence[Array], length: int) -> Array:
        groups = self._keys.enter(keys, length)
        if self._keys.size > len(self._bindings):
            room = max(self._keys.size, len(self._bindings) * 3 // 2)
            self._resize(np.arange(len(self._bindings)), room, renumbers=False)
        return groups

    def _resize(self, chosen: Array, room: int, *, renumbers: bool) -> None:
        """Keep these groups, in this order, and make room for more."""
        kept = len(chosen)
        bindings, row, marks = np.zeros(room, INTEGER), np.full(room, NOTHING, INTEGER), np.zeros(room, INTEGER)
        bindings[:kept], row[:kept], marks[:kept] = self._bindings[chosen], self._row[chosen], self._marks[chosen]
        self._bindings, self._row, self._marks = bindings, row, marks
        for fold in self._kept:
            fold.resize(chosen, room, renumbers=renumbers)

    def _different(self, groups: Array) -> Array:
        """Those that this change has not touched before."""
        found = np.empty(len(groups), INTEGER)
        return found[: different(groups, self._marks, self._mark, found)]

    def _save(self, groups: Array) -> None:
        new = self._different(groups)
        self._touched.append(new)
        # What was touched before is saved already, as it was then.
        self._saved.append((new, [array[new] for array in self._arrays]))

    def _pack(self) -> None:
        """Forget groups without bindings."""
        kept = np.flatnonzero(self._bindings[: self._keys.size])
        columns = self._keys.columns(kept)
        self._keys = self._key_table()
        self._keys.enter(columns, len(kept))
        self._resize(kept, max(len(kept), 1), renumbers=True)


def _fold(aggregate: TypedAggregate, encodings: Encodings, column: Type) -> ColumnFold:
    """Raises NotInColumnsError for an aggregate that has to be kept row by row."""
    if aggregate.function in ("min", "max"):
        assert aggregate.input is not None
        encoding = encodings.of(aggregate.input)
        if isinstance(encoding, DictionaryEncoding):
            raise NotInColumnsError(f"{aggregate.function} of {aggregate.input}")
        return ExtremeFold(aggregate, encodings, column)
    return (DistinctFold if aggregate.distinct else linear_fold)(aggregate, encodings, column)
