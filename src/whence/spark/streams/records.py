"""The records of a micro-batch: read as rows, and told apart into good ones and bad ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as compute
import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import ArrayType, DateType, StringType, StructType, TimestampNTZType, TimestampType

from whence.algebra.deltas import add_to
from whence.errors import DataError, StateError, shown
from whence.model.schema import Relation
from whence.model.types import STRING, Row
from whence.session.lifetimes import wall_clock
from whence.sources.rows import check_rows, frame_rows, row_text
from whence.spark.decorators import quoted
from whence.spark.export import json_lines
from whence.spark.sessions import zoneless
from whence.spark.streams.attachment import Attachment
from whence.storage.files.files import Files

INSERT, DELETE = "insert", "delete"
SIGNS = {INSERT: 1, "update_postimage": 1, DELETE: -1, "update_preimage": -1}
# Columns of a micro-batch beside c0, c1, ...
CHANGE, CORRUPT, BEYOND = "change", "corrupt", "beyond"


@dataclass(frozen=True, slots=True)
class Bad:
    """A record that cannot be taken: its change, its values as they came, and why. `text` is one that has no values."""

    change: str | None
    values: Sequence[object]
    text: str | None
    error: DataError


@dataclass(frozen=True, slots=True)
class BatchRecords:
    """The good ones, with what each does to the count of its row, and the bad ones."""

    good: list[tuple[Row, int]]
    bad: list[Bad]


def selected(batch: DataFrame, attachment: Attachment) -> DataFrame:
    """A micro-batch as c0, c1, ... with the change, the text of what is malformed, and the column of a time or a text
    that has no place in Python.
    """
    beyond = F.lit(None).cast("string")
    columns = []
    for at, field in enumerate(attachment.fields):
        value, is_beyond = F.col(quoted(field.name)), None
        if isinstance(field.dataType, DateType | TimestampType | TimestampNTZType):
            value = zoneless(value, field.dataType)
            is_beyond = F.coalesce((F.year(value) < 1) | (F.year(value) > 9999), F.lit(False))
            value = F.when(~is_beyond, value)
        elif isinstance(field.dataType, StringType):
            is_beyond = ~F.coalesce(F.is_valid_utf8(value), F.lit(True))
            value = F.make_valid_utf8(value)
        elif isinstance(field.dataType, ArrayType | StructType):
            value = zoneless(value, field.dataType)
        if is_beyond is not None:
            beyond = F.when(is_beyond, attachment.relation.columns[at].name).otherwise(beyond)
        columns.append(value.alias(f"c{at}"))
    return batch.select(
        *columns,
        _text(attachment.change).alias(CHANGE),
        _text(attachment.corrupt).alias(CORRUPT),
        beyond.alias(BEYOND),
    )


def read_records(table: pa.Table, attachment: Attachment, place: str) -> BatchRecords:
    """The records of a micro-batch, as `selected` has made it. `place` names one of them in a message."""
    relation = attachment.relation
    values = _values(table, relation)
    changes = table.column(CHANGE).to_pylist() if attachment.change is not None else [INSERT] * len(values)
    corrupt, beyond = table.column(CORRUPT).to_pylist(), table.column(BEYOND).to_pylist()
    if not any(corrupt) and not any(beyond) and SIGNS.keys() >= set(changes):
        try:
            rows = check_rows(values, relation, lambda _: place)
        except DataError:
            # Which ones are bad is to be seen below.
            pass
        else:
            return BatchRecords([(row, SIGNS[change]) for row, change in zip(rows, changes, strict=True)], [])
    records = BatchRecords([], [])
    for row, change, text, column in zip(values, changes, corrupt, beyond, strict=True):
        try:
            _check_record(change, text, column, row, attachment, place)
            records.good.append((check_rows([row], relation, lambda _: place)[0], SIGNS[change]))
        except DataError as error:
            records.bad.append(Bad(change, row, text, error))
    return records


def read_signs(table: pa.Table, attachment: Attachment) -> npt.NDArray[np.int64] | None:
    """What each record of a micro-batch does to the count of its row; None if any of them is bad by its looks."""
    if table.column(CORRUPT).null_count < table.num_rows or table.column(BEYOND).null_count < table.num_rows:
        return None
    if attachment.change is None:
        return np.ones(table.num_rows, np.int64)
    changes = table.column(CHANGE)
    names = pa.array(SIGNS)
    places = compute.index_in(changes, names)
    if places.null_count:
        return None
    signs: npt.NDArray[np.int64] = np.array([*SIGNS.values()], np.int64)[places.to_numpy()]
    return signs


def _check_record(
    change: str | None, text: str | None, beyond: str | None, row: Sequence[object], attachment: Attachment, place: str
) -> None:
    name = attachment.relation.name
    if text is not None:
        raise DataError(f"{place} for {name!r} is malformed: {shown(text)}")
    if beyond is not None:
        column = next(each for each in attachment.relation.columns if each.name == beyond)
        what = "text in UTF-8" if column.type == STRING else "times of the years 1 to 9999"
        raise DataError(f"column {beyond!r} of {name!r} takes {what}, in {place}: {row_text(row)}")
    if change not in SIGNS:
        found = "NULL" if change is None else repr(change)
        raise DataError(
            f"{found} in {attachment.change!r} is no change that {name!r} can follow, in {place}: {row_text(row)}",
            hint=f"a change is {', '.join(list(SIGNS)[:-1])} or {list(SIGNS)[-1]}",
        )


def _values(table: pa.Table, relation: Relation) -> list[Sequence[object]]:
    if not relation.arity:
        return [()] * table.num_rows
    own = table.select(range(relation.arity)).rename_columns(list(relation.column_names))
    return list(frame_rows(own, relation))


def _text(name: str | None) -> Column:
    return F.lit(None).cast("string") if name is None else F.make_valid_utf8(F.col(quoted(name)))


def netted(records: BatchRecords) -> tuple[dict[Row, int], dict[Row, int]]:
    """What records come to, whatever their order: the copies that go, and those that come."""
    net: dict[Row, int] = {}
    add_to(net, records.good)
    return {row: -n for row, n in net.items() if n < 0}, {row: n for row, n in net.items() if n > 0}


def copies(counts: dict[Row, int]) -> Iterator[Row]:
    for row, count in counts.items():
        for _ in range(count):
            yield row


class Quarantine:
    """A directory. A batch that is replayed replaces its file: what counts is what was judged last."""

    def __init__(self, files: Files, relation: Relation) -> None:
        self._files = files
        self._relation = relation

    def put(self, stream: str, batch: int, records: Sequence[Bad]) -> None:
        name = f"{stream}-{batch:09}.json"
        try:
            self._files.delete(name)
            if records:
                self._files.make_directory("")
                self._files.create(name, json_lines(map(self._line, [batch] * len(records), records)))
        except OSError as error:
            raise StateError(
                f"the bad rows of batch {batch} cannot be written to {self._files.root}: {error.strerror or error}",
                hint="nothing of that batch has happened",
            ) from error

    def _line(self, batch: int, record: Bad) -> dict[str, object]:
        names = self._relation.column_names
        return {
            "relation": self._relation.name,
            "batch": batch,
            "time": wall_clock(),
            "reason": record.error.message,
            "hint": record.error.hint,
            "change": record.change,
            "row": dict(zip(names, record.values, strict=True)) if record.text is None else None,
            "record": record.text,
        }
