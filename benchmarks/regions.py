"""Contiguous regions of triggered sensors, while sensors go on and off one by one."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import whence
from benchmarks import duck
from benchmarks.harness import Report, Stopwatch, changes_view, main, taking_turns
from whence.lab.workloads.sensors import SensorField, SensorGrid, sensor_field
from whence.model.updates import Commit

TABLES = """
    CREATE TABLE near(sensor INT NOT NULL, other INT NOT NULL, PRIMARY KEY (sensor, other));
    CREATE TABLE main_sensor(region INT NOT NULL, sensor INT NOT NULL, PRIMARY KEY (region, sensor));
    CREATE TABLE triggered(sensor INT NOT NULL, PRIMARY KEY (sensor));
"""
VIEWS = """
    active_region(r, x) :- main_sensor(r, x), triggered(x).
    active_region(r, y) :- active_region(r, x), triggered(x), near(x, y).
    region_size(r, count<x>) :- active_region(r, x).
    largest_size(max<n>) :- region_size(_, n).
    largest_region(r) :- region_size(r, n), largest_size(n).
"""
ACTIVE_IN_DUCKDB = """
    WITH RECURSIVE active_region(region, sensor) AS (
      SELECT region, sensor FROM main_sensor JOIN triggered USING (sensor)
      UNION
      SELECT a.region, n.other
      FROM active_region a JOIN triggered t ON t.sensor = a.sensor JOIN near n ON n.sensor = a.sensor)
    SELECT region, sensor FROM active_region
"""
LARGEST_IN_DUCKDB = f"""
    WITH region_size AS (SELECT region, count(*) AS size FROM ({ACTIVE_IN_DUCKDB}) GROUP BY region)
    SELECT region FROM region_size WHERE size = (SELECT max(size) FROM region_size)
"""


@dataclass(frozen=True)
class Sizes:
    side: int = 100
    flips: int = 50
    runs: int = 5


@dataclass(frozen=True, slots=True)
class SensorFlip:
    """A sensor that goes on, or off."""

    sensor: int
    on: bool


def trigger_flips(field: SensorField, count: int, seed: int = 1) -> list[SensorFlip]:
    """Sensors that flip one after the other, drawn at random: one that was on goes off, and the other way round."""
    rng = Random(seed)  # noqa: S311 - chance is not a secret here
    on = {sensor for (sensor,) in field.triggered}
    flips = []
    for _ in range(count):
        sensor = rng.randrange(len(field.sensors))
        on ^= {sensor}
        flips.append(SensorFlip(sensor, on=sensor in on))
    return flips


def run(sizes: Sizes) -> Report:
    grid = SensorGrid(side=sizes.side)
    field = sensor_field(grid)
    report = Report(
        "regions",
        "Regions of triggered sensors, while sensors go on and off",
        f"{grid.sensors:,} sensors, {len(field.neighbours):,} pairs of neighbours, {grid.seeds} regions that grow "
        f"from a seed each through triggered sensors; half of the sensors are triggered. "
        f"whence keeps the regions, their sizes and which is largest. DuckDB, with two threads, recomputes the same "
        f"from the same pairs of neighbours. {sizes.flips} sensors flip and then flip back, one commit each.",
    )
    with in_whence(sensor_field(SensorGrid(side=3, seeds=1))) as small:
        small.insert("triggered", [(99,)])
    theirs = duck.connect()
    duck.fill(theirs, "near", "sensor other", field.neighbours)
    duck.fill(theirs, "main_sensor", "region sensor", field.seeds)
    duck.fill(theirs, "triggered", "sensor", field.triggered)
    recompute = duck.Recompute(theirs, LARGEST_IN_DUCKDB)
    build, on, off = Stopwatch(), Stopwatch(), Stopwatch()
    for _ in range(sizes.runs - 1):
        recompute()
        with build:
            another = in_whence(field)
        another.close()
    with build:
        ours = in_whence(field)
    flips = trigger_flips(field, sizes.flips)
    back = [SensorFlip(flip.sensor, on=not flip.on) for flip in reversed(flips)]
    commits = []
    for flip in taking_turns([*flips, *back], recompute):
        with on if flip.on else off:
            commits.append(apply(ours, flip))

    for flip in flips[: len(flips) // 2]:
        apply(ours, flip)
        change = "INSERT INTO triggered VALUES (?)" if flip.on else "DELETE FROM triggered WHERE sensor = ?"
        theirs.execute(change, [flip.sensor])
    duck.check_same_rows(ours, "active_region", theirs, ACTIVE_IN_DUCKDB)
    duck.check_same_rows(ours, "largest_region", theirs, LARGEST_IN_DUCKDB)
    report.figure("sensors in regions", len(ours.rows("active_region")), "rows")
    report.figure("flips", len(commits), "commits")
    report.figure("of which change a region", sum(changes_view(each, "active_region") for each in commits), "commits")
    report.compare("load and build the views", build.timing, duck.NAME, recompute.timing)
    report.compare("a sensor goes on", on.timing, duck.NAME, recompute.timing)
    report.compare("a sensor goes off", off.timing, duck.NAME, recompute.timing)
    ours.close()
    return report


def in_whence(field: SensorField) -> whence.Database:
    db = whence.connect()
    db.execute(TABLES)
    db.rules(VIEWS)
    with db.batch() as batch:
        batch.insert("near", field.neighbours)
        batch.insert("main_sensor", field.seeds)
        batch.insert("triggered", field.triggered)
    return db


def apply(db: whence.Database, flip: SensorFlip) -> Commit:
    return (db.insert if flip.on else db.delete)("triggered", [(flip.sensor,)])


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(side=5, flips=5))
