"""What all nodes share of a recursive view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from whence.analysis.components import Component
from whence.engines.local.recursive.endless import Brake
from whence.engines.reference.fixpoint import Limits
from whence.model.schema import Relation
from whence.network.plan.placements import Column, LocalProgram, Stage


class RecursiveStage:
    """`copies` has the placed names, with their columns, under which the rules read a relation of the view itself."""

    def __init__(self, stage: Stage, plan: LocalProgram, limits: Limits) -> None:
        self.stage = stage
        self.relations: Mapping[str, Relation] = plan.relations
        self.component = Component(
            stage.relations, stage.rules, recursive=True, linear=False, monotone=True, aggregated=frozenset()
        )
        selected = frozenset(each.relation for each in stage.selections)
        self.brake = Brake(replace(self.component, aggregated=selected), limits)
        read = {literal.relation for rule in stage.rules for literal in rule.body if hasattr(literal, "relation")}
        self.copies: dict[str, dict[str, Column]] = {
            name: {copy: at for copy, at in plan.placements.copies.get(name, {}).items() if copy in read}
            for name in stage.relations
        }

    @property
    def hops(self) -> int:
        """How many messages it can take, one after the other, to use one rule once."""
        between = len(self.stage.relations) - len({name.partition("$join")[0] for name in self.stage.relations})
        return 2 * (1 + between)

    @property
    def own_copies(self) -> list[str]:
        return [copy for copies in self.copies.values() for copy in copies]
