"""When a row is there, as a decision diagram over base rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whence.algebra.derivations import evaluate
from whence.algebra.diagrams import Bdd, Diagram
from whence.algebra.variable_order import leaf_order, level_order
from whence.errors import UnsupportedError
from whence.explain.proofs.reasons import Fact
from whence.explain.provenance.cone import AbsentRow, Cone, Node

# How many diagram nodes exactness is worth, and how many an order of the variables gets to show that it is good.
_MOST_NODES = 1 << 17
_FEW_NODES = 1 << 14


def row_diagram(cone: Cone, root: Fact, chances: Mapping[Fact, float]) -> tuple[Bdd, Diagram, Mapping[Node, int]]:
    """The diagram of a row, and the numbers of base rows in it. Those whose chance is 1 or 0 are there, or not.

    Raises UnsupportedError where it would be too large in every order that is tried.
    """
    orders = [order(cone.derivations, [root]) for order in (level_order, leaf_order)]
    failed: UnsupportedError | None = None
    for most_nodes in (_FEW_NODES, _MOST_NODES):
        for order in orders:
            try:
                return _diagram(cone, root, chances, order, most_nodes)
            except UnsupportedError as error:
                failed = error
    assert failed is not None
    raise failed


def _diagram(
    cone: Cone, root: Fact, chances: Mapping[Fact, float], order: Sequence[Node], most_nodes: int
) -> tuple[Bdd, Diagram, Mapping[Node, int]]:
    derivations: dict[Node, list[tuple[Node, ...]]] = cone.derivations
    numbers = {leaf: number for number, leaf in enumerate(order)}
    bdd = Bdd(numbers.values(), most_nodes=most_nodes)

    def annotation(leaf: Node) -> Diagram:
        if isinstance(leaf, AbsentRow):
            return bdd.one
        chance = chances.get(leaf, 1.0)  # type: ignore[arg-type]
        if chance in (0.0, 1.0):
            return bdd.one if chance else bdd.zero
        return bdd.variable(numbers[leaf])

    return bdd, evaluate(derivations, bdd, annotation, [root])[root], numbers
