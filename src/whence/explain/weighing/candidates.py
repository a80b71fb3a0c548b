"""Base rows whose loss could take a row away, where derivations alone do not tell.

A row stays as long as its proof does. So what counts are the base rows of the proof; and those that hold something
back: what a rule negates, or a new member of a group, may come when other rows go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from whence.engines.evidence import Evidence
from whence.errors import UnsupportedError
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.reasons import Fact, Kind, Reasons
from whence.explain.proofs.words import relation_name
from whence.explain.weighing.cone import Cone
from whence.model.rules import Atom, Negation, Rule
from whence.model.types import Row

# So many rows are tried at most.
_MOST = 10_000
_MOST_FOR_CUTS = 200


def candidates(backwards: Backwards, reasons: Reasons) -> list[Fact]:
    """Every base row whose loss could matter to what the reasons prove."""
    found = {fact: None for fact, reason in reasons.items() if reason.kind is Kind.BASE}
    held_back = set(_held_back(backwards, reasons))
    for table in sorted(_tables_under(backwards, held_back)):
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
    found = dict(cone.base)
    others: dict[Fact, None] = {}
    for table in sorted(_tables_under(backwards, {root[0] for root in cone.roots})):
        others.update(dict.fromkeys((table, row) for row in _everything(backwards.evidence, table)))
    return list({**found, **others} if len(others) <= _MOST_FOR_CUTS else found)


def _everything(evidence: Evidence, table: str) -> Mapping[Row, int]:
    return evidence.gather(lambda: evidence.contents(table).matching((), ()))


def _held_back(backwards: Backwards, reasons: Reasons) -> Iterator[str]:
    """The relations that could get new rows when base rows go, and harm a reason by that."""
    growing = _growing(backwards)
    for rule in {id(way.rule): way.rule for reason in reasons.values() for way in reason.ways}.values():
        yield from (name for name in _negated(rule) if name in growing)
    for relation in {fact[0] for fact, reason in reasons.items() if reason.kind in (Kind.AGGREGATE, Kind.SUM)}:
        for rule in backwards.rules(relation):
            yield from _negated(rule)
            yield from (name for name in _read(rule) if name in growing)


def _growing(backwards: Backwards) -> set[str]:
    """The relations that can get new rows when base rows go."""
    found: set[str] = set()
    for component in backwards.evidence.analysis.components:
        for rule in component.rules:
            if rule.sign < 0 or rule.aggregates or any(_negated(rule)) or not found.isdisjoint(_read(rule)):
                found.update(component.relations)
                break
    return found


def _tables_under(backwards: Backwards, relations: set[str]) -> set[str]:
    tables: set[str] = set()
    seen: set[str] = set()
    todo = list(relations)
    while todo:
        relation = todo.pop()
        if relation in seen:
            continue
        seen.add(relation)
        if backwards.is_table(relation):
            tables.add(relation)
        for rule in backwards.rules(relation):
            todo.extend(_read(rule))
            todo.extend(_negated(rule))
    return tables


def _read(rule: Rule) -> Iterator[str]:
    return (literal.relation for literal in rule.body if isinstance(literal, Atom))


def _negated(rule: Rule) -> Iterator[str]:
    return (literal.atom.relation for literal in rule.body if isinstance(literal, Negation))


def tables_under(backwards: Backwards, relation: str) -> set[str]:
    """The tables that a relation is made from, itself if it is one."""
    return _tables_under(backwards, {relation})
