"""What keeps the relations of one component up to date: one interface, several strategies behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

from whence.analysis.typed_rules import TypedRule
from whence.incremental.store import Store
from whence.model.types import Row
from whence.model.updates import Delta


class Maintainer(Protocol):
    """A component's relations under changes to what it reads.

    A change comes in two steps, so that a commit happens in all components or in none: `apply` works out what follows
    and may raise; then every maintainer that took part is told to `settle`, or, if any of them raised, to `undo`.
    While `apply` runs, the stores of all relations that the component reads still hold the rows from before.
    """

    has_recomputed: bool = False
    """Whether the last `apply` computed everything again, because that took less than following the change."""

    def build(self) -> Mapping[str, Delta]:
        """The component's relations from scratch, over what the stores hold now; called once, before anything else."""

    def apply(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        """What changes in the component's relations when the relations it reads change like this."""

    def settle(self) -> None:
        """The last `build` or `apply` has become part of a commit."""

    def undo(self) -> None:
        """The last `build` or `apply` has not happened, even if it raised half-way."""

    def counts(self, relation: str) -> Mapping[Row, int]:
        """The settled rows of a relation of the component, and how often each is there. Looking a row up is cheap."""


@runtime_checkable
class KeepsStore(Protocol):
    """A maintainer of one relation, which others can read where it keeps it: they need no store of their own."""

    def own_store(self) -> Store: ...


@runtime_checkable
class SavesState(Protocol):
    """A maintainer whose state can be written down as it lies in arrays, and be loaded instead of built again."""

    def saved(self) -> Mapping[str, Any] | None:
        """Everything after a commit: JSON with arrays in it, which are not copied. None where that is not possible."""

    def restore(self, saved: Mapping[str, Any]) -> bool:
        """In place of `build`, over the same input as when it was saved, by the same rules. Answers whether that was
        possible; if not, nothing has changed.
        """


@runtime_checkable
class FoldsAgain(Protocol):
    """A maintainer in columns that can compute all its rows again, over what its input will be."""

    def fold_again(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        """In place of `apply`: the difference to the rows that it took over."""


@runtime_checkable
class DerivesRows(Protocol):
    """A maintainer of one relation whose rows, or their derivations, are counted: other rules than its own can give
    them, with signs.
    """

    reads_columns: bool
    """Whether `derive` reads tables in columns, and in these what a change that is staged will make of them."""

    @property
    def is_counted(self) -> bool:
        """Whether it counts, and does not aggregate."""

    def take_over(self, former: Maintainer) -> bool:
        """Go on with the rows of another one, which had the same columns. Before anything is built only; answers
        whether that is possible.
        """

    def derive(
        self,
        rules: Iterable[TypedRule],
        stores: Mapping[str, Any],
        is_after: Callable[[str], bool],
        *,
        keeps_rows: bool,
    ) -> Mapping[str, Delta]:
        """In place of `apply`: what these rules give becomes the rows of the relation, or is added to those that are
        there. Where the reader of a store `is_after` the change, it is read as it will be.
        """
