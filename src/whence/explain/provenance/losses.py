"""What the loss of base rows can do to a row, where its derivations of now need not tell.

They do tell where base rows that go can only take rows away. A rule that negates or takes away, and an aggregate that
adds up, give other rows instead. With min and max, too, another value takes the place of the one that goes; but what is
computed from it by sums alone is then another row as well, and no other derivation of the row in question.

Else losses are tried. A row stays as long as its proof does: what counts are the base rows of the proof, and those that
hold something back, since what a rule negates, or a new member of a group, may come when other rows go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from whence.engines.engine import Evidence
from whence.errors import UnsupportedError
from whence.explain.proofs.backwards import EXTREMES, Backwards
from whence.explain.proofs.reasons import Fact, ReasonKind, Reasons, positive
from whence.explain.proofs.text import relation_name
from whence.model.graphs import reached
from whence.model.rules import Atom, Negation, Rule, literal_variables
from whence.model.terms import Aggregate, Call, Constant, Term, Variable, variables
from whence.model.types import Row

if TYPE_CHECKING:
    from whence.explain.provenance.cone import Cone


def inexact(backwards: Backwards, relations: Iterable[str]) -> str | None:
    """Why the derivations of rows of these relations do not tell what fewer base rows give; None if they do.

    All rules count, also those that derive nothing now: what holds them back may go.
    """
    below = reached(relations, lambda name: _reads(backwards, name))
    return next((why for name in below if (why := _inexact(backwards, name)) is not None), None)


def _reads(backwards: Backwards, relation: str) -> Iterator[str]:
    return (name for rule in backwards.rules(relation) for name in rule.reads)


def _inexact(backwards: Backwards, relation: str) -> str | None:
    if backwards.is_table(relation):
        return None
    name, rules = relation_name(relation), backwards.rules(relation)
    if any(isinstance(literal, Negation) for rule in rules for literal in rule.body):
        return f"a rule of {name} negates"
    if backwards.is_signed(relation):
        return f"a rule takes away from {name}"
    if backwards.is_aggregated(relation) and not backwards.is_extreme(relation):
        return f"{name} adds up the members of groups"
    if backwards.is_aggregated(relation) and len(rules[0].aggregates) == len(rules[0].head.terms):
        return f"{name} has a row even without members"
    if not all(_is_passed_on(rule, place, backwards) for rule in rules for place in _extremes(rule, backwards)):
        return f"a rule of {name} reads a min or max"
    return None


def _extremes(rule: Rule, backwards: Backwards) -> Iterator[tuple[Atom, int]]:
    """The columns of the body that hold a min or max."""
    for literal in rule.body:
        if isinstance(literal, Atom) and not backwards.is_table(literal.relation):
            for position in backwards.rules(literal.relation)[0].aggregates:
                yield literal, position


def _is_passed_on(rule: Rule, place: tuple[Atom, int], backwards: Backwards) -> bool:
    """Whether a value only goes, by sums, into a value of the same kind in the head."""
    atom, position = place
    value = atom.terms[position]
    if not isinstance(value, Variable) or len(rule.aggregates) != 1:
        return False
    source = backwards.rules(atom.relation)[0].head.terms[position]
    target = rule.head.terms[rule.aggregates[0]]
    if not (isinstance(source, Aggregate) and isinstance(target, Aggregate) and target.argument is not None):
        return False
    if source.function != target.function or source.function not in EXTREMES or not _is_sum(target.argument):
        return False
    uses = [variable for literal in rule.body for variable in literal_variables(literal) if variable.name == value.name]
    in_head = [v for term in rule.head.terms if term is not target for v in variables(term) if v.name == value.name]
    return len(uses) == 1 and not in_head and any(v.name == value.name for v in variables(target.argument))


def _is_sum(term: Term) -> bool:
    match term:
        case Variable() | Constant():
            return True
        case Call(function="+", arguments=(left, right)):
            return _is_sum(left) and _is_sum(right)
    return False


# So many rows are tried at most.
_MOST = 10_000
_MOST_FOR_CUTS = 200


def candidates(backwards: Backwards, reasons: Reasons) -> list[Fact]:
    """Every base row whose loss could matter to what the reasons prove."""
    found = {fact: None for fact, reason in reasons.items() if reason.kind is ReasonKind.BASE}
    held_back = set(_held_back(backwards, reasons))
    for table in sorted(tables_under(backwards, held_back)):
        rows = _everything(backwards.evidence, table)
        if len(found) + len(rows) > _MOST:
            raise UnsupportedError(
                f"too many rows could matter to tell by trying them: {relation_name(table)} has {len(rows):,}",
                hint="its rows hold back what a rule negates or what an aggregate is made of",
            )
        found.update(dict.fromkeys((table, row) for row in rows))
    return list(found)


def for_cuts(backwards: Backwards, cone: Cone) -> list[Fact]:
    """The base rows of which some together could take the rows of a cone away, those of its derivations first.

    Others can matter where they hold something back; where these are many, they are left out.
    """
    tables = sorted(tables_under(backwards, {root[0] for root in cone.roots}))
    others = [(table, row) for table in tables for row in _everything(backwards.evidence, table)]
    return list(dict.fromkeys([*cone.base, *others]) if len(others) <= _MOST_FOR_CUTS else cone.base)


def _everything(evidence: Evidence, table: str) -> Mapping[Row, int]:
    return evidence.gather(lambda: evidence.contents(table).matching((), ()))


def _held_back(backwards: Backwards, reasons: Reasons) -> Iterator[str]:
    """The relations that could get new rows when base rows go, and harm a reason by that."""
    growing = _growing(backwards)
    derivations = [derivation for reason in reasons.values() for derivation in reason.derivations]
    for rule in {id(derivation.rule): derivation.rule for derivation in derivations}.values():
        yield from (name for name in _negated(rule) if name in growing)
    for relation in {
        fact[0] for fact, reason in reasons.items() if reason.kind in (ReasonKind.AGGREGATE, ReasonKind.SUM)
    }:
        for rule in backwards.rules(relation):
            yield from _negated(rule)
            yield from (name for name in positive(rule) if name in growing)


def _growing(backwards: Backwards) -> set[str]:
    """The relations that can get new rows when base rows go."""
    found: set[str] = set()
    for component in backwards.evidence.analysis.components:
        for rule in component.rules:
            if rule.sign < 0 or rule.aggregates or any(_negated(rule)) or not found.isdisjoint(positive(rule)):
                found.update(component.relations)
                break
    return found


def tables_under(backwards: Backwards, relations: Iterable[str]) -> set[str]:
    """The tables that relations are made from, those of them that are tables included."""
    below = reached(relations, lambda name: _reads(backwards, name))
    return {relation for relation in below if backwards.is_table(relation)}


def _negated(rule: Rule) -> Iterator[str]:
    return (literal.atom.relation for literal in rule.body if isinstance(literal, Negation))
