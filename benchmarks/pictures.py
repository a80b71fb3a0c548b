"""Draws docs/images from benchmarks/results: `python -m benchmarks.pictures`. Needs matplotlib, the extra `lab`."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter

from benchmarks.harness import RESULTS, ROOT, duration, three_digits

IMAGES = ROOT / "docs" / "images"
OURS, THEIRS, FAINT = "#1b6ca8", "#c8553d", "#8a8a8a"

STYLE = {
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 13,
    "axes.titlepad": 14,
    "figure.constrained_layout.use": True,
    "svg.fonttype": "none",
    # The same figures give the same file.
    "svg.hashsalt": "whence",
}

# What is no change to a view that is there already.
NOT_OF_CHANGES = (
    "growth",
    "questions_growth",
    "kernels",
    "durability",
    "definitions",
    "statements",
    "documents",
    "replica",
    "replica_partitions",
    "replica_spark",
    "soak",
)
BUILDING = ("build", "load")

# A result file as read.
Result: TypeAlias = Mapping[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the *.json files are")
    parser.add_argument("--images", type=Path, default=IMAGES, help="where the pictures go")
    given = parser.parse_args()
    results = {path.stem: json.loads(path.read_text()) for path in sorted(given.results.glob("*.json"))}
    if not results:
        raise SystemExit(f"there are no results in {given.results}: `make bench` makes them")
    given.images.mkdir(parents=True, exist_ok=True)
    plt.style.use(STYLE)
    for name, draw in PICTURES.items():
        figure = draw(results)
        if figure is None:
            print(f"{name}: left out, its results are not there")
            continue
        # Without the date, so that drawing again changes nothing.
        figure.savefig(given.images / f"{name}.svg", metadata={"Date": None})
        plt.close(figure)
        print(f"{name}: {given.images / name}.svg")


def speedups(results: Mapping[str, Result]) -> Any:
    """How many times faster than its opponent each change is."""
    rows = [
        (f"{result['title']}\n{each['what']}, against {each['opponent']}", each["ratio"])
        for name, result in results.items()
        for each in result["comparisons"]
        if name not in NOT_OF_CHANGES and not is_building(each["what"])
    ]
    if not rows:
        return None
    figure, axes = plt.subplots(figsize=(10, 1.4 + 0.52 * len(rows)))
    labels, ratios = [label for label, _ in rows], [ratio for _, ratio in rows]
    # Bars start at 1: to the right whence is faster, to the left the opponent is.
    axes.barh(labels, [ratio - 1 for ratio in ratios], left=1, color=[OURS if r >= 1 else THEIRS for r in ratios])
    for position, ratio in enumerate(ratios):
        times = three_digits(ratio if ratio >= 1 else 1 / ratio)
        text = f" {times}× {'faster' if ratio >= 1 else 'slower'} "
        axes.text(ratio, position, text, va="center", ha="left" if ratio >= 1 else "right", fontsize=9)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlim(min([*ratios, 1]) / 4, max([*ratios, 1]) * 4)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", labelsize=9)
    axes.set_xlabel("times as fast as the opponent, medians, logarithmic")
    axes.set_title("whence following one change, against its opponents")
    return figure


def latencies(results: Mapping[str, Result]) -> Any:
    """Median and 95th percentile of the changes of the large network."""
    result = results.get("reachability_big")
    if result is None:
        return None
    bars = [(each["what"], each["ours"], OURS) for each in result["comparisons"][1:3]]
    bars.append(("DuckDB recomputes\nthe view", result["comparisons"][1]["theirs"], THEIRS))
    pairs = next(figure["value"] for figure in result["figures"] if figure["what"] == "reachable pairs")
    figure, axes = plt.subplots(figsize=(8, 3.2))
    for position, (_, times, colour) in enumerate(bars):
        axes.plot([times["median"], times["p95"]], [position, position], color=colour, linewidth=5, alpha=0.4)
        axes.plot(times["median"], position, "o", color=colour, markersize=9)
        axes.plot(times["p95"], position, "|", color=colour, markersize=14, markeredgewidth=2)
        axes.annotate(
            f"{duration(times['median'])}; 95 % within {duration(times['p95'])}",
            (times["median"], position),
            xytext=(0, 11),
            textcoords="offset points",
            fontsize=9,
        )
    axes.set_yticks(range(len(bars)), [label for label, *_ in bars])
    axes.set_ylim(len(bars) - 0.5, -0.7)
    axes.set_xscale("log")
    axes.set_xlim(min(times["median"] for _, times, _ in bars) / 2, max(times["p95"] for _, times, _ in bars) * 4)
    axes.xaxis.set_major_formatter(readable_time())
    axes.set_xlabel("time, logarithmic")
    axes.set_title(f"A view of {pairs:,.0f} reachable pairs, and one link changes")
    return figure


def growth_with_size(results: Mapping[str, Result]) -> Any:
    result = results.get("growth")
    if result is None:
        return None
    figure, axes = plt.subplots(figsize=(8, 4.2))
    for series, colour in zip(result["series"][:2], (OURS, THEIRS), strict=True):
        pairs, seconds = zip(*series["points"], strict=True)
        axes.plot(pairs, seconds, "o-", color=colour, linewidth=2)
        axes.annotate(
            f"{series['what']}: {duration(seconds[-1])}",
            (pairs[-1], seconds[-1]),
            xytext=(0, 9),
            textcoords="offset points",
            ha="right",
            color=colour,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.margins(y=0.25)
    axes.set_xticks([pairs for pairs, _ in result["series"][0]["points"]])
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_major_formatter(readable_time())
    axes.set_xlabel("pairs in the view, logarithmic")
    axes.set_ylabel("median time, logarithmic")
    axes.set_title("A larger view: the cost of deleting one link")
    return figure


def growth_with_effect(results: Mapping[str, Result]) -> Any:
    result = results.get("growth")
    if result is None:
        return None
    cloud = result["series"][2]
    figure, axes = plt.subplots(figsize=(8, 4.2))
    touched, seconds = zip(*cloud["points"], strict=True)
    axes.scatter(touched, seconds, color=OURS, alpha=0.6, edgecolor="none")
    largest = result["series"][0]["points"][-1][0]
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(readable_time())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.grid(color=FAINT, alpha=0.25)
    axes.set_xlabel(cloud["x"])
    axes.set_ylabel("time of the delete")
    axes.set_title(f"One link deleted from a view of {largest:,.0f} pairs, a dot for each link")
    return figure


def definitions(results: Mapping[str, Result]) -> Any:
    """The time to define one view more."""
    result = results.get("definitions")
    if result is None:
        return None
    figure, axes = plt.subplots(figsize=(8, 4.2))
    for series, colour in zip(result["series"], (OURS, THEIRS, FAINT, "black"), strict=True):
        views, seconds = zip(*series["points"], strict=True)
        axes.plot(views, seconds, "o-", color=colour, linewidth=2, label=series["what"])
    axes.set_xscale("log")
    axes.set_xticks([views for views, _ in result["series"][0]["points"]])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_major_formatter(readable_time())
    axes.set_xlabel("views, logarithmic")
    axes.set_ylabel("median time per view")
    axes.legend(frameon=False)
    axes.set_title("One view more, with many there already")
    return figure


def soak(results: Mapping[str, Result]) -> Any:
    """What could grow while streams are followed: memory, files, rows, and the time of a commit."""
    result = results.get("soak")
    if result is None:
        return None
    figure, panels = plt.subplots(2, 2, figsize=(10, 6.4), sharex=True)
    series = {(each["what"], each["y"]): each["points"] for each in result["series"]}
    for axes, (title, unit, names) in zip(panels.flat, SOAKED, strict=True):
        for colour, what in zip((OURS, THEIRS, FAINT), names, strict=False):
            minutes, values = zip(*series[what, unit], strict=True)
            # Single commits are dots, since they differ as much as what they change does.
            style = {"linestyle": "none", "marker": ".", "alpha": 0.4} if unit == "s" else {"linewidth": 1.6}
            axes.plot(minutes, values, color=colour, label=what, **style)
        if unit == "s":
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(readable_time())
        else:
            highest = max(value for what in names for _, value in series[what, unit])
            axes.set_ylim(0, 1.4 * highest)
            axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.0f}"))
        axes.grid(color=FAINT, alpha=0.25)
        axes.set_title(title, fontsize=11)
        axes.legend(fontsize=8, loc="upper right")
    for axes in panels[1]:
        axes.set_xlabel("minutes")
    figure.suptitle("Following streams for a long time", x=0.01, ha="left", fontsize=13)
    return figure


def documents_growth(results: Mapping[str, Result]) -> Any:
    """What one update costs, however much has arrived."""
    return _documents(results, "nodes of the document", "An update of a document, five queries maintained", log=True)


def documents_memory(results: Mapping[str, Result]) -> Any:
    """What is kept while a document arrives."""
    return _documents(results, "megabytes that arrived", "Memory for a document that arrives", log=False)


def _documents(results: Mapping[str, Result], x: str, title: str, *, log: bool) -> Any:
    result = results.get("documents")
    if result is None:
        return None
    figure, axes = plt.subplots(figsize=(8, 4.2))
    series = [each for each in result["series"] if each["x"] == x]
    for each, colour in zip(series, (OURS, THEIRS), strict=False):
        axes.plot(*zip(*each["points"], strict=True), "o-", markersize=4, color=colour, label=each["what"])
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.set_ylim(bottom=0)
    if log:
        axes.set_xscale("log")
        axes.yaxis.set_major_formatter(readable_time())
    else:
        axes.set_ylabel(series[0]["y"])
    axes.legend(frameon=False)
    return figure


def partitions(results: Mapping[str, Result]) -> Any:
    """What sites remember of deleted rows, through a day of partitions."""
    result = results.get("replica_partitions")
    if result is None:
        return None
    figure, axes = plt.subplots(figsize=(8, 4))
    for curve, color in zip(result["series"], (OURS, THEIRS), strict=True):
        minutes, rows = zip(*curve["points"], strict=True)
        axes.plot([minute / 60 for minute in minutes], rows, color=color, label=curve["what"].rpartition(", ")[2])
    axes.set_title("Deleted rows that a site remembers, of 20 sites whose network falls apart every hour")
    axes.set_xlabel("hour")
    axes.set_ylabel("rows")
    axes.legend(frameon=False)
    return figure


def is_building(what: str) -> bool:
    """Whether a comparison is about a first load, of whatever size."""
    return any(part.startswith(BUILDING) for part in what.split(": "))


def readable_time() -> FuncFormatter:
    return FuncFormatter(lambda seconds, _: duration(seconds) if seconds else "0")


# Of the soak: a title for each panel, the unit, and the curves in it.
SOAKED = (
    ("memory, MB", "MB", ("JVM, resident", "Python, resident", "JVM, live after a collection")),
    ("on disk, MB", "MB", ("files of the database", "checkpoints of Spark")),
    ("the time of a commit, logarithmic", "s", ("a commit of links", "a commit of reports")),
    ("rows that views and tables keep", "rows", ("rows in bases", "rows that have changed since")),
)

PICTURES: Mapping[str, Callable[[Mapping[str, Result]], Any]] = {
    "speedups": speedups,
    "latencies": latencies,
    "growth-with-size": growth_with_size,
    "growth-with-effect": growth_with_effect,
    "documents-growth": documents_growth,
    "documents-memory": documents_memory,
    "definitions": definitions,
    "soak": soak,
    "partitions": partitions,
}

if __name__ == "__main__":
    main()
