"""`db.why_not`: what a row lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from whence.errors import ConvergenceError, DataError, EvaluationError
from whence.explain.changes.attempts import Attempt, Attempts, Lack
from whence.explain.changes.contents import Contents
from whence.explain.changes.missing import Found, Search
from whence.explain.changes.what_if import what_if
from whence.explain.changes.wording import json_facts, ordered, plain
from whence.explain.changes.world import World
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.reasons import Fact
from whence.explain.proofs.words import Pattern, fact_text
from whence.explain.wording import amount
from whence.model.schema import Relation
from whence.model.types import Row
from whence.session.batch import Insert
from whence.session.session import Session

# Larger sets are not looked for, nor more than so many of the smallest.
LARGEST = 3
WANTED = 5
STEPS = 200_000
SECONDS = 10.0
STEPS_OF_ATTEMPTS = 20_000

_WORDS = {"missing": "missing: ", "blocked": "blocked by: ", "false": "is false: ", "differs": "gives: ", "open": ""}


@dataclass(frozen=True)
class WhyNot:
    """Why a row is not there.

    `attempts` has the closest that each rule comes. `missing` is a smallest set of rows of tables, made of values that
    the database knows, whose insertion produces the row; `others` are more of that size. It is None where there is no
    such set of up to `searched` rows; if not `complete`, a limit ended the search there.
    """

    relation: str
    row: Pattern
    attempts: tuple[Attempt, ...]
    missing: frozenset[Fact] | None
    others: tuple[frozenset[Fact], ...]
    searched: int
    complete: bool
    relations: Mapping[str, Relation]

    def json(self) -> dict[str, object]:
        return {
            "relation": self.relation,
            "row": _json_pattern(self.row),
            "attempts": [_json_attempt(attempt) for attempt in self.attempts],
            "missing": None if self.missing is None else json_facts(self.missing, self.relations),
            "others": [json_facts(facts, self.relations) for facts in self.others],
            "searched": self.searched,
            "complete": self.complete,
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        yield f"{fact_text(self.relation, self.row)} is not there"
        for attempt in self.attempts:
            yield ""
            yield from _attempt_lines(attempt)
        yield ""
        if self.missing is not None:
            yield f"it would be there with {amount(len(self.missing), 'more row')}"
            yield f"  {self._together(self.missing)}"
            for other in self.others:
                yield f"  or {self._together(other)}"
        elif not self.complete:
            yield (
                f"no set of up to {amount(self.searched, 'row')} would produce it; for more, the search took too long"
                if self.searched
                else "the search for rows that would produce it took too long"
            )
        elif any(lack.kind == "blocked" for attempt in self.attempts for lack in attempt.lacks):
            yield "no rows that come would produce it: what blocks it would have to go"
        else:
            yield f"no set of up to {amount(self.searched, 'row')} of known values would produce it"

    def _together(self, facts: frozenset[Fact]) -> str:
        return " and ".join(fact_text(*fact) for fact in ordered(facts, self.relations))


def why_not(session: Session, backwards: Backwards, relation: Relation, pattern: Pattern) -> WhyNot:
    """Raises where the row is there."""
    contents = Contents(backwards.evidence)
    definitions = session.definitions
    _check_absent(contents, relation, pattern)
    visible = definitions.relations
    if relation.name not in definitions.views:
        return _of_table(relation, pattern, visible)

    def world(steps: int) -> World:
        return World(contents, definitions.analysis, definitions.functions, steps, SECONDS)

    attempts = Attempts(world(STEPS_OF_ATTEMPTS)).at(relation.name, pattern)
    searched = world(STEPS)
    searched.known.ask({at: value for at, value in enumerate(pattern) if value is not ...}, relation)
    search = Search(searched, lambda facts: _produces(session, facts, relation.name, pattern), LARGEST, WANTED)
    found: Found = search.run((relation.name, pattern))
    return WhyNot(
        relation=relation.name,
        row=pattern,
        attempts=attempts,
        missing=found.sets[0] if found.sets else None,
        others=tuple(found.sets[1:]),
        searched=found.searched,
        complete=found.is_complete,
        relations=visible,
    )


def _produces(session: Session, facts: frozenset[Fact], view: str, pattern: Pattern) -> bool:
    tables: dict[str, list[Row]] = {}
    for name, row in facts:
        tables.setdefault(name, []).append(row)
    relations = session.definitions.relations
    try:
        seen = what_if(session, [Insert(relations[name], rows) for name, rows in tables.items()]).changes
    except (DataError, EvaluationError, ConvergenceError):
        # A key that is taken, or a change that could not be made.
        return False
    return any(count > 0 and _fits(row, pattern) for row, count in seen.get(view, {}).items())


def _fits(row: Row, pattern: Pattern) -> bool:
    return all(wanted is ... or wanted == value for wanted, value in zip(pattern, row, strict=True))


def _check_absent(contents: Contents, relation: Relation, pattern: Pattern) -> None:
    known = {at: value for at, value in enumerate(pattern) if value is not ...}
    there = next(iter(contents.matching(relation.name, tuple(known), tuple(known.values()))), None)
    if there is not None:
        raise DataError(
            f"{fact_text(relation.name, there)} is there, so that nothing is missing",
            hint="db.why(...) tells why it is there",
        )


def _of_table(relation: Relation, pattern: Pattern, visible: Mapping[str, Relation]) -> WhyNot:
    """A row of a table is there when somebody has inserted it."""
    row = tuple(value for value in pattern if value is not ...)
    missing = frozenset([(relation.name, row)]) if len(row) == relation.arity else None
    return WhyNot(relation.name, pattern, (), missing, (), 1 if missing else 0, True, visible)


def _attempt_lines(attempt: Attempt, indent: str = "") -> Iterator[str]:
    if attempt.rule is not None:
        yield f"{indent}{attempt.rule}"
    if attempt.place is not None:
        yield f"{indent}  at {attempt.place}"
    for held in attempt.holds:
        yield f"{indent}  holds: {held}"
    for lack in attempt.lacks:
        after = {"blocked": " is there", "differs": " instead"}.get(lack.kind, "")
        yield f"{indent}  {_WORDS[lack.kind]}{lack.text}{after}"
        for deeper in lack.attempts:
            yield from _attempt_lines(deeper, f"{indent}    ")


def _json_pattern(pattern: Pattern) -> list[object]:
    return [None if value is ... else plain(value) for value in pattern]


def _json_attempt(attempt: Attempt) -> dict[str, object]:
    return {
        "rule": attempt.rule,
        "place": attempt.place,
        "holds": list(attempt.holds),
        "lacks": [_json_lack(lack) for lack in attempt.lacks],
    }


def _json_lack(lack: Lack) -> dict[str, object]:
    return {
        "kind": lack.kind,
        "text": lack.text,
        "relation": lack.relation,
        "row": None if lack.row is None else _json_pattern(lack.row),
        "attempts": [_json_attempt(attempt) for attempt in lack.attempts],
    }
