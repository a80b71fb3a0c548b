"""Networks with up to ten times the links of the papers' network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from whence.experiments.figure import ABSORPTION_LAZY, DRED, Curve, Figure, Line, Scale
from whence.experiments.measuring import Meter
from whence.experiments.reachability import links_of, network_of
from whence.workloads.transit_stub import DENSE

LINES = (
    DRED,
    ABSORPTION_LAZY,
    Line("Absorption Lazy, supports", {"provenance": "absorption", "ship": "lazy", "form": "supports"}),
)


def links(scale: Scale) -> Sequence[float]:
    return [DENSE * size for size in scale.large_sizes]


def growing(scale: Scale, line: Line, seed: int, deletes: bool) -> Curve:
    for size in scale.large_sizes:
        pairs = links_of(size, DENSE, seed)
        network = network_of(line, scale.processors)
        meter = Meter(network)
        if deletes:
            network.insert("link", pairs)
            meter.delete("link", pairs[: scale.few_deletions])
        else:
            meter.insert("link", pairs)
        yield len(pairs), meter.measure()


FIGURES = (
    Figure(
        "growth-inserts",
        "reachable, ten times the links, inserts",
        "links",
        LINES,
        links,
        partial(growing, deletes=False),
        logarithmic=True,
    ),
    Figure(
        "growth-deletes",
        "reachable, ten times the links, deletes",
        "links",
        LINES,
        links,
        partial(growing, deletes=True),
        logarithmic=True,
    ),
)
