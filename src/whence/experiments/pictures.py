"""The pictures of an experiment, one for each quantity, side by side as in the papers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from whence.errors import UnsupportedError
from whence.experiments.figure import Figure
from whence.experiments.measuring import MEASURES
from whence.experiments.running import Point


def draw(figure: Figure, points: Sequence[Point], path: Path) -> None:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise UnsupportedError("pictures need matplotlib", hint="pip install 'whence[bench]'") from None
    canvas = Canvas(figsize=(14, 3.4), layout="constrained")
    FigureCanvasAgg(canvas)
    for axes, (measure, label) in zip(canvas.subplots(1, len(MEASURES)), MEASURES.items(), strict=True):
        for line in figure.lines:
            own = [point for point in points if point.line == line.name and point.runs]
            axes.errorbar(
                [point.x for point in own],
                [point.mean(measure) for point in own],
                [point.interval(measure) for point in own],
                marker="o",
                markersize=3,
                capsize=2,
                label=line.name,
            )
        axes.set_xlabel(figure.x_label)
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
    canvas.axes[0].legend(fontsize="small")
    canvas.suptitle(f"{figure.name}: {figure.title}")
    canvas.savefig(path, dpi=110)
