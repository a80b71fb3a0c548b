"""A plan's terms as functions of a binding, which is a tuple of slots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import TypeAlias, cast

from whence.engines.engine import Functions
from whence.engines.local.store import Key
from whence.functions.evaluate import compile_term
from whence.functions.typing import infer
from whence.incremental.plan import Plan
from whence.model.terms import Call, Cast, Skolem, Term, Variable, variables, walk
from whence.model.types import NULL, Row, Type, Value

Computed: TypeAlias = Callable[[Row], Value]


class Terms:
    """What the terms of one plan see: its slots, their types, the functions.

    Where the values of the slots are not in their places, `places` tells where they are.
    """

    def __init__(self, plan: Plan, functions: Functions, places: Callable[[int], int] | None = None) -> None:
        self.plan = plan
        self._functions = functions
        self._signatures = {name: function.signature for name, function in functions.items()}
        self._implementations = {name: function.python for name, function in functions.items()}
        self._places = {name: slot if places is None else places(slot) for name, slot in plan.slots.items()}
        self._types = {_by_place(place): plan.types[name] for name, place in self._places.items()}

    def placed(self, places: Callable[[int], int]) -> Terms:
        """The same terms over tuples that have the slots in other places."""
        return Terms(self.plan, self._functions, places)

    def value(self, term: Term, target: Type | None = None) -> Computed:
        """The term's value, converted to `target` where that is another type."""
        return self._compiled(self._converted(term, target))

    def row(self, terms: Sequence[Term], targets: Sequence[Type | None] | None = None) -> Callable[[Row], Row]:
        """All values as a tuple, each converted to its target."""
        wanted = [None] * len(terms) if targets is None else targets
        converted = [self._converted(term, target) for term, target in zip(terms, wanted, strict=True)]
        places = [self._places[term.name] for term in converted if isinstance(term, Variable)]
        if len(places) == len(converted):
            return columns(places)
        values = [self._compiled(term) for term in converted]
        return lambda binding: tuple([value(binding) for value in values])

    def key(self, terms: Sequence[Term]) -> Callable[[Row], Key]:
        """The values as stores take them for a key: bare if there is only one."""
        return self.value(terms[0]) if len(terms) == 1 else self.row(terms)

    def slots(self, terms: Iterable[Term]) -> set[int]:
        """The slots of all variables of these terms."""
        return {self.plan.slots[variable.name] for term in terms for variable in variables(term)}

    def _converted(self, term: Term, target: Type | None) -> Term:
        if target is None or infer(term, self.plan.types, self._signatures).type in (target, NULL):
            return term
        return Cast(term, target, span=term.span)

    def _compiled(self, term: Term) -> Computed:
        if isinstance(term, Variable):
            return itemgetter(self._places[term.name])
        compiled = compile_term(self._in_places(term), self._types, self._signatures, self._implementations)
        # A compiled term does nothing with its environment but look variables up in it, so a tuple serves as well as a
        # mapping where variables are called by their place in it.
        return cast("Computed", compiled)

    def _in_places(self, term: Term) -> Term:
        done: dict[int, Term] = {}
        # From the inside out, without recursion: a generated condition can be deeper than Python's stack.
        for part in reversed(list(walk(term))):
            match part:
                case Variable(name=name):
                    done[id(part)] = Variable(_by_place(self._places[name]), span=part.span)
                case Call(arguments=arguments):
                    done[id(part)] = Call(part.function, tuple(done[id(each)] for each in arguments), span=part.span)
                case Skolem(arguments=arguments):
                    done[id(part)] = Skolem(part.function, tuple(done[id(each)] for each in arguments), span=part.span)
                case Cast():
                    done[id(part)] = Cast(done[id(part.term)], part.type, span=part.span)
                case _:
                    done[id(part)] = part
        return done[id(term)]


def _by_place(place: int) -> str:
    return cast("str", place)


def columns(positions: Sequence[int]) -> Callable[[Row], Row]:
    """The values at these positions, as a tuple."""
    if len(positions) > 1:
        return cast("Callable[[Row], Row]", itemgetter(*positions))
    # One position alone would give a bare value, and none is nothing that can be got.
    start = positions[0] if positions else 0
    return cast("Callable[[Row], Row]", itemgetter(slice(start, start + len(positions))))
