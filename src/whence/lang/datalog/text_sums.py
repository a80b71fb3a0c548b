"""`+` of texts: Soufflé joins them. Where no text is written in a sum, the columns of its variables tell.

.decl word(w: symbol)
pair(a + b) :- word(a), word(b).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from whence.lang.datalog.functions import is_text
from whence.model.rules import Atom, Comparison, Condition, Literal, Negation, Rule, rule_terms
from whence.model.schema import Relation
from whence.model.terms import Aggregate, Call, Cast, Skolem, Term, Variable, fold, walk
from whence.model.types import STRING


def with_text_sums(rules: Iterable[Rule], relations: Mapping[str, Relation]) -> Iterator[Rule]:
    for rule in rules:
        sums = any(isinstance(part, Call) and part.function == "+" for term in rule_terms(rule) for part in walk(term))
        texts = set(_texts(rule, relations)) if sums else ()
        yield _joined(rule, texts) if texts else rule


def _texts(rule: Rule, relations: Mapping[str, Relation]) -> Iterator[str]:
    """The variables that stand in columns of texts."""
    for atom in (rule.head, *rule.body_atoms):
        if atom.relation in relations:
            for term, column in zip(atom.terms, relations[atom.relation].columns, strict=False):
                if isinstance(term, Variable) and column.type == STRING:
                    yield term.name


def _joined(rule: Rule, texts: Collection[str]) -> Rule:
    def term_of(term: Term) -> Term:
        return fold(term, combine)

    def combine(part: Term, inside: Sequence[Term]) -> Term:
        match part:
            case Call(function="+") if any(is_text(each) or _is_named(each, texts) for each in inside):
                return replace(part, function="concat", arguments=tuple(inside))
            case Call() | Skolem() if inside:
                return replace(part, arguments=tuple(inside))
            case Cast():
                return replace(part, term=inside[0])
            case Aggregate() if inside:
                return replace(part, argument=inside[0])
        return part

    def atom_of(atom: Atom) -> Atom:
        return replace(atom, terms=tuple(map(term_of, atom.terms)))

    def literal_of(literal: Literal) -> Literal:
        match literal:
            case Atom():
                return atom_of(literal)
            case Negation(atom=atom):
                return replace(literal, atom=atom_of(atom))
            case Comparison(left=left, right=right):
                return replace(literal, left=term_of(left), right=term_of(right))
            case Condition(term=term):
                return replace(literal, term=term_of(term))

    return replace(rule, head=atom_of(rule.head), body=tuple(map(literal_of, rule.body)))


def _is_named(term: Term, texts: Collection[str]) -> bool:
    return isinstance(term, Variable) and term.name in texts
