"""The order of leaves in diagrams, as a depth-first traversal of the network of their rows meets them.

A leaf with two columns or more is a link from its home column to the next other one. The order is one for all nodes, so
that whoever keeps it must hear of every leaf: that is not counted, as little as the end of a stage.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whence.model.types import Row, Value
from whence.network.node import Node
from whence.network.plan.placements import LocalProgram
from whence.semirings.depth_first import DepthFirstOrder

# Leaves that have come since the diagrams were arranged are below the others. Arranging them touches every diagram, and
# is put off until there are this many for each that has a place.
ENOUGH = 0.1


class Ordering:
    def __init__(self, plan: LocalProgram) -> None:
        self._ends = {name: _ends(plan, name) for name in sorted(plan.leaves)}
        self._order: DepthFirstOrder[Value] = DepthFirstOrder()
        self._known: dict[int, tuple[str, Row]] = {}
        self._arranged = 0

    def follow(self, nodes: Iterable[Node[Any]]) -> None:
        """Leaves have come and gone: put them in order on all nodes, if it is worth it."""
        nodes = list(nodes)
        now = {
            tuple_id: (name, row)
            for name in self._ends
            for node in nodes
            for row in node.held(name).changed
            if (tuple_id := node.held(name).ids.get(row)) is not None
        }
        for tuple_id in sorted(now.keys() - self._known.keys()):
            self._insert(tuple_id, *now[tuple_id])
        for tuple_id in sorted({each for node in nodes for each in node.struck} & self._known.keys()):
            self._order.delete(tuple_id)
            del self._known[tuple_id]
        if len(self._known) - self._arranged > ENOUGH * self._arranged:
            order = self._order.order()
            for node in nodes:
                node.annotations.arrange(order)
            self._arranged = len(order)

    def _insert(self, tuple_id: int, relation: str, row: Row) -> None:
        source, target = self._ends[relation]
        self._known[tuple_id] = (relation, row)
        self._order.insert(tuple_id, row[source], row[target])


def _ends(plan: LocalProgram, relation: str) -> tuple[int, int]:
    """The columns that a row leads from and to; a row of one column leads nowhere else."""
    home = plan.placements.homes[relation] or 0
    others = [at for at in range(plan.relations[relation].arity) if at != home]
    return home, others[0] if others else home
