"""Which derived tuples are there, as derivations arrive and leaves come and go.

A derivation says: the head is there if all of `needs` are and none of `without` is. That is true whatever else is, so
derivations are only ever added, in any order. A tuple is there if one of its derivations holds; it remembers one of
them, its *live* one. When a leaf goes, the tuples whose live derivation broke are dead, and so are those that live on
them. Then each dead tuple looks for another derivation that holds without the dead. What only supports itself around
a cycle finds none.

An id may be mentioned long before anything is known of it, and a change of a leaf reaches every tuple that mentions it:
both are found by `_needed` and `_refused`, from an id to the derivations.

Negation needs an order: a tuple is looked at after those whose absence it needs. `_levels` has it, and follows as
derivations come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from whence.errors import StratificationError
from whence.replica.rows import Id

_MOST_LEVELS = 1_000  # negations above each other; only a cycle has more


class Derivation(NamedTuple):
    """Ids without repetition, in order: equal derivations are equal."""

    head: Id
    needs: tuple[Id, ...]
    without: tuple[Id, ...] = ()


class _Held:
    """A derivation, and how many of its conditions are not met."""

    __slots__ = ("derivation", "missing")

    def __init__(self, derivation: Derivation, missing: int) -> None:
        self.derivation = derivation
        self.missing = missing


class Presence:
    def __init__(self) -> None:
        self._present: set[Id] = set()
        self._of: dict[Id, list[_Held]] = {}
        self._needed: dict[Id, list[_Held]] = {}
        self._refused: dict[Id, list[_Held]] = {}
        self._live: dict[Id, _Held] = {}
        self._levels: dict[Id, int] = {}
        # By level, the tuples that may have to come or go.
        self._todo: dict[int, dict[Id, None]] = {}
        # Those that changed since `settle`, and whether they were there.
        self._before: dict[Id, bool] = {}

    def __contains__(self, node: Id) -> bool:
        return node in self._present

    def mentions(self, node: Id) -> bool:
        return node in self._needed or node in self._refused

    def add(self, derivation: Derivation) -> None:
        """One more derivation, which is not known yet."""
        head, needs, without = derivation
        present = self._present
        missing = sum(need not in present for need in needs) + sum(each in present for each in without)
        held = _Held(derivation, missing)
        self._of.setdefault(head, []).append(held)
        for need in needs:
            self._needed.setdefault(need, []).append(held)
        for each in without:
            self._refused.setdefault(each, []).append(held)
        self._raise_levels(derivation)
        if not missing and head not in present:
            self._look_at(head)

    def set_leaf(self, leaf: Id, *, is_there: bool) -> None:
        """A base tuple came or went."""
        if (leaf in self._present) != is_there:
            self._turn(leaf)

    def settle(self) -> dict[Id, bool]:
        """Bring all tuples up to date: those that changed, and whether they are there now."""
        todo = self._todo
        while todo:
            level = min(todo)
            self._settle(list(todo.pop(level)))
        changed = {node: not was for node, was in self._before.items() if (node in self._present) != was}
        self._before.clear()
        return changed

    def drop(self, gone: set[Id]) -> list[Derivation]:
        """Forget the derivations that need one of these ids, which are absent for good."""
        dropped: dict[int, _Held] = {id(held): held for node in gone for held in self._needed.get(node, ())}
        for held in dropped.values():
            head, needs, without = held.derivation
            _remove(self._of, head, held)
            for need in needs:
                if need not in gone:
                    _remove(self._needed, need, held)
            for each in without:
                _remove(self._refused, each, held)
            if head not in self._of and not self.mentions(head):
                self._levels.pop(head, None)
        for node in gone:
            self._needed.pop(node, None)
        return [held.derivation for held in dropped.values()]

    def derivations(self, head: Id) -> Iterator[tuple[Derivation, bool]]:
        """Those that are known, and whether each holds."""
        return ((held.derivation, not held.missing) for held in self._of.get(head, ()))

    def _settle(self, nodes: list[Id]) -> None:
        """All of one level: first the dead go, then those that have a derivation come."""
        dead: list[Id] = []
        stack = [node for node in nodes if self._is_broken(node)]
        while stack:
            node = stack.pop()
            if self._is_broken(node):
                del self._live[node]
                dead.append(node)
                stack += self._turn(node)
        stack = [*nodes, *dead]
        while stack:
            node = stack.pop()
            if node not in self._present:
                live = next((held for held in self._of.get(node, ()) if not held.missing), None)
                if live is not None:
                    self._live[node] = live
                    stack += self._turn(node)

    def _is_broken(self, node: Id) -> bool:
        live = self._live.get(node)
        return live is not None and live.missing > 0

    def _turn(self, node: Id) -> list[Id]:
        """A tuple comes or goes. Those of its level that may follow are told; those above wait for their turn."""
        is_there = node not in self._present
        self._before.setdefault(node, not is_there)
        (self._present.add if is_there else self._present.discard)(node)
        level = self._levels.get(node, 0)
        near: list[Id] = []
        for users, change in ((self._needed, -1 if is_there else 1), (self._refused, 1 if is_there else -1)):
            for held in users.get(node, ()):
                held.missing += change
                head = held.derivation.head
                if self._levels[head] == level and level:
                    near.append(head)
                else:
                    self._look_at(head)
        return near

    def _look_at(self, node: Id) -> None:
        self._todo.setdefault(self._levels[node], {})[node] = None

    def _raise_levels(self, derivation: Derivation) -> None:
        todo = [derivation]
        while todo:
            head, needs, without = todo.pop()
            level = max(self._level(needs), self._level(without) + 1, 1)
            if level <= self._levels.get(head, 0):
                continue
            if level > _MOST_LEVELS:
                raise StratificationError(
                    "views of several sites depend on each other through negation, around a cycle",
                    hint="let one of the sites read the shared tables instead of the other's view",
                )
            waiting = self._todo.get(self._levels.get(head, 0), {})
            self._levels[head] = level
            if head in waiting:
                del waiting[head]
                self._look_at(head)
            todo += [held.derivation for users in (self._needed, self._refused) for held in users.get(head, ())]

    def _level(self, nodes: Iterable[Id]) -> int:
        return max((self._levels.get(node, 0) for node in nodes), default=0)


def _remove(index: dict[Id, list[_Held]], node: Id, held: _Held) -> None:
    kept = [each for each in index[node] if each is not held]
    if kept:
        index[node] = kept
    else:
        del index[node]
