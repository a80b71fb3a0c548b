"""What can be chosen about a network: what rows know of their derivations, and how derivations are shipped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from whence.engines.local.recursive.journal import Journal
from whence.errors import UnsupportedError
from whence.network.node import Node
from whence.network.plan.selections import Best
from whence.network.provenance.annotations import Annotations
from whence.network.provenance.diagrams import Diagrams
from whence.network.provenance.none import Nothing
from whence.network.provenance.relative import Edges
from whence.network.provenance.supports import SupportSets
from whence.network.recursion.over_deleting import OverDeletingPart
from whence.network.recursion.part import RecursivePart
from whence.network.recursion.selecting import SelectingPart
from whence.network.recursion.stage import RecursiveStage
from whence.network.shipping.direct import Direct
from whence.network.shipping.eager import Eager
from whence.network.shipping.lazy import Lazy
from whence.network.shipping.selecting import Selecting
from whence.network.shipping.ship import Ship

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

    def part(self, shared: RecursiveStage, node: Node[Any], journal: Journal) -> RecursivePart[Any]:
        ship = self._ship(node, journal)
        if shared.stage.selections:
            selecting = Selecting(ship, shared.stage.selections, node.annotations, journal)
            return SelectingPart(shared, node, selecting)
        return (OverDeletingPart if self.provenance == "none" else RecursivePart)(shared, node, ship)

    def _ship(self, node: Node[Any], journal: Journal) -> Ship[Any]:
        match self.ship:
            case "direct":
                return Direct(node.outbox)
            case "eager":
                return Eager(node.annotations, node.outbox, journal, self.window)
        return Lazy(node.annotations, node.outbox, journal)
