"""Body aggregates, negated groups and ranges become relations of their own, named after the view they serve.

    busy(x, n) :- node(x), n = count : { link(x, _) }.

    busy$agg1(x, count<*>) :- link(x, _).
    busy(x, n) :- node(x), busy$agg1(x, n).
    busy(x, n) :- node(x), !busy$agg1(x, _), n = 0.

A variable of the inner body that the rest of the rule binds is an outer one: it groups the aggregate. Where the inner
body does not bind it itself, a relation of its values does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whence.errors import ParseError, UnsafeRuleError, UnsupportedError
from whence.lang.datalog.literals import EXPANSION_LIMIT
from whence.lang.datalog.pieces import (
    Alternatives,
    BodyAggregate,
    NegatedGroup,
    OpenedAtom,
    Piece,
    Pieces,
    RangePiece,
    binders,
    bound_by,
    variables_of,
)
from whence.model.rules import Atom, Comparison, Condition, Literal, Negation, Rule
from whence.model.schema import AUXILIARY_MARK, owner
from whence.model.span import Span
from whence.model.terms import Aggregate, Call, Constant, Term, Variable, Wildcard, variables
from whence.model.types import BIGINT, INT

# What is 0 for no rows at all; the other aggregates have no value then.
_ZERO = {"count": Constant(0, BIGINT), "sum": Constant(0, INT)}

# Between the coarse numbers of a range.
STRIDE = 100


class Auxiliaries:
    """Writes rules out and makes the relations they need, one for all that need the same."""

    def __init__(self, relations: Iterable[str]) -> None:
        self._taken = set(relations)
        self._numbers: dict[str, int] = {}
        self._made: dict[tuple[str, tuple[Term, ...], Alternatives], str] = {}
        self._rules: list[Rule] = []
        # The relation that has the values of ranges with the bounds of another.
        self._ranges: dict[str, str] = {}

    def take_rules(self) -> list[Rule]:
        """The rules made since the last time. A relation's rules come after those of the relations it needs."""
        rules, self._rules = self._rules, []
        return rules

    def add(self, head: Atom, pieces: Pieces, sign: int, span: Span | None) -> None:
        """Adds the rules that `head :- pieces` stands for."""
        pieces = self._with_relations(owner(head.relation), pieces)
        _check_head(head, pieces)
        todo, done = [pieces], list[Rule]()
        while todo:
            here = todo.pop()
            aggregate = _next_aggregate(here)
            if aggregate is None:
                done.append(Rule(head, self._literals(head.relation, here), sign, span=span))
            else:
                place = next(index for index, piece in enumerate(here) if piece is aggregate)
                cases = self._aggregated(head.relation, here, aggregate)
                todo.extend((*here[:place], *case, *here[place + 1 :]) for case in reversed(cases))
            if len(todo) + len(done) > EXPANSION_LIMIT:
                raise ParseError(
                    f"this stands for more than {EXPANSION_LIMIT} rules, one for each way its aggregates can be empty",
                    span=span,
                    hint="compute the aggregates in rules of their own",
                )
        self._rules.extend(done)

    def _with_relations(self, view: str, pieces: Pieces) -> Pieces:
        """With relations that hold the values of ranges, and of the fields of records."""
        for at, piece in enumerate(pieces):
            if isinstance(piece, OpenedAtom):
                opened = self._define(view, "fields", piece.terms, (piece.pieces,), piece.span)
                pieces = (*pieces[:at], opened, *pieces[at + 1 :])
            if isinstance(piece, RangePiece):
                terms = (piece.start, piece.end, piece.step)
                needed = {each.name for term in terms for each in variables(term)}
                rest = (*pieces[:at], *pieces[at + 1 :])
                values = binders(self._with_relations(view, rest), needed) if needed else ()
                bounds = self._define(view, "bounds", terms, (values,), piece.span)
                if bounds.relation not in self._ranges:
                    name = self._ranges[bounds.relation] = self._name(view, "range")
                    self._rules += _range_rules(name, self._name(view, "coarse"), bounds.relation, piece.span)
                atom = Atom(self._ranges[bounds.relation], (*terms, Wildcard(), piece.result), span=piece.span)
                pieces = (*pieces[:at], atom, *pieces[at + 1 :])
        return pieces

    def _literals(self, view: str, pieces: Pieces) -> tuple[Literal, ...]:
        return tuple(
            self._negated(view, pieces, piece) if isinstance(piece, NegatedGroup) else piece
            for piece in pieces
            if not isinstance(piece, BodyAggregate | RangePiece | OpenedAtom)
        )

    def _negated(self, view: str, pieces: Pieces, group: NegatedGroup) -> Negation:
        rest = _finished(pieces)
        outer = _outer(group.alternatives, (), rest)
        alternatives = self._with_outer(view, group.alternatives, outer, rest, group.span)
        atom = self._define(view, "not", outer, alternatives, group.span)
        return Negation(atom, span=group.span)

    def _aggregated(self, view: str, pieces: Pieces, aggregate: BodyAggregate) -> Sequence[tuple[Literal, ...]]:
        """What an aggregate stands for: one case or, where no rows mean 0, another for that."""
        rest, span, function, result = _finished(pieces), aggregate.span, aggregate.function, aggregate.result
        arguments = () if aggregate.argument is None else tuple(variables(aggregate.argument))
        outer = _outer(aggregate.alternatives, arguments, rest)
        body = self._one(view, self._with_outer(view, aggregate.alternatives, outer, rest, span), span)
        if outer and aggregate.argument is not None:
            # A group of NULLs only has nothing to aggregate, just like one without rows.
            body = (*body, Condition(Call("isnotnull", (aggregate.argument,), span=span), span=span))
        value = Aggregate(function, aggregate.argument, span=span)
        name = self._define(view, "agg", (*outer, value), (body,), span).relation

        def row(last: Term) -> Atom:
            return Atom(name, (*outer, last), span=span)

        def of_group(last: Term) -> tuple[Literal, ...]:
            """The row of the group. It gives no value to a variable that has one by definition, which may be NULL."""
            given = _in_atoms(rest)
            fresh = {
                each: Variable(f"{each.name}{AUXILIARY_MARK}{self._numbers[name]}", span=span)
                for each in outer
                if each.name not in given
            }
            atom = Atom(name, (*(fresh.get(each, each) for each in outer), last), span=span)
            same = [Condition(Call("<=>", (new, each), span=span), span=span) for each, new in fresh.items()]
            return (atom, *same)

        if outer and function in _ZERO:
            none: tuple[Literal, ...] = (
                Negation(row(Wildcard(span=span)), span=span),
                Comparison("=", result, _ZERO[function], span=span),
            )
            return [of_group(result), none]
        if outer or function == "count":
            return [of_group(result)]
        # Without outer variables there is always one row, and NULL in it means that there was nothing to aggregate.
        if function == "sum":
            total = Variable(f"total{AUXILIARY_MARK}{self._numbers[name]}", span=span)
            value_or_zero = Call("coalesce", (total, _ZERO["sum"]), span=span)
            return [(row(total), Comparison("=", result, value_or_zero, span=span))]
        return [(row(result), Condition(Call("isnotnull", (result,), span=span), span=span))]

    def _with_outer(
        self, view: str, alternatives: Alternatives, outer: tuple[Variable, ...], rest: Pieces, span: Span
    ) -> Alternatives:
        """The alternatives, each with a relation for those outer variables that it does not bind itself."""
        found: list[Pieces] = []
        for alternative in alternatives:
            bound = bound_by(alternative)
            missing = tuple(each for each in outer if each.name not in bound)
            values = binders(rest, (each.name for each in missing))
            found.append(
                (self._define(view, "outer", missing, (values,), span), *alternative) if missing else alternative
            )
        return tuple(found)

    def _one(self, view: str, alternatives: Alternatives, span: Span) -> Pieces:
        """The alternatives as one body. A row that several of them yield counts once, so they become a relation."""
        if len(alternatives) == 1:
            return alternatives[0]
        bound = [bound_by(alternative) for alternative in alternatives]
        if any(names != bound[0] for names in bound):
            raise UnsupportedError(
                "the alternatives in an aggregate's braces use different variables",
                span=span,
                hint="define a relation by a rule for each alternative, and aggregate over it",
            )
        terms = tuple(each for each in _unique(variables_of(alternatives[0])) if each.name in bound[0])
        return (self._define(view, "any", terms, alternatives, span),)

    def _define(self, view: str, word: str, terms: tuple[Term, ...], alternatives: Alternatives, span: Span) -> Atom:
        """The atom of a relation that holds the terms for each derivation from the alternatives."""
        key = (owner(view), terms, alternatives)
        if key not in self._made:
            self._made[key] = self._name(owner(view), word)
            for alternative in alternatives:
                self.add(Atom(self._made[key], terms, span=span), alternative, 1, span)
        return Atom(self._made[key], terms, span=span)

    def _name(self, view: str, word: str) -> str:
        stem = f"{view}{AUXILIARY_MARK}{word}"
        number = self._numbers.get(stem, 0) + 1
        while f"{stem}{number}" in self._taken:
            number += 1
        name = f"{stem}{number}"
        self._numbers[stem] = self._numbers[name] = number
        return name


def _check_head(head: Atom, pieces: Pieces) -> None:
    """What is inside braces or a negated group gives no value to the head."""
    inner = [piece for piece in pieces if isinstance(piece, BodyAggregate | NegatedGroup)]
    if inner:
        bound = bound_by(pieces)
        inside = {each.name for each in variables_of(inner)}
        for term in head.terms:
            for variable in variables(term):
                if variable.name in inside and variable.name not in bound:
                    raise UnsafeRuleError(
                        f"variable {variable.name!r} of the head has a value only inside an aggregate or a negation",
                        span=variable.span,
                        hint=f"bind {variable.name!r} in an atom outside as well",
                    )


def _finished(pieces: Pieces) -> Pieces:
    return tuple(
        piece for piece in pieces if not isinstance(piece, BodyAggregate | NegatedGroup | RangePiece | OpenedAtom)
    )


def _in_atoms(pieces: Pieces) -> set[str]:
    return {
        term.name for piece in pieces if isinstance(piece, Atom) for term in piece.terms if isinstance(term, Variable)
    }


def _next_aggregate(pieces: Pieces) -> BodyAggregate | None:
    """The first aggregate that needs no other one's result."""
    waiting = [piece for piece in pieces if isinstance(piece, BodyAggregate)]
    for aggregate in waiting:
        others = {each.result.name for each in waiting if each is not aggregate}
        inside = (each.name for alternative in aggregate.alternatives for each in variables_of(alternative))
        if others.isdisjoint(inside):
            return aggregate
    if waiting:
        raise UnsupportedError(
            "these aggregates need each other's results",
            span=waiting[0].span,
            related=[("the other one is here", waiting[1].span)],
        )
    return None


def _outer(alternatives: Alternatives, argument: Iterable[Variable], rest: Iterable[Piece]) -> tuple[Variable, ...]:
    """The variables of an inner body that the rest of the rule binds, in the order of the inner body."""
    bound = bound_by(rest)
    inside = [each for alternative in alternatives for each in variables_of(alternative)]
    return tuple(each for each in _unique([*inside, *argument]) if each.name in bound)


def _unique(names: Iterable[Variable]) -> list[Variable]:
    found: dict[str, Variable] = {}
    for each in names:
        found.setdefault(each.name, each)
    return list(found.values())


def _range_rules(name: str, coarse: str, bounds: str, span: Span) -> list[Rule]:
    """The rules of `name`, whose last column has the values, for the start, end and step of every row of `bounds`.

        r(a, b, s, c, c) :- coarse(a, b, s, c).
        r(a, b, s, c, x + s) :- r(a, b, s, c, x), x + s before b, |x + s - c| < |STRIDE * s|.

    The coarse numbers come first, each STRIDE steps from the one before: a recursion takes a round for every number
    that comes after another, and there are not as many rounds as a range may have numbers.
    """
    start, end, step = (Variable(each, span=span) for each in ("start", "end", "step"))
    base, value = Variable("base", span=span), Variable("value", span=span)
    given = (start, end, step)

    def call(function: str, *arguments: Term) -> Call:
        return Call(function, arguments, span=span)

    def number(value: int) -> Constant:
        return Constant(value, INT, span=span)

    def inside(term: Term) -> Condition:
        up = call("and", call(">", step, number(0)), call("<", term, end))
        down = call("and", call("<", step, number(0)), call(">", term, end))
        return Condition(call("or", up, down), span=span)

    def rule(relation: str, terms: tuple[Term, ...], *body: Atom | Condition | Comparison) -> Rule:
        return Rule(Atom(relation, (*given, *terms), span=span), body, span=span)

    def atom(relation: str, *terms: Term) -> Atom:
        return Atom(relation, (*given, *terms), span=span)

    stride = call("*", step, number(STRIDE))
    far, near = call("+", value, stride), call("+", value, step)
    short = Comparison("<", call("abs", call("-", near, base)), call("abs", stride), span=span)
    # With 0 * step, what starts with a whole number and goes on by a fraction is of one type.
    first = call("+", start, call("*", step, number(0)))
    return [
        rule(coarse, (first,), atom(bounds), inside(start)),
        rule(coarse, (far,), atom(coarse, value), inside(far)),
        rule(name, (base, base), atom(coarse, base)),
        rule(name, (base, near), atom(name, base, value), inside(near), short),
    ]
