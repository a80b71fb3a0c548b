"""Absorption provenance as binary decision diagrams, kept by OxiDD.

A reduced ordered diagram is canonical, so absorption happens by itself and equal annotations are the same node. How
large it gets is decided by the order of the variables, which is the caller's: see `variable_order`.

The laboratory's nodes (`lab.network.diagrams`) have diagrams of another make: integers in arrays, worked on by the
batch, an annotation for each of their rows, with an index from a leaf to the rows that its delete touches, and with
bytes for messages. OxiDD has none of these. Here one question is asked about one row, and what OxiDD has is wanted: a
bound on memory, and the collection of nodes that nothing uses.

Provenance is monotone. No monotone function is the complement of another, constants aside, so the complement edges of
OxiDD's BCDDs share nothing more and `node_count` is that of the plain diagram in the literature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakValueDictionary

from whence.errors import DataError, UnsupportedError

if TYPE_CHECKING:
    import numpy as np
    from oxidd.bcdd import BCDDFunction, BCDDManager

    # Numbers, one for each of several questions.
    Array: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
    # A node and its two branches, high and low.
    Inner: TypeAlias = tuple[BCDDFunction, BCDDFunction, BCDDFunction]

# OxiDD recurses once per variable, on the thread's own stack of usually 8 MiB: at about twice this number it would
# take the process down.
MOST_VARIABLES = 32_768
SMALLEST_CAPACITY = 64


class Diagram:
    """An annotation of one Bdd. Equal annotations are the same object, which outlives the manager it came from."""

    __slots__ = ("__weakref__", "function")

    def __init__(self, function: BCDDFunction) -> None:
        self.function = function


class Bdd:
    """Diagrams that share nodes.

    `order` names variables from the top; others follow below as they are first used. OxiDD's managers have a fixed
    capacity, beyond which everything moves into one of twice the size, up to `most_nodes`.
    """

    name = "diagrams"
    absorptive = True

    def __init__(self, order: Iterable[int] = (), *, capacity: int = 1 << 14, most_nodes: int = 1 << 26) -> None:
        from oxidd.util import DDMemoryError

        self._full = DDMemoryError
        self._capacity = min(max(capacity, SMALLEST_CAPACITY), most_nodes)
        self._most_nodes = most_nodes
        self._manager = _manager(self._capacity)
        self._ids: list[int] = []
        self._numbers: dict[int, int] = {}
        # A diagram that is held keeps its nodes; nobody has to give them back.
        self._diagrams: WeakValueDictionary[BCDDFunction, Diagram] = WeakValueDictionary()
        self.zero = self._diagram(self._manager.false())
        self.one = self._diagram(self._manager.true())
        for tuple_id in order:
            self._number(tuple_id)

    def variable(self, tuple_id: int) -> Diagram:
        number = self._number(tuple_id)
        return self._build(lambda: self._manager.var(number))

    def plus(self, left: Diagram, right: Diagram) -> Diagram:
        try:
            return self._diagram(left.function | right.function)
        except self._full:
            return self._build(lambda: left.function | right.function)

    def times(self, left: Diagram, right: Diagram) -> Diagram:
        try:
            return self._diagram(left.function & right.function)
        except self._full:
            return self._build(lambda: left.function & right.function)

    def probability(self, annotation: Diagram, chances: Mapping[int, float]) -> float:
        """How likely the tuple is there, when each base tuple is with its chance, independently.

        The two branches of a node exclude each other and share no variable with it, so their chances just add up; on
        the supports themselves this would be inclusion and exclusion over all of them.
        """
        likely = {self._manager.false(): 0.0, self._manager.true(): 1.0}
        for function, high, low in _bottom_up([annotation.function]):
            chance = _chance(chances, self._variable_of(function))
            likely[function] = chance * likely[high] + (1.0 - chance) * likely[low]
        return likely[annotation.function]

    def derivatives(self, annotation: Diagram, chances: Array) -> dict[int, Array]:
        """For each base tuple, how much the chance of the tuple grows with its own, where all have the same chance.

        That is done for several such chances at once: what leads down to a node, times what its branches differ by.
        """
        likely = {self._manager.false(): 0.0 * chances, self._manager.true(): 0.0 * chances + 1.0}
        nodes = _bottom_up([annotation.function])
        for function, high, low in nodes:
            likely[function] = chances * likely[high] + (1.0 - chances) * likely[low]
        reaching = {annotation.function: 0.0 * chances + 1.0}
        found: dict[int, Array] = {}
        for function, high, low in reversed(nodes):
            weight = reaching[function]
            variable = self._variable_of(function)
            found[variable] = found.get(variable, 0.0) + weight * (likely[high] - likely[low])
            for branch, chance in ((high, chances), (low, 1.0 - chances)):
                reaching[branch] = reaching.get(branch, 0.0) + weight * chance
        return found

    def _number(self, tuple_id: int) -> int:
        number = self._numbers.get(tuple_id)
        if number is None:
            _require_variables(len(self._ids) + 1)
            number = self._numbers[tuple_id] = self._manager.add_vars(1)[0]
            self._ids.append(tuple_id)
        return number

    def _variable_of(self, function: BCDDFunction) -> int:
        number = function.node_var()
        assert number is not None
        return self._ids[number]

    def _diagram(self, function: BCDDFunction) -> Diagram:
        known = self._diagrams.get(function)
        if known is None:
            known = self._diagrams[function] = Diagram(function)
        return known

    def _build(self, operation: Callable[[], BCDDFunction]) -> Diagram:
        """A new diagram, after making room for it as often as it takes."""
        collected = False
        while True:
            try:
                return self._diagram(operation())
            except self._full:
                if collected or not _collect(self._manager, self._capacity):
                    self._move(self._larger(self._capacity))
                collected = True

    def _move(self, capacity: int) -> None:
        """Into a new manager, with room for `capacity` nodes or more. Nothing has happened when this raises."""
        diagrams = list(self._diagrams.values())
        while True:
            manager = _manager(capacity)
            try:
                copies = self._copy(diagrams, manager, capacity)
            except self._full:
                capacity = self._larger(capacity)
                continue
            for diagram in diagrams:
                diagram.function = copies[diagram.function]
            self._diagrams = WeakValueDictionary({diagram.function: diagram for diagram in diagrams})
            self._manager, self._capacity = manager, capacity
            return

    def _copy(
        self, diagrams: Iterable[Diagram], manager: BCDDManager, capacity: int
    ) -> dict[BCDDFunction, BCDDFunction]:
        manager.add_vars(len(self._ids))
        copies = {self._manager.false(): manager.false(), self._manager.true(): manager.true()}
        for function, high, low in _bottom_up(diagram.function for diagram in diagrams):
            variable = self._numbers[self._variable_of(function)]
            try:
                copies[function] = manager.var(variable).ite(copies[high], copies[low])
            except self._full:
                if not _collect(manager, capacity):
                    raise
                copies[function] = manager.var(variable).ite(copies[high], copies[low])
        return copies

    def _larger(self, capacity: int) -> int:
        if capacity >= self._most_nodes:
            raise UnsupportedError(
                f"the exact provenance of these rows needs more than {self._most_nodes:,} diagram nodes",
                hint="another order of the base rows, depth-first from where derivations start, often needs far fewer",
            )
        return min(2 * capacity, self._most_nodes)


def _manager(capacity: int) -> BCDDManager:
    from oxidd.bcdd import BCDDManager

    # With more threads OxiDD hangs in a process that was forked.
    return BCDDManager(capacity, max(capacity // 4, SMALLEST_CAPACITY), threads=1)


def _collect(manager: BCDDManager, capacity: int) -> bool:
    """Remove nodes that nothing uses, and say whether that made enough room to go on with."""
    manager.gc()
    return 2 * manager.num_inner_nodes() <= capacity


def _bottom_up(roots: Iterable[BCDDFunction]) -> list[Inner]:
    """Every inner node below the roots with its branches, each after the nodes it leads to."""
    found: dict[BCDDFunction, tuple[BCDDFunction, BCDDFunction]] = {}
    todo = list(roots)
    while todo:
        function = todo.pop()
        if function not in found and (branches := function.cofactors()) is not None:
            found[function] = branches
            todo.extend(branches)
    inner = [(function, high, low) for function, (high, low) in found.items()]
    return sorted(inner, key=lambda node: node[0].node_level() or 0, reverse=True)


def _chance(chances: Mapping[int, float], tuple_id: int) -> float:
    chance = chances.get(tuple_id)
    if chance is None:
        raise DataError(f"base tuple {tuple_id} has no probability", hint="give one for every base tuple involved")
    if not 0.0 <= chance <= 1.0:
        raise DataError(f"the probability of base tuple {tuple_id} is {chance}", hint="it is a number from 0 to 1")
    return chance


def _require_variables(number: int) -> None:
    if number > MOST_VARIABLES:
        raise UnsupportedError(
            f"exact provenance covers at most {MOST_VARIABLES:,} base rows at a time",
            hint="ask for one proof instead, or about fewer rows at once",
        )
