"""Mappings between schemas, as people in data exchange write them, to rules.

    bioentry(E, T, N), term(T, "gene") -> gene(E, N).
    people(N, A) -> names(S, N), addresses(S, A).

    peer GeneOrg { gene, hasGene }

A variable that only the right side has stands for a value that exists and that nobody knows: a Skolem term over the
variables that the two sides share, so that it is the same one in all atoms of the right side. Targets are bags: a row
counts once for every derivation. Relations can be grouped under the name of a peer, who has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from whence.errors import ParseError, UnsupportedError
from whence.lang.datalog import syntax
from whence.lang.datalog.literals import Places
from whence.lang.datalog.parse import lowered_rules, read_statements
from whence.lang.datalog.schema import Schemas, Types
from whence.model.program import Program
from whence.model.rules import Rule, literal_variables
from whence.model.schema import Relation, is_auxiliary
from whence.model.span import SourceText, Span
from whence.model.terms import Skolem, Term, Variable, variables


@dataclass(frozen=True, slots=True)
class PeerMember:
    """A relation that a peer has, and where the text says so."""

    peer: str
    relation: str
    span: Span


@dataclass(frozen=True, slots=True)
class MappingProgram:
    """Rules with declarations, what the text calls the columns of their heads, and what peers have."""

    program: Program
    columns: Mapping[str, tuple[str | None, ...]]
    members: tuple[PeerMember, ...] = ()


def parse_mappings(text: str, name: str = "<mappings>") -> MappingProgram:
    """The rules that a text of mappings stands for; `name` is what messages call it."""
    source = SourceText(name, text, is_datalog=True)
    statements = read_statements(source, "mappings")
    if not statements:
        raise ParseError("the program is empty")
    places = Places(source)
    types = Types(places, ())
    schemas = Schemas(places, types)
    peers = [each for each in statements if isinstance(each, syntax.PeerNode)]
    declarations = [each for each in statements if isinstance(each, syntax.Declaration)]
    declarations += [each for peer in peers for each in peer.declarations]
    relations = [relation for each in declarations for relation in schemas.relations(each)]
    clauses = [each for each in statements if isinstance(each, syntax.Clause)]
    heads = frozenset(places.name(head.name) for clause in clauses for head in clause.heads)
    rules = lowered_rules(clauses, places, types, heads)
    declared = {relation.name: relation for relation in relations}
    made = tuple(_with_skolems(rules, declared))
    columns = {rule.head.relation: tuple(_called(term) for term in rule.head.terms) for rule in reversed(rules)}
    members = tuple(member for peer in peers for member in _members(peer, places))
    return MappingProgram(Program(tuple(relations), made), columns, members)


def _members(peer: syntax.PeerNode, places: Places) -> Iterator[PeerMember]:
    tokens = [*peer.relations, *(name for each in peer.declarations for name in each.names)]
    if not tokens:
        raise ParseError(f"peer {peer.name} has no relations", span=places.span(peer), hint="write their names into it")
    yield from (PeerMember(str(peer.name), places.name(token), places.span(token)) for token in tokens)


def _called(term: object) -> str | None:
    return term.name if isinstance(term, Variable) else None


def _with_skolems(rules: Sequence[Rule], declared: Mapping[str, Relation]) -> Iterator[Rule]:
    """The rules of one mapping have its place in the text in common."""
    mappings: dict[object, list[Rule]] = {}
    for rule in rules:
        mappings.setdefault(rule.span, []).append(rule)
    taken: set[str] = set()
    for together in mappings.values():
        targets = [rule for rule in together if not is_auxiliary(rule.head.relation)]
        known = {variable.name for rule in together for each in rule.body for variable in literal_variables(each)}
        shared = {
            variable.name: variable
            for rule in targets
            for term in rule.head.terms
            for variable in variables(term)
            if variable.name in known
        }
        names = dict.fromkeys(rule.head.relation for rule in targets)
        invented: dict[str, Skolem] = {}
        for rule in together:
            terms: list[Term] = []
            for at, term in enumerate(rule.head.terms):
                if isinstance(term, Variable) and term.name not in known:
                    _check_key(rule, at, declared)
                    if term.name not in invented:
                        function = _free(f"{term.name}_{'_'.join(names)}", taken)
                        invented[term.name] = Skolem(function, tuple(shared.values()))
                    terms.append(invented[term.name])
                else:
                    terms.append(term)
            yield replace(rule, head=replace(rule.head, terms=tuple(terms)))


def _check_key(rule: Rule, at: int, declared: Mapping[str, Relation]) -> None:
    relation = declared.get(rule.head.relation)
    if relation is not None and relation.columns[at].name in relation.key:
        raise UnsupportedError(
            f"column {relation.columns[at].name!r} is part of the key of {relation.name!r}, and this mapping does not "
            "say which value it has",
            span=rule.head.terms[at].span or rule.span,
            hint="give it a variable of the left side, or leave it out of the key",
        )


def _free(name: str, taken: set[str]) -> str:
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    taken.add(found)
    return found
