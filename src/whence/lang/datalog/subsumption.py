"""Subsumption: `a(x, c) <= a(x, d) :- d < c.` takes the first row out where the second is there.

What the rules say is collected in a relation `a$all`, and the rows of it that no other dominates are those of `a`. Of
rows that dominate each other the first in the order of their columns stays.

    a$less(x, c, x, d) :- a$all(x, c), a$all(x, d), d < c, not (x <=> x and c <=> d).
    a(x, c) :- a$all(x, c), !a$gone(x, c).

Inside a recursion rules read `a$all`, so that it has to end by itself. Where rows are alike but for one column, and the
smaller or the larger of two values wins, `a` is a minimum or a maximum instead, which ends where only the best counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce

from whence.errors import ParseError
from whence.lang.datalog import syntax
from whence.lang.datalog.literals import Places
from whence.model.graphs import reached
from whence.model.program import Program
from whence.model.rules import Atom, Comparison, Condition, Literal, Negation, Rule
from whence.model.schema import AUXILIARY_MARK, Relation
from whence.model.terms import Aggregate, Call, Term, Variable

ALL, LESS, GONE = (f"{AUXILIARY_MARK}{word}" for word in ("all", "less", "gone"))


def subsumed_relations(statements: Iterable[syntax.Statement], places: Places) -> set[str]:
    return {places.name(each.less.name) for each in statements if isinstance(each, syntax.Subsumption)}


def dominance_clauses(statements: Iterable[syntax.Statement], places: Places) -> list[syntax.Clause]:
    """A clause for each subsumption: both rows in one."""
    found: list[syntax.Clause] = []
    for each in statements:
        if not isinstance(each, syntax.Subsumption):
            continue
        less, more = each.less, each.more
        if places.name(less.name) != places.name(more.name) or len(less.arguments) != len(more.arguments):
            raise ParseError(
                "a row is subsumed by another one of its relation",
                span=places.span(more),
                hint="both heads are of one relation: a(x, c) <= a(x, d) :- d < c.",
            )
        name = less.name.update(value=f"`{places.name(less.name)}{LESS}`")
        atoms: list[syntax.Node] = [
            syntax.CallNode(head.start, head.end, head.name, head.arguments) for head in (less, more)
        ]
        head = syntax.HeadNode(each.start, more.end, 1, name, [*less.arguments, *more.arguments])
        body = [[*atoms, *conjunction] for conjunction in each.body]
        found.append(syntax.Clause(each.start, each.end, [head], body))
    return found


def with_subsumption(program: Program) -> Program:
    heads = dict.fromkeys(rule.head.relation for rule in program.rules)
    for name in [head.removesuffix(LESS) for head in heads if head.endswith(LESS)]:
        program = _selected(program, name)
    return program


def _selected(program: Program, name: str) -> Program:
    less = [rule for rule in program.rules if rule.head.relation == name + LESS]
    rules = [rule for rule in program.rules if rule.head.relation != name + LESS]
    best = _best(less[0], name) if len(less) == 1 else None
    inside = recursive_with(name, rules)
    if best is not None and inside:
        return replace(program, rules=tuple(_aggregated(rule, *best) if _is_of(rule, name) else rule for rule in rules))
    relations, moved = collected(program, rules, name, inside)
    columns = [Variable(f"x{place}") for place in range(len(less[0].head.terms) // 2)]
    if best is not None:
        return replace(program, relations=relations, rules=(*moved, _from_all(name, columns, best)))
    return replace(program, relations=relations, rules=(*moved, *_rest(name, columns, less)))


def collected(
    program: Program, rules: Sequence[Rule], name: str, inside: set[str]
) -> tuple[tuple[Relation, ...], list[Rule]]:
    """With all that the rules of a relation say in another one, which those in a recursion with it read instead."""
    moved = [
        replace(
            _reading(rule, name, name + ALL) if rule.head.relation in inside else rule,
            head=replace(rule.head, relation=name + ALL) if _is_of(rule, name) else rule.head,
        )
        for rule in rules
    ]
    declared = [replace(each, name=name + ALL) for each in program.relations if each.name == name]
    return (*program.relations, *declared), moved


def recursive_with(name: str, rules: Sequence[Rule]) -> set[str]:
    """The relations that depend on it and that it depends on; none if it does not depend on itself."""
    below: dict[str, set[str]] = {}
    for rule in rules:
        below.setdefault(rule.head.relation, set()).update(rule.reads)
    under = set(reached(below.get(name, ()), lambda each: below.get(each, ())))
    return (
        {each for each in under if name in reached([each], lambda one: below.get(one, ()))} if name in under else set()
    )


def _rest(name: str, columns: list[Variable], less: list[Rule]) -> list[Rule]:
    """What no other row dominates."""
    others = [Variable(f"y{place}") for place in range(len(columns))]
    span = less[0].span
    forth = Atom(name + LESS, (*columns, *others), span=span)
    back = Atom(name + LESS, (*others, *columns), span=span)
    gone = Atom(name + GONE, tuple(columns), span=span)
    everything = Atom(name + ALL, tuple(columns), span=span)
    found = [_reading(rule, name, name + ALL) for rule in less]
    return [
        *(replace(rule, body=(*rule.body, _different(rule))) for rule in found),
        Rule(gone, (forth, Negation(back, span=span)), span=span),
        Rule(gone, (forth, back, Condition(_before(others, columns), span=span)), span=span),
        Rule(Atom(name, tuple(columns), span=span), (everything, Negation(gone, span=span)), span=span),
    ]


def _different(rule: Rule) -> Condition:
    """A row does not subsume itself."""
    half = len(rule.head.terms) // 2
    pairs = zip(rule.head.terms[:half], rule.head.terms[half:], strict=True)
    same: list[Term] = [Call("<=>", pair, span=rule.span) for pair in pairs]
    return Condition(Call("not", (reduce(_and, same),), span=rule.span), span=rule.span)


def _and(left: Term, right: Term) -> Term:
    return Call("and", (left, right), span=left.span)


def _before(left: Sequence[Term], right: Sequence[Term]) -> Term:
    """Whether a row comes before another in the order of columns."""
    smaller = Call("<", (left[0], right[0]))
    if len(left) == 1:
        return smaller
    return Call("or", (smaller, _and(Call("=", (left[0], right[0])), _before(left[1:], right[1:]))))


def _best(rule: Rule, name: str) -> tuple[int, str] | None:
    """The column that decides, and by which aggregate; None if it is not as simple as that."""
    half = len(rule.head.terms) // 2
    pairs = list(zip(rule.head.terms[:half], rule.head.terms[half:], strict=True))
    unlike = [place for place, (one, other) in enumerate(pairs) if one != other]
    names = {term.name for term in rule.head.terms if isinstance(term, Variable)}
    # Without groups there would be a row of NULL where there is none.
    if len(unlike) != 1 or len(names) != half + 1 or half == 1:
        return None
    worse, better = pairs[unlike[0]]
    rest = [each for each in rule.body if not (isinstance(each, Atom) and each.relation == name)]
    match rest:
        case [Comparison(op=("<" | "<="), left=left, right=right)] if len(rule.body) == 3:
            smaller, larger = left, right
        case [Comparison(op=(">" | ">="), left=left, right=right)] if len(rule.body) == 3:
            smaller, larger = right, left
        case _:
            return None
    if (smaller, larger) == (better, worse):
        return unlike[0], "min"
    return (unlike[0], "max") if (smaller, larger) == (worse, better) else None


def _aggregated(rule: Rule, place: int, function: str) -> Rule:
    terms = list(rule.head.terms)
    terms[place] = Aggregate(function, terms[place], span=terms[place].span)
    return replace(rule, head=replace(rule.head, terms=tuple(terms)))


def _from_all(name: str, columns: list[Variable], best: tuple[int, str]) -> Rule:
    return _aggregated(Rule(Atom(name, tuple(columns)), (Atom(name + ALL, tuple(columns)),)), *best)


def _is_of(rule: Rule, name: str) -> bool:
    return rule.head.relation == name


def _reading(rule: Rule, name: str, other: str) -> Rule:
    """The rule with the other relation in its body."""

    def renamed(literal: Literal) -> Literal:
        match literal:
            case Atom(relation=relation) if relation == name:
                return replace(literal, relation=other)
            case Negation(atom=atom) if atom.relation == name:
                return replace(literal, atom=replace(atom, relation=other))
        return literal

    return replace(rule, body=tuple(map(renamed, rule.body)))
