"""Values that a question gives to base rows: a table for all its rows, or row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from whence.engines.evidence import Evidence
from whence.errors import DataError, TypeMismatchError
from whence.explain.proofs.reasons import Fact
from whence.explain.proofs.words import fact_text
from whence.functions.text import shown
from whence.model.schema import Relation
from whence.session.definitions import Definitions
from whence.sources.rows import read_rows

A = TypeVar("A")


def read_annotations(
    given: object, definitions: Definitions, evidence: Evidence, read: Callable[[object], A]
) -> Mapping[Fact, A]:
    """What `{table: {row: value}}` or `{table: value}` says, each value read and each row looked up."""
    if not isinstance(given, Mapping):
        raise TypeMismatchError(
            f"values for base rows come as a dict of tables, not as {shown(given)}",
            hint="write {table: {row: value, ...}} or {table: value} for all its rows",
        )
    found: dict[Fact, A] = {}
    for name, values in given.items():
        relation = definitions.table(name)
        found.update(_of_table(relation, values, evidence, read))
    return found


def _of_table(
    relation: Relation, values: object, evidence: Evidence, read: Callable[[object], A]
) -> Iterator[tuple[Fact, A]]:
    contents = evidence.contents(relation.name)
    if not isinstance(values, Mapping):
        value = _read(values, relation.name, read)
        every = evidence.gather(lambda: contents.matching((), ()))
        yield from (((relation.name, row), value) for row in every)
        return
    rows: list[Any] = list(values)
    read_in = read_rows(rows, relation)
    counts = evidence.gather(lambda: [contents.count(row) for row in read_in])
    for row, count, value in zip(read_in, counts, values.values(), strict=True):
        fact = (relation.name, row)
        if count <= 0:
            raise DataError(f"{fact_text(*fact)} is not there", hint="only rows of the table can have a value")
        yield fact, _read(value, fact_text(*fact), read)


def _read(value: object, place: str, read: Callable[[object], A]) -> A:
    try:
        return read(value)
    except DataError as error:
        raise DataError(f"{error.message}, for {place}", hint=error.hint) from None
