"""How long eager shipping takes where lazy shipping is soon done: a dense network of twice the papers' size."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

from whence.errors import UnsupportedError
from whence.experiments.reachability import FIGURES, links_of
from whence.experiments.running import run_curve
from whence.experiments.settings import Settings
from whence.workloads.transit_stub import DENSE

TIMES = 20
BY_SIZE = next(figure for figure in FIGURES if figure.name == "figure11")


def wait_for_eager(settings: Settings) -> list[Path]:
    """Inserts all links, lazily, and then eagerly for `TIMES` as long."""
    nodes = 2 * settings.scale.nodes
    links = len(links_of(nodes, DENSE, 1))
    lazy = _seconds(settings, nodes, "Lazy Dense", TIMES * settings.seconds)
    if lazy is None:
        raise UnsupportedError(f"lazy shipping takes more than {TIMES * settings.seconds:g} seconds on {links} links")
    settings.tell(f"lazy on {links} links: {lazy:.1f} s")
    eager = _seconds(settings, nodes, "Eager Dense", TIMES * lazy)
    outcome = f"not finished after {TIMES * lazy:.1f}" if eager is None else f"{eager:.1f}"
    settings.tell(f"eager on {links} links: {outcome} s")
    path = settings.output / "eager.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["ship", "links", "seconds"], ["lazy", links, f"{lazy:.6g}"], ["eager", links, outcome]]
        )
    return [path]


def _seconds(settings: Settings, nodes: int, name: str, most: float) -> float | None:
    """How long all nodes together worked; None if that was more than they may."""
    line = next(number for number, line in enumerate(BY_SIZE.lines) if line.name == name)
    points = run_curve(BY_SIZE, replace(settings.scale, sizes=(nodes,)), line, 1, most, 1)
    return points[0][1].seconds * settings.scale.processors if points else None
