"""A rule of a view: its bindings from nothing, and how they change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from whence.engines.engine import Functions
from whence.engines.local.counting.pipeline import Pipeline, Reading
from whence.engines.local.counting.sources import Change, Finding, Matching
from whence.engines.local.counting.terms import Terms
from whence.engines.local.counting.view import Take
from whence.engines.local.store import Store
from whence.incremental.body import Body
from whence.incremental.delta import Part, delta_parts, relation_of
from whence.incremental.planner import make_plan
from whence.model.rules import Negation

# Makes the function that takes a plan's bindings.
Taker: TypeAlias = Callable[[Terms], Take]

# A plan is made for tables of certain sizes, and made again when one of them has grown or shrunk so many times over.
REPLANNED_AT = 16


class RuleDeltas:
    """A rule over stores. What becomes of the bindings is up to the view, through `taker`."""

    def __init__(
        self,
        body: Body,
        functions: Functions,
        stores: Mapping[str, Store],
        taker: Taker,
    ) -> None:
        rule = body.rule
        self._rule = rule
        self._body = body
        self._functions = functions
        self._stores = stores
        self._taker = taker
        self._reads = {number: name for number, literal in enumerate(rule.body) if (name := relation_of(literal))}
        self._atoms: dict[int, Matching] = {}
        self._negations: dict[int, tuple[Finding, ...]] = {}
        for number, name in self._reads.items():
            if isinstance(rule.body[number], Negation):
                self._negations[number] = (Change(stores[name], {}).finding_old,)
            else:
                self._atoms[number] = stores[name].matching
        self._prepared: dict[int, _Prepared] = {}

    def build(self) -> None:
        """Gives the view all bindings over what the stores hold."""
        prepared = self._prepare(None, {})
        for batch in prepared.pipeline.run(Reading(self._atoms, self._negations)):
            prepared.take(batch, self._rule.sign)

    def apply(self, changes: Mapping[str, Change]) -> None:
        """Gives the view the bindings that come and go."""
        for part in delta_parts(self._rule, changes):
            prepared = self._prepared.get(part.trigger)
            if prepared is None or prepared.is_outdated(self._sizes(changes)):
                prepared = self._prepared[part.trigger] = self._prepare(part.trigger, changes)
            sign = self._rule.sign * part.sign
            for batch in prepared.pipeline.run(self._reading(part, changes)):
                prepared.take(batch, sign)

    def _reading(self, part: Part, changes: Mapping[str, Change]) -> Reading:
        atoms, negations = dict(self._atoms), dict(self._negations)
        for number, state in part.states.items():
            change = changes[self._reads[number]]
            if number in atoms:
                atoms[number] = change.matching(state)
            else:
                negations[number] = change.finding(state)
        change = changes[self._reads[part.trigger]]
        if part.trigger in negations:
            return Reading(atoms, negations, lambda presence: presence.flipped(change, part.sign))
        atoms[part.trigger] = Store(change.changed(part.sign)).matching
        return Reading(atoms, negations)

    def _prepare(self, trigger: int | None, changes: Mapping[str, Change]) -> _Prepared:
        sizes = self._sizes(changes)
        plan = make_plan(self._body, sizes.__getitem__, trigger)
        pipeline = Pipeline(plan, self._body.relations, self._functions)
        return _Prepared(pipeline, self._taker(pipeline.terms), sizes)

    def _sizes(self, changes: Mapping[str, Change]) -> dict[str, int]:
        """How many rows each relation has, about: those that come count as well as those that go."""
        return {
            name: len(self._stores[name].counts) + (len(changes[name].delta) if name in changes else 0)
            for name in self._reads.values()
        }


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A plan ready to run, what takes its bindings, and the sizes of the relations it was made for."""

    pipeline: Pipeline
    take: Take
    sizes: Mapping[str, int]

    def is_outdated(self, sizes: Mapping[str, int]) -> bool:
        return any(
            max(size, self.sizes[name]) > REPLANNED_AT * (1 + min(size, self.sizes[name]))
            for name, size in sizes.items()
        )
