"""What the answer to the query of a statement makes of a table: rows come, go, or take the place of others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from whence.analysis.analyze import Analysis, analyze
from whence.analysis.components import components, dependency_graph
from whence.analysis.selection import with_aggregate_selection
from whence.analysis.typed_rules import typed_rule
from whence.errors import DataError
from whence.model.program import ChangeRows, Program, RowAction
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.types import Row
from whence.rewriting.magic_sets import with_magic_sets
from whence.session.changes import Delete, Insert
from whence.session.draft import Draft, TableDraft
from whence.session.session import Session
from whence.sources.rows import check_rows, row_text
from whence.sources.source import read_rows

# What a row goes by in a message.
PLACES: Mapping[str, Callable[[int], str]] = {
    "update": lambda _: "an updated row",
    "insert": lambda _: "an inserted row",
}
ONE_MATCH = "let the source have one row for each, say with GROUP BY, or give the WHEN a condition"


class RowChanges:
    """An answer taken apart: the `old` rows, how often each was found, and the rows that come, by action.

    A row that an update leaves as it is neither goes nor comes, so that its time to live goes on.
    """

    def __init__(self, statement: ChangeRows, relation: Relation, rows: Mapping[Row, int]) -> None:
        self.relation = relation
        self.old: dict[Row, int] = {}
        self._stays: set[Row] = set()
        self._actions = statement.actions
        self._repeats = statement.repeats
        # What is done with each old row, the last of it if there are several.
        self._done: dict[Row, RowAction] = {}
        new: dict[int, list[Row]] = {}
        arity = relation.arity
        for row, count in rows.items():
            number = row[0]
            assert isinstance(number, int)
            before, after = row[1 : arity + 1], row[arity + 1 :]
            kind = self._actions[number].kind
            if kind != "insert":
                self.old[before] = self.old.get(before, 0) + count
                self._done[before] = self._actions[number]
            if kind == "update" and before == after:
                self._stays.add(before)
            elif kind != "delete":
                new.setdefault(number, []).extend([after] * count)
        self._new = {number: self._checked(self._actions[number], found) for number, found in sorted(new.items())}

    @property
    def coming(self) -> list[Insert]:
        """The rows that come."""
        return [Insert(self.relation, rows) for rows in self._new.values()]

    def add_to(self, draft: Draft) -> None:
        """First all old rows go, so that the others may take their keys."""
        table = draft.table(self.relation)
        table.delete(self._going(table))
        for number, rows in self._new.items():
            action = self._actions[number]
            with _told_at(action):
                table.insert(rows, PLACES[action.kind], is_new=action.kind == "update")

    def _going(self, table: TableDraft) -> list[Row]:
        """The rows that leave, with their copies. Raises for one that is to leave more often than it is there."""
        going: list[Row] = []
        for (row, found), copies in zip(self.old.items(), table.present_all(list(self.old)), strict=True):
            if found > copies and not self._repeats:
                raise DataError(
                    f"several rows of the source match one row of {self.relation.name!r}, so that it is not clear what "
                    f"becomes of it: {row_text(row)}",
                    span=self._done[row].span,
                    hint=ONE_MATCH,
                )
            if row not in self._stays:
                going += [row] * min(found, copies)
        return going

    def _checked(self, action: RowAction, rows: list[Row]) -> list[Row]:
        with _told_at(action):
            return check_rows(rows, self.relation, PLACES[action.kind])


@contextmanager
def _told_at(action: RowAction) -> Iterator[None]:
    """Errors of data tell which part of the statement has made it."""
    try:
        yield
    except DataError as error:
        raise DataError(error.message, span=action.span, hint=error.hint, related=error.related) from None


def answer(session: Session, query: Program) -> Mapping[Row, int]:
    """The rows of the query's last relation, over the database as it is now."""
    definitions = session.definitions
    read = {name for rule in query.rules for name in rule.reads if name in definitions.relations}
    program = Program((*(definitions.relations[name] for name in sorted(read)), *query.relations), query.rules)
    parts = components(program, dependency_graph(program))
    if any(part.recursive for part in parts):
        analysis = analyze(program, definitions.signatures)
        answered = query.relations[-1].name
        rules: Sequence[Rule] = query.rules
        for rewrite in (with_aggregate_selection, with_magic_sets):
            rules, analysis, _ = rewrite((), rules, analysis, lambda name: name != answered, definitions.signatures)
    else:
        # The parser has found every name and type. What is left to analyze is whether a recursion has a meaning.
        relations = {relation.name: relation for relation in program.relations}
        signatures = definitions.signatures
        typed = [tuple(typed_rule(rule, relations, signatures) for rule in part.rules) for part in parts]
        parts = tuple(replace(part, typed=rules) for part, rules in zip(parts, typed, strict=True))
        analysis = Analysis(program, relations, parts)
    for name in read:
        definitions.waiting.check_reading(name)
    return session.engine.evaluate(analysis, definitions.functions, query.relations[-1].name)


def inserting(session: Session, relation: Relation, rows: Mapping[Row, int]) -> Draft:
    """An answer comes into a table, with its copies."""
    draft = None if session.bulk is None else session.bulk.inserting(rows, relation, session.clock)
    if draft is None:
        draft = session.draft()
        insert_into(session, draft, relation, rows)
    return draft


def insert_into(session: Session, draft: Draft, relation: Relation, rows: Mapping[Row, int]) -> None:
    session.expect([Insert(relation, list(rows))])
    copies = [row for row, count in rows.items() for _ in range(count)]
    draft.table(relation).insert(read_rows(copies, relation))


def overwriting(session: Session, relation: Relation, rows: Mapping[Row, int]) -> Draft:
    """An answer is all that a table has from now on."""
    draft = None if session.bulk is None else session.bulk.overwriting(rows, relation, session.clock)
    if draft is None:
        draft = session.draft()
        overwrite(session, draft, relation, rows)
    return draft


def overwrite(session: Session, draft: Draft, relation: Relation, rows: Mapping[Row, int]) -> None:
    """Only what differs goes and comes: a row that stays is no change, and keeps its time to live."""
    wanted = Counter(read_rows(list(Counter(rows).elements()), relation))
    if relation.distinct:
        wanted = Counter(wanted.keys())
    there = Counter(session.engine.counts(relation.name))
    going, coming = there - wanted, wanted - there
    session.expect([Delete(relation, list(going), ignore_missing=True), Insert(relation, list(coming))])
    table = draft.table(relation)
    table.delete(list(going.elements()))
    table.insert(list(coming.elements()))


def removing(session: Session, relation: Relation, rows: Mapping[Row, int]) -> Draft:
    """An answer leaves a table, all copies that it has."""
    draft = None if session.bulk is None else session.bulk.removing(rows, relation, session.clock)
    if draft is None:
        draft = session.draft()
        remove_from(session, draft, relation, rows)
    return draft


def remove_from(session: Session, draft: Draft, relation: Relation, rows: Mapping[Row, int]) -> None:
    session.expect([Delete(relation, list(rows), ignore_missing=True)])
    table = draft.table(relation)
    found = list(rows)
    copies = zip(found, table.present_all(found), strict=True)
    table.delete([row for row, count in copies for _ in range(count)])


def changing(session: Session, statement: ChangeRows, rows: Mapping[Row, int]) -> Draft:
    """Rows of an answer take the place of others, as a statement says."""
    relation = session.definitions.table(statement.relation)
    draft = None if session.bulk is None else session.bulk.changing(rows, relation, statement, session.clock)
    if draft is None:
        draft = session.draft()
        change_in(session, draft, statement, rows)
    return draft


def change_in(session: Session, draft: Draft, statement: ChangeRows, rows: Mapping[Row, int]) -> None:
    relation = session.definitions.table(statement.relation)
    changes = RowChanges(statement, relation, rows)
    session.expect([Delete(relation, list(changes.old), ignore_missing=True), *changes.coming])
    changes.add_to(draft)
