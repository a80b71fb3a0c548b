"""A rule of a view: its bindings from nothing, and how they change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from whence.engines.engine import Functions
from whence.engines.local.counting.pipeline import Pipeline, Reading
from whence.engines.local.counting.sources import Change, Matching
from whence.engines.local.counting.terms import Terms
from whence.engines.local.counting.view import Take
from whence.engines.local.store import Store
from whence.incremental.body import Body
from whence.incremental.delta import Part, State, delta_parts, relation_of
from whence.incremental.planner import make_plan
from whence.model.rules import Negation

# Makes the function that takes a plan's bindings.
Taker: TypeAlias = Callable[[Terms], Take]

# Plans are made for tables of certain sizes, and made again when one has grown or shrunk by some such factor.
REPLANNED_AT = 4


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
        self._negated = frozenset(number for number in self._reads if isinstance(rule.body[number], Negation))
        self._old: dict[int, tuple[Matching, ...]] = {
            number: (stores[name].matching,) for number, name in self._reads.items()
        }
        self._prepared: dict[int, tuple[tuple[int, ...], Pipeline, Take]] = {}

    def build(self) -> None:
        """Gives the view all bindings over what the stores hold."""
        pipeline, take = self._prepare(None)
        for batch in pipeline.run(Reading(self._old)):
            take(batch, self._rule.sign)

    def apply(self, changes: Mapping[str, Change]) -> None:
        """Gives the view the bindings that come and go."""
        for part in delta_parts(self._rule, changes):
            change = changes[self._reads[part.trigger]]
            if not change.changed(part.sign) and part.trigger not in self._negated:
                continue
            pipeline, take = self._pipeline(part.trigger)
            sign = self._rule.sign * part.sign
            for batch in pipeline.run(self._reading(part, changes)):
                take(batch, sign)

    def _reading(self, part: Part, changes: Mapping[str, Change]) -> Reading:
        matching = dict(self._old)
        for number, state in part.states.items():
            matching[number] = tuple(self._states(number, state, changes[self._reads[number]]))
        change = changes[self._reads[part.trigger]]
        if part.trigger in self._negated:
            return Reading(matching, lambda presence: presence.flipped(change, part.sign))
        matching[part.trigger] = (Store(change.changed(part.sign)).matching,)
        return Reading(matching)

    def _states(self, number: int, state: State, change: Change) -> Iterator[Matching]:
        if state is State.KEPT and number in self._negated:
            yield change.matching(State.OLD)
            yield change.matching(State.NEW)
        else:
            yield change.matching(state)

    def _pipeline(self, trigger: int) -> tuple[Pipeline, Take]:
        sizes = tuple(len(self._stores[name].counts).bit_length() // REPLANNED_AT for name in self._reads.values())
        prepared = self._prepared.get(trigger)
        if prepared is None or prepared[0] != sizes:
            prepared = self._prepared[trigger] = (sizes, *self._prepare(trigger))
        return prepared[1:]

    def _prepare(self, trigger: int | None) -> tuple[Pipeline, Take]:
        plan = make_plan(self._body, lambda name: len(self._stores[name].counts), trigger)
        pipeline = Pipeline(plan, self._body.relations, self._functions)
        return pipeline, self._taker(pipeline.terms)
