"""Diagrams of a node against sets of supports: whatever is done to both, they say the same."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.algebra.provenance import Antichain, minimal
from whence.incremental.recursive.journal import UndoLog
from whence.lab.network.diagrams import shared
from whence.lab.network.diagrams.held import HeldDiagrams
from whence.lab.network.provenance.absorption import Diagrams, SupportSets
from whence.lab.network.provenance.annotations import MORE, NEW, SAME
from whence.lab.network.values import DamagedError, ValueReader

LEAVES = st.integers(1, 9)
SUPPORTS = st.sets(st.frozensets(LEAVES, min_size=1, max_size=4), min_size=1, max_size=4).map(minimal)
ENTRIES = st.lists(st.tuples(st.integers(0, 5), SUPPORTS), max_size=12)
SETS = SupportSets()


def diagram(diagrams: Diagrams, supports: Antichain[int]) -> int:
    """The same as a diagram."""
    total = 0
    for support in supports:
        total = diagrams.plus(total, diagrams.derived("r", [()], 0, [[diagrams.leaf(each)] for each in support])[0])
    return total


def spelled_out(diagrams: Diagrams, annotations: Sequence[int]) -> list[Antichain[int]]:
    """The minimal supports, from the bytes of a message as the documentation has them."""
    reader = ValueReader(diagrams.write(annotations))
    ids = [reader.varint() for _ in range(reader.count())]
    supports: list[Antichain[int]] = [frozenset(), frozenset({frozenset()})]
    for _ in range(reader.count()):
        leaf, high, low = reader.varint(), reader.varint(), reader.varint()
        supports.append(minimal({*supports[low], *(each | {ids[leaf]} for each in supports[high])}))
    return [supports[reader.varint()] for _ in annotations]


class Twins:
    """A table of diagrams and one of sets, to which the same happens."""

    def __init__(self) -> None:
        self.diagrams = Diagrams()
        self.journals = UndoLog(), UndoLog()
        self.table, self.sets = self.diagrams.table(self.journals[0]), SETS.table(self.journals[1])

    def add(self, entries: Sequence[tuple[int, Antichain[int]]], *, keeps_first: bool = False) -> None:
        rows = [row for row, _ in entries]
        supports = [each for _, each in entries]
        given = [diagram(self.diagrams, each) for each in supports]
        effects = self.table.add(rows, given, keeps_first=keeps_first)
        assert effects == self.sets.add(rows, supports, keeps_first=keeps_first)

    def strike(self, ids: set[int]) -> None:
        assert sorted(self.table.strike(ids)) == sorted(self.sets.strike(ids))

    def settle(self) -> None:
        for journal in self.journals:
            journal.settle()
        self.diagrams.settle()

    def undo(self) -> None:
        for journal in self.journals:
            journal.undo()
        self.diagrams.settle()

    def check(self) -> None:
        rows = self.table.rows()
        assert sorted(rows) == sorted(self.sets.rows())
        assert spelled_out(self.diagrams, self.table.of(rows)) == self.sets.of(rows)


@given(ENTRIES, ENTRIES, st.sets(LEAVES, max_size=3), st.sets(LEAVES, max_size=3), st.booleans())
def test_tables_say_the_same(
    first: list[tuple[int, Antichain[int]]],
    then: list[tuple[int, Antichain[int]]],
    gone: set[int],
    later: set[int],
    keeps_first: bool,
) -> None:
    twins = Twins()
    twins.add(first)
    twins.check()
    twins.strike(gone)
    twins.check()
    twins.settle()
    twins.add(then, keeps_first=keeps_first)
    twins.check()
    twins.strike(later)
    twins.check()


@given(ENTRIES, ENTRIES, st.sets(LEAVES, max_size=3), st.permutations(range(1, 10)))
def test_what_is_taken_back_has_not_happened_whatever_moved_meanwhile(
    first: list[tuple[int, Antichain[int]]], then: list[tuple[int, Antichain[int]]], gone: set[int], order: list[int]
) -> None:
    twins = Twins()
    twins.add(first)
    twins.settle()
    twins.strike(gone)
    twins.add(then)
    twins.diagrams.arrange(order)
    twins.check()
    twins.undo()
    twins.check()
    twins.strike(gone)
    twins.check()


@given(st.lists(SUPPORTS, max_size=6), st.permutations(range(1, 10)), st.sets(LEAVES, max_size=3))
def test_a_reader_with_another_order_reads_the_same(
    batch: list[Antichain[int]], order: list[int], gone: set[int]
) -> None:
    sender, receiver = Diagrams(), Diagrams()
    receiver.arrange(order)
    data = sender.write([diagram(sender, each) for each in batch])
    received = receiver.read(data, len(batch))
    assert spelled_out(receiver, received) == batch
    assert spelled_out(receiver, receiver.without(received, gone)) == SETS.without(batch, gone)


@given(st.lists(SUPPORTS, min_size=1, max_size=4), st.data())
def test_damaged_diagrams_are_refused_or_read_but_never_break(batch: list[Antichain[int]], data: st.DataObject) -> None:
    diagrams = Diagrams()
    whole = bytearray(diagrams.write([diagram(diagrams, each) for each in batch]))
    whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        read = diagrams.read(bytes(whole), len(batch))
    except DamagedError:
        return
    assert len(read) == len(batch)


def test_what_is_added_is_the_first_or_more_or_nothing_new() -> None:
    diagrams = Diagrams()
    table = diagrams.table(UndoLog())
    one, two = diagrams.leaf(1), diagrams.leaf(2)
    both = diagrams.derived("r", [()], 0, [[one], [two]])[0]
    assert table.add([0, 0, 0, 1], [one, both, two, both]) == [NEW, SAME, MORE, NEW]
    assert table.of([0, 1]) == [diagrams.plus(one, two), both]


def test_room_is_made_for_whatever_comes() -> None:
    chance = Random(1)
    twins = Twins()
    for _ in range(8):
        supports = [frozenset(chance.sample(range(150), 3)) for _ in range(60)]
        twins.add([(chance.randrange(200), frozenset({each})) for each in supports])
    twins.check()
    twins.settle()
    twins.strike(set(range(0, 150, 7)))
    twins.check()
    twins.undo()
    twins.check()


def test_branches_that_nothing_uses_are_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "BRANCHES_TO_SPARE", 100)
    diagrams = shared.SharedDiagrams()
    table = HeldDiagrams(diagrams, UndoLog())
    kept = diagrams.leaf(0)
    table.add([7], [kept])
    for leaf in range(1, 1000):
        table.add([0], [diagrams.leaf(leaf)])
        assert table.strike([leaf]) == [0]
        table.settle()
        diagrams.tidy()
    assert table.of(table.rows()) == [diagrams.leaf(0)]
    assert len(diagrams.branches.rows) <= 1 << 9
    assert len(diagrams.branches.tops) <= 1 << 9
