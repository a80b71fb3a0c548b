"""Types and rows as golden files write them, from Arrow, which both whence and Spark give."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from whence.model.types import BY_NAME, DOUBLE, REAL, Value

_INTERVAL = b"interval"
_NAMES = {
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "float": "float",
    "double": "double",
    "string": "string",
    "bool": "boolean",
    "binary": "binary",
    "null": "void",
    "date32[day]": "date",
    "large_string": "string",
}


def type_name(kind: pa.DataType) -> str:
    """What Spark calls the type."""
    if pa.types.is_list(kind):
        return f"array<{type_name(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{type_name(kind.key_type)},{type_name(kind.item_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{','.join(f'{field.name}:{type_name(field.type)}' for field in kind)}>"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp"
    return _NAMES.get(str(kind), str(kind))


def _told(field: pa.Field) -> str | None:
    """The type of an interval that is shown as a text."""
    told = (field.metadata or {}).get(_INTERVAL)
    return None if told is None else str(told.decode())


def intervals_as_texts(table: pa.Table, types: Sequence[str]) -> pa.Table:
    """The table with its intervals as Hive shows them, `1-2` and `1 02:03:04.500000000`."""
    for place, kind in enumerate(types):
        if kind.startswith("interval"):
            own = BY_NAME[kind.upper()]
            values = [
                None if value is None else _interval(own.accept(value)) for value in table.column(place).to_pylist()
            ]
            field = pa.field(table.column_names[place], pa.string(), metadata={_INTERVAL: kind})
            table = table.set_column(place, field, pa.array(values, pa.string()))
    return table


def _interval(value: Value) -> str:
    if isinstance(value, int):
        return f"{'-' * (value < 0)}{abs(value) // 12}-{abs(value) % 12}"
    assert isinstance(value, datetime.timedelta)
    length = abs(value)
    hours, rest = divmod(length.seconds, 3600)
    time = f"{hours:02}:{rest // 60:02}:{rest % 60:02}.{length.microseconds:06}000"
    return f"{'-' * (value < datetime.timedelta())}{length.days} {time}"


def same_types(table: pa.Table, expected: Sequence[str]) -> bool:
    """A TIMESTAMP of Spark's has a zone where the session does not say otherwise."""
    ours = [_told(field) or type_name(field.type).lower() for field in table.schema]
    return ours == [re.sub(r"timestamp_(ntz|ltz)", "timestamp", name.lower()) for name in expected]


def lines(table: pa.Table) -> list[str]:
    columns = [column.to_pylist() for column in table.columns]
    kinds = table.schema.types
    return ["\t".join(map(hive, row, kinds)) for row in zip(*columns, strict=True)]


def hive(value: Any, kind: pa.DataType, *, nested: bool = False) -> str:
    """A value as Hive's command line shows it."""
    if value is None:
        return "null" if nested else "NULL"
    if pa.types.is_list(kind):
        return f"[{','.join(hive(each, kind.value_type, nested=True) for each in value)}]"
    if pa.types.is_map(kind):
        pairs = (
            f"{hive(key, kind.key_type, nested=True)}:{hive(item, kind.item_type, nested=True)}" for key, item in value
        )
        return f"{{{','.join(pairs)}}}"
    if pa.types.is_struct(kind):
        parts = (f'"{field.name}":{hive(value[field.name], field.type, nested=True)}' for field in kind)
        return f"{{{','.join(parts)}}}"
    if isinstance(value, bool):
        return str(value).lower()
    if pa.types.is_decimal(kind):
        # Without the zeros at its end, as Hive has it in arrays.
        return f"{value:f}" if not nested or "." not in f"{value:f}" else f"{value:f}".rstrip("0").rstrip(".")
    if pa.types.is_timestamp(kind):
        value = value.replace(tzinfo=None)
        text = value.isoformat(sep=" ", timespec="seconds")
        return text if not value.microsecond else f"{text}.{value.microsecond:06d}".rstrip("0")
    if pa.types.is_string(kind):
        return f'"{value}"' if nested else str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float):
        # As Java writes it; there is no negative zero here.
        return (
            (REAL if pa.types.is_float32(kind) else DOUBLE).to_text(value + 0.0) if math.isfinite(value) else str(value)
        )
    return str(value)


def same_lines(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """As bags. Numbers with a fraction may differ where Java and C round differently."""
    if len(ours) != len(theirs):
        return False
    return all(map(_same_line, sorted(ours), sorted(theirs)))


def _same_line(ours: str, theirs: str) -> bool:
    theirs = re.sub(r"(?<![\d.])-0\.0(?![\d.])", "0.0", theirs)
    if ours.rstrip() == theirs.rstrip():
        return True
    pairs = list(zip(re.split(r"([\t,\[\]])", ours), re.split(r"([\t,\[\]])", theirs), strict=False))
    return ours.count("\t") == theirs.count("\t") and all(left == right or _close(left, right) for left, right in pairs)


def _close(left: str, right: str) -> bool:
    if not all(re.fullmatch(r"-?\d+\.\d+(?:[eE][-+]?\d+)?", each) for each in (left, right)):
        return False
    if "e" not in (left + right).lower() and len(left) < 15 and len(right) < 15:
        return float(left) == float(right) and len(left) == len(right)
    return math.isclose(float(left), float(right), rel_tol=1e-12)


def same_tables(ours: pa.Table, theirs: pa.Table) -> bool:
    return same_types(ours, [type_name(kind) for kind in theirs.schema.types]) and same_lines(
        lines(ours), lines(theirs)
    )
