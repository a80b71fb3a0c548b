"""What the change feeds say about one row, and about one commit."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from whence.algebra.deltas import added, all_added, all_negated
from whence.engines.engine import Evidence
from whence.errors import (
    DataError,
    EvaluationError,
    Hint,
    NextStep,
    StateError,
    TypeMismatchError,
    UnsupportedError,
    WhenceError,
)
from whence.explain.explain import components_below
from whence.explain.hypothetical.contents import Supposed
from whence.explain.hypothetical.what_if import ordered
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.proof import Proof
from whence.explain.proofs.prover import Steps, prove
from whence.explain.proofs.reasons import Fact, ProofLimits
from whence.explain.proofs.text import fact_text, json_row
from whence.explain.proofs.user_rules import in_user_rules
from whence.explain.provenance.provenance import Weighing
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.types.times import timestamp_text
from whence.model.updates import Delta, Update, Version, totals
from whence.session.draft import key_of
from whence.session.journal import KEEPING, Entry, ForgottenError
from whence.session.session import Session


def _kept(session: Session, name: str) -> tuple[Version, Sequence[Entry]]:
    """The changes of a relation that are kept, oldest first, and the version before them."""
    try:
        return Version(0), session.journal.since(name, Version(0))
    except ForgottenError as error:
        return error.dropped, session.journal.since(name, error.dropped)


def _change_in(session: Session, name: str, version: Version) -> Delta:
    """What a commit changed in a relation."""
    entries = session.journal.since(name, Version(version - 1))
    return entries[0].delta if entries and entries[0].version == version else {}


def _change_after(session: Session, name: str, version: Version) -> Delta:
    """What all commits after a version changed in a relation, together."""
    return added({}, *(entry.delta for entry in session.journal.since(name, version)))


def _tables_under(session: Session, view: str) -> list[str]:
    """The tables that a view reads, itself or through others; a table is its own."""
    definitions = session.definitions
    if view not in definitions.views:
        return [view]
    read = {name for component in components_below(view, definitions.analysis) for name in component.reads}
    return [name for name in definitions.visible if name in read and name not in definitions.views]


# So often a commit is tried with fewer changes, to find out which of them mattered.
_MOST_TESTS = 400


@dataclass(frozen=True)
class RowHistory:
    """What a commit did to a row: how often it was there `before` and `after`, and the changes to tables that did it.

    Without any one of the `causes`, which are rows and how often they came or went, the commit would not have done
    this. They are all changes of the commit to tables below the view if it is not `exact`. `proof` is the proof of the
    row at that time, as text: after the commit if the row came, before it if it went.
    """

    relation: str
    row: Row
    version: int
    timestamp: datetime.datetime
    before: int
    after: int
    causes: Mapping[Fact, int]
    exact: bool
    proof: str | None
    relations: Mapping[str, Relation]

    @property
    def came(self) -> bool:
        return self.after > self.before

    @property
    def updates(self) -> Mapping[Fact, Fact]:
        """Those of the causes that are one step: a row with a key went, and another one with the same key came."""
        came: dict[tuple[str, object], Fact] = {}
        went: dict[tuple[str, object], Fact] = {}
        for name, row in ordered(self.causes, self.relations):
            key = key_of(self.relations[name]) if name in self.relations else None
            if key is not None:
                (came if self.causes[name, row] > 0 else went)[name, key(row)] = (name, row)
        return {fact: came[at] for at, fact in went.items() if at in came}

    def json(self) -> dict[str, object]:
        updates = [
            {"relation": old[0], "before": json_row(old[1]), "after": json_row(new[1])}
            for old, new in self.updates.items()
        ]
        causes = [
            {"relation": name, "row": json_row(row), "count": self.causes[name, row]}
            for name, row in ordered(self.causes, self.relations)
        ]
        return {
            "relation": self.relation,
            "row": json_row(self.row),
            "version": self.version,
            "timestamp": self.timestamp.isoformat(),
            "before": self.before,
            "after": self.after,
            "causes": causes,
            "updates": updates,
            "exact": self.exact,
            "proof": self.proof,
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        what = "came" if self.came else "went"
        times = "" if {self.before, self.after} == {0, 1} else f" (it was there {self.before} times, then {self.after})"
        when = timestamp_text(self.timestamp.replace(tzinfo=None))
        yield f"{fact_text(self.relation, self.row)} {what} in version {self.version}, at {when} UTC{times}"
        if not self.causes:
            yield "with the definition of the view: no table changed"
        elif not self.exact:
            yield "one of these changes did it, or several together"
        elif len(self.causes) - len(self.updates) > 1:
            yield "because of all of these changes"
        updates = self.updates
        for old, new in updates.items():
            yield f"  ~ {fact_text(*old)} became {fact_text(*new)}"
        paired = {*updates, *updates.values()}
        for name, row in ordered(self.causes, self.relations):
            if (name, row) in paired:
                continue
            count = self.causes[name, row]
            copies = f" x {abs(count)}" if abs(count) > 1 else ""
            yield f"  {'+' if count > 0 else '-'} {fact_text(name, row)}{copies}"
        if self.proof is not None:
            yield ""
            yield "its proof then" if self.came else "its proof before that"
            yield from (f"  {line}" for line in self.proof.splitlines())


def why_at(session: Session, relation: Relation, row: Row, version: object) -> RowHistory:
    """What the last commit up to a version did that changed the row."""
    if isinstance(version, bool) or not isinstance(version, int):
        raise TypeMismatchError(f"version is the version of a commit, a number, not {version!r}")
    if not 1 <= version <= session.version:
        raise StateError(f"there is no version {version}: the latest is {session.version}")
    return _told(session, relation, row, Version(version))


def what_removed(session: Session, relation: Relation, row: Row) -> RowHistory:
    """The commit that removed a row which is not there any more."""
    if session.counts(relation.name).get(row, 0) > 0:
        raise DataError(
            f"{fact_text(relation.name, row)} is there: nothing removed it",
            hint=Hint("{} tells why it is there", (NextStep("why", "db.why(...)", (relation.name, row)),)),
        )
    return _told(session, relation, row, session.version)


def _last_change(session: Session, relation: Relation, row: Row, version: Version) -> Entry:
    since, entries = _kept(session, relation.name)
    if since >= version:
        session.journal.since(relation.name, Version(version - 1))
    found = [entry for entry in entries if entry.delta.get(row, 0)]
    until = [entry for entry in found if entry.version <= version]
    if until:
        return until[-1]
    text = fact_text(relation.name, row)
    later = f"it came in version {found[0].version}" if found else None
    now = session.counts(relation.name).get(row, 0)
    was_there = found[0].delta[row] < 0 if found else now > 0
    if was_there:
        raise StateError(
            f"{text} came before version {since + 1}, and older changes are forgotten",
            hint=Hint("keep more with {}", (KEEPING,)),
        )
    known = f" since version {since + 1}, and older changes are forgotten" if since else ""
    raise DataError(f"{text} was not there up to version {version}{known}", hint=later)


def _told(session: Session, relation: Relation, row: Row, version: Version) -> RowHistory:
    entry = _last_change(session, relation, row, version)
    after = session.counts(relation.name).get(row, 0)
    after -= _change_after(session, relation.name, entry.version).get(row, 0)
    before = after - entry.delta[row]
    tables = _tables_under(session, relation.name)
    changed = {name: dict(_change_in(session, name, entry.version)) for name in tables}
    parts = [part for name in tables for part in _parts(session.definitions.relations[name], changed[name])]
    later = all_negated({name: _change_after(session, name, entry.version) for name in tables})
    earlier = all_added(later, all_negated(changed))

    def count_with(some: Sequence[Mapping[str, Mapping[Row, int]]]) -> int:
        """How often the row is there with these changes of the commit, and no others."""
        then = all_added(earlier, *some)
        now = session.counts(relation.name).get(row, 0)
        try:
            return now + session.foresee(Update(then)).get(relation.name, {}).get(row, 0)
        except WhenceError:
            # A part of a commit may be something that could never have been committed.
            return before

    causes, exact = parts, False
    if parts and count_with(parts) == after and count_with(()) == before:
        causes = list(narrowed(parts, lambda some: count_with(some) == after, _MOST_TESTS))
        exact = True
    return RowHistory(
        relation=relation.name,
        row=row,
        version=entry.version,
        timestamp=entry.timestamp,
        before=before,
        after=after,
        causes={(name, each): n for name, delta in all_added(*causes).items() for each, n in delta.items()},
        exact=exact or not parts,
        proof=_proof(session, later if after > before else earlier, (relation.name, row)) if exact else None,
        relations=session.definitions.visible,
    )


def _parts(table: Relation, delta: Mapping[Row, int]) -> Iterator[dict[str, dict[Row, int]]]:
    """Changes that can be made one without the other: those of one key belong together."""
    key = key_of(table)
    together: dict[object, dict[Row, int]] = {}
    for row, change in delta.items():
        together.setdefault(row if key is None else key(row), {})[row] = change
    return ({table.name: part} for part in together.values())


def _proof(session: Session, change: Mapping[str, Mapping[Row, int]], fact: Fact) -> str | None:
    """The proof with other rows in the tables."""
    capabilities = session.engine.capabilities
    if capabilities.evidence is None or capabilities.foresight is None:
        return None
    # The rules may have changed since: those of now need not give the row, nor fit the rows of then.
    with suppress(DataError, EvaluationError, UnsupportedError):
        changes = capabilities.foresight.foresee(Update(change))
        return proof_supposing(capabilities.evidence.evidence(), changes, fact)
    return None


Part = TypeVar("Part")


def narrowed(parts: Sequence[Part], suffices: Callable[[Sequence[Part]], bool], most_tests: int) -> Sequence[Part]:
    """Parts that suffice, and none of which could be left out alone; more than that after `most_tests` tests.

    All parts together suffice. Halves are left out first, then quarters and so on, so that few among many are found in
    few tests.

    >>> narrowed(range(100), lambda some: {3, 71} <= {*some}, 1000)
    [3, 71]
    """
    left = list(parts)
    pieces = 2
    while len(left) > 1 and most_tests > 0:
        size = -(-len(left) // pieces)
        for start in range(0, len(left), size):
            rest = left[:start] + left[start + size :]
            most_tests -= 1
            if rest and suffices(rest):
                left, pieces = rest, max(pieces - 1, 2)
                break
            if most_tests <= 0:
                break
        else:
            if pieces >= len(left):
                return left
            pieces = min(2 * pieces, len(left))
    return left


# So many rows may differ between then and now.
MOST_ROWS = 500_000


def proof_supposing(evidence: Evidence, changes: Mapping[str, Delta], fact: Fact) -> str | None:
    """The proof of a row with these changes of relations, as text; None if it is not there, or they are too many."""
    if sum(sum(totals(delta)) for delta in changes.values()) > MOST_ROWS:
        return None
    backwards = Backwards(Supposed(in_user_rules(evidence), changes))
    if backwards.evidence.gather(lambda: backwards.count(fact)) <= 0:
        return None
    reasons = prove(backwards, [fact], ProofLimits())
    roots = Steps(reasons, backwards).roots([fact])
    return str(Proof(fact[0], roots, (fact,), reasons, lambda: Weighing(backwards, fact)))
