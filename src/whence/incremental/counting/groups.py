"""A view with aggregates: per group of its bindings one row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, TypeAlias

from whence.analysis.typed_rules import TypedRule
from whence.incremental.aggregates import TypedAggregate
from whence.incremental.counting.bindings import Batch, BindingColumns, Take, columns
from whence.incremental.counting.folds import ByValue, Collected, Extreme, Fold, LinearFold
from whence.incremental.keyed import Key, KeyedDelta
from whence.model.rules import Atom
from whence.model.schema import Relation
from whence.model.terms import Constant
from whence.model.types import NULL, Row, Type
from whence.model.updates import Delta

_NOTHING = Constant(None, NULL)


# Of a group: the row that it makes, if it makes one; how many bindings it has; and from there on what its folds keep.
State: TypeAlias = tuple[Any, ...]
# The same while it is changed.
Change: TypeAlias = list[Any]
ROW, BINDINGS, FOLDED = range(3)


class HeadAggregate(TypedAggregate):
    """One aggregate, what it folds, and how the result gets into the column.

    Without a `fold` it is count<*>, which is known from the group itself.
    """

    def __init__(self, position: int, rules: Sequence[TypedRule], column: Type, signed: bool) -> None:
        super().__init__(position, rules, column)
        self.fold: Fold | None = None
        if self.input is not None:
            self.fold = self._fold(self.input, signed)
            result, convert = self.fold.result, self.convert
            # What a change gives, as the column holds it.
            self.result = result if convert is None else lambda change: convert(result(change))

    def _fold(self, argument: Type, signed: bool) -> Fold:
        if self.function in ("min", "max"):
            return Extreme(self.function, self.output)
        if self.function == "collect_list":
            return Collected(self.distinct, self.output)
        if self.distinct or (signed and self.function != "count"):
            return ByValue(self.function, self.distinct, argument, self.output)
        return LinearFold(self.function, argument, self.output)


class Groups:
    """The groups of a view. A group has a row while it has bindings; a head without group terms has one always."""

    def __init__(self, relation: Relation, rules: Sequence[TypedRule], owing: Collection[str] | None = None) -> None:
        """`owing` are the bags in which rows can have negative counts, if that is known."""
        head = rules[0].rule.head
        positions = rules[0].rule.aggregates
        signed = any(can_be_negative(rule, owing) for rule in rules)
        self._rules = rules
        self._columns = [column.type for column in relation.columns]
        self._plain = tuple([position for position in range(len(head.terms)) if position not in positions])
        self._aggregates = [HeadAggregate(position, rules, self._columns[position], signed) for position in positions]
        self._folds = [each.fold for each in self._aggregates if each.fold is not None]
        # The folds, each with its place in a state.
        self._placed = list(enumerate(self._folds, FOLDED))
        self._adds = [fold.add for fold in self._folds]
        # Of the others, a change is the state that it leads to.
        self._to_settle = [(at, fold) for at, fold in self._placed if not isinstance(fold, LinearFold)]
        # For each aggregate, where the fold is, and what it makes of a change; None where bindings are counted.
        places = count(FOLDED)
        self._results = [None if each.fold is None else (next(places), each.result) for each in self._aggregates]
        # Where each column of a row is among the group's values with the aggregates' results behind them.
        made_of = [*self._plain, *positions]
        self._in_order = columns([made_of.index(position) for position in range(len(made_of))])
        self._groups: dict[Row, State] = {}
        self._changes: dict[Row, Change] = {}

    def taker(self, rule: int, opening: BindingColumns) -> Take:
        head = self._rules[rule].rule.head.terms
        plain = [head[position] for position in self._plain]
        groups = opening.row(plain, [self._columns[position] for position in self._plain])
        weights = opening.weights(self._rules[rule].rule.sign)
        # A rule may give a fold nothing.
        values = [
            opening.value(each.arguments[rule] or _NOTHING, each.input)
            for each in self._aggregates
            if each.fold is not None
        ]

        def take(batch: Batch) -> None:
            for opened in opening.open(batch):
                once = [1] * len(opened.entries) if weights is None else [*weights(opened)]
                self._add(groups(opened), once, [[*column(opened)] for column in values])

        return take

    def begin(self) -> None:
        self._changes = {}
        if not self._plain and self._settled(()) is None:
            # Without group terms there is one group, even of nothing.
            self._changes[()] = self._begin(None)

    def change(self) -> Delta:
        keys: list[Row] = []
        before: list[Row | None] = []
        after: list[Row | None] = []
        for key, change in self._changes.items():
            old, new = change[ROW], self._row(key, change)
            if old != new:
                change[ROW] = new
                keys.append(key)
                before.append(old)
                after.append(new)
        if not keys:
            return {}
        changed: list[Key] = [key[0] for key in keys] if len(self._plain) == 1 else [*keys]
        return KeyedDelta(self._plain, changed, before, after)

    def settle(self) -> None:
        for key, change in self._changes.items():
            for at, fold in self._to_settle:
                change[at] = fold.settle(change[at])
            if not change[BINDINGS] and key and self._is_empty(change):
                self._groups.pop(key, None)
            else:
                self._groups[key] = tuple(change)
        self._changes = {}

    def undo(self) -> None:
        for change in self._changes.values():
            for at, fold in self._to_settle:
                fold.undo(change[at])
        self._changes = {}

    def counts(self) -> Mapping[Row, int]:
        return GroupRows(self._groups, self._plain)

    def _add(self, groups: Iterable[Row], weights: list[int], values: list[list[Any]]) -> None:
        """For each of some bindings its group, how often it counts, and what it gives the folds."""
        places: defaultdict[Row, list[int]] = defaultdict(list)
        for place, key in enumerate(groups):
            places[key].append(place)
        self._expect(places)
        changes = self._changes
        for key, own in places.items():
            change = changes.get(key)
            if change is None:
                change = changes[key] = self._begin(self._settled(key))
            for place in own:
                change[BINDINGS] += weights[place]
            for at, add in enumerate(self._adds):
                change[FOLDED + at] = add(change[FOLDED + at], values[at], weights, own)

    def _expect(self, keys: Collection[Row]) -> None:
        """These groups are going to be looked up. Everything is at hand here."""

    def _settled(self, key: Row) -> State | None:
        """A group as it was before."""
        return self._groups.get(key)

    def _empty(self) -> State:
        return (None, 0, *[fold.empty() for fold in self._folds])

    def _begin(self, state: State | None) -> Change:
        """A change of a group, or of one that is not there yet."""
        change = [*(state or self._empty())]
        for at, fold in self._to_settle:
            change[at] = fold.begin(change[at])
        return change

    def _is_empty(self, state: Change) -> bool:
        return all(fold.is_empty(state[at]) for at, fold in self._placed)

    def _row(self, key: Row, change: Change) -> Row | None:
        """The row of a group that has changed, if it has one."""
        bindings = change[BINDINGS]
        if key and bindings <= 0:
            return None
        values = [*key]
        for each in self._results:
            values.append(bindings if each is None else each[1](change[each[0]]))  # noqa: PERF401 - calls once more
        return self._in_order(tuple(values))


class GroupRows(Mapping[Row, int]):
    """The rows of groups, each once. One is found by its group."""

    def __init__(self, groups: Mapping[Row, State], plain: Sequence[int]) -> None:
        self._groups = groups
        self._group_of = columns(plain)

    def __getitem__(self, row: Row) -> int:
        state = self._groups.get(self._group_of(row))
        if state is not None and state[ROW] == row:
            return 1
        raise KeyError(row)

    def __iter__(self) -> Iterator[Row]:
        return (state[ROW] for state in self._groups.values() if state[ROW] is not None)

    def __len__(self) -> int:
        return sum(state[ROW] is not None for state in self._groups.values())


def can_be_negative(rule: TypedRule, owing: Collection[str] | None = None) -> bool:
    """Whether a binding can count negatively: in a differential rule, or because a bag that it reads has such rows.

    Unless it is known which bags are `owing`, each of them may be.
    """
    atoms = [literal.relation for literal in rule.rule.body if isinstance(literal, Atom)]
    return rule.rule.sign < 0 or any(
        not rule.relations[name].distinct if owing is None else name in owing for name in atoms
    )
