"""How the values of a column type lie in a numpy array, one number per value, NULL included.

Whole numbers, decimals, dates, timestamps and truth values are 64-bit integers in their own order. Everything else
that is no DOUBLE, text above all, is the number of an entry in a dictionary: equal values have equal numbers, and no
order. NULL is a number that no value has, so that equal rows have equal numbers and a mask is never needed.
"""

from __future__ import annotations

import datetime
import decimal
import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from whence.columns import NotInColumnsError, text_dictionary
from whence.columns.packed_values import packed, unpacked
from whence.columns.text_dictionary import TextDictionary
from whence.model.schema import Relation
from whence.model.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    REAL,
    STRING,
    TIMESTAMP,
    DecimalType,
    IntegerType,
    IntervalType,
    Type,
    Value,
)
from whence.model.types.decimals import CONTEXT, LONG_DIGITS
from whence.model.types.intervals import DayTimeType, Months, YearMonthType
from whence.model.types.times import EPOCH

if TYPE_CHECKING:
    import pyarrow as pa

Array: TypeAlias = np.ndarray[Any, Any]

INTEGER: np.dtype[Any] = np.dtype(np.int64)
FLOATING: np.dtype[Any] = np.dtype(np.float64)
# NULL among integers, and among DOUBLEs, of which NaN is no value. As integers the two differ.
NULL = text_dictionary.NULL
NULL_DOUBLE = np.float64("nan")

# The longest number of units of a DECIMAL that stands for itself, and where the others begin.
LONGEST_UNITS = 999_999_999_999_999_999
OUTLIER = 2_000_000_000_000_000_000

_EPOCH_DAY = EPOCH.toordinal()
_MICROSECONDS = np.dtype("datetime64[us]")
_LENGTHS = np.dtype("timedelta64[us]")
_MICROSECOND = datetime.timedelta(microseconds=1)


class Dictionary:
    """Values by their numbers, which they have from when they are first met."""

    def __init__(self) -> None:
        self._numbers: dict[Value, int] = {}
        # Room doubles when it is used up, so that a new value costs the same however many there are.
        self._values: Array = np.full(64, None, object)

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, value: Value) -> int | None:
        """The number of a value, if it has been met."""
        return self._numbers.get(value)

    def numbers(self, values: Sequence[Value]) -> list[int]:
        known = self._numbers
        try:
            return [*map(known.__getitem__, values)]
        except KeyError:
            return self._new_numbers(values)

    def _new_numbers(self, values: Sequence[Value]) -> list[int]:
        known = self._numbers
        first = len(known)
        found = [NULL if value is None else known.setdefault(value, len(known)) for value in values]
        if len(known) > first:
            while len(known) > len(self._values):
                self._values = np.concatenate([self._values, np.full(len(self._values), None, object)])
            new = _last(known, len(known) - first)
            # From an iterator, since numpy takes a list of tuples apart, and a value may be one.
            self._values[first : len(known)] = np.fromiter(new, object, len(new))
        return found

    def saved(self) -> list[Any]:
        return packed(list(self._numbers))

    def restore(self, saved: Sequence[Any]) -> None:
        """Have the values that were saved, with the same numbers. There were none before."""
        self.numbers(unpacked(saved))

    def values(self, numbers: Array) -> Array:
        """The values of numbers, none of which is NULL."""
        return self._values[numbers]


def _last(known: dict[Value, int], count: int) -> list[Value]:
    """The newest keys, in the order in which they came."""
    backwards = reversed(known)
    return [next(backwards) for _ in range(count)][::-1]


class Encoding:
    """A type's values as 64-bit integers, which this base class takes as they are."""

    dtype = INTEGER
    null: Any = NULL
    # Whether smaller numbers are smaller values.
    is_ordered = True

    def __init__(self, kind: Type) -> None:
        self.type = kind
        # Whether a value could be the number that stands for NULL.
        self._fills_64_bits = kind == BIGINT or isinstance(kind, DayTimeType)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Encoding) and type(self) is type(other) and self.type == other.type

    def __hash__(self) -> int:
        return hash(self.type)

    def number(self, value: Any) -> int:
        """What stands for one value in an array of integers. Raises NotInColumnsError, as `encode` does."""
        if value is None:
            return NULL
        if value == NULL and self._fills_64_bits:
            raise NotInColumnsError(f"the number {NULL}, which stands for NULL")
        return int(value)

    def encode(self, values: Sequence[Value]) -> Array:
        """Raises NotInColumnsError for a value that cannot be told from NULL."""
        given: Sequence[Any] = values
        if None in given:
            given = [NULL if value is None else value for value in self._checked(given)]
            return np.array(given, INTEGER)
        return self._safe(np.array(given, INTEGER))

    def decode(self, numbers: Array) -> list[Value]:
        decoded: list[Value] = self._decode(numbers).tolist() if len(numbers) else []
        return _with_nulls(decoded, np.flatnonzero(self.is_null(numbers)))

    def is_null(self, numbers: Array) -> Array:
        nulls: Array = numbers == NULL
        return nulls

    def from_arrow(self, column: pa.Array) -> Array:
        """An Arrow array of just this type, whose values are checked already."""
        return self._safe(_filled(column, 0).astype(INTEGER, copy=False), column)

    def to_arrow(self, numbers: Array) -> pa.Array:
        import pyarrow as pa

        nulls = self.is_null(numbers)
        mask = nulls if nulls.any() else None
        return pa.array(self._plain(numbers), mask=mask).cast(self.type.arrow())

    def _plain(self, numbers: Array) -> Array:
        """What Arrow takes for the numbers; of NULL, anything."""
        return numbers

    def _decode(self, numbers: Array) -> Array:
        return numbers

    def _checked(self, values: Sequence[Any]) -> Sequence[Any]:
        if self._fills_64_bits and NULL in values:
            raise NotInColumnsError(f"the number {NULL}, which stands for NULL")
        return values

    def _safe(self, numbers: Array, column: pa.Array | None = None) -> Array:
        """The numbers, with NULL where an Arrow column has one, after a look at whether NULL stands for itself."""
        if self._fills_64_bits and len(numbers) and numbers.min() == NULL:
            raise NotInColumnsError(f"the number {NULL}, which stands for NULL")
        return numbers if column is None or not column.null_count else _nulled(numbers, column, NULL)


def _filled(column: pa.Array, value: Any) -> Array:
    filled = column.fill_null(value) if column.null_count else column
    array: Array = filled.to_numpy(zero_copy_only=False)
    return array


def _nulled(numbers: Array, column: pa.Array, null: Any) -> Array:
    numbers = numbers.copy()
    numbers[column.is_null().to_numpy(zero_copy_only=False)] = null
    return numbers


def _with_nulls(decoded: list[Value], nulls: Array) -> list[Value]:
    for at in nulls.tolist():
        decoded[at] = None
    return decoded


class BooleanEncoding(Encoding):
    def from_arrow(self, column: pa.Array) -> Array:
        return super().from_arrow(column.cast("int8"))

    def decode(self, numbers: Array) -> list[Value]:
        return _with_nulls((numbers == 1).tolist(), np.flatnonzero(numbers == NULL))

    def _plain(self, numbers: Array) -> Array:
        plain: Array = numbers == 1
        return plain


class DateEncoding(Encoding):
    """The days since 1970."""

    def number(self, value: Any) -> int:
        return NULL if value is None else value.toordinal() - _EPOCH_DAY

    def encode(self, values: Sequence[Value]) -> Array:
        dates: Sequence[Any] = values
        if None in dates:
            return np.array([*map(self.number, dates)], INTEGER)
        return np.array([*map(datetime.date.toordinal, dates)], INTEGER) - _EPOCH_DAY

    def decode(self, numbers: Array) -> list[Value]:
        from_ordinal = datetime.date.fromordinal
        return [None if day == NULL else from_ordinal(day + _EPOCH_DAY) for day in numbers.tolist()]

    def from_arrow(self, column: pa.Array) -> Array:
        return super().from_arrow(column.cast("int32"))

    def _plain(self, numbers: Array) -> Array:
        return np.where(numbers == NULL, 0, numbers).astype(np.int32)


class TimestampEncoding(Encoding):
    """The microseconds since 1970."""

    def number(self, value: Any) -> int:
        return NULL if value is None else (value - EPOCH) // _MICROSECOND

    def encode(self, values: Sequence[Value]) -> Array:
        # numpy's "not a time" is just the number that NULL is.
        moments: Array = np.array(values, _MICROSECONDS)
        return moments.astype(INTEGER)

    def from_arrow(self, column: pa.Array) -> Array:
        return super().from_arrow(column.cast("int64"))

    def _decode(self, numbers: Array) -> Array:
        return numbers.astype(_MICROSECONDS)


class MonthsEncoding(Encoding):
    def from_arrow(self, column: pa.Array) -> Array:
        return super().from_arrow(column.cast("int32"))

    def decode(self, numbers: Array) -> list[Value]:
        return [None if number == NULL else Months(number) for number in numbers.tolist()]

    def _plain(self, numbers: Array) -> Array:
        return np.where(numbers == NULL, 0, numbers).astype(np.int32)


class DurationEncoding(Encoding):
    """The microseconds of a timedelta."""

    def number(self, value: Any) -> int:
        return NULL if value is None else super().number(value // _MICROSECOND)

    def encode(self, values: Sequence[Value]) -> Array:
        lengths: Array = np.array(values, _LENGTHS)
        return lengths.astype(INTEGER) if None in values else self._safe(lengths.astype(INTEGER))

    def from_arrow(self, column: pa.Array) -> Array:
        return super().from_arrow(column.cast("int64"))

    def _decode(self, numbers: Array) -> Array:
        return numbers.astype(_LENGTHS)


class DecimalEncoding(Encoding):
    """A whole number of the last digit's units. One with more than 18 digits is OUTLIER plus its dictionary number."""

    def __init__(self, kind: DecimalType, outliers: Dictionary) -> None:
        super().__init__(kind)
        self.scale = kind.scale
        self.is_ordered = kind.precision <= LONG_DIGITS
        self._outliers = outliers

    def encode(self, values: Sequence[Value]) -> Array:
        numbers: Sequence[Any] = values
        if self.is_ordered:
            # Looking for NULL would compare each number with it, which takes longer than all the rest.
            with suppress(TypeError):
                return np.array([*map(int, map(CONTEXT.scaleb, numbers, repeat(self.scale)))], INTEGER)
        return np.array([*map(self.number, numbers)], INTEGER)

    def number(self, value: Any) -> int:
        return NULL if value is None else self._of_units(int(CONTEXT.scaleb(value, self.scale)))

    def of_units(self, units: Sequence[int | None]) -> Array:
        """Whole numbers of units, of any length."""
        return np.array([NULL if number is None else self._of_units(number) for number in units], INTEGER)

    def decode(self, numbers: Array) -> list[Value]:
        scale, scaleb, make = -self.scale, CONTEXT.scaleb, decimal.Decimal
        return [None if number is None else scaleb(make(number), scale) for number in self.units(numbers)]

    def units(self, numbers: Array) -> list[int | None]:
        known = self._outliers.values
        return [
            None if number == NULL else number if number < OUTLIER else known(np.array([number - OUTLIER]))[0]
            for number in numbers.tolist()
        ]

    def from_arrow(self, column: pa.Array) -> Array:
        words = np.frombuffer(column.buffers()[1], INTEGER)[2 * column.offset : 2 * (column.offset + len(column))]
        low, high = words[::2], words[1::2]
        if not self.is_ordered and not ((high == low >> 63) & (np.abs(low) <= LONGEST_UNITS)).all():
            return self.encode(column.to_pylist())
        return self._safe(np.ascontiguousarray(low), column)

    def to_arrow(self, numbers: Array) -> pa.Array:
        import pyarrow as pa

        if len(numbers) and numbers.max() >= OUTLIER:
            return pa.array(self.decode(numbers), self.type.arrow())
        nulls = numbers == NULL
        words = np.empty((len(numbers), 2), INTEGER)
        words[:, 0] = np.where(nulls, 0, numbers)
        words[:, 1] = words[:, 0] >> 63
        valid = pa.array(~nulls).buffers()[1] if nulls.any() else None
        return pa.Array.from_buffers(self.type.arrow(), len(numbers), [valid, pa.py_buffer(words)])

    def _of_units(self, number: int) -> int:
        if -LONGEST_UNITS <= number <= LONGEST_UNITS:
            return number
        return OUTLIER + self._outliers.numbers([number])[0]


class DoubleEncoding(Encoding):
    dtype = FLOATING
    null = NULL_DOUBLE

    def number(self, value: Any) -> int:
        return int.from_bytes(struct.pack("<d", NULL_DOUBLE if value is None else value), "little", signed=True)

    def encode(self, values: Sequence[Value]) -> Array:
        return np.array(values, FLOATING)

    def is_null(self, numbers: Array) -> Array:
        return np.isnan(numbers)

    def from_arrow(self, column: pa.Array) -> Array:
        # There is no negative zero.
        return _filled(column, NULL_DOUBLE) + 0.0


class DictionaryEncoding(Encoding):
    """Numbers that a dictionary has for the values, in the order in which they were met."""

    is_ordered = False


class ObjectEncoding(DictionaryEncoding):
    """Values that only Python has: records, and values with others in them."""

    def __init__(self, kind: Type, dictionary: Dictionary) -> None:
        super().__init__(kind)
        self._dictionary = dictionary

    def number(self, value: Any) -> int:
        known = NULL if value is None else self._dictionary.number(value)
        return self._dictionary.numbers([value])[0] if known is None else known

    def encode(self, values: Sequence[Value]) -> Array:
        return np.array(self._dictionary.numbers(values), INTEGER)

    def decode(self, numbers: Array) -> list[Value]:
        nulls = np.flatnonzero(numbers == NULL)
        decoded: list[Value] = self._dictionary.values(np.where(numbers == NULL, 0, numbers)).tolist()
        return _with_nulls(decoded, nulls)

    def from_arrow(self, column: pa.Array) -> Array:
        if self.type.inner:
            # Arrow does not tell these apart.
            return self.encode(self.type.from_arrow(column.to_pylist()))
        encoded = column.dictionary_encode()
        values = self.type.from_arrow(encoded.dictionary.to_pylist())
        known = np.array([*self._dictionary.numbers(values), NULL], INTEGER)
        indices: Array = encoded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
        return known[indices]

    def to_arrow(self, numbers: Array) -> pa.Array:
        import pyarrow as pa

        encoded = pa.array(numbers).dictionary_encode()
        different = self.decode(encoded.dictionary.to_numpy())
        return self.type.to_arrow(different).take(encoded.indices)


class TextEncoding(DictionaryEncoding):
    def __init__(self, kind: Type, texts: TextDictionary) -> None:
        super().__init__(kind)
        self._texts = texts

    def number(self, value: Any) -> int:
        return self._texts.number(value)

    def encode(self, values: Sequence[Value]) -> Array:
        texts: Sequence[Any] = values
        return np.array(self._texts.numbers(texts), INTEGER)

    def decode(self, numbers: Array) -> list[Value]:
        return self._texts.texts(numbers)

    def from_arrow(self, column: pa.Array) -> Array:
        return self._texts.from_arrow(column)

    def to_arrow(self, numbers: Array) -> pa.Array:
        return self._texts.to_arrow(numbers)


class Encodings:
    """The encodings of one database, which share its dictionaries."""

    def __init__(self) -> None:
        self._texts = TextDictionary()
        self._dictionaries: dict[str, Dictionary] = {}
        self._known: dict[Type, Encoding] = {}

    def saved(self) -> dict[str, Any]:
        """The dictionaries, for `restore`. Raises NotInColumnsError for values that cannot be written down."""
        dictionaries = [[family, each.saved()] for family, each in self._dictionaries.items()]
        return {"texts": self._texts.saved(), "dictionaries": dictionaries}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Before anything is encoded."""
        self._texts.restore(saved["texts"])
        for family, values in saved["dictionaries"]:
            self._dictionaries.setdefault(family, Dictionary()).restore(values)

    def of(self, kind: Type) -> Encoding:
        known = self._known.get(kind)
        if known is None:
            known = self._known[kind] = self._made(kind)
        return known

    def of_relation(self, relation: Relation) -> tuple[Encoding, ...]:
        return tuple([self.of(column.type) for column in relation.columns])

    def _made(self, kind: Type) -> Encoding:
        if isinstance(kind, IntegerType):
            return Encoding(kind)
        if isinstance(kind, IntervalType):
            return MonthsEncoding(kind) if isinstance(kind, YearMonthType) else DurationEncoding(kind)
        own = _OWN.get(kind)
        if own is not None:
            return own(kind)
        if kind == STRING:
            return TextEncoding(kind, self._texts)
        dictionary = self._dictionaries.setdefault(kind.family, Dictionary())
        return DecimalEncoding(kind, dictionary) if isinstance(kind, DecimalType) else ObjectEncoding(kind, dictionary)


_OWN: dict[Type, type[Encoding]] = {
    BOOLEAN: BooleanEncoding,
    DATE: DateEncoding,
    TIMESTAMP: TimestampEncoding,
    DOUBLE: DoubleEncoding,
    REAL: DoubleEncoding,
}
