"""All experiments by name."""

from __future__ import annotations

from whence.experiments import paths, reachability, regions

_ALL = (*reachability.FIGURES, *regions.FIGURES, *paths.FIGURES)
FIGURES = {figure.name: figure for figure in sorted(_ALL, key=lambda figure: int(figure.name.removeprefix("figure")))}
