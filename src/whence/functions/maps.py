"""Making maps and looking into them. A value is a tuple of pairs: see model/types/maps.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from whence.errors import ArityError, EvaluationError, TypeMismatchError
from whence.functions.resolve import (
    ARRAY,
    Builtin,
    Evaluator,
    Operand,
    Parameter,
    Resolved,
    accept,
    always,
    cast_hint,
    check_arity,
    never,
    plain,
    takes,
)
from whence.functions.widening import common_type
from whence.model.span import Span
from whence.model.terms import Call
from whence.model.types import BOOLEAN, NULL, STRING, ArrayType, MapType, StructType, Type
from whence.model.types.maps import Pairs, unique_keys

MAP = Parameter("a MAP", lambda given: given if isinstance(given, MapType) else None)
_PAIRS = Parameter(
    "an ARRAY of STRUCTs of a key and a value",
    lambda given: (
        given
        if isinstance(given, ArrayType) and isinstance(given.element, StructType) and len(given.element.fields) == 2
        else None
    ),
)


def check_key(kind: Type, span: Span | None) -> None:
    if not kind.is_comparable:
        raise TypeMismatchError(f"{kind} cannot be the key of a map: it has a map in it", span=span)


def _of(call: Call, key: Type, value: Type) -> MapType:
    check_key(key, call.span)
    return MapType(key, value)


def _resolve_map(call: Call, types: tuple[Type, ...]) -> Resolved:
    if len(types) % 2:
        raise ArityError("map() takes a key and a value for each entry", span=call.span)
    kinds: list[Type] = []
    for what, given in (("keys", types[::2]), ("values", types[1::2])):
        common = common_type(given)
        if common is None:
            raise TypeMismatchError(
                f"the {what} of a map must have one type, and these have {', '.join(map(str, given))}", span=call.span
            )
        kinds.append(common)
    return Resolved(_of(call, *kinds), tuple(kinds) * (len(types) // 2))


def _map(*operands: Operand) -> Evaluator:
    keys, values = ([operand.evaluate for operand in operands[start::2]] for start in (0, 1))
    return lambda environment: unique_keys(
        [(key(environment), value(environment)) for key, value in zip(keys, values, strict=True)]
    )


def _resolve_from_arrays(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 2, 2)
    kinds = tuple(accept(call, place, ARRAY, kind) for place, kind in enumerate(types))
    keys, values = (kind.inner[0] for kind in kinds)
    return Resolved(_of(call, keys, values), kinds)


def _from_arrays(keys: Sequence[Any], values: Sequence[Any]) -> Pairs:
    if len(keys) != len(values):
        raise EvaluationError(f"map_from_arrays() takes as many values as keys, not {len(values)} for {len(keys)}")
    return unique_keys(list(zip(keys, values, strict=True)))


def _resolve_from_entries(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 1, 1)
    array = accept(call, 0, _PAIRS, types[0])
    return Resolved(_of(call, *array.inner[0].inner), (array,))


def _from_entries(entries: Sequence[Any]) -> Pairs | None:
    return None if None in entries else unique_keys(entries)


def _resolve_concat(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 1, None)
    for place, kind in enumerate(types):
        accept(call, place, MAP, kind)
    common = common_type(types)
    keys = {kind.inner[0] for kind in types}
    if common is None or (STRING in keys and len(keys) > 1):
        raise TypeMismatchError("map_concat() takes maps of one type", span=call.span)
    return Resolved(common, tuple(common for _ in types))


def _concat(*maps: Pairs) -> Pairs:
    return unique_keys([pair for pairs in maps for pair in pairs])


def lookup_types(call: Call, given: MapType, key: Type) -> tuple[Type, ...]:
    """What a map and a key that is looked for in it are widened to."""
    common = common_type((given.key, key))
    # Here Spark makes nothing of a text.
    is_text = STRING in (given.key, key) and key != given.key
    if common is None or key == NULL or is_text:
        raise TypeMismatchError(
            f"the keys of {given} are {given.key}, and this is {key}",
            span=call.arguments[1].span or call.span,
            hint=None if key == NULL else cast_hint(call.arguments[1], given.key),
        )
    return MapType(common, given.value), common


def value_at(pairs: Pairs, key: Any) -> Any:
    return next((value for known, value in pairs if known == key), None)


def _resolve_contains(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 2, 2)
    given = accept(call, 0, MAP, types[0])
    assert isinstance(given, MapType)
    return Resolved(BOOLEAN, lookup_types(call, given, types[1]))


def _keys(kinds: tuple[Type, ...]) -> Type:
    return ArrayType(kinds[0].inner[0])


def _values(kinds: tuple[Type, ...]) -> Type:
    return ArrayType(kinds[0].inner[1])


def _entries(kinds: tuple[Type, ...]) -> Type:
    assert isinstance(kinds[0], MapType)
    return kinds[0].entries


def _part(place: int) -> Callable[[Resolved], Callable[..., Any]]:
    return plain(lambda pairs: tuple([pair[place] for pair in pairs]))


MAPS = (
    Builtin("map", _resolve_map, plain(_map), strict=False, nullable=never, fails=True),
    Builtin("map_from_arrays", _resolve_from_arrays, plain(_from_arrays)),
    Builtin("map_from_entries", _resolve_from_entries, plain(_from_entries), nullable=always),
    Builtin("map_keys", takes(MAP, returns=_keys), _part(0)),
    Builtin("map_values", takes(MAP, returns=_values), _part(1)),
    Builtin("map_entries", takes(MAP, returns=_entries), plain(lambda pairs: pairs)),
    Builtin("map_contains_key", _resolve_contains, plain(lambda pairs, key: any(key == known for known, _ in pairs))),
    Builtin("map_concat", _resolve_concat, plain(_concat)),
)
