"""What a view makes of its rules' bindings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from whence.engines.local.counting.bundles import Batch
from whence.engines.local.counting.opening import Opening
from whence.model.types import Row
from whence.model.updates import Delta

# Takes a batch of bindings.
Take: TypeAlias = Callable[[Batch], None]


class View(Protocol):
    """The state of one relation. Nothing that happens between `begin` and `settle` counts if `undo` comes instead."""

    def taker(self, rule: int, opening: Opening) -> Take:
        """What takes the bindings of a plan for the rule of that number, which are read like this."""

    def begin(self) -> None:
        """From now on bindings are taken."""

    def change(self) -> Delta:
        """What the bindings taken since `begin` change in the view."""

    def settle(self) -> None: ...

    def undo(self) -> None: ...

    def counts(self) -> Mapping[Row, int]:
        """The settled rows."""
