"""Changed rows that join alike go through a plan as one.

An update is a row that goes and a row that comes, and mostly both join with the same rows. So do the items of one
order. Changed rows that agree in everything that the later steps of a plan read are put into a bundle. One binding
takes it along in its first slot, and has their common values in the others. Where they differ, as items do in their
price, only the head looks, and for that the bundle is opened in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any, TypeAlias

from whence.model.types import Row

# The slots of a plan, in the first of which there may be a bundle.
Binding: TypeAlias = tuple[Any, ...]
Batch: TypeAlias = list[Binding]
# Bindings in a batch, about: enough to make the steps between them cheap, few enough to stay small.
FULL = 10_000


class Bundle(list[Row]):
    """Entries, of which the first so many are of rows that go, and the others of rows that come.

    An entry is a row of a relation. In a bag it goes on with how often the row comes, less than 0 if it goes. Then
    follows what the plan has computed from the row alone.
    """

    __slots__ = ("going",)
    going: int

    def weights(self, place: int | None) -> list[int]:
        """How often each entry's row comes: for the rows of a bag, the entries tell that at this place."""
        if place is None:
            return [-1] * self.going + [1] * (len(self) - self.going)
        weight_of: Callable[[Row], Any] = itemgetter(place)
        return list(map(weight_of, self))


def bundle(entries: Iterable[Row], going: int) -> Bundle:
    made = Bundle(entries)
    made.going = going
    return made


def split(binding: Binding) -> tuple[Binding | None, Binding | None]:
    """The same binding for the rows that go alone, and for those that come."""
    entries, *values = binding
    going = entries.going
    return (
        (bundle(entries[:going], going), *values) if going else None,
        (bundle(entries[going:], 0), *values) if going < len(entries) else None,
    )
