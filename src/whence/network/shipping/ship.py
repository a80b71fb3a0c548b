"""What every ship operator does."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol, TypeAlias, TypeVar

from whence.model.types import Row
from whence.network.values import Writer

A_contra = TypeVar("A_contra", contravariant=True)

# A node, a relation as it is held there, and a row.
Target: TypeAlias = tuple[int, str, Row]


class Ship(Protocol[A_contra]):
    def offer(self, target: Target, annotation: A_contra) -> None:
        """There are new derivations of a row."""

    def settle(self) -> None:
        """All that a round of work brings has been offered."""

    def retract(self, target: Target, last: bool) -> None:
        """A derivation of a row is gone, perhaps the last one; for annotations that do not say which."""

    def strike(self, ids: Collection[int]) -> None:
        """These leaves are gone. Everyone is told, so only what replaces them is to be sent."""

    def start_over(self, relations: Collection[str]) -> None:
        """Rows of these relations may be gone where they were sent, and have to be sent again."""

    def flush(self) -> bool:
        """Nothing more is coming: send what should not wait any longer, and tell whether there was any."""

    def write(self, writer: Writer) -> None:
        """All that is kept, to see how much it is."""
