"""All that can be run by name."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from whence.errors import UnknownNameError, UnsupportedError, did_you_mean
from whence.lab.experiments.catalog import FIGURES, links_of
from whence.lab.experiments.definition_figures import DEFINITION_FIGURES
from whence.lab.experiments.figure import Figure, Settings
from whence.lab.experiments.pictures import draw
from whence.lab.experiments.runner import run_curve, run_figure, write_csv
from whence.lab.experiments.spark import compare_with_spark
from whence.lab.workloads.transit_stub import DENSE

# How many times as long as lazy shipping eager shipping may take.
EAGER_FACTOR = 20


def wait_for_eager(settings: Settings) -> list[Path]:
    """How long eager shipping takes where lazy shipping is soon done: a dense network of twice the papers' size.

    Inserts all links lazily, and then eagerly, for at most `EAGER_FACTOR` times as long.
    """
    nodes = 2 * settings.scale.nodes
    links = len(links_of(nodes, DENSE, 1))
    lazy = _seconds(settings, nodes, "Lazy Dense", EAGER_FACTOR * settings.seconds)
    if lazy is None:
        raise UnsupportedError(
            f"lazy shipping takes more than {EAGER_FACTOR * settings.seconds:g} seconds on {links} links"
        )
    settings.tell(f"lazy on {links} links: {lazy:.1f} s")
    eager = _seconds(settings, nodes, "Eager Dense", EAGER_FACTOR * lazy)
    outcome = f"not finished after {EAGER_FACTOR * lazy:.1f}" if eager is None else f"{eager:.1f}"
    settings.tell(f"eager on {links} links: {outcome} s")
    path = settings.output / "eager.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(
            [["ship", "links", "seconds"], ["lazy", links, f"{lazy:.6g}"], ["eager", links, outcome]]
        )
    return [path]


def _seconds(settings: Settings, nodes: int, name: str, most: float) -> float | None:
    """How long all nodes together worked; None if that was more than they may."""
    by_size = FIGURES["figure11"]
    line = [line.name for line in by_size.lines].index(name)
    points = run_curve(by_size, replace(settings.scale, sizes=(nodes,)), line, 1, most, 1)
    return points[0][1].seconds * settings.scale.processors if points else None


# Returns the files that it has written.
Command: TypeAlias = Callable[[Settings], list[Path]]


def make_figure(figure: Figure, settings: Settings) -> list[Path]:
    points = list(run_figure(figure, settings.scale, settings.runs, settings.seconds, settings.tell))
    table, picture = (settings.output / f"{figure.name}.{kind}" for kind in ("csv", "svg"))
    write_csv(points, table)
    draw(figure, points, picture)
    return [table, picture]


COMMANDS: Mapping[str, Command] = {
    **{name: partial(make_figure, figure) for name, figure in FIGURES.items()},
    "eager": wait_for_eager,
    "spark": compare_with_spark,
    **DEFINITION_FIGURES,
}


def commands_named(name: str) -> list[Command]:
    if name == "all":
        return list(COMMANDS.values())
    if name not in COMMANDS:
        hint = did_you_mean(name, COMMANDS) or f"there is {', '.join(COMMANDS)}"
        raise UnknownNameError(f"there is no experiment {name!r}", hint=hint)
    return [COMMANDS[name]]
