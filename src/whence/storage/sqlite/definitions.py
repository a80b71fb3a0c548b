"""Definitions in a form that outlives the process: each table or view with what serves it as one Datalog text, and
where its user wrote it. Where such forms are kept is not known here.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from whence.analysis.analyze import analyze
from whence.errors import ParseError, UnsupportedError
from whence.lang.datalog.parse import parse_datalog
from whence.lang.datalog.write import to_datalog
from whence.model.program import Program, Signature
from whence.model.rules import Rule
from whence.model.schema import Relation, has_same_values, is_auxiliary, owner
from whence.model.span import SourceText, Span
from whence.session.definitions import Definitions
from whence.session.functions import missing_function, parse_type
from whence.storage.sqlite.files import Vitals, damaged, write_vitals
from whence.storage.sqlite.rows import RowTable
from whence.storage.sqlite.values import checksum

# Characters from and to, in the text that the user wrote.
Place: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class StoredDefinition:
    """One relation that users know. `spans` are places in `source`: of its relations, then of its rules."""

    name: str
    is_view: bool
    text: str
    source: SourceText | None
    spans: tuple[Place | None, ...]


def store_definition(name: str, definition: Program, *, is_view: bool) -> StoredDefinition:
    """Raises where the text would not read back as the definition."""
    text = to_datalog(definition)
    if not _reads_back(text, definition):
        # Found now, and not when the database is opened again.
        raise UnsupportedError(
            f"the definition of {name!r} cannot be kept in a file", hint="split it into several views that are simpler"
        )
    source = next((node.span.source for node in _placed(definition) if node.span is not None), None)
    return StoredDefinition(name, is_view, text, source, _spans(definition, source))


def restore_definitions(stored: Sequence[StoredDefinition], returns: Mapping[str, str]) -> Definitions:
    """What was stored. `returns` has the types of functions, which are known by their signatures only."""
    relations: list[Relation] = []
    rules: list[Rule] = []
    for each in stored:
        program = _with_spans(parse_datalog(each.text, each.name), each.source, each.spans)
        relations += program.relations
        rules += program.rules
    called = {name for rule in rules for name in rule.calls}
    functions = {
        name: missing_function(Signature(name, parse_type(kind))) for name, kind in returns.items() if name in called
    }
    signatures = {name: function.signature for name, function in functions.items()}
    views = {each.name for each in stored if each.is_view}
    all_views = frozenset(
        relation.name for relation in relations if owner(relation.name) in views or is_auxiliary(relation.name)
    )
    return Definitions(analyze(Program(tuple(relations), tuple(rules)), signatures), all_views, functions)


def touched(before: Definitions, after: Definitions) -> set[str]:
    """The relations that users know and that are new, gone, or defined by other rules or columns."""
    names = {*(before.relations.keys() ^ after.relations.keys())}
    names.update(name for name, old in before.relations.items() if after.relations.get(name, old) != old)
    rules = (*_rules_only_in(before, after), *_rules_only_in(after, before))
    return {owner(name) for name in names} | {owner(rule.head.relation) for rule in rules}


def parts(before: Definitions, after: Definitions, names: set[str]) -> dict[str, Program]:
    """The definitions of those relations that there are, in their order, each with what serves it."""
    relations: dict[str, list[Relation]] = {}
    for name, relation in after.relations.items():
        if (known := owner(name)) in names:
            relations.setdefault(known, []).append(relation)
    rules: dict[str, list[Rule]] = {}
    # A view gets all its rules at once, so that the new ones are all there are. A table keeps those of its constraints.
    tables = names - after.views
    kept = (rule for rule in after.rules if owner(rule.head.relation) in tables)
    for rule in dict.fromkeys((*_rules_only_in(after, before), *kept)) if tables else _rules_only_in(after, before):
        rules.setdefault(owner(rule.head.relation), []).append(rule)
    return {name: Program(tuple(relations[name]), tuple(rules.get(name, ()))) for name in relations}


def called_functions(rules: Iterable[Rule], definitions: Definitions) -> dict[str, str]:
    """The registered functions that rules call, with the types that they return."""
    called = {name for rule in rules for name in rule.calls} & definitions.functions.keys()
    return {name: definitions.functions[name].signature.returns.name for name in sorted(called)}


def _rules_only_in(here: Definitions, there: Definitions) -> Iterator[Rule]:
    """By identity, since definitions pass on the rules that they keep."""
    known = set(map(id, there.rules))
    return (rule for rule in here.rules if id(rule) not in known)


def _reads_back(text: str, definition: Program) -> bool:
    try:
        return parse_datalog(text) == definition
    except ParseError:
        return False


def _placed(definition: Program) -> tuple[Relation | Rule, ...]:
    return (*definition.relations, *definition.rules)


def _spans(definition: Program, source: SourceText | None) -> tuple[Place | None, ...]:
    spans = (node.span for node in _placed(definition))
    return tuple(None if span is None or span.source != source else (span.start, span.end) for span in spans)


def _with_spans(program: Program, source: SourceText | None, spans: Sequence[Place | None]) -> Program:
    """The program as its user wrote it, as far as relations and rules go."""
    placed = iter(None if span is None or source is None else Span(source, *span) for span in spans)
    return replace(
        program,
        relations=tuple(replace(relation, span=next(placed)) for relation in program.relations),
        rules=tuple(replace(rule, span=next(placed)) for rule in program.rules),
    )


@dataclass(frozen=True, slots=True)
class StoredRelation:
    """A stored relation: its number, and the table of its rows unless it is a view."""

    number: int
    relation: Relation
    rows: RowTable | None


def write_definitions(
    connection: sqlite3.Connection, before: Definitions, after: Definitions, known: dict[str, StoredRelation]
) -> dict[str, StoredRelation]:
    """Store what is different, and return all that is known then."""
    if after is before:
        return known
    known = dict(known)
    names = touched(before, after)
    new = parts(before, after, names)
    for name in [*new, *sorted(names - new.keys())]:
        old = known.pop(name, None)
        # A view that is only defined differently keeps its number, and with it its changes so far.
        if old is not None and (name not in new or not _keeps_number(old, after.relations[name], after)):
            _forget(connection, old)
            old = None
        if name in new:
            is_view = name in after.views
            number = _write(connection, store_definition(name, new[name], is_view=is_view), old)
            known[name] = _known(number, after.relations[name], is_view=is_view)
            functions = called_functions(new[name].rules, after)
            connection.executemany("INSERT OR REPLACE INTO functions VALUES (?, ?)", functions.items())
            if old is None:
                _begin(connection, known[name])
    connection.execute("DELETE FROM sources WHERE number NOT IN (SELECT source FROM relations WHERE source NOTNULL)")
    return known


def _keeps_number(old: StoredRelation, relation: Relation, after: Definitions) -> bool:
    if old.rows is None and relation.name in after.views:
        return has_same_values(old.relation, relation)
    return old.relation.columns == relation.columns


def catalog_checksum(connection: sqlite3.Connection) -> int:
    """Of all records that belong to definitions."""
    return checksum(
        connection.execute("SELECT * FROM relations ORDER BY number").fetchall(),
        connection.execute("SELECT * FROM sources ORDER BY number").fetchall(),
        connection.execute("SELECT * FROM functions ORDER BY name").fetchall(),
        connection.execute("SELECT * FROM notices ORDER BY number").fetchall(),
    )


def read_definitions(
    connection: sqlite3.Connection, directory: Path, catalog: int
) -> tuple[Definitions, dict[str, StoredRelation]]:
    """What was stored. The functions that views call are known by their signatures only."""
    if catalog_checksum(connection) != catalog:
        raise damaged(directory, "its definitions are not those that were written")
    texts = connection.execute("SELECT number, name, text, is_datalog FROM sources")
    sources = {number: SourceText(name, text, bool(is_datalog)) for number, name, text, is_datalog in texts}
    numbers: dict[str, int] = {}
    stored: list[StoredDefinition] = []
    for number, name, is_view, text, source, spans in connection.execute(
        "SELECT number, name, is_view, text, source, spans FROM relations ORDER BY number"
    ):
        numbers[name] = number
        stored.append(StoredDefinition(name, bool(is_view), text, sources.get(source), tuple(json.loads(spans))))
    returns = dict(connection.execute("SELECT name, returns FROM functions").fetchall())
    definitions = restore_definitions(stored, returns)
    known = {
        each.name: _known(numbers[each.name], definitions.relations[each.name], is_view=each.is_view) for each in stored
    }
    return definitions, known


def _known(number: int, relation: Relation, *, is_view: bool) -> StoredRelation:
    return StoredRelation(number, relation, None if is_view else RowTable(number, relation))


def _begin(connection: sqlite3.Connection, known: StoredRelation) -> None:
    write_vitals(connection, known.number, Vitals())
    if known.rows is not None:
        known.rows.create(connection)


def _forget(connection: sqlite3.Connection, known: StoredRelation) -> None:
    connection.execute("DELETE FROM relations WHERE number = ?", (known.number,))
    connection.execute("DELETE FROM vitals WHERE relation = ?", (known.number,))
    connection.execute("DELETE FROM changes WHERE relation = ?", (known.number,))
    if known.rows is not None:
        known.rows.drop(connection)


def _write(connection: sqlite3.Connection, stored: StoredDefinition, old: StoredRelation | None) -> int:
    source = None if stored.source is None else _write_source(connection, stored.source)
    fields = (stored.name, int(stored.is_view), stored.text, source, json.dumps(stored.spans))
    written = connection.execute(
        "INSERT OR REPLACE INTO relations VALUES (?, ?, ?, ?, ?, ?)", (old and old.number, *fields)
    )
    assert written.lastrowid is not None
    return written.lastrowid


def _write_source(connection: sqlite3.Connection, source: SourceText) -> int | None:
    """The number of a text, which is stored once."""
    fields = (source.name, source.text, int(source.is_datalog))
    found = connection.execute(
        "SELECT number FROM sources WHERE name = ? AND text = ? AND is_datalog = ?", fields
    ).fetchone()
    if found is not None:
        return int(found[0])
    return connection.execute("INSERT INTO sources (name, text, is_datalog) VALUES (?, ?, ?)", fields).lastrowid
