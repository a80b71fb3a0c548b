"""A rule's body, satisfied from any side: from nothing, from one row of its body, or from its head."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from whence.engines.engine import Functions
from whence.engines.local.counting.terms import Terms, columns
from whence.engines.local.recursive.steps import Binding, Extend, Sources, extension, pattern_key
from whence.incremental.body import Body
from whence.incremental.plan import Flip, Missing, Pattern, Plan, Probe
from whence.incremental.planner import make_plan
from whence.model.rules import Atom, Negation, Rule
from whence.model.schema import Relation
from whence.model.terms import Aggregate, Term, Variable
from whence.model.types import Row, Type


class Found(NamedTuple):
    """One way to satisfy a body: the head's plain terms and the arguments of its aggregates; in the order of the text,
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
        rule: Rule,
        relations: Mapping[str, Relation],
        functions: Functions,
        own: Collection[str],
        arguments: Sequence[Type | None],
        size: Callable[[str], int],
    ) -> None:
        self.number = number
        self.rule = rule
        self.relation = rule.head.relation
        self._relations = relations
        self._functions = functions
        self._arguments = arguments
        self._size = size
        self._body = Body(rule, relations, {name: function.signature for name, function in functions.items()})
        self._atoms = [at for at, literal in enumerate(rule.body) if isinstance(literal, Atom)]
        self._negations = [at for at, literal in enumerate(rule.body) if isinstance(literal, Negation)]
        self.positive = tuple(literal.relation for literal in rule.body if isinstance(literal, Atom))
        self.own = tuple(at for at, relation in enumerate(self.positive) if relation in own)
        self._whole: _Search | None = None
        self._by_literal: dict[int, _Search] = {}
        self._by_head: _Search | None = None
        self.absences = tuple(self._pattern(literal) for literal in self._negations)
        self._keys = [pattern_key(pattern, relations[pattern.relation]) for pattern in self.absences]

    def all(self, sources: Sources) -> Iterator[Found]:
        """Every way to satisfy the body."""
        if self._whole is None:
            self._whole = self._search(None, ())
        return self._whole.run(((), ()), sources)

    def through(self, position: int, row: Row, sources: Sources) -> Iterator[Found]:
        """The ways that use this row at that place among the positive atoms, whether or not a source has it."""
        search = self._starting(self._atoms[position])
        return search.run((search.first(row), (row,)), sources)

    def through_absence(self, position: int, row: Row, sources: Sources) -> Iterator[Found]:
        """The ways that this row stands against, at that place among the negated atoms, if no source had it."""
        search = self._starting(self._negations[position])
        return search.run((search.first(row), ()), sources)

    def absence_key(self, position: int, row: Row) -> Row:
        """The key of which the negated atom at that place says that no row has it, while this one does."""
        return self._keys[position](row)

    def backwards(self, head: Row, sources: Sources) -> Iterator[Found]:
        """The ways that lead to these plain terms of the head."""
        if self._by_head is None:
            self._by_head = self._search(None, self._bound())
        search = self._by_head
        return (found for found in search.run((search.first(head), ()), sources) if found.head == head)

    def _starting(self, literal: int) -> _Search:
        search = self._by_literal.get(literal)
        if search is None:
            search = self._by_literal[literal] = self._search(literal, ())
        return search

    def _search(self, trigger: int | None, bound: Sequence[tuple[str, int]]) -> _Search:
        plan = make_plan(self._body, self._size, trigger, [name for name, _ in bound])
        terms = Terms(plan, self._functions)
        steps = [extension(step, terms, self._relations) for step in plan.steps]
        if trigger is None:
            first = columns([place for _, place in bound])
        else:
            first = self._first(plan)
            if isinstance(plan.steps[0], Probe):
                del steps[0]
        return _Search(first, steps, *self._head(terms), self._in_order(plan), self._absent(plan, terms))

    def _pattern(self, literal: int) -> Pattern:
        first = make_plan(self._body, self._size, literal).steps[0]
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

    def _head(self, terms: Terms) -> tuple[Callable[[Row], Row], Callable[[Row], Row]]:
        head_columns = self._relations[self.relation].columns
        plain: list[tuple[Term, Type]] = []
        arguments: list[Term] = []
        for term, column in zip(self.rule.head.terms, head_columns, strict=True):
            if not isinstance(term, Aggregate):
                plain.append((term, column.type))
            elif term.argument is not None:
                arguments.append(term.argument)
        return (
            terms.row([term for term, _ in plain], [kind for _, kind in plain]),
            terms.row(arguments, self._arguments),
        )

    def _bound(self) -> list[tuple[str, int]]:
        """The variables that the plain terms of a head give values to, and the place of each among them."""
        head_columns = self._relations[self.relation].columns
        bound: dict[str, int] = {}
        plain = [
            (term, column)
            for term, column in zip(self.rule.head.terms, head_columns, strict=True)
            if not isinstance(term, Aggregate)
        ]
        for place, (term, column) in enumerate(plain):
            if isinstance(term, Variable) and self._body.types[term.name].type == column.type:
                bound.setdefault(term.name, place)
        return list(bound.items())

    def _in_order(self, plan: Plan) -> Callable[[tuple[Row, ...]], tuple[Row, ...]] | None:
        """What brings the rows of a plan's atoms into the order of the text."""
        probed = [step.literal for step in plan.steps if isinstance(step, Probe)]
        if probed == self._atoms:
            return None
        order = [probed.index(literal) for literal in self._atoms]
        return lambda rows: tuple([rows[place] for place in order])

    def _absent(self, plan: Plan, terms: Terms) -> Callable[[Row], tuple[Row, ...]] | None:
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


class _Search:
    """A plan, ready to run from what is known at its start."""

    __slots__ = ("_absent", "_head", "_in_order", "_steps", "_values", "first")

    def __init__(
        self,
        first: Callable[[Row], Row],
        steps: Sequence[Extend],
        head: Callable[[Row], Row],
        values: Callable[[Row], Row],
        in_order: Callable[[tuple[Row, ...]], tuple[Row, ...]] | None,
        absent: Callable[[Row], tuple[Row, ...]] | None,
    ) -> None:
        self.first = first
        self._steps = steps
        self._head = head
        self._values = values
        self._in_order = in_order
        self._absent = absent

    def run(self, start: Binding, sources: Sources) -> Iterator[Found]:
        bindings: Iterable[Binding] = (start,)
        for step in self._steps:
            bindings = step(bindings, sources)
        head, values, in_order, absent = self._head, self._values, self._in_order, self._absent
        for slots, rows in bindings:
            yield Found(
                head(slots),
                values(slots),
                rows if in_order is None else in_order(rows),
                () if absent is None else absent(slots),
            )
