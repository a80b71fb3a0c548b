"""ARRAY<element>: tuples, which may hold NULLs. NULL comes first in their order."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whence.errors import shown
from whence.model.types.base import Converter, MisfitError, Type, Value, a_class, cast, unchanged

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False, repr=False)
class ArrayType(Type):
    element: Type

    def __init__(self, element: Type) -> None:
        super().__init__(f"ARRAY<{element.name}>", python=tuple, arrow_name="list_", spark_name="ArrayType")
        object.__setattr__(self, "element", element)

    @property
    def inner(self) -> tuple[Type, ...]:
        return (self.element,)

    def with_inner(self, kinds: Sequence[Type]) -> ArrayType:
        return ArrayType(*kinds)

    @property
    def simple_name(self) -> str:
        return f"array<{self.element.simple_name}>"

    def accept(self, value: object) -> tuple[Value, ...]:
        tolist = getattr(value, "tolist", None)
        elements = value if tolist is None else tolist()
        if not isinstance(elements, (list, tuple)):
            raise MisfitError(f"it is {a_class(elements)}, not a list")
        result: list[Value] = []
        for position, element in enumerate(elements, start=1):
            try:
                result.append(None if element is None else self.element.accept(element))
            except MisfitError as misfit:
                raise MisfitError(f"element {position} is {shown(element)}: {misfit.reason}", misfit.hint) from None
        return tuple(result)

    def to_text(self, value: tuple[Any, ...]) -> str:
        return f"[{', '.join('null' if each is None else self.element.to_text(each) for each in value)}]"

    def to_sql(self, value: tuple[Any, ...]) -> str:
        if not value:
            return f"CAST(array() AS {self})"
        return f"array({', '.join(self.element.sql_constant(each) for each in value)})"

    def to_datalog(self, value: tuple[Any, ...]) -> str:
        return f"{self.to_datalog_element(value)}::{self}"

    def to_datalog_element(self, value: tuple[Any, ...]) -> str:
        items = ("null" if each is None else self.element.to_datalog_element(each) for each in value)
        return f"[{', '.join(items)}]"

    def cast_from(self, source: Type) -> Converter | None:
        if not isinstance(source, ArrayType):
            return None
        convert = cast(source.element, self.element)
        if convert is None or convert is unchanged:
            return convert
        return lambda values: tuple(None if value is None else convert(value) for value in values)

    @property
    def sort_key(self) -> Callable[[Any], Any]:
        inner = self.element.sort_key

        def key(value: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple((0,) if each is None else (1, each if inner is None else inner(each)) for each in value)

        return key

    def to_sqlite(self, value: tuple[Any, ...]) -> str:
        return json.dumps(self.to_json(value), ensure_ascii=False, separators=(",", ":"))

    def from_sqlite(self, value: str) -> tuple[Any, ...]:
        return self.from_json(json.loads(value))

    def to_json(self, value: tuple[Any, ...]) -> list[Any]:
        """An array inside of an array is a list, and not text again."""
        return [None if each is None else self.element.to_json(each) for each in value]

    def from_json(self, value: list[Any]) -> tuple[Any, ...]:
        return tuple([None if each is None else self.element.from_json(each) for each in value])

    def arrow(self) -> pa.DataType:
        import pyarrow

        return pyarrow.list_(self.element.arrow())

    def from_arrow(self, values: list[Any]) -> list[Any]:
        return [None if each is None else tuple(self.element.from_arrow(each)) for each in values]

    def spark_pieces(self, value: tuple[Any, ...]) -> Iterator[bytes]:
        for each in value:
            if each is not None:
                yield from self.element.spark_pieces(each)
