"""Figures 5 to 12 of Green and Ives, *Recomputing Materialized Instances after Changes to Mappings and Data*."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from whence.lab.experiments.definition_steps import Steps, StepTimes, repeated
from whence.lab.experiments.figure import Settings
from whence.lab.experiments.pictures import new_canvas, save
from whence.lab.workloads.exchange import PRIMITIVES, ExchangeSize, changed, is_view

# The scale of a network of so many nodes stands for so many rows of the wide relation.
ROWS_PER_NODE = 1_000
CHANGES = 24
SEED = 1
# What the paper says its bars come to on average, as a share of the time that recomputing takes.
PAPER_AVERAGES = {"adaptation-figure5": 0.6, "adaptation-figure6": 0.2}
PLAIN, KEPT = "without derivations", "with derivations"

# A name on the axis, with a number for each series.
Bars: TypeAlias = Sequence[tuple[str, Mapping[str, float]]]


def by_view(name: str, settings: Settings, *, keeps_derivations: bool, with_rows: bool) -> list[Path]:
    """Each view after 24 changes, as a share of the time to compute it beside."""
    steps = _steps(settings, keeps_derivations=keeps_derivations)
    new = changed(steps.program, CHANGES, SEED)
    settings.tell(f"{name}: {len(steps.differing(new))} views")
    again = repeated(lambda: steps.recomputed(new), settings.runs)
    series = {
        "rebuilt in place": repeated(lambda: steps.rebuilt(new, with_rows=with_rows), settings.runs),
        "adapted": repeated(lambda: steps.adapted(new, with_rows=with_rows), settings.runs),
    }
    label = f"{CHANGES} changes of definitions" + (", rows change as well" if with_rows else "")
    return _written(name, settings, label, _compared(series, again))


def by_order(name: str, settings: Settings, *, keeps_derivations: bool) -> list[Path]:
    """Rows first and definitions then, against both at once."""
    steps = _steps(settings, keeps_derivations=keeps_derivations)
    new = changed(steps.program, CHANGES, SEED)
    settings.tell(f"{name}: {len(steps.differing(new))} views")
    again = repeated(lambda: steps.recomputed(new), settings.runs)
    series = {
        "sequential": repeated(lambda: steps.one_after_the_other(new), settings.runs),
        "combined": repeated(lambda: steps.adapted(new, with_rows=True), settings.runs),
    }
    return _written(name, settings, "rows and definitions, one after the other or at once", _compared(series, again))


def by_kind(name: str, settings: Settings) -> list[Path]:
    """Changes of each kind in Table I, one in each run, in all as a share of the time to recompute."""
    bars: dict[str, dict[str, float]] = {each.name: {} for each in PRIMITIVES}
    for label, keeps in ((PLAIN, False), (KEPT, True)):
        steps = _steps(settings, keeps_derivations=keeps)
        for kind in PRIMITIVES:
            settings.tell(f"{name}: {kind.name}, {label}")
            found, again = StepTimes(), StepTimes()
            for seed in range(SEED, SEED + settings.runs):
                new = changed(steps.program, 1, seed, [kind])
                again += repeated(partial(steps.recomputed, new), 1)
                found += repeated(partial(steps.adapted, new), 1)
            bars[kind.name][label] = found.total / again.total
    return _written(name, settings, "one change of a kind", list(bars.items()))


def by_count(name: str, settings: Settings) -> list[Path]:
    """From one change to many, as a share of the time to recompute what they touch."""
    bars: dict[str, dict[str, float]] = {str(count): {} for count in settings.scale.changes}
    for label, keeps in ((PLAIN, False), (KEPT, True)):
        steps = _steps(settings, keeps_derivations=keeps)
        for count in settings.scale.changes:
            settings.tell(f"{name}: {count} changes, {label}")
            new = changed(steps.program, count, SEED)
            again = repeated(partial(steps.recomputed, new), settings.runs)
            found = repeated(partial(steps.adapted, new), settings.runs)
            bars[str(count)][label] = found.total / again.total
    return _written(name, settings, "number of primitive changes", list(bars.items()))


def _steps(settings: Settings, *, keeps_derivations: bool) -> Steps:
    size = ExchangeSize(views=settings.scale.views, rows=settings.scale.nodes * ROWS_PER_NODE)
    return Steps(size, keeps_derivations=keeps_derivations)


def _compared(series: Mapping[str, StepTimes], again: StepTimes) -> Bars:
    """The views in the order of the last series, then their average, and the whole steps with all that belongs to them.

    Sources that are views now, as copies with other columns, are new: there is nothing to adapt, and they are in the
    whole steps alone.
    """
    last = list(series.values())[-1]
    old = [view for view in again.views if is_view(view)]
    names = sorted(old, key=lambda view: last.views[view] / max(again.views[view], 1e-9))
    bars = [
        (view, {label: times.views[view] / max(again.views[view], 1e-9) for label, times in series.items()})
        for view in names
    ]
    bars.append(("AVG", {label: _average(bars, label) for label in series}))
    bars.append(("all", {label: times.total / again.total for label, times in series.items()}))
    return bars


def _average(bars: Bars, label: str) -> float:
    return sum(values[label] for _, values in bars) / len(bars)


def _written(name: str, settings: Settings, title: str, bars: Bars) -> list[Path]:
    table, picture = (settings.output / f"{name}.{kind}" for kind in ("csv", "svg"))
    labels = list(bars[0][1])
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["", *labels])
        writer.writerows([at, *(f"{values[label]:.4g}" for label in labels)] for at, values in bars)
    _draw(name, title, bars, labels, picture)
    return [table, picture]


def _draw(name: str, title: str, bars: Bars, labels: Sequence[str], path: Path) -> None:
    canvas = new_canvas(figsize=(11, 3.8))
    axes = canvas.subplots()
    width = 0.8 / len(labels)
    for number, label in enumerate(labels):
        places = [at + (number - (len(labels) - 1) / 2) * width for at in range(len(bars))]
        axes.bar(places, [values[label] for _, values in bars], width, label=label)
    axes.axhline(1.0, color="black", linewidth=0.8, label="recomputed")
    if name in PAPER_AVERAGES:
        axes.axhline(PAPER_AVERAGES[name], color="gray", linestyle="dashed", linewidth=0.8, label="the paper's average")
    axes.set_xticks(range(len(bars)), [at for at, _ in bars], rotation=60, fontsize=8)
    axes.set_ylabel("time, recomputing = 1")
    axes.legend(frameon=False, fontsize=8)
    axes.set_title(f"{name}: {title}")
    save(canvas, path)


Command: TypeAlias = Callable[[Settings], list[Path]]


def _figures() -> Iterable[tuple[str, Callable[..., list[Path]]]]:
    yield "adaptation-figure5", partial(by_view, keeps_derivations=False, with_rows=False)
    yield "adaptation-figure6", partial(by_view, keeps_derivations=True, with_rows=False)
    yield "adaptation-figure7", by_kind
    yield "adaptation-figure8", partial(by_view, keeps_derivations=False, with_rows=True)
    yield "adaptation-figure9", partial(by_view, keeps_derivations=True, with_rows=True)
    yield "adaptation-figure10", by_count
    yield "adaptation-figure11", partial(by_order, keeps_derivations=False)
    yield "adaptation-figure12", partial(by_order, keeps_derivations=True)


DEFINITION_FIGURES: Mapping[str, Command] = {name: partial(make, name) for name, make in _figures()}
