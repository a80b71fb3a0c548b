"""Definitions in a form that outlives the process: each table or view with what serves it as one Datalog text, and
where its user wrote it. Where such forms are kept is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from whence.analysis.analyze import analyze
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

# Characters from and to, in the text that the user wrote.
Place: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class StoredDefinition:
    """One relation that users know. `spans` are places in `source`: of its relations, then of its rules."""

    name: str
    is_view: bool
    text: str
    source: Source | None
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
    called = {name for rule in rules for name in calls(rule)}
    functions = {
        name: missing_function(Signature(name, parse_type(kind))) for name, kind in returns.items() if name in called
    }
    signatures = {name: function.signature for name, function in functions.items()}
    views = {each.name for each in stored if each.is_view}
    all_views = frozenset(relation.name for relation in relations if owner(relation.name) in views)
    return Definitions(analyze(Program(tuple(relations), tuple(rules)), signatures), all_views, functions)


def touched(before: Definitions, after: Definitions) -> set[str]:
    """The relations that users know and that are new, gone, or defined by other rules."""
    names = before.relations.keys() ^ after.relations.keys()
    rules = (*_rules_only_in(before, after), *_rules_only_in(after, before))
    return {owner(name) for name in names} | {owner(rule.head.relation) for rule in rules}


def parts(before: Definitions, after: Definitions, names: set[str]) -> dict[str, Program]:
    """The definitions of those relations that there are, in their order, each with what serves it."""
    relations: dict[str, list[Relation]] = {}
    for name, relation in after.relations.items():
        if (known := owner(name)) in names:
            relations.setdefault(known, []).append(relation)
    rules: dict[str, list[Rule]] = {}
    # A relation gets all its rules at once, so those that are new are all there are.
    for rule in _rules_only_in(after, before):
        rules.setdefault(owner(rule.head.relation), []).append(rule)
    return {name: Program(tuple(relations[name]), tuple(rules.get(name, ()))) for name in relations}


def called_functions(rules: Iterable[Rule], definitions: Definitions) -> dict[str, str]:
    """The registered functions that rules call, with the types that they return."""
    called = {name for rule in rules for name in calls(rule)} & definitions.functions.keys()
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


def _spans(definition: Program, source: Source | None) -> tuple[Place | None, ...]:
    spans = (node.span for node in _placed(definition))
    return tuple(None if span is None or span.source != source else (span.start, span.end) for span in spans)


def _with_spans(program: Program, source: Source | None, spans: Sequence[Place | None]) -> Program:
    """The program as its user wrote it, as far as relations and rules go."""
    placed = iter(None if span is None or source is None else Span(source, *span) for span in spans)
    return replace(
        program,
        relations=tuple(replace(relation, span=next(placed)) for relation in program.relations),
        rules=tuple(replace(rule, span=next(placed)) for rule in program.rules),
    )
