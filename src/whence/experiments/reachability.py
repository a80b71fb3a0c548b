"""Which node reaches which, over a transit-stub network: figures 7, 8, 11, 12, 13, and 17 of the dissertation."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeAlias

from whence.experiments.figure import ABSORPTION_EAGER, ABSORPTION_LAZY, DRED, SCHEMES, Curve, Figure, Line, Scale
from whence.experiments.measuring import Meter, parts
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


def inserting(scale: Scale, line: Line, seed: int) -> Curve:
    """A part of the links after the other."""
    meter = Meter(network_of(line, scale.processors))
    for share, part in parts(links_of(scale.nodes, DENSE, seed), shares(scale)):
        meter.insert("link", part)
        yield share, meter.measure()


def deleting(scale: Scale, line: Line, seed: int) -> Curve:
    pairs = links_of(scale.nodes, DENSE, seed)
    network = network_of(line, scale.processors)
    network.insert("link", pairs)
    meter = Meter(network)
    for share, part in parts(pairs, shares_deleted(scale)):
        meter.delete("link", part)
        yield share, meter.measure()


def sizes(scale: Scale) -> Sequence[float]:
    return scale.sizes


def inserting_by_size(scale: Scale, line: Line, seed: int) -> Curve:
    for size in scale.sizes:
        meter = Meter(network_of(line, scale.processors))
        meter.insert("link", links_of(size, line.options["density"], seed))
        yield size, meter.measure()


def deleting_by_size(scale: Scale, line: Line, seed: int) -> Curve:
    for size in scale.sizes:
        pairs = links_of(size, line.options["density"], seed)
        network = network_of(line, scale.processors)
        network.insert("link", pairs)
        meter = Meter(network)
        meter.delete("link", pairs[: round(scale.deletions * len(pairs))])
        yield size, meter.measure()


def counts(scale: Scale) -> Sequence[float]:
    return scale.counts


def deleting_by_count(scale: Scale, line: Line, seed: int) -> Curve:
    pairs = links_of(scale.nodes, DENSE, seed)
    for count in scale.counts:
        network = network_of(line, count)
        network.insert("link", pairs)
        meter = Meter(network)
        meter.delete("link", pairs[: scale.few_deletions])
        yield count, meter.measure()


def of_density(line: Line, name: str, density: float) -> Line:
    return Line(f"{line.name} {name}", {**line.options, "density": density})


EAGER = Line("Eager", ABSORPTION_EAGER.options)
LAZY = Line("Lazy", ABSORPTION_LAZY.options)
BY_DENSITY = [
    of_density(line, name, density)
    for name, density in (("Dense", DENSE), ("Sparse", SPARSE))
    for line in (EAGER, LAZY)
]
ORDERS = [
    Line("Depth-first", ABSORPTION_LAZY.options),
    Line("Arrival", {**ABSORPTION_LAZY.options, "order": "arrival"}),
]
INSERTED = "share of links inserted"
NODES = "nodes of the network"

FIGURES = (
    Figure("figure7", "reachable, links inserted", INSERTED, SCHEMES, shares, inserting),
    Figure("figure8", "reachable, links deleted one by one", "share deleted", SCHEMES, shares_deleted, deleting),
    Figure("figure11", "reachable, larger networks, inserts", NODES, BY_DENSITY, sizes, inserting_by_size),
    Figure("figure12", "reachable, larger networks, deletes", NODES, BY_DENSITY, sizes, deleting_by_size),
    Figure(
        "figure13",
        "reachable, links deleted, by the nodes that share the work",
        "nodes that run the query",
        (DRED, ABSORPTION_LAZY),
        counts,
        deleting_by_count,
    ),
    Figure("figure17", "reachable, order of variables", INSERTED, ORDERS, shares, inserting),
)
