"""Why a row came or went at a version, told by the change feeds."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from whence.engines.local.engine import LocalEngine
from whence.errors import (
    DataError,
    EvaluationError,
    Hint,
    StateError,
    TypeMismatchError,
    UnsupportedError,
    Way,
    WhenceError,
)
from whence.explain.changes.feeds import added, change_after, change_in, inverse, kept, tables_under
from whence.explain.changes.narrowing import narrowed
from whence.explain.changes.supposing import proof_supposing
from whence.explain.changes.wording import json_row, ordered
from whence.explain.proofs.reasons import Fact
from whence.explain.proofs.words import fact_text
from whence.functions.text import timestamp_text
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Update
from whence.session.draft import key_of
from whence.session.history import KEEPING, Entry
from whence.session.session import Session
from whence.session.waiting import WaitingEngine

# So often a commit is tried with fewer changes, to find out which of them mattered.
_MOST_TESTS = 400


@dataclass(frozen=True)
class History:
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

    def json(self) -> dict[str, object]:
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
        elif len(self.causes) > 1:
            yield "because of all of these changes"
        for name, row in ordered(self.causes, self.relations):
            count = self.causes[name, row]
            copies = f" x {abs(count)}" if abs(count) > 1 else ""
            yield f"  {'+' if count > 0 else '-'} {fact_text(name, row)}{copies}"
        if self.proof is not None:
            yield ""
            yield "its proof then" if self.came else "its proof before that"
            yield from (f"  {line}" for line in self.proof.splitlines())


# Proves a row as the session's engine has it at the moment.
Prove = Callable[[], str]


def why_at(session: Session, relation: Relation, row: Row, version: object, prove: Prove | None) -> History:
    """What the last commit up to a version did that changed the row."""
    if isinstance(version, bool) or not isinstance(version, int):
        raise TypeMismatchError(f"version is the version of a commit, a number, not {version!r}")
    if not 1 <= version <= session.version:
        raise StateError(f"there is no version {version}: the latest is {session.version}")
    entry = _last_change(session, relation, row, version)
    return _told(session, relation, row, entry, prove)


def what_removed(session: Session, relation: Relation, row: Row, prove: Prove | None) -> History:
    """The commit that removed a row which is not there any more."""
    if session.engine.counts(relation.name).get(row, 0) > 0:
        raise DataError(
            f"{fact_text(relation.name, row)} is there: nothing removed it",
            hint=Hint("{} tells why it is there", (Way("why", "db.why(...)", (relation.name, row)),)),
        )
    entry = _last_change(session, relation, row, session.version)
    return _told(session, relation, row, entry, prove)


def _last_change(session: Session, relation: Relation, row: Row, version: int) -> Entry:
    feed = kept(session, relation.name)
    if feed.since >= version:
        session.history.since(relation.name, version - 1)
    found = [entry for entry in feed.entries if entry.delta.get(row, 0)]
    until = [entry for entry in found if entry.version <= version]
    if until:
        return until[-1]
    text = fact_text(relation.name, row)
    later = f"it came in version {found[0].version}" if found else None
    now = session.engine.counts(relation.name).get(row, 0)
    was_there = found[0].delta[row] < 0 if found else now > 0
    if was_there:
        raise StateError(
            f"{text} came before version {feed.since + 1}, and older changes are forgotten",
            hint=Hint("keep more with {}", (KEEPING,)),
        )
    since = f" since version {feed.since + 1}, and older changes are forgotten" if feed.since else ""
    raise DataError(f"{text} was not there up to version {version}{since}", hint=later)


def _told(session: Session, relation: Relation, row: Row, entry: Entry, prove: Prove | None) -> History:
    after = session.engine.counts(relation.name).get(row, 0)
    after -= change_after(session, relation.name, entry.version).get(row, 0)
    before = after - entry.delta[row]
    tables = tables_under(session, relation.name)
    changed = {name: dict(change_in(session, name, entry.version)) for name in tables}
    parts = [part for name in tables for part in _parts(session.definitions.relations[name], changed[name])]
    later = inverse({name: change_after(session, name, entry.version) for name in tables})
    earlier = added(later, inverse(changed))

    def count_with(some: Sequence[Mapping[str, Mapping[Row, int]]]) -> int:
        """How often the row is there with these changes of the commit, and no others."""
        then = added(earlier, *some)
        now = session.engine.counts(relation.name).get(row, 0)
        try:
            return now + session.foresee(Update(then)).get(relation.name, {}).get(row, 0)
        except WhenceError:
            # A part of a commit may be something that could never have been committed.
            return before

    causes, exact = parts, False
    if parts and count_with(parts) == after and count_with(()) == before:
        causes = list(narrowed(parts, lambda some: count_with(some) == after, _MOST_TESTS))
        exact = True
    return History(
        relation=relation.name,
        row=row,
        version=entry.version,
        timestamp=entry.timestamp,
        before=before,
        after=after,
        causes={(name, each): n for name, delta in added(*causes).items() for each, n in delta.items()},
        exact=exact or not parts,
        proof=_proof(session, later if after > before else earlier, (relation.name, row), prove) if exact else None,
        relations=session.definitions.visible,
    )


def _parts(table: Relation, delta: Mapping[Row, int]) -> Iterator[dict[str, dict[Row, int]]]:
    """Changes that can be made one without the other: those of one key belong together."""
    key = key_of(table)
    together: dict[object, dict[Row, int]] = {}
    for row, change in delta.items():
        together.setdefault(row if key is None else key(row), {})[row] = change
    return ({table.name: part} for part in together.values())


def _proof(session: Session, change: Mapping[str, Mapping[Row, int]], fact: Fact, prove: Prove | None) -> str | None:
    """The proof with other rows in the tables."""
    engine = session.engine.engine if isinstance(session.engine, WaitingEngine) else session.engine
    # The rules may have changed since: those of now need not give the row, nor fit the rows of then.
    with suppress(DataError, EvaluationError, UnsupportedError):
        if isinstance(engine, LocalEngine) and prove is not None:
            with engine.supposing(Update(change)):
                return prove()
        if hasattr(engine, "evidence"):
            return proof_supposing(engine.evidence(), engine.foresee(Update(change)), fact)
    return None
