"""The pictures of an experiment, one for each quantity, side by side as in the papers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whence.lab.experiments.figure import MEASURES, Figure
from whence.lab.experiments.runner import Point

MARKERS = "osD^v"


def draw(figure: Figure, points: Sequence[Point], path: Path) -> None:
    """As SVG."""
    canvas = new_canvas(figsize=(14, 3.6))
    for axes, (measure, label) in zip(canvas.subplots(1, len(MEASURES)), MEASURES.items(), strict=True):
        for number, line in enumerate(figure.lines):
            own = [point for point in points if point.line == line.name and point.runs]
            name = line.name if own else f"{line.name} (not finished)"
            if figure.ticks:
                _bars(axes, own, measure, name, number, len(figure.lines))
            else:
                _line(axes, own, measure, name, MARKERS[number])
        if figure.ticks:
            axes.set_xticks(list(figure.ticks), list(figure.ticks.values()))
        if figure.logarithmic:
            axes.set_xscale("log")
            axes.set_yscale("log")
            # Only what was run is written below the axis: powers of ten say little about four points.
            measured = sorted({point.x for point in points})
            axes.set_xticks(measured, [f"{x:,.0f}" for x in measured])
            axes.set_xticks([], minor=True)
        else:
            axes.set_ylim(bottom=0)
        axes.set_xlabel(figure.x_label)
        axes.set_ylabel(label)
    handles, labels = canvas.axes[0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    canvas.suptitle(f"{figure.name}: {figure.title}")
    save(canvas, path)


def new_canvas(figsize: tuple[float, float]) -> Any:
    from matplotlib.figure import Figure as Canvas

    return Canvas(figsize=figsize, layout="constrained")


def save(canvas: Any, path: Path) -> None:
    from matplotlib import rc_context

    # The same figures give the same file.
    with rc_context({"svg.hashsalt": "whence"}):
        canvas.savefig(path, format="svg", metadata={"Date": None})


def _line(axes: Any, points: Sequence[Point], measure: str, name: str, marker: str) -> None:
    axes.errorbar(
        [point.x for point in points],
        [point.mean(measure) for point in points],
        [point.interval(measure) for point in points],
        marker=marker,
        markersize=4,
        capsize=3,
        label=name,
    )


def _bars(axes: Any, points: Sequence[Point], measure: str, name: str, number: int, lines: int) -> None:
    width = 0.8 / lines
    axes.bar(
        [point.x + (number - (lines - 1) / 2) * width for point in points],
        [point.mean(measure) for point in points],
        width,
        color=f"C{number}",
        yerr=[point.interval(measure) for point in points],
        capsize=3,
        label=name,
    )
