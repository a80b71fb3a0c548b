"""What becomes of a view's bindings: rows that are counted, or groups that are folded. The rows are in a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from whence.analysis.typed_rules import TypedRule
from whence.columns import NotInColumnsError
from whence.columns.delta import ColumnDelta
from whence.columns.encoding import INTEGER, Array, DictionaryEncoding, Encodings
from whence.columns.groups import BINDINGS, OWN, ROW, Bound, GroupTable
from whence.columns.hash_index import NOTHING
from whence.columns.numbered_rows import as_words
from whence.columns.sums import widened
from whence.columns.table import FEW_GONE, ColumnTable
from whence.incremental.aggregates import TypedAggregate
from whence.incremental.columnar.folds import ColumnFold, linear_fold
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

    def saved(self) -> dict[str, Any]:
        """All that is kept, for `restore`."""

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Become what was saved, instead of taking any bindings."""


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
        self._are_different = False

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
        self._taken, self._is_again, self._are_different = [], False, False

    def restart(self) -> None:
        self._taken, self._is_again, self._are_different = [], self.table.size > 0, False

    def expect_different(self) -> None:
        """No two of the bindings to come give the same row, and there are no rows yet."""
        self._are_different = self.table.size == 0

    def change(self) -> ColumnDelta:
        taken, self._taken = self._taken, []
        if not taken and not self._is_again:
            return self.table.unchanged
        if len(taken) == 1:
            ((columns, each),) = taken
            return self._stage(as_words(columns, len(each)), each)
        weights = [each for _, each in taken]
        words = np.empty((self.table.width, sum(map(len, weights))), INTEGER)
        start = 0
        for columns, each in taken:
            for at, column in enumerate(columns):
                words[at, start : start + len(each)] = column if column.dtype is INTEGER else column.view(INTEGER)
            start += len(each)
        return self._stage(words, np.concatenate(weights) if taken else np.empty(0, INTEGER))

    def _stage(self, words: Array, weights: Array) -> ColumnDelta:
        if self._are_different and len(weights) and weights.min() > 0:
            return self.table.stage_different(words, weights)
        stage = self.table.stage_again if self._is_again else self.table.stage
        return stage(words, weights)

    def settle(self) -> None:
        self.table.settle()
        if self.table.is_worth_packing:
            self.table.pack()

    def undo(self) -> None:
        self._taken, self._is_again = [], False
        self.table.drop()

    def saved(self) -> dict[str, Any]:
        return {"table": self.table.saved()}

    def restore(self, saved: Mapping[str, Any]) -> None:
        self.table.restore(saved["table"])


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
        self._keys = GroupTable([self.table.encodings[at] for at in self._plain], words)
        self._places = np.array(self._plain, INTEGER)
        self._with_arrays = [fold for fold in self._kept if fold.arrays]
        # How many groups folds have room for.
        self._room = 0
        self._mark = 0
        # What groups were when the change touched them first, so that it can be taken back.
        self._touched: list[tuple[Bound, list[list[Array]]]] = []
        # Whether the rows in the table are those of another one, and all groups are still to come.
        self._is_taken_over = False

    def take_over(self, former: ColumnGroups) -> bool:
        """Go on with the table of another one; answers whether it has its groups by the same columns."""
        if self._plain != former._plain or self.table.encodings != former.table.encodings:
            return False
        self.table, self._is_taken_over = former.table, True
        return True

    @property
    def _state(self) -> Array:
        return self._keys.state

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
            groups = self._bind([key(batch) for key in keys], batch.weights)
            for fold, column in zip(self._kept, computed, strict=True):
                fold.add(self._state, groups, batch.weights, column)

        return take

    def begin(self) -> None:
        self._mark += 1
        self._touched = []
        if not self._plain:
            # Without group terms there is one group, even of nothing.
            self._bind([], _NO_BINDING)

    def restart(self) -> None:
        self.begin()
        self._touch(self._keys.touch_all(self._mark))
        self._state[: self._keys.size, BINDINGS] = 0
        for fold in self._kept:
            fold.restart(self._state)

    def change(self) -> ColumnDelta:
        if not self._touched and not self._is_taken_over:
            return self.table.unchanged
        groups = self.touched()
        for fold in self._kept:
            fold.change(self._state)
        kept, before, has_row = self._keys.read(groups, is_always=not self._plain)
        words = np.empty((self.table.width, len(groups)), INTEGER)
        self._keys.read_into(words, self._places, groups)
        for at, each in self._folds.items():
            found = kept[:, BINDINGS] if each is None else each.results(kept, groups)
            words[at] = found if found.dtype is INTEGER else found.view(INTEGER)
        if self._is_taken_over:
            delta, after = self._stage_all(has_row, words)
        else:
            delta, after = self.table.stage_replacement(before, has_row, words)
        # What it was before is among what is taken back.
        self._state[groups, ROW] = after
        return delta

    def touched(self) -> Array:
        """The groups that the change under way has touched."""
        touched = [bound.touched for bound, _ in self._touched]
        return touched[0] if len(touched) == 1 else np.concatenate(touched) if touched else _NO_GROUPS

    def _stage_all(self, has_row: Array, words: Array) -> tuple[ColumnDelta, Array]:
        """The rows of all groups take the place of those that are there."""
        coming = np.ascontiguousarray(words[:, has_row])
        delta = self.table.stage_again(coming, np.ones(coming.shape[1], INTEGER))
        after = np.full(len(has_row), NOTHING, INTEGER)
        after[has_row] = self.table.find(coming)
        return delta, after

    def settle(self) -> None:
        self._is_taken_over = False
        for fold in self._kept:
            fold.settle()
        self._touched = []
        self.table.settle()
        if self.table.is_worth_packing:
            numbers = self.table.pack()
            rows = self._state[: self._keys.size, ROW]
            rows[:] = np.where(rows == NOTHING, NOTHING, numbers[rows])
        if self._plain and self._keys.size > 2 * self.table.present + FEW_GONE:
            self._pack()

    def undo(self) -> None:
        for bound, saved in reversed(self._touched):
            self._state[bound.touched] = bound.saved
            for fold, arrays in zip(self._with_arrays, saved, strict=True):
                for array, values in zip(fold.arrays, arrays, strict=True):
                    # Sums of DOUBLEs may have got more words in between.
                    array[bound.touched] = values if array.shape[1:] == values.shape[1:] else widened(values)
        for fold in self._kept:
            fold.undo()
        self._touched = []
        self.table.drop()

    def saved(self) -> dict[str, Any]:
        folds = [fold.saved(self._keys.size) for fold in self._kept]
        return {"table": self.table.saved(), "keys": self._keys.saved(), "mark": self._mark, "folds": folds}

    def restore(self, saved: Mapping[str, Any]) -> None:
        self.table.restore(saved["table"])
        self._keys.restore(saved["keys"])
        self._mark, self._room = saved["mark"], self._keys.size
        for fold, of_fold in zip(self._kept, saved["folds"], strict=True):
            fold.restore(of_fold)
        self._grow()

    def _bind(self, keys: Sequence[Array], weights: Array) -> Array:
        """Count bindings of groups, which have a number from now on."""
        bound = self._keys.bind(as_words(keys, len(weights)), weights, self._mark)
        self._touch(bound)
        return bound.groups

    def _touch(self, bound: Bound) -> None:
        self._grow()
        saved: list[list[Array]] = []
        if self._with_arrays:
            saved = [[array.take(bound.touched, axis=0) for array in fold.arrays] for fold in self._with_arrays]
        self._touched.append((bound, saved))

    def _grow(self) -> None:
        """Let folds have room for as many groups as there may be."""
        known, room = self._room, len(self._keys.state)
        if room > known:
            for fold in self._kept:
                fold.resize(np.arange(known), room, renumbers=False)
            self._room = room

    def _pack(self) -> None:
        """Forget groups without bindings."""
        kept = self._keys.pack()
        self._room = len(self._state)
        for fold in self._kept:
            fold.resize(kept, self._room, renumbers=True)


_NO_GROUPS = np.empty(0, INTEGER)
_NO_BINDING = np.zeros(1, INTEGER)


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
