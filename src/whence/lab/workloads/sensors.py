"""A field of sensors, some of them triggered: for views that find contiguous regions of triggered sensors.

Every cell of a square grid holds one sensor, somewhere in the cell. The defaults are the field of the papers: 100 by
100 metres, neighbours within 20 metres, five seed sensors from which regions grow, half of the sensors triggered.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class SensorGrid:
    side: int = 10
    """So many sensors along each side."""
    metres_per_cell: float = 10.0
    metres_to_neighbour: float = 20.0
    """Sensors closer than this are neighbours: about twelve for each in the default grid, fewer at the edges."""
    seeds: int = 5
    triggered: float = 0.5
    """The share of the sensors that are triggered at first; the seeds always are."""
    seed: int = 1

    @property
    def sensors(self) -> int:
        return self.side * self.side


@dataclass(frozen=True, slots=True)
class SensorField:
    """The rows of the tables, as the papers have them."""

    sensors: list[tuple[int, float, float]]
    """Sensor, metres east, metres north."""
    neighbours: list[tuple[int, int]]
    """Sensor, other sensor within reach: each pair both ways."""
    seeds: list[tuple[int, int]]
    """Region, the sensor it grows from."""
    triggered: list[tuple[int]]


def sensor_field(grid: SensorGrid) -> SensorField:
    rng = Random(grid.seed)  # noqa: S311 - chance is not a secret here
    sensors = [
        (row * grid.side + column, _inside(column, grid, rng), _inside(row, grid, rng))
        for row in range(grid.side)
        for column in range(grid.side)
    ]
    seeds = rng.sample(range(grid.sensors), grid.seeds)
    triggered = {*seeds, *rng.sample(range(grid.sensors), round(grid.sensors * grid.triggered))}
    return SensorField(
        sensors=sensors,
        neighbours=list(_neighbours(sensors, grid)),
        seeds=list(enumerate(seeds)),
        triggered=[(sensor,) for sensor in sorted(triggered)],
    )


def _inside(cell: int, grid: SensorGrid, rng: Random) -> float:
    # Whole centimetres, so that a position reads the same wherever it is printed.
    return round((cell + rng.random()) * grid.metres_per_cell, 2)


def _neighbours(sensors: list[tuple[int, float, float]], grid: SensorGrid) -> Iterator[tuple[int, int]]:
    """Only cells that can be within reach are looked at, so that time grows with the field and not with its square."""
    reach = math.ceil(grid.metres_to_neighbour / grid.metres_per_cell)
    for sensor, east, north in sensors:
        row, column = divmod(sensor, grid.side)
        for other_row in range(max(0, row - reach), min(grid.side, row + reach + 1)):
            for other_column in range(max(0, column - reach), min(grid.side, column + reach + 1)):
                other, other_east, other_north = sensors[other_row * grid.side + other_column]
                if other != sensor and math.hypot(east - other_east, north - other_north) < grid.metres_to_neighbour:
                    yield sensor, other
