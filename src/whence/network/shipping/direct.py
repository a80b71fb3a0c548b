"""Ship everything at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Generic, TypeVar

from whence.model.types import Row
from whence.network.outbox import Outbox
from whence.network.values import Writer

A = TypeVar("A")


class Direct(Generic[A]):
    def __init__(self, outbox: Outbox[A]) -> None:
        self._outbox = outbox

    def offer(self, relation: str, rows: Sequence[Row], annotations: Sequence[A]) -> None:
        self._outbox.derived(relation, rows, annotations)

    def settle(self) -> None:
        """Everything has been sent."""

    def retract(self, relation: str, rows: Sequence[Row], last: bool) -> None:  # noqa: ARG002 - nothing is remembered
        self._outbox.deleted(relation, rows)

    def strike(self, ids: Collection[int]) -> None:
        """What was sent is struck where it went."""

    def start_over(self, relations: Collection[str]) -> None:
        """Nothing is remembered."""

    def flush(self) -> bool:
        return False

    def write(self, writer: Writer) -> None:
        """Nothing is kept."""
