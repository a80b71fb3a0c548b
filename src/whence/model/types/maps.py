"""MAP<key, value>: tuples of pairs, in the order in which they were put in. No key is NULL, and none comes twice.

Maps are not compared: rows that hold one are told apart by all of its pairs in their order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from whence.errors import EvaluationError, shown
from whence.model.types.arrays import ArrayType
from whence.model.types.base import Converter, MisfitError, Type, Value, a_class, cast, unchanged
from whence.model.types.structs import StructType

if TYPE_CHECKING:
    import pyarrow as pa

Pairs: TypeAlias = tuple[tuple[Any, Any], ...]


@dataclass(frozen=True, eq=False, repr=False)
class MapType(Type):
    key: Type
    value: Type

    def __init__(self, key: Type, value: Type) -> None:
        super().__init__(f"MAP<{key.name}, {value.name}>", python=tuple, arrow_name="map_", spark_name="MapType")
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "value", value)

    @property
    def inner(self) -> tuple[Type, ...]:
        return self.key, self.value

    def with_inner(self, kinds: Sequence[Type]) -> MapType:
        return MapType(*kinds)

    @property
    def is_comparable(self) -> bool:
        return False

    @property
    def entries(self) -> ArrayType:
        """The type of the same values as arrays of structs, by which engines hold them that cannot compare maps."""
        return ArrayType(StructType([("key", self.key), ("value", self.value)]))

    @property
    def simple_name(self) -> str:
        return f"map<{self.key.simple_name},{self.value.simple_name}>"

    def accept(self, value: object) -> Pairs:
        """A mapping, or pairs of keys and values."""
        if isinstance(value, Mapping):
            value = list(value.items())
        if not isinstance(value, list | tuple):
            raise MisfitError(f"it is {a_class(value)}, not a dict")
        found: dict[Value, Value] = {}
        for pair in value:
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                raise MisfitError(f"{shown(pair)} is no pair of a key and a value")
            key, each = self._accepted(self.key, pair[0], "key"), pair[1]
            if key is None:
                raise MisfitError("a key is NULL")
            if key in found:
                raise MisfitError(f"the key {shown(key)} is there twice")
            found[key] = self._accepted(self.value, each, "value")
        return tuple(found.items())

    def _accepted(self, kind: Type, value: object, what: str) -> Value:
        try:
            return None if value is None else kind.accept(value)
        except MisfitError as misfit:
            raise MisfitError(f"a {what} is {shown(value)}: {misfit.reason}", misfit.hint) from None

    def _each(self, pairs: Pairs, change: Callable[[Type, Any], Any]) -> Iterator[tuple[Any, Any]]:
        for key, value in pairs:
            yield change(self.key, key), None if value is None else change(self.value, value)

    def _written(self, pairs: Pairs, write: Callable[[Type, Any], str]) -> Iterator[tuple[str, str]]:
        for key, value in self._each(pairs, write):
            yield key, "null" if value is None else value

    def to_text(self, value: Pairs) -> str:
        texts = self._written(value, lambda kind, each: kind.to_text(each))
        return f"{{{', '.join(f'{key} -> {each}' for key, each in texts)}}}"

    def to_sql(self, value: Pairs) -> str:
        if not value:
            return f"CAST(map() AS {self})"
        return f"map({', '.join(f'{self.key.to_sql(key)}, {self.value.sql_constant(each)}' for key, each in value)})"

    def to_datalog(self, value: Pairs) -> str:
        return f"{self.to_datalog_element(value)}::{self}"

    def to_datalog_element(self, value: Pairs) -> str:
        items = self._written(value, lambda kind, each: kind.to_datalog_element(each))
        return f"[{', '.join(f'[{key}, {each}]' for key, each in items)}]"

    def cast_from(self, source: Type) -> Converter | None:
        if not isinstance(source, MapType):
            return None
        keys, values = (cast(given, wanted) for given, wanted in zip(source.inner, self.inner, strict=True))
        if keys is None or values is None:
            return None
        if keys is unchanged and values is unchanged:
            return unchanged
        return lambda pairs: unique_keys(
            [(keys(key), None if value is None else values(value)) for key, value in pairs]
        )

    @property
    def sort_key(self) -> Callable[[Any], Any]:
        """For whoever needs some order, such as one in which rows are shown."""
        return self.entries.sort_key

    def to_sqlite(self, value: Pairs) -> str:
        return json.dumps(self.to_json(value), ensure_ascii=False, separators=(",", ":"))

    def from_sqlite(self, value: str) -> Pairs:
        return self.from_json(json.loads(value))

    def to_json(self, value: Pairs) -> list[Any]:
        return [list(pair) for pair in self._each(value, lambda kind, each: kind.to_json(each))]

    def from_json(self, value: Sequence[Any]) -> Pairs:
        return tuple(self._each(tuple(value), lambda kind, each: kind.from_json(each)))

    def arrow(self) -> pa.DataType:
        import pyarrow

        return pyarrow.map_(self.key.arrow(), self.value.arrow())

    def from_arrow(self, values: list[Any]) -> list[Any]:
        """Arrow has a list of pairs for each."""
        return [None if each is None else self._from_arrow(each) for each in values]

    def _from_arrow(self, pairs: Sequence[tuple[Any, Any]]) -> Pairs:
        keys = self.key.from_arrow([key for key, _ in pairs])
        values = self.value.from_arrow([value for _, value in pairs])
        return tuple(zip(keys, values, strict=True))

    def spark_pieces(self, value: Pairs) -> Iterator[bytes]:
        return self.entries.spark_pieces(value)


def unique_keys(pairs: Sequence[tuple[Any, Any]]) -> Pairs:
    """The pairs as a map; raises where they are none."""
    found: dict[Any, Any] = {}
    for key, value in pairs:
        if key is None:
            raise EvaluationError("a map has no NULL for a key")
        if key in found:
            raise EvaluationError(f"the key {shown(key)} is there twice", hint="a map has each key once")
        found[key] = value
    return tuple(found.items())
