"""Records and algebraic data types: values made of named fields, which may be of the type itself.

A record is `nil` or has a value in each of its fields; a value of an algebraic type is one of the type's branches with
its fields. A type's name says all of it, so that it can be read again anywhere:

    list[head: BIGINT, tail: list]              nil is (), and [1, [2, nil]] is (1, (2, ()))
    shape[Circle{r: DOUBLE} | Empty{}]          $Circle(1.5) is ("Circle", 1.5)
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias
from weakref import WeakValueDictionary

from whence.errors import EvaluationError, shown
from whence.model.types.base import Converter, MisfitError, Type, Value, a_class, cast, cast_failure
from whence.model.types.strings import STRING

if TYPE_CHECKING:
    import pyarrow as pa

# Records within records. They are written, read and sorted by recursion.
DEEPEST_RECORD = 200

# The branch that a record's fields are kept under.
ONLY = ""
_PLAIN = re.compile(r"[^\W\d]\w*")


class Record:
    """What a record holds. Equal records of a type are one object: hashing costs the same at any depth."""

    __slots__ = ("__weakref__", "_hash", "_kind", "depth", "fields")
    _known: ClassVar[WeakValueDictionary[tuple[str, tuple[Value, ...]], Record]] = WeakValueDictionary()

    fields: tuple[Value, ...]
    depth: int
    _hash: int
    _kind: str

    def __new__(cls, kind: str, fields: tuple[Value, ...]) -> Self:
        known = cls._known.get((kind, fields))
        if known is not None:
            return known  # type: ignore[return-value]
        made = super().__new__(cls)
        made.fields = fields
        made._kind = kind
        made._hash = hash(fields)
        made.depth = 1 + max((each.depth for each in fields if isinstance(each, Record)), default=0)
        if made.depth > DEEPEST_RECORD:
            raise EvaluationError(
                f"this record is nested more than {DEEPEST_RECORD} deep",
                hint="keep what grows in the rows of a relation instead",
            )
        cls._known[kind, fields] = made
        return made

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        """To the tuple of the same values as well, which has the same hash."""
        if self is other:
            return True
        if isinstance(other, Record):
            return self._hash == other._hash and self.fields == other.fields
        return isinstance(other, tuple) and self.fields == other

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[Value]:
        return iter(self.fields)

    def __getitem__(self, place: int) -> Value:
        return self.fields[place]

    def __repr__(self) -> str:
        return repr(self.fields)

    def __reduce__(self) -> tuple[Any, ...]:
        return Record, (self._kind, self.fields)


Fields: TypeAlias = Sequence[tuple[str, Type | str]]
Branches: TypeAlias = Mapping[str, Fields]


@dataclass(frozen=True, eq=False, repr=False)
class RecordType(Type):
    label: str
    # Of a record there is one, without a name. Set once all types that it mentions are made.
    branches: Mapping[str, tuple[tuple[str, Type], ...]]

    def __init__(self, label: str, name: str) -> None:
        super().__init__(name, python=Record, arrow_name="string", spark_name="StringType")
        object.__setattr__(self, "label", label)

    @property
    def has_nil(self) -> bool:
        return ONLY in self.branches

    @property
    def nil(self) -> Record:
        return Record(self.name, ())

    def make(self, values: tuple[Value, ...]) -> Record:
        """Of the values of all fields, after the name of the branch if there are several."""
        return Record(self.name, values)

    def accept(self, value: object) -> Record:
        if isinstance(value, Record):
            value = value.fields
        if isinstance(value, str):
            # As Arrow and Spark have it.
            with suppress(ValueError, RecursionError):
                value = json.loads(value)
        if value is None and self.has_nil:
            return self.nil
        if not isinstance(value, list | tuple):
            raise MisfitError(f"it is {a_class(value)}, not a tuple of the fields of {self.label}")
        if self.has_nil:
            return self._accepted(ONLY, value) if value else self.nil
        if not value or value[0] not in self.branches:
            raise MisfitError(f"it does not begin with a branch of {self.label}: {', '.join(self.branches)}")
        return self._accepted(value[0], value[1:])

    def _accepted(self, branch: str, values: Sequence[object]) -> Record:
        fields = self.branches[branch]
        if len(values) != len(fields):
            raise MisfitError(f"{branch or self.label} has {len(fields)} fields, and this has {len(values)}")
        found: list[Value] = [branch] if branch else []
        for (name, kind), value in zip(fields, values, strict=True):
            try:
                if value is None and not (isinstance(kind, RecordType) and kind.has_nil):
                    raise MisfitError("no field is NULL")
                found.append(kind.accept(value))
            except MisfitError as misfit:
                raise MisfitError(f"field {name!r} is {shown(value)}: {misfit.reason}", misfit.hint) from None
        return self.make(tuple(found))

    def parts(self, value: Record) -> tuple[str, Sequence[tuple[Type, Any]]]:
        """The branch of a value other than nil, and its fields with their types."""
        branch, values = (ONLY, value.fields) if self.has_nil else (str(value[0]), value.fields[1:])
        return branch, [(kind, each) for (_, kind), each in zip(self.branches[branch], values, strict=True)]

    # Text, as Soufflé writes it.

    def to_text(self, value: Record) -> str:
        return self._written(value, lambda kind, each: kind.to_text(each))

    def to_datalog(self, value: Record) -> str:
        return f"{self.to_datalog_element(value)}::{self}"

    def to_datalog_element(self, value: Record) -> str:
        return self._written(value, lambda kind, each: kind.to_datalog_element(each))

    def _written(self, value: Record, write: Callable[[Type, Any], str]) -> str:
        if not value.fields:
            return "nil"
        branch, parts = self.parts(value)
        listed = ", ".join(write(kind, each) for kind, each in parts)
        if not branch:
            return f"[{listed}]"
        return f"${branch}({listed})" if parts else f"${branch}"

    def cast_from(self, source: Type) -> Converter | None:
        return self._read if source == STRING else None

    def cast_to(self, target: Type) -> Converter | None:
        return self.to_text if target == STRING else None

    def _read(self, text: str) -> Record:
        value, end = self.read_at(text, 0, 0)
        if text[end:].strip():
            raise cast_failure(text, self, f": nothing may follow {text[:end]!r}")
        return value

    def read_at(self, text: str, start: int, depth: int) -> tuple[Record, int]:
        """The value that begins there, and where it ends."""
        opening = _OPENING.match(text, start)
        if opening is None or depth > DEEPEST_RECORD:
            raise cast_failure(text, self)
        if opening[1] == "nil" and self.has_nil:
            return self.nil, opening.end()
        branch = (opening[1] or "").removeprefix("$")
        if branch not in self.branches or (opening[1] == "nil") or self.has_nil != (opening[2] == "["):
            raise cast_failure(text, self)
        values: list[Value] = [branch] if branch else []
        end = opening.end()
        for number, (_, kind) in enumerate(self.branches[branch]):
            if number:
                end = self._passed(text, end, ",")
            if isinstance(kind, RecordType):
                value, end = kind.read_at(text, end, depth + 1)
                values.append(value)
                continue
            found = _FIELD.match(text, end)
            convert = cast(STRING, kind)
            if found is None or convert is None:
                raise cast_failure(text, self)
            values.append(convert(found[0].strip()))
            end = found.end()
        if opening[2]:
            end = self._passed(text, end, "]" if self.has_nil else ")")
        elif self.branches[branch]:
            raise cast_failure(text, self)
        return self.make(tuple(values)), end

    def _passed(self, text: str, start: int, sign: str) -> int:
        rest = text[start:].lstrip()
        if not rest.startswith(sign):
            raise cast_failure(text, self, f": there is no {sign!r} where a field ends")
        return len(text) - len(rest) + 1

    @property
    def sort_key(self) -> Callable[[Any], Any]:
        def key(value: Record) -> tuple[Any, ...]:
            if not value.fields:
                return ()
            branch, parts = self.parts(value)
            return (branch, *((each if (inner := kind.sort_key) is None else inner(each)) for kind, each in parts))

        return key

    # Storage: JSON, the types of fields being known.

    def to_sqlite(self, value: Record) -> str:
        return json.dumps(self.to_json(value), ensure_ascii=False, separators=(",", ":"))

    def from_sqlite(self, value: str) -> Record:
        return self.from_json(json.loads(value))

    def to_json(self, value: Record) -> list[Any]:
        if not value.fields:
            return []
        branch, parts = self.parts(value)
        return [*([branch] if branch else []), *(kind.to_json(each) for kind, each in parts)]

    def from_json(self, value: list[Any]) -> Record:
        if not value:
            return self.nil
        branch, given = (ONLY, value) if self.has_nil else (value[0], value[1:])
        fields = [kind.from_json(each) for (_, kind), each in zip(self.branches[branch], given, strict=True)]
        return self.make((*([branch] if branch else []), *fields))

    def to_spark(self, value: Record) -> str:
        return self.to_sqlite(value)

    def spark_bytes(self, value: Record) -> bytes:
        return STRING.spark_bytes(self.to_sqlite(value))

    def to_arrow(self, values: Sequence[Any]) -> pa.Array:
        return super().to_arrow([None if each is None else self.to_sqlite(each) for each in values])

    def from_arrow(self, values: list[Any]) -> list[Any]:
        return [None if each is None else self.from_sqlite(each) for each in values]


_OPENING = re.compile(r"\s*(nil\b|\$[\w.?]+)?\s*([\[(])?")
_FIELD = re.compile(r"[^,\[\]()]*")


def record_types(declared: Mapping[str, Branches]) -> dict[str, RecordType]:
    """The types that are declared together, and mention each other by their labels."""
    made = {label: RecordType(label, _name(label, declared, set())) for label in declared}
    for label, branches in declared.items():
        resolved = {
            branch: tuple((name, made[kind] if isinstance(kind, str) else kind) for name, kind in fields)
            for branch, fields in branches.items()
        }
        object.__setattr__(made[label], "branches", resolved)
    return made


def _name(label: str, declared: Mapping[str, Branches], written: set[str]) -> str:
    """The type in full where it is first mentioned, from left to right, and by its label afterwards."""
    if label in written:
        return _word(label)
    written.add(label)

    def listed(fields: Fields) -> str:
        return ", ".join(
            f"{_word(name)}: {_name(kind, declared, written) if isinstance(kind, str) else kind}"
            for name, kind in fields
        )

    branches = declared[label]
    if ONLY in branches:
        return f"{_word(label)}[{listed(branches[ONLY])}]"
    return f"{_word(label)}[{' | '.join(f'{_word(name)}{{{listed(fields)}}}' for name, fields in branches.items())}]"


def _word(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else f"`{text.replace('`', '``')}`"
