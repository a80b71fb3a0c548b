"""Contiguous regions of triggered sensors: figures 9 and 10."""

from __future__ import annotations

import math
from random import Random

from whence.experiments.figure import SCHEMES, Curve, Figure, Line, Scale
from whence.experiments.measuring import Meter, parts
from whence.experiments.reachability import shares
from whence.network import Network
from whence.workloads.sensors import SensorField, SensorGrid, sensor_field

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
LINES = [Line(line.name, {**line.options, "order": "arrival"}) for line in SCHEMES]


def prepared(scale: Scale, line: Line, seed: int) -> tuple[Network, SensorField]:
    """A field in which nothing is triggered yet; regions are held where their sensors are."""
    field = sensor_field(SensorGrid(side=math.isqrt(scale.nodes), seed=seed))
    homes = {"active": "x", "seed": "x"}
    network = Network(REGIONS, scale.processors, partition=homes, **line.options)
    network.insert("near", field.neighbours)
    network.insert("seed", field.seeds)
    Random(seed).shuffle(field.triggered)  # noqa: S311 - chance is not a secret here
    return network, field


def triggering(scale: Scale, line: Line, seed: int) -> Curve:
    network, field = prepared(scale, line, seed)
    meter = Meter(network)
    for share, part in parts(field.triggered, shares(scale)):
        meter.insert("triggered", part)
        yield share, meter.measure()


def quietening(scale: Scale, line: Line, seed: int) -> Curve:
    network, field = prepared(scale, line, seed)
    network.insert("triggered", field.triggered)
    meter = Meter(network)
    for share, part in parts(field.triggered, shares(scale)):
        meter.delete("triggered", part)
        yield share, meter.measure()


FIGURES = (
    Figure("figure9", "regions, sensors triggered", "share of triggers inserted", LINES, shares, triggering),
    Figure("figure10", "regions, triggers deleted", "share of triggers deleted", LINES, shares, quietening),
)
