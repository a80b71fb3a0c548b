"""Functions of arrays. Positions count from 1, and from 0 where Spark counts so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from whence.errors import EvaluationError, TypeMismatchError, shown
from whence.functions import implicit
from whence.functions.maps import lookup_types, value_at
from whence.functions.resolve import (
    ARRAY,
    COUNT,
    TRUTH,
    Builtin,
    Evaluator,
    Operand,
    Parameter,
    Resolved,
    Resolver,
    accept,
    always,
    cast_hint,
    check_arity,
    never,
    plain,
    takes,
    uncast,
)
from whence.functions.structs import field_of, resolve_field
from whence.functions.widening import common_type, is_integer
from whence.model.terms import Call
from whence.model.types import (
    BIGINT,
    BOOLEAN,
    INT,
    NULL,
    REAL,
    STRING,
    ArrayType,
    DecimalType,
    MapType,
    StructType,
    Type,
    Value,
)

Values = tuple[Any, ...]
# Longer sequences are a mistake, and would take the memory of the whole process.
LONGEST_ARRAY = 2**22


def _resolve_array(call: Call, types: tuple[Type, ...]) -> Resolved:
    element = common_type(types)
    if element is not None:
        return Resolved(ArrayType(element), tuple(element for _ in types))
    odd = next(position for position in range(1, len(types)) if common_type(types[: position + 1]) is None)
    before = common_type(types[:odd])
    raise TypeMismatchError(
        f"the elements of an array must have one type, and {types[odd]} does not go with {before}",
        span=call.arguments[odd].span or call.span,
    )


def _array(*operands: Operand) -> Evaluator:
    evaluators = [operand.evaluate for operand in operands]
    return lambda environment: tuple([each(environment) for each in evaluators])


def _resolve_contains(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 2, 2)
    array = accept(call, 0, ARRAY, types[0])
    element = element_type((array,))
    common = common_type((element, types[1]))
    if common is None or NULL in types or not common.is_comparable:
        place = "a NULL" if types[0] == NULL else f"an {array}"
        raise TypeMismatchError(
            f"array_contains() looks for a {types[1]} in {place}",
            span=call.arguments[1].span or call.span,
            hint=cast_hint(call.arguments[1], element),
        )
    return Resolved(BOOLEAN, (ArrayType(common), common))


def _array_contains(array: tuple[Value, ...], value: Value) -> bool | None:
    if value in array:
        return True
    return None if None in array else False


def element_type(arguments: tuple[Type, ...]) -> Type:
    array = arguments[0]
    return array.element if isinstance(array, ArrayType) else NULL


def _element_at(array: tuple[Value, ...], position: int) -> Value:
    if 0 < position <= len(array):
        return array[position - 1]
    if -len(array) <= position < 0:
        return array[position]
    raise EvaluationError(
        f"there is no element {position} in {shown(array)}",
        hint="positions count from 1, and from -1 at the end",
    )


# Spark takes a NULL for other counts, but not for a place in an array.
_PLACE = Parameter(COUNT.description, lambda given: INT if is_integer(given) else None, INT)


_COLLECTION = Parameter("an ARRAY or a MAP", lambda given: given if isinstance(given, MapType) else ARRAY.accept(given))
_COMPARED = Parameter(
    "an ARRAY of values that can be compared", lambda given: ARRAY.accept(given) if given.is_comparable else None
)


def _or_key(place: Parameter) -> Resolver:
    """A place in an array, or a key of a map."""
    in_array = takes(ARRAY, place, returns=element_type)

    def resolve(call: Call, types: tuple[Type, ...]) -> Resolved:
        if len(types) == 2 and isinstance(types[0], MapType):
            return Resolved(types[0].value, lookup_types(call, types[0], types[1]))
        return in_array(call, types)

    return resolve


def _or_value(in_array: Callable[..., Any]) -> Callable[[Resolved], Callable[..., Any]]:
    return lambda resolved: value_at if isinstance(resolved.arguments[0], MapType) else in_array


def _tightest(left: Type, right: Type) -> Type | None:
    """The type that one of two elements becomes. Spark widens neither to nor from a DECIMAL here."""
    if REAL in (left, right) and (is_integer(left) or is_integer(right)):
        # Elsewhere a FLOAT and a whole number meet as DOUBLEs.
        return REAL
    decimals = isinstance(left, DecimalType) or isinstance(right, DecimalType)
    return None if decimals and left != right and NULL not in (left, right) else common_type((left, right))


def _same_type(call: Call, types: tuple[Type, ...]) -> Resolved:
    """Two arrays whose elements become one type."""
    check_arity(call, 2, 2)
    arrays = tuple(accept(call, position, ARRAY, kind) for position, kind in enumerate(types))
    element = _tightest(*(element_type((array,)) for array in arrays))
    if element is None or NULL in types or not element.is_comparable:
        raise TypeMismatchError(f"{call.function}() does not work on {types[0]} and {types[1]}", span=call.span)
    common = ArrayType(element)
    return Resolved(common, (common, common))


def _overlapping(call: Call, types: tuple[Type, ...]) -> Resolved:
    return Resolved(BOOLEAN, _same_type(call, types).arguments)


def _with_element(call: Call, types: tuple[Type, ...]) -> Resolved:
    """An array and a value of the type of its elements; both are widened."""
    check_arity(call, 2, 2)
    array = accept(call, 0, ARRAY, types[0])
    common = _tightest(element_type((array,)), types[1])
    if common is None or types[0] == NULL:
        raise TypeMismatchError(f"{call.function}() does not put a {types[1]} into {types[0]}", span=call.span)
    return Resolved(ArrayType(common), (ArrayType(common), common))


def _looking_for(returns: Type | None) -> Callable[[Call, tuple[Type, ...]], Resolved]:
    def resolve(call: Call, types: tuple[Type, ...]) -> Resolved:
        resolved = _with_element(call, types)
        if types[1] == NULL or not types[1].is_comparable:
            raise TypeMismatchError(f"{call.function}() looks for a value, and {types[1]} is none", span=call.span)
        return Resolved(returns or resolved.result, resolved.arguments)

    return resolve


def _sort_key(resolved: Resolved) -> Callable[[Any], Any]:
    key = element_type(resolved.arguments).sort_key
    return key or (lambda value: value)


def _sort_array(resolved: Resolved) -> Callable[..., Values]:
    """NULLs come first, or last where the order is descending."""
    key = _sort_key(resolved)

    def sort(array: Values, ascending: bool = True) -> Values:
        present = sorted((each for each in array if each is not None), key=key, reverse=not ascending)
        nulls = (None,) * (len(array) - len(present))
        return (*nulls, *present) if ascending else (*present, *nulls)

    return sort


def _array_sort(resolved: Resolved) -> Callable[..., Values]:
    key = _sort_key(resolved)
    return lambda array: tuple(sorted(array, key=lambda each: (1,) if each is None else (0, key(each))))


def _extreme(choose: Callable[..., Any]) -> Callable[[Resolved], Callable[..., Any]]:
    def python(resolved: Resolved) -> Callable[..., Any]:
        key = _sort_key(resolved)
        return lambda array: choose((each for each in array if each is not None), key=key, default=None)

    return python


def _distinct(array: Values) -> Values:
    return tuple(dict.fromkeys(array))


def _intersection(left: Values, right: Values) -> Values:
    there = set(right)
    return tuple(each for each in dict.fromkeys(left) if each in there)


def _difference(left: Values, right: Values) -> Values:
    there = set(right)
    return tuple(each for each in dict.fromkeys(left) if each not in there)


def _overlap(left: Values, right: Values) -> bool | None:
    if {each for each in left if each is not None} & set(right):
        return True
    return None if left and right and (None in left or None in right) else False


def _join(array: Values, separator: str, missing: str | None = None) -> str:
    texts = (missing if each is None else each for each in array)
    return separator.join(each for each in texts if each is not None)


def _slice(array: Values, start: int, length: int) -> Values:
    if start == 0:
        raise EvaluationError("slice() counts from 1, and from -1 at the end, and there is no element 0")
    if length < 0:
        raise EvaluationError(f"slice() takes a length from 0 on, not {length}")
    first = start - 1 if start > 0 else len(array) + start
    return array[first : first + length] if 0 <= first < len(array) else ()


def _flatten(array: tuple[Values | None, ...]) -> Values | None:
    if None in array:
        return None
    return tuple(each for part in array for each in part or ())


def _flat(arguments: tuple[Type, ...]) -> Type:
    inner = element_type(arguments)
    assert isinstance(inner, ArrayType)
    return inner


_NESTED = Parameter(
    "an ARRAY of ARRAYs",
    lambda given: given if isinstance(given, ArrayType) and isinstance(given.element, ArrayType) else None,
)
_TEXTS = Parameter(
    "an ARRAY<STRING>",
    lambda given: ArrayType(STRING) if given in (ArrayType(STRING), ArrayType(NULL), NULL) else None,
)


def _position(array: Values, value: Any) -> int:
    return array.index(value) + 1 if value in array else 0


def _remove(array: Values, value: Any) -> Values:
    return tuple(each for each in array if each is None or each != value)


def _resolve_repeat(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 2, 2)
    return Resolved(ArrayType(types[0]), (types[0], accept(call, 1, COUNT, types[1])))


def _repeat(_: Resolved) -> Callable[..., Evaluator]:
    def build(value: Operand, count: Operand) -> Evaluator:
        def evaluate(environment: Mapping[str, Value]) -> Value:
            times: Any = count.evaluate(environment)
            return None if times is None else (value.evaluate(environment),) * checked_count(max(times, 0))

        return evaluate

    return build


def checked_count(count: int) -> int:
    if count > LONGEST_ARRAY:
        raise EvaluationError(f"an array of {count} elements is too long", hint=f"at most {LONGEST_ARRAY} fit")
    return count


def _adding(last: bool) -> Callable[[Resolved], Callable[..., Evaluator]]:
    def build(array: Operand, value: Operand) -> Evaluator:
        def evaluate(environment: Mapping[str, Value]) -> Value:
            elements: Any = array.evaluate(environment)
            if elements is None:
                return None
            new = value.evaluate(environment)
            return (*elements, new) if last else (new, *elements)

        return evaluate

    return plain(build)


def _resolve_insert(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 3, 3)
    array = accept(call, 0, ARRAY, types[0])
    common = _tightest(element_type((array,)), types[2])
    if common is None or types[0] == NULL:
        raise TypeMismatchError(f"array_insert() does not put a {types[2]} into {types[0]}", span=call.span)
    return Resolved(ArrayType(common), (ArrayType(common), accept(call, 1, COUNT, types[1]), common))


def _insert(_: Resolved) -> Callable[..., Evaluator]:
    def build(array: Operand, place: Operand, value: Operand) -> Evaluator:
        def evaluate(environment: Mapping[str, Value]) -> Value:
            elements: Any = array.evaluate(environment)
            if elements is None:
                return None
            position: Any = place.evaluate(environment)
            return None if position is None else _inserted(elements, position, value.evaluate(environment))

        return evaluate

    return build


def _inserted(array: Values, position: int, value: Value) -> Values:
    """With NULLs where the place is beyond the array. From the end, -1 is after the last element."""
    if position == 0:
        raise EvaluationError("array_insert() counts from 1, and from -1 at the end, and there is no place 0")
    checked_count(abs(position))
    if position > 0:
        padded = array + (None,) * (position - 1 - len(array))
        return (*padded[: position - 1], value, *padded[position - 1 :])
    padded = (None,) * (-position - 1 - len(array)) + array
    at = len(padded) + position + 1
    return (*padded[:at], value, *padded[at:])


def _try_element_at(array: Values, position: int) -> Value:
    """NULL beyond the array; a position 0 is a mistake all the same."""
    if position == 0 or -len(array) <= position <= len(array):
        return _element_at(array, position)
    return None


def _get(array: Values, position: int) -> Value:
    return array[position] if 0 <= position < len(array) else None


def _item(array: Values, position: int) -> Value:
    """array[position], from 0."""
    if 0 <= position < len(array):
        return array[position]  # type: ignore[no-any-return]
    raise EvaluationError(
        f"there is no element {position} in {shown(array)}", hint="in brackets positions count from 0; get() gives NULL"
    )


def _resolve_item(call: Call, types: tuple[Type, ...]) -> Resolved:
    """array[0], map['a'] and struct['a']."""
    check_arity(call, 2, 2)
    given, index = types
    if isinstance(given, MapType) and index == NULL:
        return Resolved(given.value, (given, given.key))
    if isinstance(given, MapType) and implicit.are_on() and given.key != index:
        # Unlike element_at(), brackets make of the index what the keys are.
        wanted = implicit.argument_type(index, given.key)
        return Resolved(given.value, (given, wanted) if wanted else lookup_types(call, given, index))
    if index == STRING and (isinstance(given, StructType) or isinstance(element_type(types), StructType)):
        return resolve_field(call, types)
    return _or_key(COUNT)(call, types)


def _in_brackets(resolved: Resolved) -> Callable[..., Any]:
    given, index = resolved.arguments
    if index == STRING and not isinstance(given, MapType):
        return field_of(resolved)
    return value_at if isinstance(given, MapType) else _item


def _resolve_sequence(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 2, 3)
    common = common_type(types)
    if common is None or not is_integer(common):
        raise TypeMismatchError(
            f"sequence() counts whole numbers, not {', '.join(map(str, types))}",
            span=call.span,
        )
    return Resolved(ArrayType(common), tuple(common for _ in types))


def _sequence(start: int, stop: int, step: int | None = None) -> Values:
    by = step if step is not None else (1 if stop >= start else -1)
    if (by == 0 and start != stop) or (by > 0 and start > stop) or (by < 0 and start < stop):
        raise EvaluationError(f"sequence() does not come from {start} to {stop} in steps of {by}")
    if by == 0:
        return (start,)
    checked_count((stop - start) // by + 1)
    return tuple(range(start, stop + (1 if by > 0 else -1), by))


ARRAYS = (
    Builtin("array", _resolve_array, plain(_array), strict=False, nullable=never),
    Builtin("array_contains", _resolve_contains, plain(_array_contains), nullable=always),
    Builtin("size", takes(_COLLECTION, returns=INT), plain(len)),
    Builtin("array_size", takes(ARRAY, returns=INT), plain(len)),
    Builtin("element_at", _or_key(_PLACE), _or_value(_element_at), nullable=always),
    Builtin("try_element_at", _or_key(_PLACE), _or_value(_try_element_at), nullable=always),
    Builtin("get", takes(ARRAY, COUNT, returns=element_type), plain(_get), nullable=always),
    Builtin("item", _resolve_item, _in_brackets, nullable=always),
    Builtin("sort_array", takes(_COMPARED, TRUTH, optional=1, returns=lambda kinds: kinds[0]), _sort_array),
    Builtin("array_sort", takes(_COMPARED, returns=lambda kinds: kinds[0]), _array_sort),
    Builtin("array_max", takes(_COMPARED, returns=element_type), _extreme(max), nullable=always),
    Builtin("array_min", takes(_COMPARED, returns=element_type), _extreme(min), nullable=always),
    Builtin("array_distinct", takes(_COMPARED, returns=lambda kinds: kinds[0]), plain(_distinct)),
    Builtin(
        "array_compact",
        takes(ARRAY, returns=lambda kinds: kinds[0]),
        plain(lambda array: tuple(each for each in array if each is not None)),
    ),
    Builtin("array_union", _same_type, plain(lambda left, right: _distinct(left + right))),
    Builtin("array_intersect", _same_type, plain(_intersection)),
    Builtin("array_except", _same_type, plain(_difference)),
    Builtin("arrays_overlap", _overlapping, plain(_overlap), nullable=always),
    Builtin("array_join", takes(_TEXTS, uncast(STRING), uncast(STRING), optional=1, returns=STRING), plain(_join)),
    Builtin("slice", takes(ARRAY, COUNT, COUNT, returns=lambda kinds: kinds[0]), plain(_slice)),
    Builtin("flatten", takes(_NESTED, returns=_flat), plain(_flatten), nullable=always),
    Builtin("array_position", _looking_for(BIGINT), plain(_position)),
    Builtin("array_remove", _looking_for(None), plain(_remove)),
    Builtin("array_repeat", _resolve_repeat, _repeat, strict=False, nullable=lambda nullable: nullable[1]),
    Builtin("array_append", _with_element, _adding(last=True), strict=False, nullable=lambda nullable: nullable[0]),
    Builtin("array_prepend", _with_element, _adding(last=False), strict=False, nullable=lambda nullable: nullable[0]),
    Builtin("array_insert", _resolve_insert, _insert, strict=False),
    Builtin("sequence", _resolve_sequence, plain(_sequence)),
)
