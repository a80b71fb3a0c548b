"""Absorption provenance as binary decision diagrams, kept by OxiDD.

A reduced ordered diagram is canonical, so absorption happens by itself and equal annotations are the same node. How
large it gets is decided by the order of the variables, which is the caller's: see `depth_first`.

Provenance is monotone. No monotone function is the complement of another, constants aside, so the complement edges of
OxiDD's BCDDs share nothing more and `node_count` is that of the plain diagram in the literature.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakValueDictionary

import numpy as np

from whence.errors import UnsupportedError
from whence.semirings.absorption import Antichain
from whence.semirings.dag import FALSE, FIRST_NODE, TRUE, Dag, Node
from whence.semirings.handles import Handles, HandleTable, pairwise
from whence.semirings.semiring import Laws

if TYPE_CHECKING:
    from oxidd.bcdd import BCDDFunction, BCDDManager

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
    laws = Laws(idempotent=True, absorptive=True, negatives=False)

    def __init__(self, order: Iterable[int] = (), *, capacity: int = 1 << 14, most_nodes: int = 1 << 26) -> None:
        from oxidd.util import DDMemoryError

        self._full = DDMemoryError
        self._capacity = min(max(capacity, SMALLEST_CAPACITY), most_nodes)
        self._most_nodes = most_nodes
        self._manager = _manager(self._capacity)
        self._ids: list[int] = []
        self._numbers: dict[int, int] = {}
        # Whoever holds a diagram keeps its nodes; nobody has to give them back.
        self._diagrams: WeakValueDictionary[BCDDFunction, Diagram] = WeakValueDictionary()
        self.zero = self._diagram(self._manager.false())
        self.one = self._diagram(self._manager.true())
        self._table = HandleTable(self.zero, self.one)
        for tuple_id in order:
            self._number(tuple_id)

    @property
    def order(self) -> tuple[int, ...]:
        """The variables, from the top."""
        return tuple(self._ids)

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

    def is_zero(self, annotation: Diagram) -> bool:
        return annotation is self.zero

    def without(self, annotation: Diagram, deleted: Collection[int]) -> Diagram:
        return self.without_all([annotation], deleted)[0]

    def without_all(self, annotations: Sequence[Diagram], deleted: Collection[int]) -> list[Diagram]:
        numbers = [self._numbers[tuple_id] for tuple_id in set(deleted) if tuple_id in self._numbers]
        if not numbers:
            return list(annotations)

        def restricted() -> list[BCDDFunction]:
            # What is monotone holds without a variable if and only if it holds whatever the variable is.
            gone = reduce(and_, map(self._manager.var, numbers))
            return [annotation.function.forall(gone) for annotation in annotations]

        return self._build_all(restricted)

    def holds(self, annotation: Diagram, present: AbstractSet[int]) -> bool:
        function = annotation.function
        while (branches := function.cofactors()) is not None:
            high, low = branches
            function = high if self._variable_of(function) in present else low
        return function.valid()

    def minimal_supports(self, annotation: Diagram) -> Antichain:
        dag = self.dag([annotation])
        return dag.minimal_supports(dag.roots[0])

    def probability(self, annotation: Diagram, chances: Mapping[int, float]) -> float:
        """How likely the tuple is there, when each base tuple is with its chance, independently."""
        return self.dag([annotation]).probabilities(chances)[0]

    def node_count(self, annotation: Diagram) -> int:
        """Inner nodes; the constants are not counted."""
        return annotation.function.node_count() - 1

    def handle(self, annotation: Diagram) -> int:
        return self._table.handle(annotation)

    def value(self, handle: int) -> Diagram:
        return self._table.value(handle)

    def retain(self, handles: Iterable[int]) -> None:
        self._table.retain({*handles, self.handle(self.zero), self.handle(self.one)})

    def plus_batch(self, left: Handles, right: Handles) -> Handles:
        return pairwise(lambda a, b: self.handle(self.plus(self.value(a), self.value(b))), left, right)

    def times_batch(self, left: Handles, right: Handles) -> Handles:
        return pairwise(lambda a, b: self.handle(self.times(self.value(a), self.value(b))), left, right)

    def without_batch(self, handles: Handles, deleted: Collection[int]) -> Handles:
        different, rows = np.unique(handles, return_inverse=True)
        left = self.without_all([self.value(handle) for handle in different.tolist()], deleted)
        return np.array([self.handle(annotation) for annotation in left], np.int64)[rows]

    def dag(self, annotations: Iterable[Diagram]) -> Dag:
        """These annotations as plain data, with what they share shared."""
        roots = [annotation.function for annotation in annotations]
        places = {self._manager.false(): FALSE, self._manager.true(): TRUE}
        nodes: list[Node] = []
        for function, high, low in _bottom_up(roots):
            places[function] = len(nodes) + FIRST_NODE
            nodes.append(Node(self._variable_of(function), places[high], places[low]))
        return Dag(tuple(nodes), tuple(places[root] for root in roots))

    def load(self, dag: Dag) -> list[Diagram]:
        """The annotations of a DAG from anywhere, whatever its variable order; new variables go below those here."""
        numbers = {variable: self._number(variable) for variable in dag.variables()}

        def loaded() -> list[BCDDFunction]:
            functions = [self._manager.false(), self._manager.true()]
            for node in dag.nodes:
                variable = self._manager.var(numbers[node.variable])
                functions.append(variable.ite(functions[node.high], functions[node.low]))
            return [functions[root] for root in dag.roots]

        return self._build_all(loaded)

    def reorder(self, order: Iterable[int]) -> None:
        """Put variables in this order from the top, the ones not named below them in their present order."""
        complete = tuple(dict.fromkeys((*order, *self._ids)))
        _require_variables(len(complete))
        self._move(self._capacity, complete)

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
        return self._build_all(lambda: [operation()])[0]

    def _build_all(self, operation: Callable[[], list[BCDDFunction]]) -> list[Diagram]:
        """New diagrams, after making room for them as often as it takes."""
        collected = False
        while True:
            try:
                return [self._diagram(function) for function in operation()]
            except self._full:
                if collected or not _collect(self._manager, self._capacity):
                    self._move(self._larger(self._capacity), self.order)
                collected = True

    def _move(self, capacity: int, order: Sequence[int]) -> None:
        """Into a new manager, with room for `capacity` nodes or more. Nothing has happened when this raises."""
        diagrams = list(self._diagrams.values())
        while True:
            manager = _manager(capacity)
            try:
                copies = self._copy(diagrams, manager, capacity, order)
            except self._full:
                capacity = self._larger(capacity)
                continue
            for diagram in diagrams:
                diagram.function = copies[diagram.function]
            self._diagrams = WeakValueDictionary({diagram.function: diagram for diagram in diagrams})
            self._manager, self._capacity = manager, capacity
            self._ids = list(order)
            self._numbers = {tuple_id: number for number, tuple_id in enumerate(order)}
            return

    def _copy(
        self, diagrams: Iterable[Diagram], manager: BCDDManager, capacity: int, order: Sequence[int]
    ) -> dict[BCDDFunction, BCDDFunction]:
        manager.add_vars(len(order))
        numbers = {tuple_id: number for number, tuple_id in enumerate(order)}
        copies = {self._manager.false(): manager.false(), self._manager.true(): manager.true()}
        for function, high, low in _bottom_up(diagram.function for diagram in diagrams):
            number = numbers[self._variable_of(function)]
            try:
                copies[function] = manager.var(number).ite(copies[high], copies[low])
            except self._full:
                if not _collect(manager, capacity):
                    raise
                copies[function] = manager.var(number).ite(copies[high], copies[low])
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


def _require_variables(number: int) -> None:
    if number > MOST_VARIABLES:
        raise UnsupportedError(
            f"exact provenance covers at most {MOST_VARIABLES:,} base rows at a time",
            hint="ask for one proof instead, or about fewer rows at once",
        )
