"""The experiments of the papers by name: figures 7 to 14 of one, figure 17 of the other, and larger networks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from random import Random
from typing import TypeAlias

from whence.lab.experiments.figure import (
    ABSORPTION_EAGER,
    ABSORPTION_LAZY,
    DRED,
    SCHEMES,
    Curve,
    Figure,
    Line,
    Measure,
    Meter,
    Scale,
    parts,
)
from whence.lab.network import Best, Network
from whence.lab.workloads.sensors import SensorGrid, sensor_field
from whence.lab.workloads.transit_stub import DENSE, SPARSE, TransitStub, transit_stub_links
from whence.model.types import Row

Pairs: TypeAlias = list[tuple[int, int]]


def shares(scale: Scale) -> Sequence[float]:
    return scale.shares


def changed_in_parts(network: Network, relation: str, rows: Sequence[Row], at: Iterable[float], deletes: bool) -> Curve:
    """Insert rows up to one share after the other, or insert them all and then delete them so."""
    if deletes:
        network.insert(relation, rows)
    meter = Meter(network)
    change = meter.delete if deletes else meter.insert
    for share, part in parts(rows, at):
        change(relation, part)
        yield share, meter.measure()


# Which node reaches which, over a transit-stub network.

REACHABLE = """
.decl link(src: number, dst: number)
reachable(x, y) :- link(x, y).
reachable(x, y) :- link(x, z), reachable(z, y).
"""


def links_of(nodes: int, density: float, seed: int) -> Pairs:
    """The links of a network, in random order."""
    pairs = [(a, b) for a, b, _ in transit_stub_links(TransitStub.of_size(nodes, density, seed))]
    Random(seed).shuffle(pairs)  # noqa: S311 - chance is not a secret here
    return pairs


def network_of(line: Line, processors: int) -> Network:
    options = {name: option for name, option in line.options.items() if name != "density"}
    return Network(REACHABLE, processors, **options)


def shares_deleted(scale: Scale) -> Sequence[float]:
    return [scale.deletions * share for share in scale.shares]


def reachable_by_share(scale: Scale, line: Line, seed: int, deletes: bool) -> Curve:
    links = links_of(scale.nodes, DENSE, seed)
    at = shares_deleted(scale) if deletes else scale.shares
    yield from changed_in_parts(network_of(line, scale.processors), "link", links, at, deletes)


def cost_of(network: Network, links: Pairs, deletions: int | None) -> Measure:
    """Of inserting all links, or of deleting so many of them afterwards."""
    meter = Meter(network)
    if deletions is None:
        meter.insert("link", links)
    else:
        network.insert("link", links)
        meter.delete("link", links[:deletions])
    return meter.measure()


def reachable_by_size(scale: Scale, line: Line, seed: int, deletes: bool) -> Curve:
    for size in scale.sizes:
        links = links_of(size, line.options["density"], seed)
        deletions = round(scale.deletions * len(links)) if deletes else None
        yield size, cost_of(network_of(line, scale.processors), links, deletions)


def reachable_by_links(scale: Scale, line: Line, seed: int, deletes: bool) -> Curve:
    """Networks with up to ten times the links of the papers' network."""
    for size in scale.large_sizes:
        links = links_of(size, DENSE, seed)
        yield len(links), cost_of(network_of(line, scale.processors), links, scale.few_deletions if deletes else None)


def reachable_by_processors(scale: Scale, line: Line, seed: int) -> Curve:
    links = links_of(scale.nodes, DENSE, seed)
    for count in scale.counts:
        yield count, cost_of(network_of(line, count), links, scale.few_deletions)


BY_DENSITY = [
    Line(f"{ship} {name}", {**line.options, "density": density})
    for name, density in (("Dense", DENSE), ("Sparse", SPARSE))
    for ship, line in (("Eager", ABSORPTION_EAGER), ("Lazy", ABSORPTION_LAZY))
]
ORDERS = [
    Line("Depth-first", ABSORPTION_LAZY.options),
    Line("Arrival", {**ABSORPTION_LAZY.options, "order": "arrival"}),
]
FORMS = [
    DRED,
    ABSORPTION_LAZY,
    Line("Absorption Lazy, supports", {"provenance": "absorption", "ship": "lazy", "form": "supports"}),
]


# Contiguous regions of triggered sensors.

REGIONS = """
.decl near(x: number, y: number)
.decl seed(region: number, x: number)
.decl triggered(x: number)
.decl active(region: number, x: number)
active(r, x) :- seed(r, x), triggered(x).
active(r, y) :- active(r, x), triggered(x), near(x, y).
size(r, count<x>) :- active(r, x).
largest(max<n>) :- size(_, n).
"""

# Neighbours in a field are no links of a network: depth-first from one to the next, what belongs together lies apart.
IN_A_FIELD = [Line(line.name, {**line.options, "order": "arrival"}) for line in SCHEMES]


def regions_by_share(scale: Scale, line: Line, seed: int, deletes: bool) -> Curve:
    """In a field in which nothing is triggered at first; regions are held where their sensors are."""
    field = sensor_field(SensorGrid(side=math.isqrt(scale.nodes), seed=seed))
    homes = {"active": "x", "seed": "x"}
    network = Network(REGIONS, scale.processors, partition=homes, **line.options)
    network.insert("near", field.neighbours)
    network.insert("seed", field.seeds)
    Random(seed).shuffle(field.triggered)  # noqa: S311 - chance is not a secret here
    yield from changed_in_parts(network, "triggered", field.triggered, scale.shares, deletes)


# The best paths of a network, with aggregates pushed into the recursion or not.
#
# The question is the same for all: for every pair of nodes the cheapest cost and the fewest hops. Several aggregates at
# once answer it with one recursion. Of a recursion with only one of them the other cannot be told, so that one
# aggregate at a time takes a recursion for each.

LINKS = ".decl link(src: number, dst: number, cost: number)"
# Without a selection there is no end of paths around cycles, but for a limit.
PATHS = """
.decl {path}(src: number, dst: number, via: symbol, cost: number, hops: number)
{path}(x, y, cat(to_string(x), cat(".", to_string(y))), c, 1) :- link(x, y, c).
{path}(x, y, cat(to_string(x), cat(".", p)), c + d, n + 1) :- link(x, z, c), {path}(z, y, p, d, n), n < 30.
"""
CHEAPEST = "cheapest(x, y, min<c>) :- {path}(x, y, _, c, _).\n"
FEWEST = "fewest(x, y, min<n>) :- {path}(x, y, _, _, n).\n"
TOGETHER = LINKS + (PATHS + CHEAPEST + FEWEST).format(path="path")
APART = LINKS + (PATHS + CHEAPEST).format(path="cheap") + (PATHS + FEWEST).format(path="short")
PAIR = ("src", "dst")
MULTI = {"path": Best(PAIR, min=("cost", "hops"))}
SINGLE = {"cheap": Best(PAIR, min=("cost",)), "short": Best(PAIR, min=("hops",))}
SELECTIONS = [
    Line("Multi AggSel", {**ABSORPTION_LAZY.options, "program": TOGETHER, "best": MULTI}),
    Line("Single AggSel", {**ABSORPTION_LAZY.options, "program": APART, "best": SINGLE}),
    Line("No AggSel", {**ABSORPTION_LAZY.options, "program": TOGETHER}),
]
DENSITIES = {0.0: SPARSE, 1.0: DENSE}


def paths_by_density(scale: Scale, line: Line, seed: int) -> Curve:
    for x, density in DENSITIES.items():
        meter = Meter(Network(nodes=scale.processors, **line.options))
        meter.insert("link", transit_stub_links(TransitStub.of_size(scale.nodes, density, seed)))
        yield x, meter.measure()


def _figures() -> Iterable[Figure]:
    inserted, nodes = "share of links inserted", "nodes of the network"
    insert, delete = (partial(reachable_by_share, deletes=deletes) for deletes in (False, True))
    yield Figure("figure7", "reachable, links inserted", inserted, SCHEMES, shares, insert)
    yield Figure("figure8", "reachable, links deleted one by one", "share deleted", SCHEMES, shares_deleted, delete)
    insert, delete = (partial(regions_by_share, deletes=deletes) for deletes in (False, True))
    yield Figure("figure9", "regions, sensors triggered", "share of triggers inserted", IN_A_FIELD, shares, insert)
    yield Figure("figure10", "regions, triggers deleted", "share of triggers deleted", IN_A_FIELD, shares, delete)
    for name, what, deletes in (("figure11", "inserts", False), ("figure12", "deletes", True)):
        run = partial(reachable_by_size, deletes=deletes)
        yield Figure(name, f"reachable, larger networks, {what}", nodes, BY_DENSITY, lambda scale: scale.sizes, run)
    yield Figure(
        "figure13",
        "reachable, links deleted, by the nodes that share the work",
        "nodes that run the query",
        (DRED, ABSORPTION_LAZY),
        lambda scale: scale.counts,
        reachable_by_processors,
    )
    yield Figure(
        "figure14",
        "best paths, aggregate selection",
        "",
        SELECTIONS,
        lambda _: list(DENSITIES),
        paths_by_density,
        ticks={0.0: "sparse", 1.0: "dense"},
    )
    insert = partial(reachable_by_share, deletes=False)
    yield Figure("figure17", "reachable, order of variables", inserted, ORDERS, shares, insert)
    for what, deletes in (("inserts", False), ("deletes", True)):
        yield Figure(
            f"growth-{what}",
            f"reachable, ten times the links, {what}",
            "links",
            FORMS,
            lambda scale: [DENSE * size for size in scale.large_sizes],
            partial(reachable_by_links, deletes=deletes),
            logarithmic=True,
        )


FIGURES = {figure.name: figure for figure in _figures()}
