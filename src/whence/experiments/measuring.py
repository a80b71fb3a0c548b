"""What is measured of a network."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from whence.model.types import Row
from whence.network import Network
from whence.network.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Measure:
    """The four quantities of the papers: bytes of an annotation, and per node that runs the query the megabytes it
    sent, those it holds, and the seconds it worked.
    """

    provenance: float
    communication: float
    state: float
    seconds: float


MEASURES = {
    "provenance": "provenance per tuple (B)",
    "communication": "communication per node (MB)",
    "state": "state per node (MB)",
    "seconds": "time per node (s)",
}
MEGABYTE = 1e6


def parts(rows: Sequence[Row], shares: Iterable[float]) -> Iterator[tuple[float, Sequence[Row]]]:
    """The rows in parts, each of which ends at one of these shares of all; no part is empty."""
    done = 0
    for share in shares:
        end = max(done + 1, round(share * len(rows)))
        yield share, rows[done:end]
        done = end


class Meter:
    """Adds up what changes cost. Time is that of the processor: the machine may have other things to do."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._traffic = Traffic()
        self._seconds = 0.0

    def insert(self, relation: str, rows: Iterable[Row]) -> None:
        """All rows at once."""
        started = time.process_time()
        self._traffic += self._network.insert(relation, list(rows))
        self._seconds += time.process_time() - started

    def delete(self, relation: str, rows: Iterable[Row]) -> None:
        """One row after the other."""
        started = time.process_time()
        for row in rows:
            self._traffic += self._network.delete(relation, [row])
        self._seconds += time.process_time() - started

    def measure(self) -> Measure:
        states = self._network.state_bytes()
        nodes = len(states)
        return Measure(
            self._network.provenance_bytes(),
            self._traffic.bytes / nodes / MEGABYTE,
            sum(states.values()) / nodes / MEGABYTE,
            self._seconds / nodes,
        )
