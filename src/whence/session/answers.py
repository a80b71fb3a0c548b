"""What the answer to the query of a statement makes of a table: rows come, go, or take the place of others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from whence.analysis.analyze import Analysis, analyze
from whence.analysis.components import components, dependency_graph
from whence.analysis.selection import with_aggregate_selection
from whence.analysis.typed_rules import typed_rule
from whence.model.program import ChangeRows, Program
from whence.model.schema import Relation
from whence.model.types import Row
from whence.session.changes import Delete, Insert
from whence.session.draft import Draft
from whence.session.row_changes import RowChanges
from whence.session.session import Session
from whence.sources.source import read_rows


def answer(session: Session, query: Program) -> Mapping[Row, int]:
    """The rows of the query's last relation, over the database as it is now."""
    definitions = session.definitions
    read = {name for rule in query.rules for name in rule.reads if name in definitions.relations}
    program = Program((*(definitions.relations[name] for name in sorted(read)), *query.relations), query.rules)
    parts = components(program, dependency_graph(program))
    if any(part.recursive for part in parts):
        analysis = analyze(program, definitions.signatures)
        answered = query.relations[-1].name
        _, analysis, _ = with_aggregate_selection(
            (), query.rules, analysis, lambda name: name != answered, definitions.signatures
        )
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
