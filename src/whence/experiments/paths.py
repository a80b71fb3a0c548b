"""The best paths of a network, with aggregates pushed into the recursion or not: figure 14."""

from __future__ import annotations

from collections.abc import Sequence

from whence.experiments.figure import Figure, Line, Scale
from whence.experiments.measuring import Measure, inserted
from whence.network import Best, Network
from whence.workloads.transit_stub import DENSE, SPARSE, TransitStub, transit_stub_links

# A path around a cycle is a path, too: without a selection there is no end to them, but for a limit.
PATHS = """
.decl link(src: number, dst: number, cost: number)
.decl path(src: number, dst: number, via: symbol, cost: number, hops: number)
path(x, y, cat(to_string(x), cat(".", to_string(y))), c, 1) :- link(x, y, c).
path(x, y, cat(to_string(x), cat(".", p)), c + d, n + 1) :- link(x, z, c), path(z, y, p, d, n), n < 30.
cheapest(x, y, min<c>) :- path(x, y, _, c, _).
fewest(x, y, min<n>) :- path(x, y, _, _, n).
"""
PAIR = ("src", "dst")
MULTI = {"path": Best(PAIR, min=("cost", "hops"))}
SINGLE = {"path": Best(PAIR, min=("cost",))}
DENSITIES = {0.0: DENSE, 1.0: SPARSE}


def finding(scale: Scale, line: Line, x: float, seed: int) -> Measure:
    network = Network(PATHS, scale.processors, **line.options)
    return inserted(network, "link", transit_stub_links(TransitStub.of_size(scale.nodes, DENSITIES[x], seed)))


def densities(_: Scale) -> Sequence[float]:
    return list(DENSITIES)


LAZY = {"provenance": "absorption", "ship": "lazy", "order": "depth-first"}

FIGURES = (
    Figure(
        "figure14",
        "best paths, aggregate selection",
        "0 dense, 1 sparse",
        [
            Line("Multi AggSel", {**LAZY, "best": MULTI}),
            Line("Single AggSel", {**LAZY, "best": SINGLE}),
            Line("No AggSel", LAZY),
        ],
        densities,
        finding,
    ),
)
