"""Heights, imbalance and generations of trees, against walking the trees."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

Row: TypeAlias = tuple[object, ...]
Views: TypeAlias = Mapping[str, Collection[Row]]
Check: TypeAlias = Callable[..., None]
Edge: TypeAlias = tuple[str, str]


def forests() -> st.SearchStrategy[frozenset[Edge]]:
    """Each node below an earlier one, or below none."""
    nodes = "abcdefghi"
    parents = st.tuples(*(st.sampled_from([None, *nodes[:index]]) for index in range(len(nodes))))
    return parents.map(
        lambda found: frozenset((parent, node) for parent, node in zip(found, nodes, strict=True) if parent)
    )


def trees(tree: Collection[Edge]) -> Views:
    children: dict[str, list[str]] = defaultdict(list)
    for parent, child in tree:
        children[parent].append(child)
    parents = {child: parent for parent, child in tree}

    def depths(root: str) -> dict[str, int]:
        """The leaves below a node, and how far below."""
        if root not in children:
            return {root: 0}
        return {leaf: depth + 1 for child in children[root] for leaf, depth in depths(child).items()}

    def line(node: str) -> list[str]:
        """The nodes above a node, the nearest first."""
        return [parents[node], *line(parents[node])] if node in parents else []

    leaves = {root: depths(root) for root in {node for pair in tree for node in pair}}
    return {
        "leaf": {(child,) for child in parents if child not in children},
        "height": {(root, max(found.values())) for root, found in leaves.items()},
        "leafDepth": {(root, leaf, depth) for root, found in leaves.items() for leaf, depth in found.items()},
        "imbalance": {(root, max(found.values()) - min(found.values())) for root, found in leaves.items()},
        "sameGeneration": {
            (node, peer)
            for node in parents
            for peer in parents
            if len(line(node)) == len(line(peer)) and line(node)[-1] == line(peer)[-1]
        },
    }


@settings(max_examples=40)
@given(forests())
def test_heights_imbalance_and_generations(check: Check, tree: frozenset[Edge]) -> None:
    check("trees", trees, {"tree": tree})
