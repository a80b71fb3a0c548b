"""Definitions in SQLite: each table or view with what serves it as one Datalog text, and where its user wrote it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from whence.analysis.analyze import analyze
from whence.durable.checksums import checksum
from whence.durable.files import damaged
from whence.durable.rows import RowTable
from whence.engines.engine import Functions
from whence.errors import ParseError, UnsupportedError
from whence.lang.datalog.parse import parse_datalog
from whence.lang.datalog.write import to_datalog
from whence.model.program import Program, Signature
from whence.model.rules import Rule
from whence.model.schema import Relation, owner
from whence.model.span import Source, Span
from whence.session.definitions import Definitions, calls
from whence.session.functions import parse_type
from whence.session.waiting import missing_function


@dataclass(frozen=True, slots=True)
class Known:
    """A stored relation: its number, and the table of its rows unless it is a view."""

    number: int
    relation: Relation
    rows: RowTable | None


def write_definitions(
    connection: sqlite3.Connection, before: Definitions, after: Definitions, known: dict[str, Known]
) -> dict[str, Known]:
    """Store what is different, and return all that is known then."""
    if after is before:
        return known
    known = dict(known)
    touched = _touched(before, after)
    new = _parts(before, after, touched)
    for name in [*new, *sorted(touched - new.keys())]:
        old = known.pop(name, None)
        # A view that is only defined differently keeps its number, and with it its changes so far.
        if old is not None and (name not in new or after.relations[name].columns != old.relation.columns):
            _forget(connection, old)
            old = None
        if name in new:
            is_view = name in after.views
            number = _write(connection, name, new[name], is_view=is_view, old=old)
            known[name] = _known(number, after.relations[name], is_view=is_view)
            _write_functions(connection, new[name].rules, after)
            if old is None:
                _begin(connection, known[name])
    connection.execute("DELETE FROM sources WHERE number NOT IN (SELECT source FROM relations WHERE source NOTNULL)")
    return known


def read_definitions(connection: sqlite3.Connection, directory: Path) -> tuple[Definitions, dict[str, Known]]:
    """What was stored. The functions that views call are known by their signatures only."""
    texts = connection.execute("SELECT number, name, text FROM sources")
    sources = {number: Source(name, text) for number, name, text in texts}
    relations: list[Relation] = []
    rules: list[Rule] = []
    stored = connection.execute(
        "SELECT number, name, is_view, text, source, spans, checksum FROM relations ORDER BY number"
    ).fetchall()
    for _, *fields, written in stored:
        name, _, text, source, spans = fields
        if checksum(*fields) != written:
            raise damaged(directory, f"the definition of {name!r} is not the one that was written")
        program = _with_spans(parse_datalog(text, name), sources.get(source), json.loads(spans))
        relations += program.relations
        rules += program.rules
    functions = _read_functions(connection, rules)
    signatures = {name: function.signature for name, function in functions.items()}
    analysis = analyze(Program(tuple(relations), tuple(rules)), signatures)
    views = {name for _, name, is_view, *_ in stored if is_view}
    known = {
        name: _known(number, analysis.relations[name], is_view=bool(is_view)) for number, name, is_view, *_ in stored
    }
    all_views = frozenset(relation.name for relation in relations if owner(relation.name) in views)
    return Definitions(analysis, all_views, functions), known


def _touched(before: Definitions, after: Definitions) -> set[str]:
    """The relations that users know and that are new, gone, or defined by other rules."""
    names = before.relations.keys() ^ after.relations.keys()
    rules = (*_rules_only_in(before, after), *_rules_only_in(after, before))
    return {owner(name) for name in names} | {owner(rule.head.relation) for rule in rules}


def _rules_only_in(here: Definitions, there: Definitions) -> Iterator[Rule]:
    """By identity, since definitions pass on the rules that they keep."""
    known = set(map(id, there.rules))
    return (rule for rule in here.rules if id(rule) not in known)


def _parts(before: Definitions, after: Definitions, touched: set[str]) -> dict[str, Program]:
    """The definitions of those relations that there are, in their order, each with what serves it."""
    relations: dict[str, list[Relation]] = {}
    for name, relation in after.relations.items():
        if (known := owner(name)) in touched:
            relations.setdefault(known, []).append(relation)
    rules: dict[str, list[Rule]] = {}
    # A relation gets all its rules at once, so those that are new are all there are.
    for rule in _rules_only_in(after, before):
        rules.setdefault(owner(rule.head.relation), []).append(rule)
    return {name: Program(tuple(relations[name]), tuple(rules.get(name, ()))) for name in relations}


def _known(number: int, relation: Relation, *, is_view: bool) -> Known:
    return Known(number, relation, None if is_view else RowTable(number, relation))


def _begin(connection: sqlite3.Connection, known: Known) -> None:
    connection.execute("INSERT INTO vitals VALUES (?, 0, 0)", (known.number,))
    if known.rows is not None:
        known.rows.create(connection)


def _forget(connection: sqlite3.Connection, known: Known) -> None:
    connection.execute("DELETE FROM relations WHERE number = ?", (known.number,))
    connection.execute("DELETE FROM vitals WHERE relation = ?", (known.number,))
    connection.execute("DELETE FROM changes WHERE relation = ?", (known.number,))
    if known.rows is not None:
        known.rows.drop(connection)


def _write(connection: sqlite3.Connection, name: str, definition: Program, *, is_view: bool, old: Known | None) -> int:
    text = to_datalog(definition)
    if not _reads_back(text, definition):
        # Found now, and not when the database is opened again.
        raise UnsupportedError(
            f"the definition of {name!r} cannot be kept in a file", hint="split it into several views that are simpler"
        )
    source = next((node.span.source for node in _placed(definition) if node.span is not None), None)
    number = None if source is None else _write_source(connection, source)
    fields = (name, int(is_view), text, number, json.dumps(_spans(definition, source)))
    written = connection.execute(
        "INSERT OR REPLACE INTO relations VALUES (?, ?, ?, ?, ?, ?, ?)",
        (old and old.number, *fields, checksum(*fields)),
    )
    assert written.lastrowid is not None
    return written.lastrowid


def _reads_back(text: str, definition: Program) -> bool:
    try:
        return parse_datalog(text) == definition
    except ParseError:
        return False


def _write_source(connection: sqlite3.Connection, source: Source) -> int | None:
    """The number of a text, which is stored once."""
    fields = (source.name, source.text)
    found = connection.execute("SELECT number FROM sources WHERE name = ? AND text = ?", fields).fetchone()
    if found is not None:
        return int(found[0])
    return connection.execute("INSERT INTO sources (name, text) VALUES (?, ?)", fields).lastrowid


def _placed(definition: Program) -> tuple[Relation | Rule, ...]:
    return (*definition.relations, *definition.rules)


def _spans(definition: Program, source: Source | None) -> list[tuple[int, int] | None]:
    spans = [node.span for node in _placed(definition)]
    return [None if span is None or span.source != source else (span.start, span.end) for span in spans]


def _with_spans(program: Program, source: Source | None, spans: Sequence[tuple[int, int] | None]) -> Program:
    """The program as its user wrote it, as far as relations and rules go."""
    placed = iter(None if span is None or source is None else Span(source, *span) for span in spans)
    return replace(
        program,
        relations=tuple(replace(relation, span=next(placed)) for relation in program.relations),
        rules=tuple(replace(rule, span=next(placed)) for rule in program.rules),
    )


def _write_functions(connection: sqlite3.Connection, rules: Iterable[Rule], definitions: Definitions) -> None:
    called = {name for rule in rules for name in calls(rule)} & definitions.functions.keys()
    returns = ((name, definitions.functions[name].signature.returns.name) for name in sorted(called))
    connection.executemany("INSERT OR REPLACE INTO functions VALUES (?, ?)", returns)


def _read_functions(connection: sqlite3.Connection, rules: Iterable[Rule]) -> Functions:
    called = {name for rule in rules for name in calls(rule)}
    return {
        name: missing_function(Signature(name, parse_type(returns)))
        for name, returns in connection.execute("SELECT name, returns FROM functions")
        if name in called
    }
