"""Looking at a database from outside: what there is, how it was written, and some of the rows."""

from __future__ import annotations

import datetime
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from textwrap import dedent

from whence.errors import StateError, TypeMismatchError, UnknownNameError, did_you_mean
from whence.model.program import Program
from whence.model.rules import Atom, Negation
from whence.model.schema import Relation, check_value, is_auxiliary, owner
from whence.model.span import SourceText, Span
from whence.model.types import Row, Value
from whence.model.updates import Delta, Version, totals
from whence.session.contents import page, size
from whence.session.definitions import Definitions
from whence.session.journal import Entry
from whence.session.session import Session
from whence.sources.rows import listed

# The words of a SQL statement before the name that it defines, with the lines of comment above them.
_OPENING = re.compile(
    r"(?:^[ \t]*--[^\n]*\n)*[ \t]*\bCREATE\b(?:\s+\w+|\s*/\*[^*]*\*/)*?\s+(?:VIEW|TABLE)(?:\s+IF\s+NOT\s+EXISTS)?\s+\Z",
    re.IGNORECASE | re.MULTILINE,
)
# What a `;` does not end a statement in: comments, strings, quoted names.
_PIECE = re.compile(
    r"""--[^\n]* | /\*.*?\*/ | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `[^`]*` | (?P<end>;)""", re.VERBOSE | re.DOTALL
)
# So much text before a name is searched for the beginning of its statement.
_FAR = 5_000


def definition_text(name: str, definitions: Definitions) -> str:
    """In the language it was written in, with the comment above it; in Datalog if that text is not known any more."""
    relation = definitions.relations[name]
    rules = [rule for rule in definitions.rules_of(name) if rule.span is not None]
    if relation.span is not None:
        statement = _sql(relation.span)
        if statement is not None:
            return statement
    if relation.span is None or len(rules) < len(list(definitions.rules_of(name))):
        from whence.lang.datalog.write import to_datalog

        return to_datalog(Program((relation,), tuple(definitions.rules_of(name)))).strip()
    places = dict.fromkeys(rule.span for rule in rules if rule.span is not None and "$" not in rule.head.relation)
    texts = [_line(relation.span)] if not rules or not _is_inside(relation.span, places) else []
    return "\n".join([*texts, *(dedent(span.text) for span in places)])


def _sql(span: Span) -> str | None:
    """The SQL statement around the name that it defines."""
    text = span.source.text
    opening = _OPENING.search(text[: span.start].rstrip("`"), max(0, span.start - _FAR))
    if opening is None:
        return None
    return text[opening.start() : _end(span.source, span.end)].strip()


def _end(source: SourceText, start: int) -> int:
    # A quoted name ends with its quote.
    start += source.text[start : start + 1] == "`"
    ends = (piece.start() for piece in _PIECE.finditer(source.text, start) if piece["end"])
    return next(ends, len(source.text))


def _line(span: Span) -> str:
    return span.source.line_text(span.line).strip()


def _is_inside(span: Span, others: dict[Span, None]) -> bool:
    """Whether a relation was never declared, so that it is where its first rule is."""
    return any(other.start <= span.start < other.end for other in others)


# A change of more rows than this is counted, not listed.
MOST_LISTED = 1_000
# No relation has more: what numbers of rows go up to.
MOST_ROWS = 10**15


@dataclass(frozen=True, slots=True)
class Glance:
    """A table or view as it is now.

    `reads` are the relations that its definition names, of which `absent` are those it asks for what is not there.
    `size` counts copies, and is about right where it is not `exact`. `waits` says why there are no rows to count.
    """

    relation: Relation
    is_view: bool
    reads: tuple[str, ...]
    absent: frozenset[str]
    is_recursive: bool
    size: int | None
    exact: bool
    waits: str | None = None


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything there is at one version."""

    version: Version
    relations: tuple[Glance, ...]


@dataclass(frozen=True, slots=True)
class RelationChange:
    """What one commit changed in one relation: how many rows came and went, and the changes where they are few."""

    relation: str
    version: Version
    timestamp: datetime.datetime
    inserted: int
    deleted: int
    delta: Delta | None


class OverviewQuestions(ABC):
    """Cheap whatever the size of a view: nothing here brings all rows of one."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Session]: ...

    def overview(self) -> Overview:
        """All tables and views, in the order of their definition."""
        with self._reading() as session:
            visible = session.definitions.visible.values()
            return Overview(session.version, tuple(_glance(relation, session) for relation in visible))

    def relation(self, name: str) -> Relation:
        """The schema of a table or view, found by its name in any letter case."""
        with self._reading() as session:
            return session.definitions.relation(name)

    def page(
        self, relation: str, where: Mapping[str, object] | None = None, *, offset: int = 0, limit: int = 100
    ) -> list[Row]:
        """Some rows of a table or view, each once, in no particular order. `where` has values of columns."""
        given: Mapping[str, object] = {"offset": offset, "limit": limit}
        for name, number in given.items():
            if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MOST_ROWS:
                raise TypeMismatchError(f"{name} is a number of rows, not {number!r}")
        with self._reading() as session:
            found = session.definitions.relation(relation)
            bound = _bound(found, where or {})
            return [row for row, _ in page(session.counts(found.name), bound, offset, limit)]

    def definition(self, relation: str) -> str:
        """The text that defined a table or view, as its user wrote it."""
        with self._reading() as session:
            return definition_text(session.definitions.relation(relation).name, session.definitions)

    def happened(self, since: int) -> list[RelationChange]:
        """What changed after a version, relation by relation and commit by commit, as far back as it is known."""
        with self._reading() as session:
            relations = session.definitions.visible
            found = [_change(name, entry) for name in relations for entry in _entries(session, name, since)]
            return sorted(found, key=lambda change: change.version)


def _glance(relation: Relation, session: Session) -> Glance:
    definitions, name = session.definitions, relation.name
    reads, absent = _reads(name, definitions)
    parts = [part for part in definitions.analysis.components if any(owner(each) == name for each in part.relations)]
    rows, exact, waits = None, True, None
    try:
        rows, exact = size(relation, session.counts(name))
    except StateError as error:
        waits = str(error)
    is_recursive = any(part.recursive for part in parts)
    return Glance(relation, name in definitions.views, reads, absent, is_recursive, rows, exact, waits)


def _reads(name: str, definitions: Definitions) -> tuple[tuple[str, ...], frozenset[str]]:
    """The other relations that a view reads, of those that users know, and which of them only as absent.

    What serves a view is a part of it: where that is negated as a whole, so is what it reads.
    """
    rules = list(definitions.rules_of(name))
    negated = {literal.atom.relation for rule in rules for literal in rule.body if isinstance(literal, Negation)}
    reads: dict[str, bool] = {}
    for rule in rules:
        for literal in rule.body:
            match literal:
                case Negation(atom=Atom(relation=below)):
                    is_absent = True
                case Atom(relation=below):
                    is_absent = rule.head.relation in negated
                case _:
                    continue
            if not is_auxiliary(below) and below != name:
                reads[below] = reads.get(below, True) and is_absent
    return tuple(reads), frozenset(below for below, is_absent in reads.items() if is_absent)


def _bound(relation: Relation, where: object) -> dict[int, Value]:
    if not isinstance(where, Mapping):
        raise TypeMismatchError(f"where has values by the names of columns, and is no {type(where).__name__}")
    positions = {column.name.lower(): position for position, column in enumerate(relation.columns)}
    bound: dict[int, Value] = {}
    for name, value in where.items():
        position = positions.get(str(name).lower())
        if position is None:
            raise UnknownNameError(
                f"{relation.name!r} has no column {name!r}",
                hint=did_you_mean(str(name), relation.column_names) or f"it has {listed(relation.column_names)}",
            )
        # Rows are looked for, not made: NULL can be asked for anywhere.
        bound[position] = check_value(value, replace(relation.columns[position], nullable=True))
    return bound


def _entries(session: Session, name: str, since: int) -> Sequence[Entry]:
    try:
        return session.journal.since(name, Version(since))
    except StateError:
        # Some of it is forgotten; the last commit is always known.
        return session.journal.since(name, Version(session.version - 1))


def _change(name: str, entry: Entry) -> RelationChange:
    inserted, deleted = totals(entry.delta)
    few = entry.delta if inserted + deleted <= MOST_LISTED else None
    return RelationChange(name, entry.version, entry.timestamp, inserted, deleted, few)
