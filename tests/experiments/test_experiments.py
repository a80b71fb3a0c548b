"""The experiments run, and their figures are written down."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest

from whence.cli import main
from whence.experiments.catalog import FIGURES
from whence.experiments.figure import QUICK
from whence.experiments.measuring import Measure
from whence.experiments.running import Point, run_figure, write_csv

SMALL = ["figure7", "figure8", "figure10", "figure13", "figure14", "figure17"]


def test_all_figures_are_there() -> None:
    assert list(FIGURES) == [f"figure{number}" for number in (7, 8, 9, 10, 11, 12, 13, 14, 17)]


@pytest.mark.parametrize("name", SMALL)
def test_a_point_of_a_figure(name: str) -> None:
    figure = FIGURES[name]
    # The first line is DRed, or whatever is quick to run.
    measure = figure.run(QUICK, figure.lines[0], figure.xs(QUICK)[-1], 1)
    assert measure.communication > 0
    assert measure.seconds > 0


def test_the_command_writes_figures_and_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert main(["experiment", "figure17", "--quick", "--seconds", "100", "--output", str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path / f"figure17.{kind}") for kind in ("csv", "png")]
    with (tmp_path / "figure17.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {(row["line"], row["x"]) for row in rows} == {
        (n, x) for n in ("Depth-first", "Arrival") for x in ("0.5", "1")
    }
    assert (tmp_path / "figure17.png").read_bytes().startswith(b"\x89PNG")


def test_unknown_experiments(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "figure70"]) == 1
    assert "no experiment 'figure70'" in capsys.readouterr().err


def test_what_takes_too_long_is_told(tmp_path: Path) -> None:
    points = list(run_figure(FIGURES["figure7"], QUICK, 1, 0.001, lambda _: None))
    assert [point.x for point in points] == [0.5] * 4
    assert all(math.isnan(point.mean("seconds")) for point in points)
    write_csv(points, tmp_path / "out.csv")
    assert "DRed,0.5,not finished" in (tmp_path / "out.csv").read_text()


def test_confidence() -> None:
    point = Point("a", 1.0, [Measure(0.0, 0.0, 0.0, seconds) for seconds in (1.0, 2.0, 3.0)])
    assert point.mean("seconds") == 2.0
    assert point.interval("seconds") == pytest.approx(4.303 / math.sqrt(3))
    assert Point("a", 1.0, point.runs[:1]).interval("seconds") == 0.0
