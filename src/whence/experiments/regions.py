"""Contiguous regions of triggered sensors: figures 9 and 10."""

from __future__ import annotations

import math

from whence.experiments.figure import SCHEMES, Figure, Line, Scale
from whence.experiments.measuring import Measure, deleted, inserted
from whence.experiments.reachability import shares, shares_deleted
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


def prepared(scale: Scale, line: Line, seed: int) -> tuple[Network, SensorField]:
    """A field in which nothing is triggered yet; regions are held where their sensors are."""
    field = sensor_field(SensorGrid(side=math.isqrt(scale.nodes), seed=seed))
    homes = {"active": "x", "seed": "x"}
    network = Network(REGIONS, scale.processors, partition=homes, **line.options)
    network.insert("near", field.neighbours)
    network.insert("seed", field.seeds)
    return network, field


def triggering(scale: Scale, line: Line, x: float, seed: int) -> Measure:
    network, field = prepared(scale, line, seed)
    return inserted(network, "triggered", field.triggered[: round(x * len(field.triggered))])


def quietening(scale: Scale, line: Line, x: float, seed: int) -> Measure:
    network, field = prepared(scale, line, seed)
    network.insert("triggered", field.triggered)
    return deleted(network, "triggered", field.triggered[: max(1, round(x * len(field.triggered)))])


FIGURES = (
    Figure("figure9", "regions, sensors triggered", "share of triggers inserted", SCHEMES, shares, triggering),
    Figure("figure10", "regions, triggers deleted", "share of triggers deleted", SCHEMES, shares_deleted, quietening),
)
