"""A rule of a view: its bindings from nothing, and how they change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from whence.engines.engine import Functions
from whence.engines.local.counting.entering import Entered, Entering, Flipping
from whence.engines.local.counting.opening import Opening
from whence.engines.local.counting.pipeline import Pipeline, Reading
from whence.engines.local.counting.sources import Absence, ChangedSource, Source, absence_of
from whence.engines.local.counting.view import Take
from whence.engines.local.store import Readable
from whence.incremental.body import Body
from whence.incremental.delta import Part, delta_parts, relation_of
from whence.incremental.planner import make_delta_plan, make_plan
from whence.model.rules import Negation
from whence.model.updates import Delta

# Makes the function that takes a plan's bindings.
Taker: TypeAlias = Callable[[Opening], Take]

# A plan is made for tables of certain sizes, and made again when one of them has grown or shrunk so many times over.
REPLANNED_AT = 16


class RuleDeltas:
    """A rule over stores. What becomes of the bindings is up to the view, through `taker`."""

    def __init__(self, body: Body, functions: Functions, stores: Mapping[str, Readable], taker: Taker) -> None:
        rule = body.rule
        self._rule = rule
        self._body = body
        self._functions = functions
        self._stores = stores
        self._taker = taker
        self._reads = {number: name for number, literal in enumerate(rule.body) if (name := relation_of(literal))}
        atoms: dict[int, Source] = {}
        negations: dict[int, Absence] = {}
        for number, name in self._reads.items():
            if isinstance(rule.body[number], Negation):
                negations[number] = absence_of(stores[name])
            else:
                atoms[number] = Source(stores[name])
        # Everything as it is stored.
        self._reading = Reading(atoms, negations)
        self._prepared: dict[int, _Prepared] = {}

    def build(self) -> None:
        """Gives the view all bindings over what the stores hold."""
        plan = make_plan(self._body, self._sizes({}).__getitem__)
        pipeline = Pipeline(plan, self._body.relations, self._functions)
        take = self._taker(Opening(pipeline.terms))
        for batch in pipeline.run(self._reading):
            take(batch)

    def apply(self, deltas: Mapping[str, Delta]) -> None:
        """Gives the view the bindings that come and go."""
        touched = [number for number, name in self._reads.items() if name in deltas]
        if not touched:
            return
        sizes = self._sizes(deltas)
        entered: dict[int, Entered] = {}
        for number in touched:
            prepared = self._prepared.get(number)
            if prepared is None or prepared.is_outdated(sizes):
                prepared = self._prepared[number] = self._prepare(number, sizes)
            name = self._reads[number]
            found = prepared.trigger.enter(deltas[name], self._stores[name])
            if found is not None:
                entered[number] = found
        for part in delta_parts(list(entered)):
            prepared = self._prepared[part.trigger]
            start = entered[part.trigger].start(several=len(entered) > 1)
            for batch in prepared.pipeline.run(self._beside(part, entered), start, prepared.trigger.steps):
                prepared.take(batch)

    def _beside(self, part: Part, entered: Mapping[int, Entered]) -> Reading:
        """What the other literals read."""
        if not part.states:
            return self._reading
        atoms, negations = dict(self._reading.atoms), dict(self._reading.negations)
        for number, state in part.states.items():
            change = entered[number].change
            if number in atoms:
                atoms[number] = ChangedSource(change, state)
            else:
                negations[number] = change.finding(state)
        return Reading(atoms, negations)

    def _prepare(self, number: int, sizes: Mapping[str, int]) -> _Prepared:
        plan = make_delta_plan(self._body, sizes.__getitem__, number)
        pipeline = Pipeline(plan, self._body.relations, self._functions)
        relation = self._body.relations[self._reads[number]]
        trigger: Entering | Flipping
        if number in self._reading.atoms:
            trigger = Entering(plan, pipeline.terms, self._rule, relation)
        else:
            trigger = Flipping(plan, pipeline.terms, relation)
        return _Prepared(pipeline, trigger, self._taker(trigger.opening), sizes)

    def _sizes(self, deltas: Mapping[str, Delta]) -> dict[str, int]:
        """How many rows each relation has, about: those that come count as well as those that go."""
        return {name: len(self._stores[name].counts) + len(deltas.get(name, ())) for name in self._reads.values()}


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A plan ready to run, how a change gets into it, what takes its bindings, and the sizes of the relations that it
    was made for.
    """

    pipeline: Pipeline
    trigger: Entering | Flipping
    take: Take
    sizes: Mapping[str, int]

    def is_outdated(self, sizes: Mapping[str, int]) -> bool:
        for name, size in sizes.items():
            known = self.sizes[name]
            if size > REPLANNED_AT * (1 + known) or known > REPLANNED_AT * (1 + size):
                return True
        return False
