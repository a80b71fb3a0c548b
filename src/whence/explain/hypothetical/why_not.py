"""`db.why_not`: what a row lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from whence.errors import DataError, Hint, NextStep
from whence.explain.hypothetical.attempts import Attempts, MissingCondition, RuleAttempt
from whence.explain.hypothetical.contents import DatabaseContents
from whence.explain.hypothetical.missing import MissingSearch, Trial
from whence.explain.hypothetical.what_if import json_facts, ordered
from whence.explain.hypothetical.world import Hypothesis
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.reasons import Fact
from whence.explain.proofs.text import Pattern, amount, fact_text, json_row
from whence.explain.proofs.user_rules import UserRules, WholeRelations
from whence.model.schema import Relation
from whence.model.types import Row
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
    such set of up to `searched` rows; if not `complete`, a limit ended the search there. Then `instead` may have rows
    that would produce it in the place of those that have their keys now: for each row that one, or None.

    `patterns` has those of the rows in which some values do not matter.
    """

    relation: str
    row: Pattern
    attempts: tuple[RuleAttempt, ...]
    missing: frozenset[Fact] | None
    others: tuple[frozenset[Fact], ...]
    instead: Mapping[Fact, Row | None] | None
    patterns: Mapping[Fact, Pattern]
    searched: int
    complete: bool
    relations: Mapping[str, Relation]

    def json(self) -> dict[str, object]:
        return {
            "relation": self.relation,
            "row": json_row(self.row),
            "attempts": [_json_attempt(attempt) for attempt in self.attempts],
            "missing": None if self.missing is None else json_facts(self.missing, self.relations),
            "others": [json_facts(facts, self.relations) for facts in self.others],
            "instead": None if self.instead is None else self._json_instead(self.instead),
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
        elif self.instead is not None:
            yield "no rows that come would produce it, but a change of rows would"
            for fact in ordered(self.instead, self.relations):
                before = self.instead[fact]
                of = "" if before is None else f" instead of {fact_text(fact[0], before)}"
                yield f"  {self._text(fact)}{of}"
        elif not self.complete:
            none = f"no set of up to {amount(self.searched, 'row')} would produce it; for more, "
            yield f"{none if self.searched else ''}there was too much to look at"
        elif any(lack.kind == "blocked" for attempt in self.attempts for lack in attempt.lacks):
            yield "no rows that come would produce it: what blocks it would have to go"
        else:
            yield f"no set of up to {amount(self.searched, 'row')} of known values would produce it"
        if self.patterns:
            yield "where _ stands, any value would do"

    def _together(self, facts: frozenset[Fact]) -> str:
        return " and ".join(map(self._text, ordered(facts, self.relations)))

    def _text(self, fact: Fact) -> str:
        return fact_text(fact[0], self.patterns.get(fact, fact[1]))

    def _json_instead(self, instead: Mapping[Fact, Row | None]) -> list[dict[str, object]]:
        places = [(fact, instead[fact]) for fact in ordered(instead, self.relations)]
        return [
            {"relation": name, "row": json_row(row), "of": None if before is None else json_row(before)}
            for (name, row), before in places
        ]


def why_not(session: Session, backwards: Backwards, relation: Relation, pattern: Pattern) -> WhyNot:
    """Raises where the row is there."""
    evidence = backwards.evidence
    if isinstance(evidence, UserRules):
        evidence = WholeRelations(evidence, session.engine)
    contents = DatabaseContents(evidence)
    definitions = session.definitions
    _check_absent(contents, relation, pattern)
    visible = definitions.relations
    if relation.name not in definitions.views:
        return _of_table(relation, pattern, visible)

    def world(steps: int) -> Hypothesis:
        return Hypothesis(contents, evidence.analysis, definitions.functions, steps, SECONDS)

    attempts = evidence.gather(lambda: Attempts(world(STEPS_OF_ATTEMPTS)).at(relation.name, pattern))
    searched = world(STEPS)
    searched.known.ask({at: value for at, value in enumerate(pattern) if value is not ...}, relation)

    trial = Trial(session, contents, evidence, relation.name, pattern)
    found = MissingSearch(searched, evidence, trial, LARGEST, WANTED).run((relation.name, pattern))
    instead = None if found.sets else found.instead
    # That a value does not matter is a guess from the rules, which is tried on another value.
    sets = [each for each in found.sets if trial.succeeds(frozenset(map(searched.varied, each)))]
    if instead is not None and trial.instead(frozenset(map(searched.varied, instead))) is not None:
        sets.append(frozenset(instead))
    return WhyNot(
        relation=relation.name,
        row=pattern,
        attempts=attempts,
        missing=found.sets[0] if found.sets else None,
        others=tuple(found.sets[1:]),
        instead=instead,
        patterns={fact: seen for each in sets for fact in each if (seen := searched.pattern(fact)) != fact[1]},
        searched=found.searched,
        complete=found.is_complete,
        relations=visible,
    )


def _check_absent(contents: DatabaseContents, relation: Relation, pattern: Pattern) -> None:
    there = next(iter(contents.like(relation.name, pattern)), None)
    if there is not None:
        raise DataError(
            f"{fact_text(relation.name, there)} is there, so that nothing is missing",
            hint=Hint("{} tells why it is there", (NextStep("why", "db.why(...)", (relation.name, pattern)),)),
        )


def _of_table(relation: Relation, pattern: Pattern, visible: Mapping[str, Relation]) -> WhyNot:
    """A row of a table is there when it was inserted."""
    row = tuple(value for value in pattern if value is not ...)
    missing = frozenset([(relation.name, row)]) if len(row) == relation.arity else None
    return WhyNot(relation.name, pattern, (), missing, (), None, {}, 1 if missing else 0, True, visible)


def _attempt_lines(attempt: RuleAttempt, indent: str = "") -> Iterator[str]:
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


def _json_attempt(attempt: RuleAttempt) -> dict[str, object]:
    return {
        "rule": attempt.rule,
        "place": attempt.place,
        "holds": list(attempt.holds),
        "lacks": [_json_lack(lack) for lack in attempt.lacks],
    }


def _json_lack(lack: MissingCondition) -> dict[str, object]:
    return {
        "kind": lack.kind,
        "text": lack.text,
        "relation": lack.relation,
        "row": None if lack.row is None else json_row(lack.row),
        "attempts": [_json_attempt(attempt) for attempt in lack.attempts],
    }
