"""Manifests and steps as JSON, and back. Short lists stand for what there is much of."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from whence.durable.definitions import Place, StoredDefinition
from whence.engines.spark.storage.json_values import (
    MalformedError,
    integer,
    items,
    mapping,
    moment,
    natural,
    record,
    text,
    truth,
)
from whence.engines.spark.storage.manifest import Feed, Log, Manifest, Segment, Step, Table
from whence.engines.spark.storage.program import StoredProgram
from whence.errors import WhenceError
from whence.model.schema import Column
from whence.model.span import Source
from whence.model.types import Type
from whence.session.clock import Tick
from whence.session.functions import parse_type

_STEP = ("number", "since", "version", "timestamp", "kept_after", "clock", "batches", "logs", "feed")
_MANIFEST = (
    *("number", "version", "timestamp", "program", "tables", "feeds", "forgotten", "clock", "batches", "notices"),
)
_PROGRAM = ("sources", "definitions", "functions")


def step_to_json(step: Step) -> dict[str, object]:
    return {
        "number": step.number,
        "since": step.since,
        "version": step.version,
        "timestamp": step.timestamp.isoformat(),
        "kept_after": step.kept_after,
        "clock": _from_tick(step.clock),
        "batches": dict(step.batches),
        "logs": {name: _from_log(log) for name, log in step.logs.items()},
        "feed": {name: _from_change(change) for name, change in step.feed.items()},
    }


def step_from_json(value: object) -> Step:
    number, since, version, timestamp, kept_after, clock, batches, logs, feed = record(value, *_STEP)
    return Step(
        natural(number),
        natural(since),
        natural(version),
        moment(timestamp),
        integer(kept_after),
        _tick(clock),
        mapping(batches, integer),
        mapping(logs, _log),
        mapping(feed, _change),
    )


def manifest_to_json(manifest: Manifest) -> dict[str, object]:
    return {
        "number": manifest.number,
        "version": manifest.version,
        "timestamp": manifest.timestamp.isoformat(),
        "program": _from_program(manifest.program),
        "tables": {name: _from_table(table) for name, table in manifest.tables.items()},
        "feeds": [_from_feed(feed) for feed in manifest.feeds],
        "forgotten": dict(manifest.forgotten),
        "clock": _from_tick(manifest.clock),
        "batches": dict(manifest.batches),
        "notices": list(manifest.notices),
    }


def manifest_from_json(value: object) -> Manifest:
    number, version, timestamp, program, tables, feeds, forgotten, clock, batches, notices = record(value, *_MANIFEST)
    return Manifest(
        natural(number),
        natural(version),
        moment(timestamp),
        _program(program),
        mapping(tables, _table),
        tuple(map(_feed, items(feeds))),
        mapping(forgotten, natural),
        _tick(clock),
        mapping(batches, integer),
        tuple(map(text, items(notices))),
    )


def _from_tick(tick: Tick | None) -> object:
    return None if tick is None else [tick.time.isoformat(), tick.by_wall]


def _tick(value: object) -> Tick | None:
    if value is None:
        return None
    time, by_wall = items(value, 2)
    return Tick(moment(time), truth(by_wall))


def _from_log(log: Log) -> list[int]:
    return [log.number, log.section, log.rows]


def _log(value: object) -> Log:
    return Log(*map(natural, items(value, 3)))


def _from_segment(segment: Segment) -> list[object]:
    return [segment.path, segment.rows, segment.bytes]


def _segment(value: object) -> Segment:
    path, rows, size = items(value, 3)
    return Segment(text(path), natural(rows), natural(size))


def _from_change(change: Log | Segment) -> list[Any]:
    return _from_log(change) if isinstance(change, Log) else _from_segment(change)


def _change(value: object) -> Log | Segment:
    return _segment(value) if isinstance(items(value, 3)[0], str) else _log(value)


def _from_feed(feed: Feed) -> list[object]:
    changes = {name: _from_change(change) for name, change in feed.changes.items()}
    return [feed.version, feed.timestamp.isoformat(), changes]


def _feed(value: object) -> Feed:
    version, timestamp, changes = items(value, 3)
    return Feed(natural(version), moment(timestamp), mapping(changes, _change))


def _from_table(table: Table) -> dict[str, object]:
    return {
        "kind": table.kind,
        "columns": [[column.name, column.type.name, column.nullable] for column in table.columns],
        "segments": [_from_segment(segment) for segment in table.segments],
        "logs": [_from_log(log) for log in table.logs],
    }


def _table(value: object) -> Table:
    kind, columns, segments, logs = record(value, "kind", "columns", "segments", "logs")
    return Table(
        text(kind),
        tuple(map(_column, items(columns))),
        tuple(map(_segment, items(segments))),
        tuple(map(_log, items(logs))),
    )


def _column(value: object) -> Column:
    name, kind, nullable = items(value, 3)
    return Column(text(name), _type(text(kind)), truth(nullable))


@lru_cache(maxsize=1000)
def _type(name: str) -> Type:
    try:
        return parse_type(name)
    except WhenceError as error:
        raise MalformedError(error.message) from None


def _from_program(program: StoredProgram) -> dict[str, object]:
    """A text that several definitions came from is there once."""
    sources: dict[Source, int] = {}
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
    texts, definitions, functions = record(value, *_PROGRAM)
    sources = [_source(each) for each in items(texts)]
    return StoredProgram(tuple(_definition(each, sources) for each in items(definitions)), mapping(functions, text))


def _source(value: object) -> Source:
    name, written, is_datalog = items(value, 3)
    return Source(text(name), text(written), truth(is_datalog))


def _definition(value: object, sources: list[Source]) -> StoredDefinition:
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
