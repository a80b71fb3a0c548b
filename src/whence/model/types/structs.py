"""STRUCT<name: type, ...>: tuples of the values of all fields. Each may be NULL, which comes first in their order."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whence.errors import shown
from whence.model.types.base import Converter, MisfitError, Type, Value, a_class, cast, unchanged

if TYPE_CHECKING:
    import pyarrow as pa

_PLAIN = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, eq=False, repr=False)
class StructType(Type):
    fields: tuple[tuple[str, Type], ...]

    def __init__(self, fields: Sequence[tuple[str, Type]]) -> None:
        listed = ", ".join(f"{_word(name)}: {kind.name}" for name, kind in fields)
        super().__init__(f"STRUCT<{listed}>", python=tuple, arrow_name="struct", spark_name="StructType")
        object.__setattr__(self, "fields", tuple(fields))

    @property
    def inner(self) -> tuple[Type, ...]:
        return tuple(kind for _, kind in self.fields)

    @property
    def simple_name(self) -> str:
        return f"struct<{','.join(f'{name}:{kind.simple_name}' for name, kind in self.fields)}>"

    def place(self, name: str) -> int | None:
        """Of a field, whose name may be in other letters, small or large."""
        names = [each.lower() for each, _ in self.fields]
        return names.index(name.lower()) if name.lower() in names else None

    def with_inner(self, kinds: Sequence[Type]) -> StructType:
        """Fields of the same names."""
        return StructType([(name, kind) for (name, _), kind in zip(self.fields, kinds, strict=True)])

    def accept(self, value: object) -> tuple[Value, ...]:
        """A tuple or list of all fields, or a mapping by their names. What a mapping lacks is NULL."""
        if isinstance(value, Mapping):
            value = self._by_name(value)
        if not isinstance(value, list | tuple):
            raise MisfitError(f"it is {a_class(value)}, not a tuple or a dict of fields")
        if len(value) != len(self.fields):
            raise MisfitError(f"it has {len(value)} values, and the struct has {len(self.fields)} fields")
        found: list[Value] = []
        for (name, kind), each in zip(self.fields, value, strict=True):
            try:
                found.append(None if each is None else kind.accept(each))
            except MisfitError as misfit:
                raise MisfitError(f"field {name!r} is {shown(each)}: {misfit.reason}", misfit.hint) from None
        return tuple(found)

    def _by_name(self, given: Mapping[Any, object]) -> list[object]:
        found: list[object] = [None] * len(self.fields)
        for name, value in given.items():
            place = self.place(str(name))
            if place is None:
                raise MisfitError(f"there is no field {name!r}", f"fields are {', '.join(n for n, _ in self.fields)}")
            found[place] = value
        return found

    def _each(self, value: Sequence[Any], change: Callable[[Type, Any], Any]) -> Iterator[Any]:
        """All fields changed, NULLs as they are."""
        for (_, kind), each in zip(self.fields, value, strict=True):
            yield None if each is None else change(kind, each)

    def to_text(self, value: tuple[Any, ...]) -> str:
        texts = self._each(value, lambda kind, each: kind.to_text(each))
        return f"{{{', '.join('null' if text is None else text for text in texts)}}}"

    def to_sql(self, value: tuple[Any, ...]) -> str:
        parts = (
            f"'{_quoted(name)}', {kind.sql_constant(each)}"
            for (name, kind), each in zip(self.fields, value, strict=True)
        )
        return f"named_struct({', '.join(parts)})"

    def to_datalog(self, value: tuple[Any, ...]) -> str:
        return f"{self.to_datalog_element(value)}::{self}"

    def to_datalog_element(self, value: tuple[Any, ...]) -> str:
        items = self._each(value, lambda kind, each: kind.to_datalog_element(each))
        return f"[{', '.join('null' if item is None else item for item in items)}]"

    def cast_from(self, source: Type) -> Converter | None:
        """Field by field, whatever their names are."""
        if not isinstance(source, StructType) or len(source.fields) != len(self.fields):
            return None
        known = [cast(given, wanted) for given, wanted in zip(source.inner, self.inner, strict=True)]
        converters = [convert for convert in known if convert is not None]
        if len(converters) < len(known):
            return None
        if all(convert is unchanged for convert in converters):
            return unchanged
        return lambda value: tuple(
            [None if each is None else convert(each) for convert, each in zip(converters, value, strict=True)]
        )

    @property
    def sort_key(self) -> Callable[[Any], Any]:
        keys = [kind.sort_key for kind in self.inner]

        def key(value: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(
                (0,) if each is None else (1, each if inner is None else inner(each))
                for inner, each in zip(keys, value, strict=True)
            )

        return key

    def to_sqlite(self, value: tuple[Any, ...]) -> str:
        return json.dumps(self.to_json(value), ensure_ascii=False, separators=(",", ":"))

    def from_sqlite(self, value: str) -> tuple[Any, ...]:
        return self.from_json(json.loads(value))

    def to_json(self, value: tuple[Any, ...]) -> list[Any]:
        return list(self._each(value, lambda kind, each: kind.to_json(each)))

    def from_json(self, value: list[Any]) -> tuple[Any, ...]:
        return tuple(self._each(value, lambda kind, each: kind.from_json(each)))

    def arrow(self) -> pa.DataType:
        import pyarrow

        return pyarrow.struct([(name, kind.arrow()) for name, kind in self.fields])

    def from_arrow(self, values: list[Any]) -> list[Any]:
        """Arrow has a dict for each."""
        columns = [
            kind.from_arrow([None if each is None else each[name] for each in values]) for name, kind in self.fields
        ]
        rows = zip(*columns, strict=True)
        return [None if each is None else row for each, row in zip(values, rows, strict=True)]

    def spark_pieces(self, value: tuple[Any, ...]) -> Iterator[bytes]:
        for (_, kind), each in zip(self.fields, value, strict=True):
            if each is not None:
                yield from kind.spark_pieces(each)


def _word(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else f"`{name.replace('`', '``')}`"


def _quoted(name: str) -> str:
    return name.replace("\\", "\\\\").replace("'", "\\'")
