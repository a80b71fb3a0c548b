"""How a change of a relation enters a rule: by what the rule reads of it, and without what cancels out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from whence.engines.local.counting.terms import Terms, columns
from whence.incremental.plan import Compute, Filter, Flip, Missing, Plan, Probe, Step
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.terms import Term, variables
from whence.model.types import Row
from whence.model.updates import Delta

# A row whose count changes, by how much, and the binding that a plan starts with.
Entrant: TypeAlias = tuple[Row, int, Row]
Alone: TypeAlias = Callable[[list[Entrant]], list[Entrant]]


class Entering:
    """The beginning of a plan that an atom triggers: the atom, and what can be decided on its row alone.

    What is left of a row then are the slots that later steps and the head use. Where the changes of all rows that
    leave the same add up to nothing, the rule cannot tell that they happened: an order that gets another date in a
    view of some year's orders, as long as it stays in that year. Neither the trigger nor the other triggers need to
    see them, because a row from before stands for one that came in its place.
    """

    def __init__(self, plan: Plan, terms: Terms, rule: Rule, relation: Relation) -> None:
        trigger, *following = plan.steps
        assert isinstance(trigger, Probe), "another plan is entered by a Flip"
        alone = list(_alone(following))
        # How many steps of the plan this has done.
        self.steps = 1 + len(alone)
        self._alone = [_decide(step, terms) for step in alone]
        self._found = columns(trigger.binds)
        self._count_slot = len(trigger.binds) if trigger.counted else None
        used = _used(plan, plan.steps[self.steps :], rule)
        width = len(trigger.binds) + trigger.counted + sum(isinstance(step, Compute) for step in alone)
        live = [slot for slot in range(width) if slot in used and slot != self._count_slot]
        shown = sum(slot < len(trigger.binds) for slot in live)
        # Rows that the rule sees whole cannot be taken for each other.
        self._live = None if shown == relation.arity else columns(live)

    def enter(self, delta: Delta) -> list[Entrant]:
        """The changed rows that make a difference to the rule."""
        found = self._found
        if self._count_slot is None:
            entrants = [(row, change, found(row)) for row, change in delta.items()]
        else:
            entrants = [(row, change, (*found(row), change)) for row, change in delta.items()]
        for decide in self._alone:
            entrants = decide(entrants)
        if self._live is None or len({change > 0 for _, change, _ in entrants}) < 2:
            return entrants
        return _without_what_cancels(entrants, self._live)

    def batch(self, entrants: list[Entrant], sign: int, counts: Mapping[Row, int]) -> list[Row]:
        """The bindings to start with: of the rows as they will be, for sign 1, or as `counts` has them, for -1."""
        slot = self._count_slot
        if slot is None:
            return [binding for _, change, binding in entrants if change * sign > 0]
        batch = []
        for row, change, binding in entrants:
            count = counts.get(row, 0) + (change if sign > 0 else 0)
            if count:
                batch.append((*binding[:slot], count, *binding[slot + 1 :]))
        return batch


def _without_what_cancels(entrants: list[Entrant], live: Callable[[Row], Row]) -> list[Entrant]:
    left = [live(binding) for _, _, binding in entrants]
    net: dict[Row, int] = {}
    for rest, (_, change, _) in zip(left, entrants, strict=True):
        net[rest] = net.get(rest, 0) + change
    return [entrant for rest, entrant in zip(left, entrants, strict=True) if net[rest]]


def _alone(steps: list[Step]) -> Iterator[Step]:
    """The steps that look at nothing but the row."""
    for step in steps:
        if not isinstance(step, Filter | Compute):
            return
        yield step


def _decide(step: Step, terms: Terms) -> Alone:
    match step:
        case Filter(condition=condition):
            is_true = terms.value(condition)
            return lambda entrants: [entrant for entrant in entrants if is_true(entrant[2]) is True]
        case Compute(term=term):
            value = terms.value(term)
            return lambda entrants: [(row, change, (*slots, value(slots))) for row, change, slots in entrants]
    raise AssertionError(f"{type(step).__name__} needs more than a row")


def _used(plan: Plan, steps: tuple[Step, ...], rule: Rule) -> set[int]:
    """The slots that these steps and the head read."""
    read = [*rule.head.terms, *(term for step in steps for term in _terms(step))]
    return {plan.slots[variable.name] for term in read for variable in variables(term)}


def _terms(step: Step) -> tuple[Term, ...]:
    match step:
        case Probe(keys=keys) | Missing(keys=keys):
            return keys
        case Compute(term=term) | Filter(condition=term):
            return (term,)
        case Flip():
            return ()
