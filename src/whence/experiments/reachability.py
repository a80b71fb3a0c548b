"""Which node reaches which, over a transit-stub network: figures 7, 8, 11, 12, 13, and 17 of the dissertation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import TypeAlias

from whence.experiments.figure import ABSORPTION_LAZY, DRED, SCHEMES, Figure, Line, Scale
from whence.experiments.measuring import Measure, deleted, inserted
from whence.network import Network
from whence.workloads.transit_stub import DENSE, SPARSE, TransitStub, transit_stub_links

REACHABLE = """
.decl link(src: number, dst: number)
reachable(x, y) :- link(x, y).
reachable(x, y) :- link(x, z), reachable(z, y).
"""

Pairs: TypeAlias = list[tuple[int, int]]


def links_of(nodes: int, density: float, seed: int) -> Pairs:
    """The links of a network, in random order."""
    pairs = [(a, b) for a, b, _ in transit_stub_links(TransitStub.of_size(nodes, density, seed))]
    Random(seed).shuffle(pairs)  # noqa: S311 - chance is not a secret here
    return pairs


def network_of(line: Line, processors: int) -> Network:
    options = {name: option for name, option in line.options.items() if name != "density"}
    return Network(REACHABLE, processors, **options)


def shares(scale: Scale) -> Sequence[float]:
    return scale.shares


def shares_deleted(scale: Scale) -> Sequence[float]:
    return [scale.deletions * share for share in scale.shares]


def inserting(scale: Scale, line: Line, x: float, seed: int) -> Measure:
    pairs = links_of(scale.nodes, DENSE, seed)
    return inserted(network_of(line, scale.processors), "link", pairs[: round(x * len(pairs))])


def deleting(scale: Scale, line: Line, x: float, seed: int) -> Measure:
    pairs = links_of(scale.nodes, DENSE, seed)
    network = network_of(line, scale.processors)
    network.insert("link", pairs)
    return deleted(network, "link", pairs[: max(1, round(x * len(pairs)))])


def sizes(scale: Scale) -> Sequence[float]:
    return scale.sizes


def inserting_by_size(scale: Scale, line: Line, x: float, seed: int) -> Measure:
    pairs = links_of(round(x), line.options["density"], seed)
    return inserted(network_of(line, scale.processors), "link", pairs)


def deleting_by_size(scale: Scale, line: Line, x: float, seed: int) -> Measure:
    pairs = links_of(round(x), line.options["density"], seed)
    network = network_of(line, scale.processors)
    network.insert("link", pairs)
    return deleted(network, "link", pairs[: max(1, round(scale.deletions * len(pairs)))])


def processors(scale: Scale) -> Sequence[float]:
    return scale.counts


def deleting_by_processors(scale: Scale, line: Line, x: float, seed: int) -> Measure:
    return deleting(replace(scale, processors=round(x)), line, scale.deletions, seed)


def of_density(line: Line, name: str, density: float) -> Line:
    return Line(f"{line.name} {name}", {**line.options, "density": density})


EAGER = Line("Eager", {"provenance": "absorption", "ship": "eager", "order": "depth-first"})
LAZY = Line("Lazy", ABSORPTION_LAZY.options)
BY_DENSITY = [
    of_density(line, name, density)
    for name, density in (("Dense", DENSE), ("Sparse", SPARSE))
    for line in (EAGER, LAZY)
]
ORDERS = [
    Line("Depth-first", {"provenance": "absorption", "ship": "lazy", "order": "depth-first"}),
    Line("Arrival", {"provenance": "absorption", "ship": "lazy", "order": "arrival"}),
]

FIGURES = (
    Figure("figure7", "reachable, links inserted", "share of links inserted", SCHEMES, shares, inserting),
    Figure(
        "figure8", "reachable, links deleted one by one", "share of links deleted", SCHEMES, shares_deleted, deleting
    ),
    Figure(
        "figure11", "reachable, larger networks, inserts", "nodes of the network", BY_DENSITY, sizes, inserting_by_size
    ),
    Figure(
        "figure12", "reachable, larger networks, deletes", "nodes of the network", BY_DENSITY, sizes, deleting_by_size
    ),
    Figure(
        "figure13",
        "reachable, more processors, deletes",
        "nodes that run the query",
        (DRED, ABSORPTION_LAZY),
        processors,
        deleting_by_processors,
    ),
    Figure("figure17", "reachable, order of variables", "share of links inserted", ORDERS, shares, inserting),
)
