"""What is measured of a network."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from whence.model.types import Row
from whence.network import Network
from whence.network.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Measure:
    """The four quantities of the papers: of an annotation in bytes, of all messages and all state in megabytes, and the
    time until the network is quiet, in seconds.
    """

    provenance: float
    communication: float
    state: float
    seconds: float


MEASURES = {
    "provenance": "provenance per tuple (B)",
    "communication": "communication (MB)",
    "state": "state (MB)",
    "seconds": "time (s)",
}
MEGABYTE = 1e6


def inserted(network: Network, relation: str, rows: Iterable[Row]) -> Measure:
    """All rows at once."""
    started = time.perf_counter()
    traffic = network.insert(relation, list(rows))
    return measured(network, traffic, time.perf_counter() - started)


def deleted(network: Network, relation: str, rows: Iterable[Row]) -> Measure:
    """One row after the other."""
    started = time.perf_counter()
    traffic = Traffic()
    for row in rows:
        traffic += network.delete(relation, [row])
    return measured(network, traffic, time.perf_counter() - started)


def measured(network: Network, traffic: Traffic, seconds: float) -> Measure:
    state = sum(network.state_bytes().values())
    return Measure(network.provenance_bytes(), traffic.bytes / MEGABYTE, state / MEGABYTE, seconds)
