"""A view with aggregates: per group of its bindings one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import Any

from whence.engines.local.counting.aggregates import HeadAggregate
from whence.engines.local.counting.pipeline import Batch
from whence.engines.local.counting.terms import Terms, columns
from whence.engines.local.counting.view import Take
from whence.incremental.body import Body
from whence.model.rules import Atom
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta


class Group:
    """How many bindings a group has, what its folds keep, and the row it makes. Also the change to all that."""

    __slots__ = ("bindings", "folded", "row")

    def __init__(self, folded: list[Any]) -> None:
        self.bindings = 0
        self.folded = folded
        self.row: Row | None = None


class Groups:
    """The groups of a view. A group has a row while it has bindings; a head without group terms has one always."""

    def __init__(self, relation: Relation, bodies: Sequence[Body]) -> None:
        head = bodies[0].rule.head
        positions = bodies[0].rule.aggregates
        signed = any(can_owe(body) for body in bodies)
        self._bodies = bodies
        self._columns = [column.type for column in relation.columns]
        self._plain = [position for position in range(len(head.terms)) if position not in positions]
        self._aggregates = [HeadAggregate(position, bodies, self._columns[position], signed) for position in positions]
        self._folds = [each.fold for each in self._aggregates if each.fold is not None]
        # For each aggregate, the number of its fold.
        numbers = count()
        self._folded_at = [None if each.fold is None else next(numbers) for each in self._aggregates]
        # Where each column of a row is among the group's values with the aggregates' results behind them.
        made_of = [*self._plain, *positions]
        self._in_order = columns([made_of.index(position) for position in range(len(made_of))])
        self._groups: dict[Row, Group] = {}
        self._rows: dict[Row, int] = {}
        self._changes: dict[Row, Group] = {}

    def taker(self, rule: int, terms: Terms) -> Take:
        head = self._bodies[rule].rule.head.terms
        group_of = terms.row(
            [head[position] for position in self._plain], [self._columns[position] for position in self._plain]
        )
        folding = [each for each in self._aggregates if each.fold is not None]
        numbered = [
            (number, fold, terms.value(argument, each.input))
            for number, (fold, each) in enumerate(zip(self._folds, folding, strict=True))
            if (argument := each.arguments[rule]) is not None
        ]
        multiplicity = terms.multiplicity()

        def take_once(batch: Batch, sign: int) -> None:
            by_group: dict[Row, Batch] = {}
            for binding in batch:
                group = group_of(binding)
                if group in by_group:
                    by_group[group].append(binding)
                else:
                    by_group[group] = [binding]
            for group, bindings in by_group.items():
                change = self._change(group)
                change.bindings += sign * len(bindings)
                folded = change.folded
                for number, fold, value_of in numbered:
                    values = [value for binding in bindings if (value := value_of(binding)) is not None]
                    if values:
                        fold.add_all(folded[number], values, sign)

        if multiplicity is None:
            return take_once

        def take(batch: Batch, sign: int) -> None:
            for binding in batch:
                change = self._change(group_of(binding))
                copies = sign * multiplicity(binding)
                change.bindings += copies
                for number, fold, value_of in numbered:
                    value = value_of(binding)
                    if value is not None:
                        fold.add(change.folded[number], value, copies)

        return take

    def begin(self) -> None:
        self._changes = {}
        if not self._plain and self._settled(()) is None:
            # Without group terms there is one group, even of nothing.
            self._changes[()] = self._empty()

    def change(self) -> Delta:
        delta: dict[Row, int] = {}
        nothing = self._empty()
        for group, change in self._changes.items():
            state = self._settled(group) or nothing
            change.row = self._row(group, state, change)
            if change.row != state.row:
                if state.row is not None:
                    delta[state.row] = -1
                if change.row is not None:
                    delta[change.row] = 1
        return delta

    def settle(self) -> None:
        for group, change in self._changes.items():
            state = self._groups.get(group)
            if state is None:
                state = self._groups[group] = self._empty()
            for fold, folded, changed in zip(self._folds, state.folded, change.folded, strict=True):
                fold.settle(folded, changed)
            state.bindings += change.bindings
            if change.row != state.row:
                if state.row is not None:
                    del self._rows[state.row]
                if change.row is not None:
                    self._rows[change.row] = 1
                state.row = change.row
            if group and self._is_empty(state):
                del self._groups[group]
        self._changes = {}

    def undo(self) -> None:
        for group, change in self._changes.items():
            state = self._groups.get(group)
            if state is not None:
                for fold, folded, changed in zip(self._folds, state.folded, change.folded, strict=True):
                    fold.undo(folded, changed)
        self._changes = {}

    def counts(self) -> Mapping[Row, int]:
        return MappingProxyType(self._rows)

    def _settled(self, group: Row) -> Group | None:
        """A group as it was before."""
        return self._groups.get(group)

    def _change(self, group: Row) -> Group:
        """What the bindings so far change in a group."""
        change = self._changes.get(group)
        if change is None:
            change = self._changes[group] = self._empty()
        return change

    def _empty(self) -> Group:
        return Group([fold.empty() for fold in self._folds])

    def _is_empty(self, state: Group) -> bool:
        return not state.bindings and all(
            fold.is_empty(folded) for fold, folded in zip(self._folds, state.folded, strict=True)
        )

    def _row(self, group: Row, state: Group, change: Group) -> Row | None:
        """The group's row once the change has happened, if it has one."""
        bindings = state.bindings + change.bindings
        if group and bindings <= 0:
            return None
        before, changed = state.folded, change.folded
        results = [
            bindings if at is None else each.result(before[at], changed[at])
            for at, each in zip(self._folded_at, self._aggregates, strict=True)
        ]
        return self._in_order((*group, *results))


def can_owe(body: Body) -> bool:
    """Whether a binding can count negatively: in a differential rule, or because a bag that it reads has such rows."""
    return body.rule.sign < 0 or any(
        isinstance(literal, Atom) and not body.relations[literal.relation].distinct for literal in body.rule.body
    )
