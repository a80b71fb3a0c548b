"""Networks shaped like the Internet: a backbone of transit domains, and stub networks that hang off it.

Nodes of a stub talk cheaply among themselves and reach the rest through one transit node. The defaults are the network
of the papers: 100 nodes and 200 links, each of which goes both ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import TypeAlias

DENSE = 4.0
SPARSE = 2.0

BETWEEN_TRANSIT_NODES = 50
INTO_A_STUB = 10
INSIDE_A_STUB = 2

# Source, target, latency in milliseconds.
Link: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class TransitStub:
    """A network grows with its transit nodes: each brings its stubs along."""

    transit_nodes: int = 4
    nodes_per_domain: int = 4
    stubs_per_transit_node: int = 3
    nodes_per_stub: int = 8
    links_per_node: float = DENSE
    """On average, a link counting at both of its ends."""
    seed: int = 1

    @classmethod
    def of_size(cls, nodes: int, links_per_node: float = DENSE, seed: int = 1) -> TransitStub:
        """The network with this many nodes, or as close below as whole stubs allow (they come in steps of 25)."""
        transit_nodes = nodes // cls().nodes_per_transit_node
        return cls(transit_nodes=transit_nodes, links_per_node=links_per_node, seed=seed)

    @property
    def nodes_per_transit_node(self) -> int:
        """With the node itself."""
        return 1 + self.stubs_per_transit_node * self.nodes_per_stub

    @property
    def nodes(self) -> int:
        return self.transit_nodes * self.nodes_per_transit_node

    @property
    def pairs_of_nodes_linked(self) -> int:
        return round(self.nodes * self.links_per_node / 2)


def transit_stub_links(network: TransitStub) -> list[Link]:
    """The links of a connected network, both directions of each, sorted. Nodes are numbered from 0, transit first."""
    rng = Random(network.seed)  # noqa: S311 - chance is not a secret here
    domains, stubs = _domains(network), _stubs(network)
    linked = {
        **{pair: BETWEEN_TRANSIT_NODES for domain in domains for pair in _tree(domain, rng)},
        **dict.fromkeys(_between_domains(domains, rng), BETWEEN_TRANSIT_NODES),
        **{pair: INSIDE_A_STUB for stub in stubs for pair in _tree(stub, rng)},
        **{(home, rng.choice(stub)): INTO_A_STUB for home, stub in _homes(network, stubs)},
    }
    more = [
        *(((a, b), BETWEEN_TRANSIT_NODES) for domain in domains for a, b in combinations(domain, 2)),
        *(((a, b), INSIDE_A_STUB) for stub in stubs for a, b in combinations(stub, 2)),
    ]
    possible = [(pair, latency) for pair, latency in more if pair not in linked]
    missing = network.pairs_of_nodes_linked - len(linked)
    if not 0 <= missing <= len(possible):
        raise ValueError(
            f"a network of {network.nodes} nodes has from {len(linked)} to {len(linked) + len(possible)} links, "
            f"not {network.pairs_of_nodes_linked}"
        )
    linked.update(rng.sample(possible, missing))
    return sorted(link for (a, b), latency in linked.items() for link in ((a, b, latency), (b, a, latency)))


def _domains(network: TransitStub) -> list[range]:
    first_nodes = range(0, network.transit_nodes, network.nodes_per_domain)
    return [range(first, min(first + network.nodes_per_domain, network.transit_nodes)) for first in first_nodes]


def _stubs(network: TransitStub) -> list[range]:
    size = network.nodes_per_stub
    return [range(first, first + size) for first in range(network.transit_nodes, network.nodes, size)]


def _homes(network: TransitStub, stubs: list[range]) -> list[tuple[int, range]]:
    return [(index // network.stubs_per_transit_node, stub) for index, stub in enumerate(stubs)]


def _between_domains(domains: list[range], rng: Random) -> list[tuple[int, int]]:
    """A tree of domains, and as many links again, so that few domains can be cut off by losing one link."""
    ends = [pair for _ in range(2) for pair in _tree(range(len(domains)), rng)]
    return [(rng.choice(domains[a]), rng.choice(domains[b])) for a, b in ends]


def _tree(nodes: Sequence[int], rng: Random) -> list[tuple[int, int]]:
    """Each node but the first is joined to one before it."""
    return [(nodes[rng.randrange(index)], nodes[index]) for index in range(1, len(nodes))]
