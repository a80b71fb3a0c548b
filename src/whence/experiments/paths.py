"""The best paths of a network, with aggregates pushed into the recursion or not: figure 14.

The question is the same for all: for every pair of nodes the cheapest cost and the fewest hops. Several aggregates at
once answer it with one recursion. Of a recursion with only one of them the other cannot be told, so that one aggregate
at a time takes a recursion for each.
"""

from __future__ import annotations

from collections.abc import Sequence

from whence.experiments.figure import Curve, Figure, Line, Scale
from whence.experiments.measuring import Meter
from whence.network import Best, Network
from whence.workloads.transit_stub import DENSE, SPARSE, TransitStub, transit_stub_links

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
DENSITIES = {0.0: SPARSE, 1.0: DENSE}
LAZY = {"provenance": "absorption", "ship": "lazy", "order": "depth-first"}


def finding(scale: Scale, line: Line, seed: int) -> Curve:
    for x, density in DENSITIES.items():
        meter = Meter(Network(nodes=scale.processors, **line.options))
        meter.insert("link", transit_stub_links(TransitStub.of_size(scale.nodes, density, seed)))
        yield x, meter.measure()


def densities(_: Scale) -> Sequence[float]:
    return list(DENSITIES)


FIGURES = (
    Figure(
        "figure14",
        "best paths, aggregate selection",
        "",
        [
            Line("Multi AggSel", {**LAZY, "program": TOGETHER, "best": MULTI}),
            Line("Single AggSel", {**LAZY, "program": APART, "best": SINGLE}),
            Line("No AggSel", {**LAZY, "program": TOGETHER}),
        ],
        densities,
        finding,
        ticks={0.0: "sparse", 1.0: "dense"},
    ),
)
