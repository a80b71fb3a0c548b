"""Manifests as JSON, which is taken for nothing but what was written."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

from whence.errors import WhenceError
from whence.model.schema import Column
from whence.model.span import SourceText
from whence.model.types import Type
from whence.session.functions import parse_type
from whence.session.lifetimes import Tick
from whence.storage.files.manifest import Log, Manifest, ManifestStep, Segment, StoredFeed, StoredProgram, StoredTable
from whence.storage.sqlite.definitions import Place, StoredDefinition

T = TypeVar("T")


class MalformedError(Exception):
    """Something else is there than what was written."""


def record(value: object, *names: str) -> list[Any]:
    """The values of an object with exactly these names."""
    if not isinstance(value, dict) or value.keys() != set(names):
        raise MalformedError(f"an object with {', '.join(names)} is missing")
    return [value[name] for name in names]


def items(value: object, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or length not in (None, len(value)):
        raise MalformedError("a list is missing")
    return value


def mapping(value: object, read: Callable[[Any], T]) -> dict[str, T]:
    if not isinstance(value, dict):
        raise MalformedError("an object is missing")
    return {name: read(each) for name, each in value.items()}


def natural(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise MalformedError("a number is missing")
    return value


def integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise MalformedError("a number is missing")
    return value


def text(value: object) -> str:
    if not isinstance(value, str):
        raise MalformedError("a text is missing")
    return value


def truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise MalformedError("true or false is missing")
    return value


def moment(value: object) -> datetime.datetime:
    try:
        return datetime.datetime.fromisoformat(text(value))
    except ValueError:
        raise MalformedError("a time is missing") from None


# What makes JSON of a value, and what makes the value of JSON.
Form: TypeAlias = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def _array(make: Callable[..., Any], **fields: Form) -> Form:
    """A value as the list of its fields."""

    def write(value: object) -> list[object]:
        return [form[0](getattr(value, name)) for name, form in fields.items()]

    def read(value: object) -> Any:
        found = zip(fields.items(), items(value, len(fields)), strict=True)
        return make(**{name: form[1](each) for (name, form), each in found})

    return write, read


def _object(make: Callable[..., Any], new: str | None = None, **fields: Form) -> Form:
    """A value as an object with its fields. The `new` one is a mapping that older versions did not write."""

    def write(value: object) -> dict[str, object]:
        return {name: form[0](getattr(value, name)) for name, form in fields.items()}

    def read(value: object) -> Any:
        if isinstance(value, dict) and new is not None:
            value = {new: {}, **value}
        found = zip(fields.items(), record(value, *fields), strict=True)
        return make(**{name: form[1](each) for (name, form), each in found})

    return write, read


def _items(form: Form) -> Form:
    return lambda values: list(map(form[0], values)), lambda value: tuple(map(form[1], items(value)))


def _mapping(form: Form) -> Form:
    return lambda values: mapping(values, form[0]), lambda value: mapping(value, form[1])


def _optional(form: Form) -> Form:
    write, read = form
    return lambda value: None if value is None else write(value), lambda value: None if value is None else read(value)


@lru_cache(maxsize=1000)
def _type(name: str) -> Type:
    try:
        return parse_type(name)
    except WhenceError as error:
        raise MalformedError(error.message) from None


def _from_program(program: StoredProgram) -> dict[str, object]:
    """A text that several definitions came from is there once."""
    sources: dict[SourceText, int] = {}
    definitions = [
        [
            each.name,
            each.is_view,
            each.text,
            None if each.source is None else sources.setdefault(each.source, len(sources)),
            [None if span is None else list(span) for span in each.spans],
        ]
        for each in program.definitions
    ]
    return {
        "sources": [[source.name, source.text, source.is_datalog] for source in sources],
        "definitions": definitions,
        "functions": dict(program.functions),
    }


def _program(value: object) -> StoredProgram:
    texts, definitions, functions = record(value, "sources", "definitions", "functions")
    sources = [_source(each) for each in items(texts)]
    return StoredProgram(tuple(_definition(each, sources) for each in items(definitions)), mapping(functions, text))


def _source(value: object) -> SourceText:
    name, written, is_datalog = items(value, 3)
    return SourceText(text(name), text(written), truth(is_datalog))


def _definition(value: object, sources: list[SourceText]) -> StoredDefinition:
    name, is_view, datalog, number, spans = items(value, 5)
    source = None
    if number is not None:
        if natural(number) >= len(sources):
            raise MalformedError("the text of a definition is missing")
        source = sources[number]
    return StoredDefinition(text(name), truth(is_view), text(datalog), source, tuple(map(_span, items(spans))))


def _span(value: object) -> Place | None:
    if value is None:
        return None
    start, end = map(natural, items(value, 2))
    return start, end


_NATURAL: Form = (int, natural)
_INTEGER: Form = (int, integer)
_TEXT: Form = (str, text)
_TRUTH: Form = (bool, truth)
_MOMENT: Form = (datetime.datetime.isoformat, moment)
_TICK = _optional(_array(Tick, time=_MOMENT, by_wall=_TRUTH))
_LOG = _array(Log, number=_NATURAL, section=_NATURAL, rows=_NATURAL)


def _from_segment(segment: Segment) -> list[object]:
    counts = None if segment.counts is None else list(segment.counts)
    written: list[object] = [segment.path, segment.rows, segment.bytes]
    if segment.columns is not None:
        return [*written, counts, list(segment.columns), segment.repeats]
    return written if counts is None else [*written, counts]


def _segment(value: object) -> Segment:
    """Older versions did not write the counts, and only some segments have columns of others."""
    path, rows, size, counts, columns, *repeats = [*items(value), None, None][: max(5, len(items(value)))]
    bounds = None
    if counts is not None:
        least, most = map(integer, items(counts, 2))
        bounds = least, most
    plain = Segment(text(path), natural(rows), natural(size), bounds)
    if columns is None:
        return plain
    return replace(plain, columns=tuple(map(natural, items(columns))), repeats=truth(items(repeats, 1)[0]))


_SEGMENT: Form = (_from_segment, _segment)
_CHANGES = _mapping(
    (
        lambda change: (_LOG if isinstance(change, Log) else _SEGMENT)[0](change),
        lambda value: (_SEGMENT if any(isinstance(each, str) for each in items(value)) else _LOG)[1](value),
    )
)
_FEED = _array(StoredFeed, version=_NATURAL, timestamp=_MOMENT, changes=_CHANGES)
_COLUMN = _array(Column, name=_TEXT, type=(lambda kind: kind.name, lambda name: _type(text(name))), nullable=_TRUTH)
_TABLE = _object(StoredTable, kind=_TEXT, columns=_items(_COLUMN), segments=_items(_SEGMENT), logs=_items(_LOG))

step_to_json, step_from_json = _object(
    ManifestStep,
    number=_NATURAL,
    since=_NATURAL,
    version=_NATURAL,
    timestamp=_MOMENT,
    kept_after=_INTEGER,
    clock=_TICK,
    batches=_mapping(_INTEGER),
    logs=_mapping(_LOG),
    feed=_CHANGES,
)
manifest_to_json, manifest_from_json = _object(
    Manifest,
    new="began",
    number=_NATURAL,
    version=_NATURAL,
    timestamp=_MOMENT,
    program=(_from_program, _program),
    tables=_mapping(_TABLE),
    feeds=_items(_FEED),
    forgotten=_mapping(_NATURAL),
    began=_mapping(_NATURAL),
    clock=_TICK,
    batches=_mapping(_INTEGER),
    notices=_items(_TEXT),
)
