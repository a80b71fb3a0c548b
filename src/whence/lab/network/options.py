"""How a network maintains its views: what can be chosen, and the parts that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from whence.errors import UnsupportedError
from whence.incremental.recursive.journal import UndoLog
from whence.lab.network.node import Node
from whence.lab.network.plan.placements import Best
from whence.lab.network.provenance.absorption import Diagrams, SupportSets
from whence.lab.network.provenance.annotations import Annotations, Nothing
from whence.lab.network.provenance.relative import Edges
from whence.lab.network.recursion.over_delete import OverDeletingPart
from whence.lab.network.recursion.part import RecursivePart, RecursiveStage
from whence.lab.network.recursion.selection import SelectingPart, SelectingShip
from whence.lab.network.recursion.ship import Direct, Eager, Lazy, Ship

PROVENANCE = ("none", "relative", "absorption")
FORMS = ("diagrams", "supports")
SHIP = ("direct", "eager", "lazy")
ORDERS = ("arrival", "depth-first")


@dataclass(frozen=True, slots=True)
class Options:
    nodes: int | None = None
    provenance: str = "absorption"
    ship: str = "lazy"
    form: str = "diagrams"
    order: str = "arrival"
    window: int = 100
    partition: Mapping[str, str] = field(default_factory=dict)
    best: Mapping[str, Best] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for given, known, what in (
            (self.provenance, PROVENANCE, "provenance"),
            (self.ship, SHIP, "ship operator"),
            (self.form, FORMS, "form of absorption provenance"),
            (self.order, ORDERS, "order of leaves"),
        ):
            if given not in known:
                listed = ", ".join(f'"{each}"' for each in known)
                raise UnsupportedError(f"there is no {what} {given!r}", hint=f"there is {listed}")
        if self.window < 1:
            raise UnsupportedError(f"a window is a number of rows, not {self.window!r}")

        if self.best and not self.selects:
            raise UnsupportedError(
                "rows without provenance cannot be selected", hint='take provenance="relative" or "absorption"'
            )

    @property
    def selects(self) -> bool:
        """Whether rows that matter can be told from others: only if those can come back when better ones are gone."""
        return self.provenance != "none"

    @property
    def phases(self) -> int:
        """How often the network must be quiet before a recursive view has followed a change."""
        return 2 if self.provenance == "none" else 1

    def annotations(self) -> Annotations[Any]:
        if self.provenance == "none":
            return Nothing()
        if self.provenance == "relative":
            return Edges()
        return Diagrams() if self.form == "diagrams" else SupportSets()

    def part(self, shared: RecursiveStage, node: Node[Any], journal: UndoLog) -> RecursivePart[Any]:
        ship = self._ship(node, journal)
        if shared.stage.selections:
            selecting = SelectingShip(ship, shared.stage.selections, node.annotations, journal)
            return SelectingPart(shared, node, selecting)
        return (OverDeletingPart if self.provenance == "none" else RecursivePart)(shared, node, ship)

    def _ship(self, node: Node[Any], journal: UndoLog) -> Ship[Any]:
        match self.ship:
            case "direct":
                return Direct(node.outbox)
            case "eager":
                return Eager(node.annotations, node.outbox, journal, self.window)
        return Lazy(node.annotations, node.outbox, journal)
