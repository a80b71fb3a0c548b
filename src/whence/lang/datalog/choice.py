"""choice-domain: of the rows that agree in some columns, a relation has one.

Soufflé takes the one that it derives first. Here it is the first in the order of the columns, so that a view does not
depend on how it was computed:

    .decl advisor(s: symbol, p: symbol) choice-domain s

    advisor$chosen(s, p, over {s; p; within 1 to 1} row_number()) :- advisor$all(s, p).
    advisor(s, p) :- advisor$chosen(s, p, _).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from whence.errors import UnknownNameError, UnsupportedError, did_you_mean
from whence.lang.datalog import syntax
from whence.lang.datalog.literals import Places
from whence.lang.datalog.subsumption import ALL, collected, recursive_with
from whence.model.program import Program
from whence.model.rules import Atom, Rule
from whence.model.schema import AUXILIARY_MARK
from whence.model.terms import SortKey, Variable, Wildcard, Window

CHOSEN = f"{AUXILIARY_MARK}chosen"


def with_choices(program: Program, declarations: Sequence[syntax.Declaration], places: Places) -> Program:
    for each in declarations:
        for name in each.names if each.choices else ():
            program = _chosen(program, each, places.name(name), places)
    return program


def _chosen(program: Program, declaration: syntax.Declaration, name: str, places: Places) -> Program:
    span = places.span(declaration.choices[0][0])
    if len(declaration.choices) > 1:
        raise UnsupportedError(
            f"{name!r} is to choose by several keys at once, which depends on the order of evaluation",
            span=span,
            hint="choose by one key, and by the other in a second relation",
        )
    inside = recursive_with(name, program.rules)
    if inside:
        raise UnsupportedError(
            f"{name!r} is recursive, and what a choice leaves out would depend on the order of evaluation",
            span=span,
            hint="choose in a relation of its own, when the recursion is over; or keep the best with min<x> or max<x>",
        )
    columns = [places.name(column.name) for column in declaration.columns]
    for token in declaration.choices[0]:
        if places.name(token) not in columns:
            raise UnknownNameError(
                f"{name!r} has no column {places.name(token)!r}",
                span=places.span(token),
                hint=did_you_mean(places.name(token), columns),
            )
    key = {columns.index(places.name(token)) for token in declaration.choices[0]}
    terms = tuple(Variable(f"x{place}") for place in range(len(columns)))
    others = tuple(SortKey(term) for place, term in enumerate(terms) if place not in key)
    first = Window("row_number", (), tuple(terms[place] for place in sorted(key)), others, None, (1, 1), span=span)
    relations, rules = collected(program, program.rules, name, inside)
    return replace(
        program,
        relations=relations,
        rules=(
            *rules,
            Rule(Atom(name + CHOSEN, (*terms, first), span=span), (Atom(name + ALL, terms, span=span),), span=span),
            Rule(Atom(name, terms, span=span), (Atom(name + CHOSEN, (*terms, Wildcard())),), span=span),
        ),
    )
