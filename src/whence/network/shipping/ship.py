"""What every ship operator does."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol, TypeVar

from whence.model.types import Row
from whence.network.values import Writer

A_contra = TypeVar("A_contra", contravariant=True)


class Ship(Protocol[A_contra]):
    """Relations go by the name that they have where rows are sent, which leads to the node that a row is sent to."""

    def offer(self, relation: str, rows: Sequence[Row], annotations: Sequence[A_contra]) -> None:
        """There are new derivations of rows."""

    def settle(self) -> None:
        """All that a round of work brings has been offered."""

    def retract(self, relation: str, rows: Sequence[Row], last: bool) -> None:
        """A derivation of rows is gone, perhaps the last one; for annotations that do not say which."""

    def strike(self, ids: Collection[int]) -> None:
        """These leaves are gone. Everyone is told, so only what replaces them is to be sent."""

    def start_over(self, relations: Collection[str]) -> None:
        """Rows of these relations may be gone where they were sent, and have to be sent again."""

    def flush(self) -> bool:
        """Nothing more is coming: send what should not wait any longer, and tell whether there was any."""

    def write(self, writer: Writer) -> None:
        """All that is kept, to see how much it is."""
