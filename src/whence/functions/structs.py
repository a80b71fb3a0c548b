"""Making structs and taking them apart.

named_struct('a', 1, 'b', x)      what struct(1 AS a, x AS b) stands for as well
struct_field(s, 'a')              s.a in SQL; of an array of structs, the array of that field; of a map, the value
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from whence.errors import ArityError, DuplicateNameError, TypeMismatchError, did_you_mean
from whence.functions.maps import value_at
from whence.functions.resolve import Builtin, Evaluator, Operand, Resolved, always, check_arity, never, plain
from whence.model.span import Span
from whence.model.terms import Call, Constant
from whence.model.types import STRING, ArrayType, MapType, StructType, Type


def check_field_names(names: Sequence[str], span: Span | None) -> None:
    """Raises unless each field can be told by its name, in whatever letters."""
    known: set[str] = set()
    for name in names:
        if name.lower() in known:
            raise DuplicateNameError(
                f"two fields of a struct are called {name!r}", span=span, hint="rename one of them"
            )
        known.add(name.lower())


def _resolve_struct(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 2, None)
    if len(types) % 2:
        raise ArityError("named_struct() takes a name and a value for each field", span=call.span)
    names = [_name(call, place) for place in range(0, len(types), 2)]
    check_field_names(names, call.span)
    return Resolved(StructType(list(zip(names, types[1::2], strict=True))), types)


def _struct(*operands: Operand) -> Evaluator:
    evaluators = [operand.evaluate for operand in operands[1::2]]
    return lambda environment: tuple([each(environment) for each in evaluators])


def resolve_field(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 2, 2)
    name, given = _name(call, 1), types[0]
    if isinstance(given, MapType) and given.key == STRING:
        return Resolved(given.value, types)
    struct = given.element if isinstance(given, ArrayType) else given
    if not isinstance(struct, StructType):
        raise TypeMismatchError(
            f"{given} has no field {name!r}", span=call.span, hint="only a STRUCT and an ARRAY of these have fields"
        )
    place = struct.place(name)
    if place is None:
        known = [each for each, _ in struct.fields]
        raise TypeMismatchError(
            f"there is no field {name!r} in {struct}", span=call.span, hint=did_you_mean(name, known)
        )
    found = struct.inner[place]
    return Resolved(ArrayType(found) if isinstance(given, ArrayType) else found, types)


def field_of(resolved: Resolved) -> Callable[[Any, str], Any]:
    given = resolved.arguments[0]
    if isinstance(given, MapType):
        return value_at
    struct = given.element if isinstance(given, ArrayType) else given
    assert isinstance(struct, StructType)
    places = {name.lower(): place for place, (name, _) in enumerate(struct.fields)}
    if isinstance(given, ArrayType):
        return lambda array, name: tuple(None if each is None else each[places[name.lower()]] for each in array)
    return lambda value, name: value[places[name.lower()]]


def _name(call: Call, position: int) -> str:
    argument = call.arguments[position]
    if isinstance(argument, Constant) and isinstance(argument.value, str) and argument.value:
        return argument.value
    raise TypeMismatchError("the name of a field is a text, and a constant", span=argument.span or call.span)


STRUCTS = (
    Builtin("named_struct", _resolve_struct, plain(_struct), strict=False, nullable=never),
    Builtin("struct_field", resolve_field, field_of, nullable=always),
)
