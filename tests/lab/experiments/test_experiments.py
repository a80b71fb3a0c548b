"""The experiments run, and their figures are written down."""

from __future__ import annotations

import csv
import gc
import json
import math
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from whence.cli import main
from whence.lab.experiments import commands, runner, spark
from whence.lab.experiments.catalog import FIGURES
from whence.lab.experiments.commands import COMMANDS
from whence.lab.experiments.figure import QUICK, Curve, Figure, Line, Measure, Scale, Settings, parts
from whence.lab.experiments.pictures import draw
from whence.lab.experiments.runner import OUT_OF_MEMORY, Point, Points, run_curve, run_figure, write_csv

PAPERS = [f"figure{number}" for number in (7, 8, 9, 10, 11, 12, 13, 14, 17)]
ADAPTATION = [f"adaptation-figure{number}" for number in range(5, 13)]
TINY = replace(QUICK, few_deletions=1, sizes=(25,), large_sizes=(25,), counts=(2,))


def settings(output: Path, told: list[str]) -> Settings:
    return Settings(TINY, 1, 30, output, told.append)


def test_all_experiments_are_there() -> None:
    assert list(COMMANDS) == [*PAPERS, "growth-inserts", "growth-deletes", "eager", "spark", *ADAPTATION]


@pytest.mark.parametrize("name", FIGURES)
def test_a_line_of_a_figure(name: str) -> None:
    figure = FIGURES[name]
    # The first line is quick to run, or else the second.
    line = figure.lines[0] if "Eager" not in figure.lines[0].name else figure.lines[1]
    points = list(figure.run(TINY, line, 1))
    assert [x for x, _ in points] == pytest.approx(list(figure.xs(TINY)))
    assert all(measure.communication > 0 and measure.seconds > 0 for _, measure in points)


def test_the_command_writes_figures_and_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "figure17", "--quick", "--seconds", "100", "--output", str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path / f"figure17.{kind}") for kind in ("csv", "svg")]
    with (tmp_path / "figure17.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {(row["line"], row["x"]) for row in rows} == {
        (n, x) for n in ("Depth-first", "Arrival") for x in ("0.5", "1")
    }
    assert "<svg" in (tmp_path / "figure17.svg").read_text()


def test_experiments_without_their_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("whence.cli.experiment.find_spec", lambda name: None)
    assert main(["experiment", "figure17"]) == 1
    error = capsys.readouterr().err
    assert "experiments need matplotlib, which is not installed" in error
    assert "pip install 'whence[lab]'" in error


def test_all_of_them_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def at_once(figure: Figure, scale: Scale, _line: int, _seed: int, _seconds: float, _points: int) -> Points:
        return [(x, Measure(1.0, 2.0, 3.0, 4.0)) for x in figure.xs(scale)]

    for module in (commands, runner):
        monkeypatch.setattr(module, "run_curve", at_once)
    monkeypatch.setattr(spark, "find_spec", lambda _: None)
    assert main(["experiment", "all", "--quick", "--output", str(tmp_path)]) == 0
    figures, adaptation = (
        [tmp_path / f"{name}.{kind}" for name in names for kind in ("csv", "svg")] for names in (FIGURES, ADAPTATION)
    )
    output = capsys.readouterr()
    assert output.out.split() == [str(path) for path in (*figures, tmp_path / "eager.csv", *adaptation)]
    assert all(path.stat().st_size > 0 for path in adaptation)
    assert "spark: skipped, because PySpark is not installed" in output.err


def test_unknown_experiments(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "figure70"]) == 1
    assert "no experiment 'figure70'" in capsys.readouterr().err


def test_what_has_no_end_is_stopped() -> None:
    figure = FIGURES["figure14"]
    (line,) = [number for number, line in enumerate(figure.lines) if line.name == "No AggSel"]
    assert run_curve(figure, QUICK, line, seed=1, seconds=1, points=2) == []


def test_what_the_first_run_did_not_reach_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def one_point(_figure: Figure, _scale: Scale, _line: int, seed: int, _seconds: float, points: int) -> Points:
        asked.append(points)
        return [(0.5, Measure(1.0, 2.0, 3.0, seed))]

    monkeypatch.setattr(runner, "run_curve", one_point)
    figure = replace(FIGURES["figure7"], lines=FIGURES["figure7"].lines[:1])
    points = list(run_figure(figure, QUICK, 3, 1, lambda _: None))
    assert asked == [2, 1, 1]
    assert [(point.x, len(point.runs)) for point in points] == [(0.5, 3), (1.0, 0)]
    assert math.isnan(points[1].mean("seconds"))
    write_csv(points, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines() == [
        "line,x,run,provenance,communication,state,seconds",
        *[f"DRed,0.5,{run},1,2,3,{run}" for run in (1, 2, 3)],
        "DRed,1,not finished,,,,",
    ]


@pytest.mark.parametrize("name", ["figure7", "figure14", "growth-inserts"])
def test_pictures(name: str, tmp_path: Path) -> None:
    figure = FIGURES[name]
    points = [
        Point(line.name, x, [Measure(1.0, 2.0, 3.0, run) for run in (1, 2)])
        for line in figure.lines
        for x in figure.xs(TINY)
    ]
    for copy in ("a.svg", "b.svg"):
        draw(figure, points, tmp_path / copy)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_eager_gets_its_time_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits: dict[str, float] = {}

    def timed(figure: Figure, scale: Scale, line: int, _seed: int, seconds: float, _points: int) -> Points:
        limits[figure.lines[line].name] = seconds
        return [(scale.sizes[0], Measure(1.0, 2.0, 3.0, 0.5))] if "Lazy" in figure.lines[line].name else []

    monkeypatch.setattr(commands, "run_curve", timed)
    told: list[str] = []
    (path,) = commands.wait_for_eager(settings(tmp_path, told))
    assert limits == {"Lazy Dense": 600, "Eager Dense": pytest.approx(20 * 0.5 * TINY.processors)}
    assert path.read_text().split() == [
        "ship,links,seconds",
        "lazy,200,1.5",
        "eager,200,not",
        "finished",
        "after",
        "30.0",
    ]
    assert told[-1] == "eager on 200 links: not finished after 30.0 s"


def test_without_pyspark_there_is_no_comparison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark, "find_spec", lambda _: None)
    told: list[str] = []
    assert spark.compare_with_spark(settings(tmp_path, told)) == []
    assert "skipped" in told[0]


def test_rows_in_parts() -> None:
    rows = [(number,) for number in range(10)]
    assert list(parts(rows, (0.5, 1.0))) == [(0.5, rows[:5]), (1.0, rows[5:])]
    assert list(parts(rows, (0.01, 0.02))) == [(0.01, rows[:1]), (0.02, rows[1:2])]


def test_confidence() -> None:
    point = Point("a", 1.0, [Measure(0.0, 0.0, 0.0, seconds) for seconds in (1.0, 2.0, 3.0)])
    assert point.mean("seconds") == 2.0
    assert point.interval("seconds") == pytest.approx(4.303 / math.sqrt(3))
    assert Point("a", 1.0, point.runs[:1]).interval("seconds") == 0.0


def test_what_does_not_fit_is_stopped_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def hungry(_scale: Scale, _line: Line, _seed: int) -> Curve:
        yield 0.5, Measure(1.0, 2.0, 3.0, 4.0)
        raise MemoryError

    for limit in ("limit_memory", "limit_processor_time"):
        monkeypatch.setattr(runner, limit, lambda *_: None)
    monkeypatch.setitem(FIGURES, "figure7", replace(FIGURES["figure7"], run=hungry))
    task = {"figure": "figure7", "line": 0, "seed": 1, "scale": asdict(QUICK), "seconds": 30, "points": 2}
    with pytest.raises(SystemExit) as caught:
        runner.main(json.dumps(task))
    gc.enable()
    assert caught.value.code == OUT_OF_MEMORY
    assert "figure7: stopped at 12 GB of memory" in capsys.readouterr().err
