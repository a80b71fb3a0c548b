"""All experiments by name."""

from __future__ import annotations

from whence.experiments import growth, paths, reachability, regions

_PAPERS = (*reachability.FIGURES, *regions.FIGURES, *paths.FIGURES)
_IN_ORDER = sorted(_PAPERS, key=lambda figure: int(figure.name.removeprefix("figure")))
FIGURES = {figure.name: figure for figure in (*_IN_ORDER, *growth.FIGURES)}
