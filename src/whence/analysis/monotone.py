"""min and max inside a recursion: whatever depends on a value that can still improve must follow the improvement.

Every column of a component either holds still or moves one way. An aggregated column moves by its function; through
the rules the movement spreads to columns of other relations of the component. A rule is refused where a binding could
be lost when a value improves: the value is joined on, negated, grouped by, or compared the wrong way round.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from whence.analysis.components import Component
from whence.analysis.direction import Compass, Direction, Moving
from whence.analysis.order import Absent, Define, Match, Step, Test
from whence.analysis.typing import condition_term, passing_types, term_place
from whence.errors import StratificationError
from whence.functions.types import Typed, infer
from whence.model.program import Signature
from whence.model.rules import Atom, Rule
from whence.model.schema import Relation, relation_named
from whence.model.span import Span
from whence.model.terms import Aggregate, Call, Term, Variable, Wildcard, variables

IMPROVES = {"min": Direction.FALLS, "max": Direction.RISES}


def check_monotone(
    components: Sequence[Component],
    orders: Mapping[int, Sequence[Step]],
    relations: Mapping[str, Relation],
    signatures: Mapping[str, Signature],
) -> tuple[str, ...]:
    """Refuse recursion in which an improvement could take something away; tell what was taken on trust."""
    notices: list[str] = []
    for component in components:
        if component.recursive and component.aggregated:
            notices.extend(Flow(component, orders, relations, signatures).run())
    return tuple(dict.fromkeys(notices))


class Flow:
    """How the columns of one component move: a fixpoint in which a column that held still may start to move."""

    def __init__(
        self,
        component: Component,
        orders: Mapping[int, Sequence[Step]],
        relations: Mapping[str, Relation],
        signatures: Mapping[str, Signature],
    ) -> None:
        self.component = component
        self.orders = orders
        self.relations = relations
        self.signatures = signatures
        self.columns: dict[str, dict[int, Moving]] = {name: {} for name in component.relations}
        self.readers: dict[str, list[int]] = {}
        for number, rule in enumerate(component.rules):
            for position, term in enumerate(rule.head.terms):
                if isinstance(term, Aggregate):
                    self.columns[rule.head.relation].setdefault(position, Moving(IMPROVES[term.function], term))
            for literal in rule.body:
                if isinstance(literal, Atom) and literal.relation in self.columns:
                    self.readers.setdefault(literal.relation, []).append(number)

    def run(self) -> Iterable[str]:
        assumed: dict[int, list[Call]] = {}
        todo = deque(range(len(self.component.rules)))
        while todo:
            number = todo.popleft()
            rule = self.component.rules[number]
            compass = self.body(self.orders[id(rule)])
            if self.head(rule, compass):
                todo.extend(self.readers.get(rule.head.relation, ()))
            assumed[number] = compass.assumed
        for number in sorted(assumed):
            for call in assumed[number]:
                yield _notice(self.component.rules[number], call)

    def body(self, steps: Sequence[Step]) -> Compass:
        moving: dict[str, Moving] = {}
        types = cache(lambda: passing_types(steps, self.relations, self.signatures))
        compass = Compass(moving, lambda term: self.typed(term, types(), moving))
        bound: set[str] = set()
        for step in steps:
            match step:
                case Match(atom=atom):
                    self.match(atom, moving, bound)
                case Define(variable=variable, term=term):
                    move = compass.moving(term)
                    if move is not None:
                        moving[variable.name] = move
                    bound.add(variable.name)
                case Absent(atom=atom):
                    for position, term in enumerate(atom.terms):
                        for variable in variables(term):
                            if variable.name in moving:
                                raise _refused(
                                    f"{variable.name!r} stands in a negated atom",
                                    moving[variable.name],
                                    variable.span or term_place(atom, position),
                                    "negate in a relation of its own that reads the recursive one",
                                )
                case Test(literal=literal):
                    condition = condition_term(literal)
                    move = compass.moving(condition)
                    if move is not None and move.direction is Direction.FALLS:
                        raise _refused(
                            "this condition decides now",
                            move,
                            literal.span or condition.span,
                            "an upper limit of a min, or a lower limit of a max, holds as the value improves; "
                            "put any other condition into a relation of its own that reads the recursive one",
                        )
        return compass

    def match(self, atom: Atom, moving: dict[str, Moving], bound: set[str]) -> None:
        columns = self.columns.get(atom.relation, {})
        for position, term in enumerate(atom.terms):
            if isinstance(term, Wildcard):
                continue
            place = term_place(atom, position)
            for variable in variables(term):
                if variable.name in moving:
                    raise _joined(repr(variable.name), moving[variable.name], variable.span or place)
            move = columns.get(position)
            if move is not None:
                if not isinstance(term, Variable) or term.name in bound:
                    column = self.relations[atom.relation].columns[position].name
                    raise _joined(f"column {column!r} of {relation_named(atom.relation)}", move, place)
                moving[term.name] = move
            if isinstance(term, Variable):
                bound.add(term.name)

    def head(self, rule: Rule, compass: Compass) -> bool:
        """Let the head's columns move as its terms do; tell whether one of them started to."""
        relation = rule.head.relation
        columns = self.columns[relation]
        started = False
        for position, term in enumerate(rule.head.terms):
            value = term.argument if isinstance(term, Aggregate) else term
            move = None if value is None else compass.moving(value)
            if move is None:
                continue
            place = term_place(rule.head, position)
            if relation in self.component.aggregated and not isinstance(term, Aggregate):
                raise _refused(
                    f"{relation_named(relation)} groups by a value that depends on itself",
                    move,
                    place,
                    "group by columns that are not aggregated; what belongs to the best value can be found in a "
                    "relation of its own that reads the recursive one",
                )
            if position not in columns:
                columns[position] = move
                started = True
            elif columns[position].direction is not move.direction:
                raise self.against(rule.head, position, columns[position], move)
        return started

    def against(self, head: Atom, position: int, column: Moving, move: Moving) -> StratificationError:
        name = self.relations[head.relation].columns[position].name
        verbs = ("fall", "rises") if column.direction is Direction.FALLS else ("rise", "falls")
        return StratificationError(
            f"column {name!r} of {relation_named(head.relation)} can only {verbs[0]} while the recursion runs, but "
            f"this value {verbs[1]}",
            span=term_place(head, position),
            related=[move.origin],
            hint="use the same one of min and max throughout the recursion, and do not subtract the value",
        )

    def typed(self, term: Term, types: Mapping[str, Typed], moving: Mapping[str, Moving]) -> Typed:
        """Nullable if it can be NULL for now: what does not move stays NULL if it is."""
        here = {name: Typed(each.type, each.nullable and name in moving) for name, each in types.items()}
        return infer(term, here, self.signatures)


def _refused(message: str, moving: Moving, span: Span | None, hint: str) -> StratificationError:
    return StratificationError(
        f"{message}, but {moving.because}",
        span=span,
        related=[moving.origin],
        hint=hint,
    )


def _joined(what: str, moving: Moving, span: Span | None) -> StratificationError:
    return _refused(
        f"{what} is joined on",
        moving,
        span,
        "join on columns that are not aggregated, or join in a relation of its own that reads the recursive one",
    )


def _notice(rule: Rule, call: Call) -> str:
    place = "" if call.span is None else f" ({call.span})"
    return (
        f"{relation_named(rule.head.relation)} multiplies or divides by a value that is no constant inside its "
        f"recursion{place}: whence takes it that this value is never negative"
    )
