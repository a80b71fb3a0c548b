"""A rule's body, satisfied from any side: from scratch, from one row of its body, or from its head."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from whence.analysis.typed_rules import TypedRule
from whence.incremental.counting.bindings import SlotTerms, columns, pattern_key
from whence.incremental.plan import Flip, Missing, Pattern, Plan, Probe
from whence.incremental.planner import make_plan
from whence.incremental.recursive.steps import FULL, Batch, Extend, Reading, Sources, extension
from whence.model.program import Functions
from whence.model.rules import Atom, Negation
from whence.model.terms import Aggregate, Variable
from whence.model.types import Row, Type
from whence.planning.statistics import Statistics

# Where plans start that do not start from a literal.
_ALL, _HEAD = "all", "head"


class BodyMatch(NamedTuple):
    """A match of a rule: the head's plain terms and the arguments of its aggregates; in the order of the text,
    the rows of the positive atoms, and for the negated ones the keys that no row has.
    """

    head: Row
    values: Row
    body: tuple[Row, ...]
    absent: tuple[Row, ...]


class Matcher:
    """A rule, and the plans to satisfy it, each made when it is first needed.

    `positive` are the relations of its atoms, `own` the places among them that belong to the component, and `absences`
    what its negated atoms ask for.
    """

    def __init__(
        self,
        number: int,
        typed: TypedRule,
        functions: Functions,
        own: Collection[str],
        arguments: Sequence[Type | None],
        statistics: Statistics,
    ) -> None:
        rule = self.rule = typed.rule
        self.number = number
        self.relation = rule.head.relation
        self._typed = typed
        self._relations = typed.relations
        self._functions = functions
        self._arguments = arguments
        self._statistics = statistics
        self._atoms = [at for at, literal in enumerate(rule.body) if isinstance(literal, Atom)]
        self._negations = [at for at, literal in enumerate(rule.body) if isinstance(literal, Negation)]
        self.positive = tuple(literal.relation for literal in rule.body if isinstance(literal, Atom))
        self.own = tuple(at for at, relation in enumerate(self.positive) if relation in own)
        head = list(zip(rule.head.terms, typed.relations[self.relation].columns, strict=True))
        self._plain = [(term, column.type) for term, column in head if not isinstance(term, Aggregate)]
        self._searches: dict[int | str, _Search] = {}
        # Is told of so many partial matches more.
        self.counter: Callable[[int], None] | None = None
        self.absences = tuple(self._pattern(literal) for literal in self._negations)
        self._keys = [pattern_key(pattern, typed.relations[pattern.relation]) for pattern in self.absences]

    def replan(self) -> None:
        """Make plans again when they are needed, for relations as they are then."""
        self._searches = {}

    def all(self, sources: Sources) -> Iterator[BodyMatch]:
        """Every match of the body."""
        return chain.from_iterable(self.in_batches(sources))

    def through(self, position: int, row: Row, sources: Sources) -> Iterator[BodyMatch]:
        """The matches that use this row at that place among the positive atoms, whether or not a source has it."""
        return chain.from_iterable(self.through_all(position, (row,), sources))

    def backwards(self, head: Row, sources: Sources) -> Iterator[BodyMatch]:
        """The matches that lead to these plain terms of the head."""
        return chain.from_iterable(self.backwards_all((head,), sources))

    def in_batches(self, sources: Sources) -> Iterator[list[BodyMatch]]:
        """Every match of the body, in lists that are not too long."""
        return self._search(_ALL).run([((), (), ())], sources, self.counter)

    def through_all(self, position: int, rows: Sequence[Row], sources: Sources) -> Iterator[list[BodyMatch]]:
        """Those that use one of these rows at that place among the positive atoms."""
        search = self._search(self._atoms[position])
        first = search.first
        return search.run([(row, first(row), (row,)) for row in rows], sources, self.counter)

    def through_absences(self, position: int, rows: Sequence[Row], sources: Sources) -> Iterator[list[BodyMatch]]:
        """Those that one of these rows stands against, at that place among the negated atoms, if no source had it."""
        search = self._search(self._negations[position])
        first = search.first
        return search.run([(row, first(row), ()) for row in rows], sources, self.counter)

    def backwards_all(self, heads: Collection[Row], sources: Sources) -> Iterator[list[BodyMatch]]:
        """Those that lead to the plain terms of one of these heads. Few of each come first: a head for which these will
        do can be taken out of `heads`, and no more of it are looked for.
        """
        search = self._search(_HEAD)
        first = search.first
        return search.run([(head, first(head), ()) for head in heads], sources, self.counter, heads)

    def absence_key(self, position: int, row: Row) -> Row:
        """The key of which the negated atom at that place says that no row has it, while this one does."""
        return self._keys[position](row)

    def _search(self, start: int | str) -> _Search:
        """The plan that starts from a literal, from the head or from nothing; made when it is first needed."""
        search = self._searches.get(start)
        if search is None:
            search = self._searches[start] = self._make_search(start)
        return search

    def _make_search(self, start: int | str) -> _Search:
        bound = self._bound() if start == _HEAD else {}
        plan = make_plan(self._typed, self._statistics, start if isinstance(start, int) else None, list(bound))
        terms = SlotTerms(plan, self._functions)
        steps = [extension(step, terms, self._relations) for step in plan.steps]
        if isinstance(start, int):
            first = self._first(plan)
            if isinstance(plan.steps[0], Probe):
                del steps[0]
        else:
            first = columns(list(bound.values()))
        aggregates = [term for term in self.rule.head.terms if isinstance(term, Aggregate)]
        return _Search(
            first,
            steps,
            terms.row([term for term, _ in self._plain], [kind for _, kind in self._plain]),
            terms.row([each.argument for each in aggregates if each.argument is not None], self._arguments),
            self._in_order(plan),
            self._absent(plan, terms),
        )

    def _pattern(self, literal: int) -> Pattern:
        first = make_plan(self._typed, self._statistics, literal).steps[0]
        assert isinstance(first, Flip), "a plan begins with its trigger"
        return first.pattern

    def _first(self, plan: Plan) -> Callable[[Row], Row]:
        """The slots after the first step, which starts from a given row."""
        match plan.steps[0]:
            case Probe(binds=binds, counted=counted):
                pick = columns(binds)
                return (lambda row: (*pick(row), 1)) if counted else pick
            case Flip(pattern=pattern):
                return pattern_key(pattern, self._relations[pattern.relation])
        raise AssertionError("a plan begins with its trigger")

    def _bound(self) -> dict[str, int]:
        """The variables that the plain terms of a head give values to, and the place of each among them."""
        bound: dict[str, int] = {}
        for place, (term, kind) in enumerate(self._plain):
            if isinstance(term, Variable) and self._typed.types[term.name].type == kind:
                bound.setdefault(term.name, place)
        return bound

    def _in_order(self, plan: Plan) -> Callable[[tuple[Row, ...]], tuple[Row, ...]] | None:
        """What brings the rows of a plan's atoms into the order of the text."""
        probed = [step.literal for step in plan.steps if isinstance(step, Probe)]
        if probed == self._atoms:
            return None
        # There are two atoms or more, so that this gives a tuple.
        return itemgetter(*(probed.index(literal) for literal in self._atoms))

    def _absent(self, plan: Plan, terms: SlotTerms) -> Callable[[Row], tuple[Row, ...]] | None:
        """The keys of the negated atoms."""
        if not self._negations:
            return None
        by_literal: dict[int, Callable[[Row], Row]] = {}
        for step in plan.steps:
            match step:
                case Missing(literal=literal, keys=keys):
                    by_literal[literal] = terms.row(keys)
                case Flip(literal=literal, pattern=pattern):
                    by_literal[literal] = columns(range(len(pattern.positions) + len(pattern.widened)))
        in_order = [by_literal[literal] for literal in self._negations]
        return lambda slots: tuple([key(slots) for key in in_order])


@dataclass(frozen=True, slots=True)
class _Search:
    """A plan, ready to run from what is known at its start."""

    first: Callable[[Row], Row]
    _steps: Sequence[Extend]
    _head: Callable[[Row], Row]
    _values: Callable[[Row], Row]
    _in_order: Callable[[tuple[Row, ...]], tuple[Row, ...]] | None
    _absent: Callable[[Row], tuple[Row, ...]] | None

    def run(
        self,
        start: Batch,
        sources: Sources,
        count: Callable[[int], None] | None,
        wanted: Collection[Row] | None = None,
    ) -> Iterator[list[BodyMatch]]:
        """All matches, or those that lead to the heads that are wanted, of which the bindings at the start begin.

        Depth first, on a stack of its own.
        """
        steps, reading = self._steps, Reading(sources, wanted)
        head, values, in_order, absent = self._head, self._values, self._in_order, self._absent
        stack: list[Iterator[Batch]] = [iter([start[at : at + FULL] for at in range(0, len(start), FULL)])]
        while stack:
            batch = next(stack[-1], None)
            if batch is None:
                stack.pop()
                continue
            if count is not None and len(stack) > 1:
                count(len(batch))
            if len(stack) <= len(steps):
                stack.append(iter(steps[len(stack) - 1](batch, reading)))
                continue
            heads = [head(slots) for _, slots, _ in batch]
            yield [
                BodyMatch(
                    found,
                    values(slots),
                    rows if in_order is None else in_order(rows),
                    () if absent is None else absent(slots),
                )
                for found, (began, slots, rows) in zip(heads, batch, strict=True)
                if wanted is None or found == began
            ]
