"""All that can be run by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeAlias

from whence.errors import UnknownNameError, did_you_mean
from whence.experiments.catalog import FIGURES
from whence.experiments.eager import wait_for_eager
from whence.experiments.figure import Figure
from whence.experiments.pictures import draw
from whence.experiments.running import run_figure, write_csv
from whence.experiments.settings import Settings
from whence.experiments.spark import compare_with_spark

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
}


def commands_named(name: str) -> list[Command]:
    if name == "all":
        return list(COMMANDS.values())
    if name not in COMMANDS:
        hint = did_you_mean(name, COMMANDS) or f"there is {', '.join(COMMANDS)}"
        raise UnknownNameError(f"there is no experiment {name!r}", hint=hint)
    return [COMMANDS[name]]
