"""Rows that are put into tables for a moment, to see whether they produce what was asked for."""

from __future__ import annotations

from collections.abc import Mapping

from whence.engines.evidence import Evidence
from whence.errors import ConvergenceError, DataError, EvaluationError
from whence.explain.changes.contents import Contents
from whence.explain.changes.what_if import what_if
from whence.explain.proofs.reasons import Fact
from whence.explain.proofs.words import Pattern
from whence.incremental.keyed import key_positions
from whence.model.types import Row
from whence.session.batch import Delete, Insert
from whence.session.session import Session

# So many times rows are tried in the place of others: to know one way is enough.
_MOST_REPLACEMENTS = 200


class Trial:
    """What was asked for: a row of a view, or any that is like a pattern."""

    def __init__(self, session: Session, contents: Contents, evidence: Evidence, view: str, pattern: Pattern) -> None:
        self._session = session
        self._contents = contents
        self._evidence = evidence
        self._view = view
        self._pattern = pattern
        self._replacements = 0

    def succeeds(self, facts: frozenset[Fact]) -> bool:
        """Whether the rows produce it when they are inserted."""
        relations = self._session.definitions.relations
        return self._follows([Insert(relations[name], rows) for name, rows in _by_table(facts).items()])

    def instead(self, facts: frozenset[Fact]) -> Mapping[Fact, Row | None] | None:
        """The rows, and which one each takes the place of, where they produce it so; None where they do not, or where
        no key is taken.
        """
        places = self._evidence.gather(lambda: {fact: self._with_its_key(fact) for fact in facts})
        taken = {(fact[0], row) for fact, row in places.items() if row is not None}
        if not taken or self._replacements == _MOST_REPLACEMENTS:
            return None
        self._replacements += 1
        relations = self._session.definitions.relations
        changes: list[Insert | Delete] = [
            Delete(relations[name], rows, ignore_missing=False) for name, rows in _by_table(frozenset(taken)).items()
        ]
        changes += [Insert(relations[name], rows) for name, rows in _by_table(facts).items()]
        return places if self._follows(changes) else None

    def _follows(self, changes: list[Insert | Delete]) -> bool:
        try:
            seen = what_if(self._session, changes).changes
        except (DataError, EvaluationError, ConvergenceError):
            # A key that is taken, or a change that could not be made.
            return False
        return any(count > 0 and _fits(row, self._pattern) for row, count in seen.get(self._view, {}).items())

    def _with_its_key(self, fact: Fact) -> Row | None:
        name, row = fact
        positions = key_positions(self._session.definitions.relations[name])
        if not positions:
            return None
        key = tuple([row[position] for position in positions])
        return next(iter(self._contents.matching(name, positions, key)), None)


def _by_table(facts: frozenset[Fact]) -> dict[str, list[Row]]:
    tables: dict[str, list[Row]] = {}
    for name, row in facts:
        tables.setdefault(name, []).append(row)
    return tables


def _fits(row: Row, pattern: Pattern) -> bool:
    return all(wanted is ... or wanted == value for wanted, value in zip(pattern, row, strict=True))
