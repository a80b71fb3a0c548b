"""What a site knows: causal lengths of base rows, and derivations of rows of views; all of it only ever grows.

Every piece of knowledge has a number from a counter of this site, given when it last changed. A neighbour that has
all up to a number asks for what came since, and what changed twice is sent once. So there is no queue for a
neighbour, however long it stays away.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from whence.algebra.causal import is_present
from whence.replica.presence import Derivation
from whence.replica.rows import Id, id_of

# A version vector: which updates of each site are known. An update is known with all that came before it.
Vector: TypeAlias = dict[str, int]
# By space.
Vectors: TypeAlias = dict[str, Vector]


class Dot(NamedTuple):
    """An update: its number among those of a site."""

    number: int
    site: str


# For each column, the update that gave it its value.
Stamps: TypeAlias = tuple[Dot, ...]


class Length(NamedTuple):
    """How often a row came and went, and the last update that is known of it; with a key, also that of each column."""

    space: str
    text: str
    length: int
    update: int
    site: str
    stamps: Stamps | None = None

    @property
    def dot(self) -> Dot:
        return Dot(self.update, self.site)

    @property
    def id(self) -> Id:
        return id_of(self.space, self.text)

    @property
    def is_present(self) -> bool:
        return is_present(self.length)


class Told(NamedTuple):
    """A derivation with the space and the text of its head.

    `number` grows whenever the site that the space belongs to tells it again, because it holds again: others may have
    collected it meanwhile.
    """

    space: str
    text: str
    number: int
    needs: tuple[Id, ...]
    without: tuple[Id, ...] = ()

    @property
    def derivation(self) -> Derivation:
        return Derivation(id_of(self.space, self.text), self.needs, self.without)


Item: TypeAlias = Length | Told
Key: TypeAlias = Id | Derivation


class Reader(Protocol):
    """Keeps something of what is known."""

    def forget(self, keys: Iterable[Key]) -> None:
        """These are about to be forgotten."""


class Knowledge:
    def __init__(self) -> None:
        self.readers: list[Reader] = []
        self.lengths: dict[Id, Length] = {}
        self.told: dict[Derivation, Told] = {}
        # When each piece last changed, in this order; and which neighbour it came from, unless it is of this site.
        self.numbers: dict[Key, int] = {}
        self.via: dict[Key, str] = {}
        self.number = 0
        # What had changed up to this number when somebody last asked.
        self.asked = 0
        # The spaces whose derivations mention a base row.
        self.mentioning: dict[Id, tuple[str, ...]] = {}

    def learn_length(self, node: Id, length: Length, via: str = "") -> Length | None:
        """Take a length in, unless it is known; returns the one that was known before."""
        known = self.lengths.get(node)
        # Equal changes of two sites are one change. All sites remember the same of the two.
        if known is None or (length.length, length.dot) > (known.length, known.dot):
            self.lengths[node] = length
            self.place(node, via)
        return known

    def learn_lengths(self, ids: Sequence[Id], lengths: Iterable[Length]) -> None:
        """Those of rows of which nothing was known."""
        self.lengths.update(zip(ids, lengths, strict=True))
        self._place_new(ids)

    def learn_derivations(self, found: Mapping[Derivation, Told], space: str) -> None:
        """Derivations of rows of one space, all of them new."""
        self.told.update(found)
        self._place_new(found)
        nodes = {node for told in found.values() for node in (*told.needs, *told.without)}
        new = nodes - self.mentioning.keys()
        self.mentioning.update(dict.fromkeys(new, (space,)))
        for node in new:
            self._tell_again(node)
        for node in nodes - new:
            self._mention(node, space)

    def learn_derivation(self, derivation: Derivation, told: Told, via: str = "") -> bool | None:
        """Take a derivation in: True if it is new, None if it was told again, False if that is known, too."""
        known = self.told.get(derivation)
        if known is not None and told.number <= known.number:
            return False
        self.told[derivation] = told
        if known is None:
            self._mention_all(derivation, told.space)
        self.place(derivation, via)
        return True if known is None else None

    def restore(self, key: Key, item: Item, number: int, via: str) -> None:
        """As it was written down, in the order of the numbers."""
        if isinstance(item, Length):
            assert isinstance(key, bytes)
            self.lengths[key] = item
        else:
            assert not isinstance(key, bytes)
            self.told[key] = item
            self._mention_all(key, item.space)
        self.numbers[key] = number
        if via:
            self.via[key] = via
        self.number = self.asked = max(self.number, number)

    def forget(self, keys: Sequence[Key]) -> None:
        for reader in self.readers:
            reader.forget(keys)
        for key in keys:
            del self.numbers[key]
            self.via.pop(key, None)
            if isinstance(key, bytes):
                del self.lengths[key]
                self.mentioning.pop(key, None)
            else:
                del self.told[key]

    def since(self, number: int) -> Iterator[tuple[Key, int]]:
        """What changed after a number, newest first."""
        self.asked = self.number
        for key, at in reversed(self.numbers.items()):
            if at <= number:
                return
            yield key, at

    def item(self, key: Key) -> Item:
        return self.lengths[key] if isinstance(key, bytes) else self.told[key]

    def concerns(self, key: Key, tables: Container[str], spaces: Container[str]) -> bool:
        """Whether somebody needs to know it who has all rows of these tables, and follows views of these spaces."""
        if isinstance(key, bytes):
            return self.lengths[key].space in tables or any(space in spaces for space in self.mentioning.get(key, ()))
        return self.told[key].space in spaces

    def touch(self, spaces: Container[str]) -> None:
        """Give new numbers to what concerns these spaces: somebody has to hear of it again."""
        for key in [key for key in self.numbers if self.concerns(key, spaces, spaces)]:
            self.place(key, "")

    def _mention_all(self, derivation: Derivation, space: str) -> None:
        for node in (*derivation.needs, *derivation.without):
            self._mention(node, space)

    def _mention(self, node: Id, space: str) -> None:
        spaces = self.mentioning.get(node, ())
        if space not in spaces:
            self.mentioning[node] = (*spaces, space)
            self._tell_again(node)

    def _tell_again(self, node: Id) -> None:
        """Whoever follows a space that mentions it now has to hear of it, unless nobody has asked since it is known."""
        number = self.numbers.get(node)
        if number is not None and number <= self.asked:
            self.place(node)

    def _place_new(self, keys: Collection[Key]) -> None:
        """They came now, and are in no place yet."""
        first = self.number + 1
        self.number += len(keys)
        self.numbers.update(zip(keys, range(first, self.number + 1), strict=True))

    def place(self, key: Key, via: str = "") -> None:
        """It changed now."""
        self.numbers.pop(key, None)
        self.number += 1
        self.numbers[key] = self.number
        if via:
            self.via[key] = via
        else:
            self.via.pop(key, None)


def covers(vector: Mapping[str, int] | None, dot: Dot) -> bool:
    return vector is not None and vector.get(dot.site, 0) >= dot.number


def raise_to(vector: Vector, other: Mapping[str, int]) -> None:
    """Everything that the other one knows is known, in place."""
    for site, number in other.items():
        if vector.get(site, 0) < number:
            vector[site] = number
