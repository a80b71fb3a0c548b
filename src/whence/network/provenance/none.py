"""No provenance: a row is there. Deletes have to find out what follows from it (see `recursion.over_deleting`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from whence.network.provenance.annotations import Tuple
from whence.network.values import DamagedError


class Nothing:
    def leaf(self, tuple_id: int) -> bool:  # noqa: ARG002 - all leaves say the same
        return True

    def derived(self, head: Tuple, rule: int, body: Sequence[bool]) -> bool:  # noqa: ARG002 - all derivations, too
        return True

    def plus(self, left: bool, right: bool) -> bool:
        return left or right

    def without(self, annotations: Sequence[bool], ids: Collection[int]) -> list[bool]:  # noqa: ARG002 - no leaves
        return list(annotations)

    def is_zero(self, annotation: bool) -> bool:
        return not annotation

    def leaves(self, annotation: bool, known: bool | None) -> Iterable[int]:  # noqa: ARG002 - none
        return ()

    def write(self, annotations: Sequence[bool]) -> bytes:  # noqa: ARG002 - nothing to write
        return b""

    def read(self, data: bytes, count: int) -> list[bool]:
        if data:
            raise DamagedError("annotations where there should be none")
        return [True] * count

    def arrange(self, order: Sequence[int]) -> None:
        """There is nothing to arrange."""
