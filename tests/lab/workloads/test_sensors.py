from __future__ import annotations

import math

import pytest

from benchmarks.regions import trigger_flips
from whence.lab.workloads.sensors import SensorGrid, sensor_field


def test_the_default_is_the_field_of_the_papers() -> None:
    field = sensor_field(SensorGrid())
    assert len(field.sensors) == 100
    assert all(0 <= east <= 100 and 0 <= north <= 100 for _, east, north in field.sensors)
    assert [region for region, _ in field.seeds] == [0, 1, 2, 3, 4]
    assert {(sensor,) for _, sensor in field.seeds} <= set(field.triggered)
    assert 50 <= len(field.triggered) <= 55


def test_ten_thousand_sensors_have_twelve_neighbours_each() -> None:
    field = sensor_field(SensorGrid(side=100))
    assert len(field.sensors) == 10_000
    assert 11 < len(field.neighbours) / len(field.sensors) < 13


@pytest.mark.parametrize(
    "grid",
    [SensorGrid(), SensorGrid(metres_to_neighbour=35.0), SensorGrid(side=6, metres_per_cell=3.0, seeds=1, seed=4)],
    ids=str,
)
def test_neighbours_are_all_that_are_closer_than_the_reach(grid: SensorGrid) -> None:
    field = sensor_field(grid)
    expected = [
        (sensor, other)
        for sensor, east, north in field.sensors
        for other, other_east, other_north in field.sensors
        if other != sensor and math.hypot(east - other_east, north - other_north) < grid.metres_to_neighbour
    ]
    assert field.neighbours == expected


def test_flips_turn_off_what_is_on_and_on_what_is_off() -> None:
    field = sensor_field(SensorGrid(side=3, seeds=1))
    on = {sensor for (sensor,) in field.triggered}
    flips = trigger_flips(field, 50)
    for flip in flips:
        assert flip.on == (flip.sensor not in on)
        (on.add if flip.on else on.remove)(flip.sensor)
    assert {flip.on for flip in flips} == {True, False}


def test_the_seed_decides() -> None:
    assert sensor_field(SensorGrid(seed=7)) == sensor_field(SensorGrid(seed=7))
    assert sensor_field(SensorGrid(seed=7)) != sensor_field(SensorGrid(seed=8))
    field = sensor_field(SensorGrid())
    assert trigger_flips(field, 20, seed=7) == trigger_flips(field, 20, seed=7)
    assert trigger_flips(field, 20, seed=7) != trigger_flips(field, 20, seed=8)
