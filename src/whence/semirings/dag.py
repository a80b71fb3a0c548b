"""A diagram as plain data: what leaves a manager, to be walked, counted, written or read elsewhere.

A node asks for one variable and goes on to `high` when its tuple is there and to `low` when it is not. Reference 0 is
false, 1 is true, and k + 2 is nodes[k]; a node refers to earlier ones only, so one pass from the left has every answer
below before it is needed. All paths meet variables in one order, and nodes are listed by it, from the bottom.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from whence.errors import DataError
from whence.semirings.absorption import Antichain, Support, require_few

FALSE, TRUE, FIRST_NODE = 0, 1, 2

# The variables of a support, those nearer to the top first. Supports share their ends, as the diagram does: spelled out
# at every node, a derivation from thousands of tuples would fill the memory.
Chain: TypeAlias = "tuple[int, Chain] | None"


class Node(NamedTuple):
    variable: int
    high: int
    low: int


@dataclass(frozen=True, slots=True)
class Dag:
    """The diagrams of a batch, sharing nodes; roots has one reference per annotation."""

    nodes: tuple[Node, ...]
    roots: tuple[int, ...]

    def variables(self) -> tuple[int, ...]:
        """The ids that occur, in the diagram's order from the top."""
        return tuple(dict.fromkeys(node.variable for node in reversed(self.nodes)))

    def holds(self, reference: int, present: AbstractSet[int]) -> bool:
        while reference >= FIRST_NODE:
            node = self.nodes[reference - FIRST_NODE]
            reference = node.high if node.variable in present else node.low
        return reference == TRUE

    def probabilities(self, chances: Mapping[int, float]) -> tuple[float, ...]:
        """For every root, how likely it holds when each base tuple is there with its chance, independently.

        The two branches of a node exclude each other and share no variable with it, so their chances just add up; on
        the supports themselves this would be inclusion and exclusion over all of them.
        """
        below = [0.0, 1.0]
        for node in self.nodes:
            chance = _chance(chances, node.variable)
            below.append(chance * below[node.high] + (1.0 - chance) * below[node.low])
        return tuple(below[root] for root in self.roots)

    def minimal_supports(self, reference: int) -> Antichain:
        """The minimal supports of a monotone diagram.

        They are those of the low branch, which do without the variable, and those of the high branch together with
        the variable, unless they suffice on the low branch as well.
        """
        below: dict[int, list[Chain]] = {FALSE: [], TRUE: [None]}
        for place in self._under(reference):
            node = self.nodes[place - FIRST_NODE]
            needed = below[node.high]
            if node.low != FALSE:
                needed = [chain for chain in needed if not self.holds(node.low, _support(chain))]
            below[place] = [*below[node.low], *((node.variable, chain) for chain in needed)]
            require_few(len(below[place]))
        return frozenset(map(_support, below[reference]))

    def _under(self, reference: int) -> list[int]:
        """The nodes that a reference leads to, each after those it refers to."""
        found: set[int] = set()
        todo = [reference]
        while todo:
            place = todo.pop()
            if place >= FIRST_NODE and place not in found:
                found.add(place)
                todo.extend(self.nodes[place - FIRST_NODE][1:])
        return sorted(found)


def _support(chain: Chain) -> Support:
    variables = []
    while chain is not None:
        variable, chain = chain
        variables.append(variable)
    return frozenset(variables)


def _chance(chances: Mapping[int, float], tuple_id: int) -> float:
    chance = chances.get(tuple_id)
    if chance is None:
        raise DataError(f"base tuple {tuple_id} has no probability", hint="give one for every base tuple involved")
    if not 0.0 <= chance <= 1.0:
        raise DataError(f"the probability of base tuple {tuple_id} is {chance}", hint="it is a number from 0 to 1")
    return chance
