"""Aggregate selection in the ship operator: only the best rows of a group go out, and others when they are gone."""

from __future__ import annotations

from collections.abc import Sequence

from whence.algebra.provenance import Antichain
from whence.incremental.recursive.journal import UndoLog
from whence.lab.network.plan.placements import Selection
from whence.lab.network.provenance.absorption import SupportSets
from whence.lab.network.recursion.selection import SelectingShip
from whence.lab.network.recursion.ship import Ship
from whence.model.types import INT, Row

CHEAPEST = Selection("path", (0,), ((1, INT, False),))
CHEAPEST_OR_SHORTEST = Selection("path", (0,), ((1, INT, False), (2, INT, False)))
SETS = SupportSets()


class Recorder(Ship[Antichain[int]]):
    """A ship operator that remembers what it was offered."""

    def __init__(self) -> None:
        self.offered: list[tuple[Row, Antichain[int]]] = []

    def offer(self, relation: str, rows: Sequence[Row], annotations: Sequence[Antichain[int]]) -> None:
        self.offered += zip(rows, annotations, strict=True)

    def retract(self, relation: str, rows: Sequence[Row], last: bool) -> None: ...

    def rows(self) -> list[Row]:
        rows = [row for row, _ in self.offered]
        self.offered.clear()
        return rows


def path(cost: int, hops: int = 1) -> Row:
    return "x", cost, hops


def selecting(selection: Selection = CHEAPEST) -> tuple[SelectingShip[Antichain[int]], Recorder, UndoLog]:
    recorder, journal = Recorder(), UndoLog()
    return SelectingShip(recorder, [selection], SETS, journal), recorder, journal


def test_of_what_comes_together_only_the_best_goes_out() -> None:
    ship, recorder, _ = selecting()
    for cost in (7, 3, 5):
        ship.offer("path", [path(cost)], [SETS.leaf(cost)])
    assert recorder.rows() == []
    ship.settle()
    assert recorder.rows() == [("x", 3, 1)]
    ship.offer("path", [path(2)], [SETS.leaf(2)])
    ship.offer("path", [path(4)], [SETS.leaf(4)])
    ship.settle()
    assert recorder.rows() == [("x", 2, 1)]


def test_several_aggregates_let_the_best_of_each_out() -> None:
    ship, recorder, _ = selecting(CHEAPEST_OR_SHORTEST)
    for cost, hops in ((7, 1), (3, 3), (5, 2), (3, 4)):
        ship.offer("path", [path(cost, hops)], [SETS.leaf(cost)])
    ship.settle()
    assert sorted(recorder.rows(), key=repr) == [("x", 3, 3), ("x", 3, 4), ("x", 7, 1)]


def test_what_was_withheld_goes_out_when_better_rows_are_gone() -> None:
    ship, recorder, _ = selecting()
    ship.offer("path", [path(3)], [SETS.leaf(3)])
    ship.offer("path", [path(5)], [SETS.leaf(5)])
    ship.offer("path", [path(5)], [SETS.leaf(55)])
    ship.settle()
    assert recorder.rows() == [("x", 3, 1)]
    ship.strike([3])
    ship.settle()
    assert recorder.offered == [(path(5), SETS.plus(SETS.leaf(5), SETS.leaf(55)))]


def test_more_derivations_of_a_row_follow_it_only_if_it_is_best() -> None:
    ship, recorder, _ = selecting()
    ship.offer("path", [path(3)], [SETS.leaf(3)])
    ship.offer("path", [path(5)], [SETS.leaf(5)])
    ship.settle()
    recorder.rows()
    ship.offer("path", [path(5)], [SETS.leaf(6)])
    ship.offer("path", [path(3)], [SETS.leaf(4)])
    ship.offer("path", [path(3)], [SETS.leaf(4)])
    assert recorder.offered == [(path(3), SETS.leaf(4))]


def test_a_change_that_is_taken_back_leaves_the_best_as_they_were() -> None:
    ship, recorder, journal = selecting()
    ship.offer("path", [path(3)], [SETS.leaf(3)])
    ship.offer("path", [path(5)], [SETS.leaf(5)])
    ship.settle()
    journal.settle()
    recorder.rows()
    ship.strike([3])
    ship.offer("path", [path(1)], [SETS.leaf(1)])
    journal.undo()
    ship.settle()
    assert recorder.rows() == []
    ship.strike([3])
    ship.settle()
    assert recorder.rows() == [("x", 5, 1)]


def test_other_relations_go_out_as_they_come() -> None:
    ship, recorder, _ = selecting()
    ship.offer("link", [("x", 9, 9)], [SETS.leaf(1)])
    assert recorder.rows() == [("x", 9, 9)]
