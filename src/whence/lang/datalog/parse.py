"""Datalog text to a Program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whence.lang.datalog import syntax
from whence.lang.datalog.auxiliary import Auxiliaries
from whence.lang.datalog.bodies import Bodies
from whence.lang.datalog.collector import collector_paused
from whence.lang.datalog.pieces import Alternatives
from whence.lang.datalog.places import Places
from whence.lang.datalog.read import read
from whence.lang.datalog.schema import Schemas
from whence.lang.datalog.types import Types
from whence.model.program import Program
from whence.model.rules import Atom, Rule
from whence.model.span import Source


def parse_datalog(text: str, name: str = "<rules>") -> Program:
    """The program that a text in Soufflé's dialect stands for; `name` is what messages call the text."""
    with collector_paused():
        return _program(Source(name, text, is_datalog=True))


def _program(source: Source) -> Program:
    statements = read(source)
    places = Places(source)
    types = Types(places, (each for each in statements if isinstance(each, syntax.Alias)))
    schemas = Schemas(places, types)
    relations = [
        relation for each in statements if isinstance(each, syntax.Declaration) for relation in schemas.relations(each)
    ]
    directives = [
        directive for each in statements if isinstance(each, syntax.Directive) for directive in schemas.directives(each)
    ]
    clauses = [each for each in statements if isinstance(each, syntax.Clause)]
    known = {relation.name for relation in relations} | {directive.relation for directive in directives}
    known.update(places.name(head.name) for clause in clauses for head in clause.heads)
    rules = _rules(clauses, places, types, frozenset(known))
    return Program(tuple(relations), tuple(rules), tuple(directives))


def _rules(clauses: Iterable[syntax.Clause], places: Places, types: Types, relations: frozenset[str]) -> Sequence[Rule]:
    auxiliaries = Auxiliaries(relations)
    for clause in clauses:
        span = places.span(clause)
        text = span.text
        bodies = Bodies(places, types, relations, text.__contains__)
        alternatives: Alternatives = ((),) if clause.body is None else bodies.alternatives(clause.body, clause)
        for head in clause.heads:
            terms = tuple([bodies.terms.term(argument, 0) for argument in head.arguments])
            in_head = bodies.terms.take_aggregates()
            atom = Atom(places.name(head.name), terms, span=places.span(head))
            for pieces in alternatives:
                auxiliaries.add(atom, (*pieces, *in_head), head.sign, span)
    return auxiliaries.take_rules()
