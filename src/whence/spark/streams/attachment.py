"""A stream and the table it feeds: what is to be done with its rows, checked before the first one comes."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField

from whence.errors import DataError, TypeMismatchError, UnknownNameError, did_you_mean
from whence.functions.widening import fits, is_exact
from whence.lang.sql.literals import to_microseconds
from whence.model.schema import Column, Relation
from whence.session.changes import ignores_missing
from whence.sources.rows import column_positions
from whence.spark.sessions import type_of

# Change data has these columns beside those of the table, in Spark as in whence.
CHANGE_TYPE = "_change_type"
STAMPS = ("_commit_version", "_commit_timestamp")
# Where Spark's readers of text put a record that they cannot make sense of.
CORRUPT_RECORD = "_corrupt_record"

STOP, QUARANTINE = "stop", "quarantine"


@dataclass(frozen=True, slots=True)
class Attachment:
    """`fields` are those of the stream, one for each column of the table, which `change` and `corrupt` are beside.

    Without a column for the change all rows are inserted. Bad rows go to the `quarantine`, or stop the stream where
    there is none. Event time follows the rows with this `delay`, in microseconds, if there is one.
    """

    relation: Relation
    frame: DataFrame
    fields: tuple[StructField, ...]
    change: str | None
    corrupt: str | None
    quarantine: str | None
    ignore_missing: bool
    delay: int | None


def attachment(
    relation: Relation,
    frame: object,
    *,
    changes: str | None,
    quarantine: str | None,
    missing: str,
    advance: str | None,
) -> Attachment:
    """Raises where the stream cannot feed the table."""
    if not isinstance(frame, DataFrame):
        raise TypeMismatchError(
            f"attach takes a streaming DataFrame, not a {type(frame).__name__}", hint="spark.readStream makes one"
        )
    if not frame.isStreaming:
        raise TypeMismatchError(
            f"the DataFrame for {relation.name!r} is not a stream",
            hint=f"db.insert({relation.name!r}, frame) takes all its rows at once",
        )
    change = _change_column(relation, frame, changes)
    own = {name.lower() for name in relation.column_names}
    beside = {name.lower() for name in (change, CORRUPT_RECORD, *STAMPS) if name is not None} - own
    fields = [field for field in frame.schema.fields if field.name.lower() not in beside]
    positions = column_positions([field.name for field in fields], relation, f"the stream for {relation.name!r}")
    picked = tuple(fields[position] for position in positions)
    for column, field in zip(relation.columns, picked, strict=True):
        _check_type(relation, column, field)
    corrupt = CORRUPT_RECORD if CORRUPT_RECORD in beside else None
    return Attachment(
        relation,
        frame,
        picked,
        change,
        next((field.name for field in frame.schema.fields if field.name.lower() == corrupt), None),
        quarantine,
        ignores_missing(missing),
        None if advance is None else _delay(relation, advance),
    )


def quarantines(bad: str, quarantine: object) -> bool:
    """Whether bad rows are set aside."""
    if bad not in (STOP, QUARANTINE):
        raise DataError(f'bad is "{STOP}" or "{QUARANTINE}", not {bad!r}')
    if bad == STOP and quarantine is not None:
        raise DataError(
            "a quarantine is where bad rows are set aside, and bad rows stop this stream",
            hint=f'give bad="{QUARANTINE}" as well',
        )
    return bad == QUARANTINE


def _change_column(relation: Relation, frame: DataFrame, changes: str | None) -> str | None:
    is_own = CHANGE_TYPE in {name.lower() for name in relation.column_names}
    wanted = CHANGE_TYPE if changes is None else changes
    if changes is None and is_own:
        return None
    found = next((field for field in frame.schema.fields if field.name.lower() == wanted.lower()), None)
    if found is None:
        if changes is None:
            return None
        raise UnknownNameError(
            f"the stream for {relation.name!r} has no column {changes!r}, which is to name the change",
            hint=did_you_mean(changes, frame.columns),
        )
    if not isinstance(found.dataType, StringType):
        raise TypeMismatchError(
            f"column {found.name!r} of the stream for {relation.name!r} is to name the change, and it is "
            f"{found.dataType.simpleString().upper()}",
            hint="it must be a STRING",
        )
    return found.name


def _check_type(relation: Relation, column: Column, field: StructField) -> None:
    source = type_of(field)
    # Between exact numbers the value tells whether it fits.
    if source is None or not (fits(source, column.type) or (is_exact(source) and is_exact(column.type))):
        raise TypeMismatchError(
            f"column {column.name!r} of {relation.name!r} is {column.type}, and the stream has "
            f"{field.dataType.simpleString().upper()}",
            hint=f'cast it before: .withColumn("{field.name}", col("{field.name}").cast("{column.type}"))',
        )


def _delay(relation: Relation, advance: str) -> int:
    if relation.ttl is None or relation.ttl.column is None:
        raise DataError(
            f"time cannot follow the rows of {relation.name!r}, which do not tell it",
            hint="create the table with the properties 'ttl' and 'ttl_column'",
        )
    if not isinstance(advance, str):
        raise TypeMismatchError(f'advance is a length of time, like "10 seconds", not {advance!r}')
    return 0 if advance.split() == ["0", "seconds"] else to_microseconds(advance, None)
