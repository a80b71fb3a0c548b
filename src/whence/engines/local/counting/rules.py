"""A rule of a view: its bindings from nothing, and how they change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from whence.engines.engine import Functions
from whence.engines.local.counting.entering import Entering, Entrant
from whence.engines.local.counting.pipeline import Batch, Pipeline, Reading
from whence.engines.local.counting.sources import Change, Finding, Source, source_of
from whence.engines.local.counting.terms import Terms
from whence.engines.local.counting.view import Take
from whence.engines.local.store import Readable
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
        stores: Mapping[str, Readable],
        taker: Taker,
    ) -> None:
        rule = body.rule
        self._rule = rule
        self._body = body
        self._functions = functions
        self._stores = stores
        self._taker = taker
        self._reads = {number: name for number, literal in enumerate(rule.body) if (name := relation_of(literal))}
        self._atoms: dict[int, Source] = {}
        self._negations: dict[int, tuple[Finding, ...]] = {}
        for number, name in self._reads.items():
            if isinstance(rule.body[number], Negation):
                self._negations[number] = (Change(stores[name], {}).finding_old,)
            else:
                self._atoms[number] = source_of(stores[name])
        self._prepared: dict[int, _Prepared] = {}

    def build(self) -> None:
        """Gives the view all bindings over what the stores hold."""
        prepared = self._prepare(None, self._sizes({}))
        for batch in prepared.pipeline.run(Reading(self._atoms, self._negations)):
            prepared.take(batch, self._rule.sign)

    def apply(self, changes: Mapping[str, Change]) -> None:
        """Gives the view the bindings that come and go."""
        touched = [number for number, name in self._reads.items() if name in changes]
        if not touched:
            return
        sizes = self._sizes(changes)
        for number in touched:
            prepared = self._prepared.get(number)
            if prepared is None or prepared.is_outdated(sizes):
                self._prepared[number] = self._prepare(number, sizes)
        entrants = self._enter(touched, changes)
        of_literal: dict[int, Change] = {}
        for number in touched:
            if number in self._negations:
                of_literal[number] = changes[self._reads[number]]
            elif entrants[number]:
                of_literal[number] = self._change(number, entrants[number])
        for part in delta_parts(list(of_literal)):
            prepared = self._prepared[part.trigger]
            sign = self._rule.sign * part.sign
            for batch in self._run(part, of_literal, entrants):
                prepared.take(batch, sign)

    def _enter(self, touched: Iterable[int], changes: Mapping[str, Change]) -> dict[int, list[Entrant]]:
        """For the atoms among the literals, what makes a difference of the change to their relations."""
        entrants = {}
        for number in touched:
            entering = self._prepared[number].entering
            if entering is not None:
                entrants[number] = entering.enter(changes[self._reads[number]].delta)
        return entrants

    def _change(self, number: int, entrants: Iterable[Entrant]) -> Change:
        name = self._reads[number]
        delta = {row: change for row, change, _ in entrants}
        return Change(self._stores[name], delta, distinct=self._body.relations[name].distinct)

    def _run(self, part: Part, changes: Mapping[int, Change], entrants: Mapping[int, list[Entrant]]) -> Iterator[Batch]:
        prepared = self._prepared[part.trigger]
        change = changes[part.trigger]
        reading = self._reading(part, changes)
        if prepared.entering is None:
            return prepared.pipeline.run(reading)
        start = prepared.entering.batch(entrants[part.trigger], part.sign, change.store.counts)
        return prepared.pipeline.run(reading, start, prepared.entering.steps)

    def _reading(self, part: Part, changes: Mapping[int, Change]) -> Reading:
        atoms, negations = self._atoms, self._negations
        if part.states:
            atoms, negations = dict(atoms), dict(negations)
        for number, state in part.states.items():
            if number in atoms:
                atoms[number] = changes[number].source(state)
            else:
                negations[number] = changes[number].finding(state)
        change = changes[part.trigger]
        return Reading(atoms, negations, lambda presence: presence.flipped(change, part.sign))

    def _prepare(self, trigger: int | None, sizes: Mapping[str, int]) -> _Prepared:
        plan = make_plan(self._body, sizes.__getitem__, trigger)
        pipeline = Pipeline(plan, self._body.relations, self._functions)
        entering = None
        if trigger in self._atoms:
            entering = Entering(plan, pipeline.terms, self._rule, self._body.relations[self._reads[trigger]])
        return _Prepared(pipeline, entering, self._taker(pipeline.terms), sizes)

    def _sizes(self, changes: Mapping[str, Change]) -> dict[str, int]:
        """How many rows each relation has, about: those that come count as well as those that go."""
        return {
            name: len(self._stores[name].counts) + (len(changes[name].delta) if name in changes else 0)
            for name in self._reads.values()
        }


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A plan ready to run, what takes its bindings, and the sizes of the relations it was made for.

    `entering` is how a change of the atom that triggers the plan gets into it.
    """

    pipeline: Pipeline
    entering: Entering | None
    take: Take
    sizes: Mapping[str, int]

    def is_outdated(self, sizes: Mapping[str, int]) -> bool:
        return any(
            max(size, self.sizes[name]) > REPLANNED_AT * (1 + min(size, self.sizes[name]))
            for name, size in sizes.items()
        )
