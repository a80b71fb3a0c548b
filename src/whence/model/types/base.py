"""What the rest of the system asks of a column type."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from whence.errors import EvaluationError, InternalError, shown

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.model.types.records import Record

Scalar: TypeAlias = (
    str | int | float | decimal.Decimal | bool | bytes | datetime.date | datetime.datetime | datetime.timedelta
)
Value: TypeAlias = "Scalar | tuple[Value, ...] | Record | None"
Row: TypeAlias = "tuple[Value, ...]"

# Casts values other than NULL.
Converter: TypeAlias = Callable[[Any], Value]

# The classes of values that int(), float() and Decimal() take.
NUMERIC = (int, float, decimal.Decimal, bool)
# What may stand around a number, a date or a truth value that is read from text.
BLANKS = "".join(map(chr, range(33))) + "\x7f"


class Refusal(NamedTuple):
    """Types close to one of ours that are refused: their names, by those that sqlglot has for them, and why."""

    names: dict[str, str]
    reason: str
    hint: str


class MisfitError(ValueError):
    """Why a value is not one of a type."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


@dataclass(frozen=True, eq=False, repr=False)
class Type:
    """A column type. Its class and what it is made with say all that is to know of it; see docs/extending.md.

    Methods never get NULL, unless they say so.
    """

    name: str
    _: KW_ONLY
    # The class of its values.
    python: type
    # What pyarrow calls the function that makes the type, and pyspark.sql.types the class.
    arrow_name: str
    spark_name: str
    # The affinity of a column in SQLite.
    sqlite: str = "TEXT"
    # What sqlglot calls the types that mean this one in SQL.
    sqlglot: tuple[str, ...] = ()
    # More names in Datalog: Spark's, and Soufflé's.
    aliases: tuple[str, ...] = ()
    souffle: tuple[str, ...] = ()
    # Types that are not there, for which this one is to be used, and others that are refused with a reason.
    stands_for: tuple[str, ...] = ()
    refusal: Refusal | None = None
    # Spark's functions that convert to it; here it is a CAST.
    cast_functions: tuple[str, ...] = ()
    # The next type that holds all of its values. Numbers have more of them: see functions/widening.py.
    wider: str | None = None
    # Whether it is a point in time: constants may be written as text, and a time to live may count from it.
    is_time: bool = False
    # How to write a literal of it in Datalog, after one that cannot be read.
    literal_hint: str | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__

    @property
    def is_comparable(self) -> bool:
        """Whether values can be compared, grouped and ordered. With a map in them they cannot."""
        return all(kind.is_comparable for kind in self.inner)

    @property
    def inner(self) -> tuple[Type, ...]:
        """The types of the values that are in its values."""
        return ()

    def with_inner(self, kinds: Sequence[Type]) -> Type:  # noqa: ARG002 - most have none
        """The same type of values with values of these types in them."""
        return self

    @property
    def simple_name(self) -> str:
        """What Spark calls the type where it tells it, as `typeof` does."""
        return _SIMPLE_NAMES.get(self.name, self.name.lower())

    # Values that come from outside.

    def accept(self, value: object) -> Value:
        """An object as a value of this type; raises MisfitError."""
        return self.check(unwrapped(value))

    def check(self, value: object) -> Value:
        """`accept` for an object that is no numpy scalar."""
        raise NotImplementedError

    def is_plain(self, value: object) -> bool:  # noqa: ARG002 - the values of most types can be told
        """Whether the object is, without doubt, a value as it stands. Subclasses are left to `accept`."""
        return False

    def are_plain(self, values: Sequence[Any]) -> bool:  # noqa: ARG002
        """Whether all of them are. They are of the class `python`, and there is at least one."""
        return False

    # Text.

    def to_text(self, value: Any) -> str:
        """CAST AS STRING."""
        return str(value)

    def from_literal(self, text: str) -> Value:  # noqa: ARG002 - not every type has literals
        """The value of a literal in Datalog, as in `DATE "2026-01-31"`, or None if it is none."""
        return None

    def sql_constant(self, value: Value) -> str:
        """A constant, NULL included, that reads back with exactly this type."""
        if value is not None:
            return self.to_sql(value)
        return "NULL" if self == NULL else f"CAST(NULL AS {self})"

    def to_sql(self, value: Any) -> str:
        """A constant in SQL, of exactly this type."""
        return str(value)

    def datalog_constant(self, value: Value) -> str:
        """A constant, NULL included, that reads back with exactly this type."""
        if value is not None:
            return self.to_datalog(value)
        return "null" if self == NULL else f"null::{self}"

    def to_datalog(self, value: Any) -> str:
        """A constant in Datalog, of exactly this type."""
        return self.to_datalog_element(value)

    def to_datalog_element(self, value: Any) -> str:
        """A constant in an array, whose type is told once for all elements."""
        return repr(value)

    # Other types.

    def cast_from(self, source: Type) -> Converter | None:  # noqa: ARG002 - a type may know of no other
        """How values of `source` become values of this type; None if they do not, or if `source` knows."""
        return None

    def cast_to(self, target: Type) -> Converter | None:  # noqa: ARG002
        """How values become values of `target`, for types that do not know of this one."""
        return None

    # Order and identity.

    @property
    def sort_key(self) -> Callable[[Any], Any] | None:
        """A key under which values compare with `<`, or None where they do so themselves."""
        return None

    @property
    def family(self) -> str:
        """What is equal in two types of one family is the same value: their columns are joined as they are."""
        return self.name

    # Whether a 64-bit number carries the order of values.
    has_ordinal = False

    def ordinal(self, value: Any) -> int:
        """That number."""
        raise NotImplementedError

    # Storage.

    def to_sqlite(self, value: Any) -> Any:
        """What SQLite takes for the value."""
        return value

    def from_sqlite(self, value: Any) -> Any:
        return value

    def to_json(self, value: Any) -> Any:
        """What JSON takes for the value, in an array."""
        return self.to_sqlite(value)

    def from_json(self, value: Any) -> Any:
        return self.from_sqlite(value)

    def arrow(self) -> pa.DataType:
        # Who needs no Arrow does not load it.
        import pyarrow

        return getattr(pyarrow, self.arrow_name)()

    def to_arrow(self, values: Sequence[Any]) -> pa.Array:
        """Values, NULLs among them, as Arrow has them."""
        import pyarrow

        return pyarrow.array(values, self.arrow())

    def from_arrow(self, values: list[Any]) -> list[Any]:
        """Values as Arrow's to_pylist gives them, NULLs among them."""
        return values

    # Spark.

    def to_spark(self, value: Any) -> object:
        """What a literal of Spark is made of, with a cast to this type."""
        return value

    def spark_bytes(self, value: Any) -> bytes:
        """What Spark's xxhash64 hashes."""
        raise NotImplementedError

    def spark_pieces(self, value: Any) -> Iterator[bytes]:
        """The same one after the other, of a value that has others in it."""
        yield self.spark_bytes(value)


_SIMPLE_NAMES = {"REAL": "float", "NULL": "void", "TIMESTAMP": "timestamp_ntz"}

# The type of a bare NULL, which fits everywhere. No column has it.
NULL = Type("NULL", python=type(None), arrow_name="null", spark_name="NullType")


def has_null(kind: Type) -> bool:
    """Whether it is the type of a bare NULL, or has such a type in it."""
    return kind == NULL or any(map(has_null, kind.inner))


def cast(source: Type, target: Type) -> Converter | None:
    """The function that casts values of `source`, if there is one. It is `unchanged` where they stay as they are.

    Spark's ANSI rules: a value that does not convert is an error.
    """
    if source in (target, NULL):
        return unchanged
    return target.cast_from(source) or source.cast_to(target)


def castable(source: Type, target: Type) -> bool:
    """Whether there is a CAST from `source` to `target`; a value may still fail to convert."""
    return cast(source, target) is not None


def converter(source: Type, target: Type) -> Converter:
    """The function that casts values other than NULL. It is `unchanged` where the value stays as it is."""
    convert = cast(source, target)
    if convert is None:
        raise InternalError(f"there is no cast from {source} to {target}")
    return convert


def unchanged(value: Any) -> Value:
    return value  # type: ignore[no-any-return]


def cast_failure(value: object, target: Type, why: str = "") -> EvaluationError:
    return EvaluationError(f"cannot cast {shown(value)} to {target}{why}")


def reading(read: Callable[[str], Value], target: Type) -> Converter:
    """A cast from STRING; `read` gives None for what it cannot read."""

    def convert(text: str) -> Value:
        result = read(text.strip(BLANKS))
        if result is None:
            raise cast_failure(text, target)
        return result

    return convert


def unwrapped(value: object) -> object:
    """A numpy scalar as the Python value it holds."""
    if isinstance(value, (str, int, float, decimal.Decimal, datetime.date)):
        return value
    astype = getattr(value, "astype", None)
    if astype is not None and type(value).__name__ == "datetime64":
        # Its nanoseconds would come out as a bare integer.
        return astype("datetime64[us]").item()
    item = getattr(value, "item", None)
    return value if item is None else item()


def a_class(value: object) -> str:
    """What a value is, in a sentence: `a str`, `an int`."""
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeio" else f"a {name}"
