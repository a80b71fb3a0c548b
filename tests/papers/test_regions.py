"""Contiguous regions of triggered sensors, against spreading from sensor to sensor."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

from hypothesis import example, given, settings
from hypothesis import strategies as st

Row: TypeAlias = tuple[object, ...]
Views: TypeAlias = Mapping[str, Collection[Row]]
Check: TypeAlias = Callable[..., None]
Sensor: TypeAlias = tuple[str, tuple[float, float]]
Pair: TypeAlias = tuple[str, str]

SENSORS = st.dictionaries(
    st.sampled_from("stuvwxyz"), st.tuples(*2 * [st.integers(0, 12).map(lambda steps: 5.0 * steps)]), max_size=8
).map(lambda found: frozenset(found.items()))
MAIN_SENSORS = st.frozensets(st.tuples(st.sampled_from("123"), st.sampled_from("stuvwxyz")), max_size=4)
TRIGGERED = st.frozensets(st.tuples(st.sampled_from("stuvwxyz")), max_size=8)
# A row of sensors: u is near but not triggered, so that it belongs to the region and does not lead on to v.
ROW = frozenset({("s", (0.0, 0.0)), ("t", (19.0, 0.0)), ("u", (38.0, 0.0)), ("v", (57.0, 0.0)), ("w", (77.0, 0.0))})


def regions(sensor: Collection[Sensor], main: Collection[Pair], triggered: Collection[tuple[str]]) -> Views:
    """Spread from each main sensor over triggered sensors to what is near them."""
    positions = dict(sensor)
    alert = {found for (found,) in triggered} & positions.keys()
    active: set[Pair] = set()
    for region, start in main:
        frontier = {start} & alert
        while frontier:
            active |= {(region, found) for found in frontier}
            near = {
                there
                for here in frontier & alert
                for there, position in positions.items()
                if math.dist(positions[here], position) < 20
            }
            frontier = {found for found in near if (region, found) not in active}
    sizes = Counter(region for region, _ in active)
    largest = max(sizes.values(), default=None)
    return {
        "activeRegion": active,
        "regionSizes": set(sizes.items()),
        "largestRegion": {(largest,)},
        "largestRegions": {(region,) for region, size in sizes.items() if size == largest},
    }


@settings(max_examples=40)
@given(SENSORS, MAIN_SENSORS, TRIGGERED)
@example(ROW, frozenset({("1", "s"), ("2", "v"), ("3", "u")}), frozenset({("s",), ("t",), ("v",), ("w",)}))
def test_contiguous_regions(
    check: Check, sensor: frozenset[Sensor], main: frozenset[Pair], triggered: frozenset[tuple[str]]
) -> None:
    check("regions", regions, {"sensor": sensor, "mainSensorInRegion": main, "isTriggered": triggered})
