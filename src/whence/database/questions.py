"""What a question to a database may name: rows, values for base rows, and relations that it can be asked of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import EllipsisType
from typing import Any, TypeAlias, TypeVar

from whence.engines.engine import Evidence
from whence.errors import DataError, Hint, NextStep, TypeMismatchError, UnsupportedError, shown
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.reasons import Fact
from whence.explain.proofs.text import fact_text
from whence.model.schema import Relation, owner, reader
from whence.model.types import Value
from whence.session.definitions import Definitions
from whence.sources.rows import column_positions, listed, row_text
from whence.sources.source import read_rows

# `...` stands for any value.
AskedRow: TypeAlias = "tuple[Value | EllipsisType, ...]"
_WHAT_IF = Hint("{} tells what a change would do", (NextStep("what_if", "db.what_if"),))


def asked_row(row: object, relation: Relation) -> AskedRow:
    """A tuple in which None and `...` stand for any value, or a dict of the columns that matter.

    In a dict None is NULL. Every value is checked as those that are inserted are.
    """
    values: list[object] = [...] * relation.arity
    if isinstance(row, Mapping):
        names = [str(name) for name in row]
        known = {column.name.lower(): at for at, column in enumerate(relation.columns)}
        if any(name.lower() not in known for name in names):
            # It knows the words for this.
            column_positions(names, relation, f"the row asked about in {relation.name!r}")
        for name, value in zip(names, row.values(), strict=True):
            values[known[name.lower()]] = value
    elif isinstance(row, tuple | list):
        if len(row) != relation.arity:
            raise DataError(
                f"{relation.name!r} has {listed(relation.column_names)}, and the row asked about has "
                f"{len(row)} value{'' if len(row) == 1 else 's'}: {row_text(row)}"
            )
        values = [... if value is None else value for value in row]
    else:
        raise DataError(
            f"a row of {relation.name!r} is a tuple or a dict, not {shown(row)}",
            hint=f"write ({', '.join(relation.column_names)}{',' * (relation.arity == 1)}), with None for any value",
        )
    checked: list[Value | EllipsisType] = []
    for column, value in zip(relation.columns, values, strict=True):
        if value is ...:
            checked.append(...)
            continue
        try:
            checked.append(None if value is None else reader(column)(value))
        except DataError as error:
            raise DataError(
                f"{error.message}, in the row asked about: {fact_text(relation.name, values)}", hint=error.hint
            ) from None
    return tuple(checked)


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


def refuse_windows(backwards: Backwards, relations: Iterable[str]) -> None:
    """Raises if one of these relations, or what it reads, has window functions.

    A row of a window rests on its own row below, which is what `why` shows; its number rests on all rows that were
    counted before it, and on the absence of others. No set of base rows suffices for it, and questions for such sets
    are refused.
    """
    seen: set[str] = set()
    todo = list(relations)
    while todo:
        name = todo.pop()
        component = backwards.component[name]
        if component.windowed or component.unnested:
            what = "a window function or LIMIT" if component.windowed else "the elements of an array"
            raise UnsupportedError(
                f"this cannot be told of rows above {what}, which {owner(name)!r} has",
                span=component.rules[0].span,
                hint=_WHAT_IF,
            )
        new = {*component.relations, *component.reads} - seen
        seen |= new
        todo.extend(new)


def refuse_windows_above(backwards: Backwards, table: str) -> None:
    """Raises if a relation with window functions follows from the table."""
    above = {table}
    for component in dict.fromkeys(backwards.component.values()):
        if not above.isdisjoint(component.reads):
            above.update(component.relations)
            if component.windowed or component.unnested:
                refuse_windows(backwards, component.relations)
