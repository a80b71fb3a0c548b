"""Values as people type them, read by the types of their columns."""

from __future__ import annotations

from collections.abc import Sequence

from whence.errors import DataError, EvaluationError
from whence.functions.cast import castable, converter
from whence.model.schema import Column, Relation
from whence.model.types import STRING, Value
from whence.sources.columns import listed

# What stands for any value in a question, and for NULL in a row; in quotes they are themselves.
ANY = "_"
NULL = "NULL"


def read_question(texts: Sequence[str], relation: Relation) -> tuple[Value, ...]:
    """The row of a question: `_`, or None, is any value."""
    return _read(texts, relation, allow_any=True)


def read_row(texts: Sequence[str], relation: Relation) -> tuple[Value, ...]:
    """A row to be inserted or deleted."""
    return _read(texts, relation, allow_any=False)


def _read(texts: Sequence[str], relation: Relation, *, allow_any: bool) -> tuple[Value, ...]:
    if len(texts) != relation.arity:
        given = " ".join(texts) or "nothing"
        raise DataError(
            f"{relation.name!r} has {listed(relation.column_names)}, and {len(texts)} "
            f"value{' was' if len(texts) == 1 else 's were'} given: {given}",
            hint=f"write one value for each column{', and _ for any value' if allow_any else ', and NULL for none'}",
        )
    return tuple(
        _value(text, column, relation, allow_any=allow_any)
        for text, column in zip(texts, relation.columns, strict=True)
    )


def _value(text: str, column: Column, relation: Relation, *, allow_any: bool) -> Value:
    if text == NULL or (text == ANY and allow_any):
        return None
    if len(text) >= 2 and text[0] == text[-1] == "'":
        text = text[1:-1].replace("''", "'")
    if column.type == STRING:
        return text
    if not castable(STRING, column.type):
        raise DataError(f"column {column.name!r} of {relation.name!r} is {column.type}, which cannot be typed here")
    try:
        return converter(STRING, column.type)(text)
    except EvaluationError as error:
        raise DataError(f"{error.message}, for column {column.name!r} of {relation.name!r}") from None
