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
from whence.columns.numbered_rows import NumberedRows, as_words
from whence.columns.sums import BINDINGS, OWN, ROW, add_bindings, different, widened
from whence.columns.table import FEW_GONE, ColumnTable
from whence.incremental.aggregates import TypedAggregate
from whence.incremental.columnar.folds import ColumnFold, linear_fold, resized
from whence.incremental.columnar.pipeline import Batch, VectorTerms
from whence.incremental.columnar.value_folds import DistinctFold, ExtremeFold, TextExtremeFold
from whence.model.schema import Relation
from whence.model.terms import Aggregate, Constant, Term
from whence.model.types import NULL, STRING, Type

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

    def restart(self) -> None:
        """In place of `begin`: all bindings come again, and those taken before count no more."""

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
        self._is_again = False

    def taker(self, rule: TypedRule, number: int, terms: VectorTerms) -> Take:  # noqa: ARG002 - groups need the number
        columns = [
            terms.value(term, column.type)[0]
            for term, column in zip(rule.rule.head.terms, self._relation.columns, strict=True)
        ]

        sign = rule.rule.sign

        def take(batch: Batch) -> None:
            weights = batch.weights if sign == 1 else sign * batch.weights
            self._taken.append(([column(batch) for column in columns], weights))

        return take

    def begin(self) -> None:
        self._taken, self._is_again = [], False

    def restart(self) -> None:
        self._taken, self._is_again = [], self.table.size > 0

    def change(self) -> ColumnDelta:
        taken, self._taken = self._taken, []
        weights = [each for _, each in taken]
        words = np.empty((self.table.width, sum(map(len, weights))), INTEGER)
        start = 0
        for columns, each in taken:
            for at, column in enumerate(columns):
                words[at, start : start + len(each)] = column if column.dtype is INTEGER else column.view(INTEGER)
            start += len(each)
        stage = self.table.stage_again if self._is_again else self.table.stage
        return stage(words, np.concatenate(weights) if taken else np.empty(0, INTEGER))

    def settle(self) -> None:
        self.table.settle()
        if self.table.is_worth_packing:
            self.table.pack()

    def undo(self) -> None:
        self._taken, self._is_again = [], False
        self.table.drop()


class ColumnGroups:
    """The groups of a view. A group has a row while it has bindings; a head without group terms has one always."""

    def __init__(self, relation: Relation, rules: Sequence[TypedRule], encodings: Encodings) -> None:
        head, positions = rules[0].rule.head, rules[0].rule.aggregates
        self._types = [column.type for column in relation.columns]
        self._plain = [position for position in range(len(head.terms)) if position not in positions]
        self._folds: dict[int, ColumnFold | None] = {}
        self._aggregates = {position: TypedAggregate(position, rules, self._types[position]) for position in positions}
        self._kept: list[ColumnFold] = []
        words = OWN
        for position, aggregate in self._aggregates.items():
            # count<*> is known from the group itself.
            fold = None if aggregate.input is None else _fold(aggregate, encodings, self._types[position], words)
            self._folds[position] = fold
            if fold is not None:
                self._kept.append(fold)
                words += fold.words
            elif aggregate.convert is not None:
                raise NotInColumnsError("a count in a column of another type")
        self.table = ColumnTable(encodings.of_relation(relation), is_set=True, identity=self._plain or None)
        self._keys = self._no_keys()
        self._state: Array = np.zeros((0, words), INTEGER)
        self._mark = 0
        self._touched: list[Array] = []
        # What groups were before each batch, so that it can be taken back.
        self._saved: list[tuple[Array, list[Array]]] = []
        self._settling: tuple[Array, Array] | None = None
        # Whether the rows in the table are those of another one, and all groups are still to come.
        self._is_taken_over = False

    def take_over(self, former: ColumnGroups) -> bool:
        """Go on with the table of another one; answers whether it has its groups by the same columns."""
        if self._plain != former._plain or self.table.encodings != former.table.encodings:
            return False
        self.table, self._is_taken_over = former.table, True
        return True

    def _no_keys(self) -> NumberedRows:
        return NumberedRows([self.table.encodings[at] for at in self._plain])

    @property
    def _arrays(self) -> list[Array]:
        return [self._state, *(array for fold in self._kept for array in fold.arrays)]

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
            add_bindings(self._state, groups, batch.weights)
            for fold, column in zip(self._kept, computed, strict=True):
                fold.add(self._state, groups, batch.weights, column)

        return take

    def begin(self) -> None:
        self._mark += 1
        self._touched, self._saved, self._settling = [], [], None
        if not self._plain:
            # Without group terms there is one group, even of nothing.
            self._save(self._numbers([], 1))

    def restart(self) -> None:
        self.begin()
        size = self._keys.size
        self._save(np.arange(size))
        self._state[:size, BINDINGS] = 0
        for fold in self._kept:
            fold.restart(self._state)

    def change(self) -> ColumnDelta:
        touched, state = self._touched, self._state
        groups = touched[0] if len(touched) == 1 else np.concatenate(touched) if touched else np.empty(0, INTEGER)
        for fold in self._kept:
            fold.change(state)
        kept = state.take(groups, axis=0)
        results = dict(zip(self._plain, self._keys.columns(groups), strict=True))
        for at, each in self._folds.items():
            results[at] = kept[:, BINDINGS] if each is None else each.results(kept, groups)
        words = as_words([results[at] for at in range(self.table.width)], len(groups))
        has_row = kept[:, BINDINGS] > 0 if self._plain else np.ones(len(groups), np.bool_)
        if self._is_taken_over:
            delta, after = self._stage_all(has_row, words)
        else:
            delta, after = self.table.stage_replacement(np.ascontiguousarray(kept[:, ROW]), has_row, words)
        self._settling = groups, after
        return delta

    def _stage_all(self, has_row: Array, words: Array) -> tuple[ColumnDelta, Array]:
        """The rows of all groups take the place of those that are there."""
        coming = np.ascontiguousarray(words[:, has_row])
        delta = self.table.stage_again(coming, np.ones(coming.shape[1], INTEGER))
        after = np.full(len(has_row), NOTHING, INTEGER)
        after[has_row] = self.table.find(coming)
        return delta, after

    def settle(self) -> None:
        if self._settling is not None:
            groups, after = self._settling
            self._state[groups, ROW] = after
            self._is_taken_over = False
        for fold in self._kept:
            fold.settle()
        self._touched, self._saved, self._settling = [], [], None
        self.table.settle()
        if self.table.is_worth_packing:
            numbers = self.table.pack()
            rows = self._state[: self._keys.size, ROW]
            rows[:] = np.where(rows == NOTHING, NOTHING, numbers[rows])
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
        groups = self._keys.enter(as_words(keys, length))
        known = len(self._state)
        if self._keys.size > known:
            self._resize(np.arange(known), max(self._keys.size, known * 3 // 2), renumbers=False)
        return groups

    def _resize(self, chosen: Array, room: int, *, renumbers: bool) -> None:
        """Keep these groups, in this order, and make room for more."""
        self._state = resized(self._state, chosen, room)
        self._state[len(chosen) :, ROW] = NOTHING
        for fold in self._kept:
            fold.resize(chosen, room, renumbers=renumbers)

    def _different(self, groups: Array) -> Array:
        """Those that this change has not touched before."""
        found = np.empty(len(groups), INTEGER)
        return found[: different(self._state, groups, self._mark, found)]

    def _save(self, groups: Array) -> None:
        new = self._different(groups)
        self._touched.append(new)
        # What was touched before is saved already, as it was then.
        self._saved.append((new, [array.take(new, axis=0) for array in self._arrays]))

    def _pack(self) -> None:
        """Forget groups without bindings."""
        kept = np.flatnonzero(self._state[: self._keys.size, BINDINGS])
        words = as_words(self._keys.columns(kept), len(kept))
        self._keys = self._no_keys()
        self._keys.enter(words)
        self._resize(kept, max(len(kept), 1), renumbers=True)


def _fold(aggregate: TypedAggregate, encodings: Encodings, column: Type, at: int) -> ColumnFold:
    """Raises NotInColumnsError for an aggregate that has to be kept row by row."""
    if aggregate.function == "collect_list":
        raise NotInColumnsError("collect_list")
    if aggregate.function in ("min", "max"):
        assert aggregate.input is not None
        if not isinstance(encodings.of(aggregate.input), DictionaryEncoding):
            return ExtremeFold(aggregate, encodings, column, at)
        if aggregate.input != STRING:
            raise NotInColumnsError(f"{aggregate.function} of {aggregate.input}")
        return TextExtremeFold(aggregate, encodings, column, at)
    return (DistinctFold if aggregate.distinct else linear_fold)(aggregate, encodings, column, at)
