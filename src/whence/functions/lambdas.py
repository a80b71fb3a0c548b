"""Functions that take lambdas: transform(array, x -> x + 1) and its kin.

The lambdas of a call stand after its other arguments, and after them what they take along: see model/lambdas.py. A
call is resolved lambda by lambda, since the parameters of one may have the type that another one gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

from whence.errors import ArityError, EvaluationError, TypeMismatchError
from whence.functions.maps import MAP, check_key
from whence.functions.resolve import (
    ANYTHING,
    ARRAY,
    Builtin,
    Evaluator,
    Operand,
    Parameter,
    Resolved,
    accept,
    always,
    title,
)
from whence.functions.widening import common_type
from whence.model.terms import Call, Lambda, Term
from whence.model.types import BOOLEAN, INT, NULL, ArrayType, MapType, Type
from whence.model.types.maps import Pairs, unique_keys

if TYPE_CHECKING:
    from whence.functions.types import Typed, TypedTerm

# The type of a lambda that stands alone; that of one in a call knows its body.
LAMBDA = Type("LAMBDA", python=Lambda, arrow_name="null", spark_name="NullType")

# A lambda as a function of values, and what a higher-order function does with its values and those.
Function = Callable[..., Any]


@dataclass(frozen=True, eq=False, repr=False)
class TypedLambda(Type):
    parameters: tuple[str, ...]
    captured: tuple[str, ...]
    body: TypedTerm

    def __init__(self, term: Lambda, body: TypedTerm) -> None:
        super().__init__(LAMBDA.name, python=Lambda, arrow_name="null", spark_name="NullType")
        object.__setattr__(self, "parameters", term.parameters)
        object.__setattr__(self, "captured", term.captured)
        object.__setattr__(self, "body", body)

    @property
    def result(self) -> Type:
        return self.body.typed.type


# Another lambda in the place of one, whose variables have these types.
Change = Callable[[Lambda, "Mapping[str, Typed]"], Lambda]
# Types the lambdas of a call one after the other, and gives the type of the call; raises where a result does not fit.
Shape = Callable[["_Resolution"], Type]


class _Resolution:
    """A call whose lambdas are typed one after the other."""

    def __init__(
        self, call: Call, types: tuple[Type, ...], plain: Sequence[Parameter], change: Change | None = None
    ) -> None:
        self.call = call
        self._change = change
        # The lambdas that have been met, as they were changed.
        self.changed: list[Lambda] = []
        lambdas = [each for each in call.arguments if isinstance(each, Lambda)]
        count = len(call.arguments) - len(lambdas) - (len(lambdas[0].captured) if lambdas else 0)
        if count != len(plain) or not lambdas:
            values = "a value" if len(plain) == 1 else f"{len(plain)} values"
            raise ArityError(f"{title(call.function)} takes {values} and then a lambda", span=call.span)
        self.values = [accept(call, place, parameter, types[place]) for place, parameter in enumerate(plain)]
        self._left = lambdas
        self._captured = types[count + len(lambdas) :]
        self._typed: list[TypedLambda] = []

    @property
    def has_more(self) -> bool:
        return bool(self._left)

    def body(self, *given: Type, least: int | None = None) -> Type:
        """What the next lambda gives for parameters of these types, of which it has `least` at least."""
        from whence.functions.types import annotate

        if not self._left:
            raise ArityError(f"{title(self.call.function)} takes another lambda", span=self.call.span)
        term = self._left.pop(0)
        count = len(term.parameters)
        # What is no lambda stands for one that gives it for all values, as in Spark.
        if count and not (len(given) if least is None else least) <= count <= len(given):
            raise ArityError(
                f"a lambda of {title(self.call.function)} has {len(given)} parameters, not {count}",
                span=term.span or self.call.span,
            )
        types = _variable_types(term, given, self._captured)
        if self._change is not None:
            term = self._change(term, types)
        self.changed.append(term)
        typed = TypedLambda(term, annotate(term.body, types, {}))
        self._typed.append(typed)
        return typed.result

    def truth(self, *given: Type, least: int | None = None) -> Type:
        kind = self.body(*given, least=least)
        if kind not in (BOOLEAN, NULL):
            raise self.misfit("TRUE or FALSE", kind)
        return BOOLEAN

    def misfit(self, wanted: str, kind: Type) -> TypeMismatchError:
        span = self._typed[-1].body.term.span
        return TypeMismatchError(
            f"the lambda of {title(self.call.function)} gives {wanted}, not {kind}", span=span or self.call.span
        )

    def element(self, place: int = 0) -> Type:
        return self.values[place].inner[0]

    def resolved(self, result: Type) -> Resolved:
        if self._left:
            raise ArityError(f"{title(self.call.function)} takes fewer lambdas", span=self.call.span)
        return Resolved(result, (*self.values, *self._typed, *self._captured))


def _variable_types(term: Lambda, given: Sequence[Type], captured: Sequence[Type]) -> Mapping[str, Typed]:
    """What the variables of a lambda's body are. An element may be NULL, and so may all that is taken along."""
    from whence.functions.types import Typed

    kinds = [*zip(term.parameters, given, strict=False), *zip(term.captured, captured, strict=True)]
    return {name: Typed(kind, True) for name, kind in kinds}


_SHAPES: dict[str, tuple[Sequence[Parameter], Shape]] = {}


def values_before_lambdas(function: str) -> int:
    return len(_SHAPES[function][0])


def with_lambdas(call: Call, types: tuple[Type, ...], change: Change) -> tuple[Term, ...]:
    """The arguments of a call, each lambda changed when the types of its variables are known."""
    if call.function not in _SHAPES:
        return call.arguments
    plain, shape = _SHAPES[call.function]
    resolution = _Resolution(call, types, plain, change)
    shape(resolution)
    changed = iter(resolution.changed)
    return tuple(next(changed) if isinstance(each, Lambda) else each for each in call.arguments)


def _higher_order(name: str, plain: tuple[Parameter, ...], shape: Shape, apply: Function, strict: int = 1) -> Builtin:
    """A function that is NULL where one of its first `strict` values is."""
    _SHAPES[name] = plain, shape

    def resolve(call: Call, types: tuple[Type, ...]) -> Resolved:
        resolution = _Resolution(call, types, plain)
        return resolution.resolved(shape(resolution))

    def python(resolved: Resolved) -> Callable[..., Evaluator]:
        lambdas = [_compiled(kind) for kind in resolved.arguments if isinstance(kind, TypedLambda)]
        first_captured = len(plain) + len(lambdas)

        def make(*operands: Operand) -> Evaluator:
            values = [operand.evaluate for operand in operands[: len(plain)]]
            captured = [operand.evaluate for operand in operands[first_captured:]]

            def evaluate(environment: Any) -> Any:
                given = [each(environment) for each in values]
                if None in given[:strict]:
                    return None
                rest = tuple([each(environment) for each in captured])
                return apply(*given, *[each(rest) for each in lambdas])

            return evaluate

        return make

    return Builtin(name, resolve, python, strict=False, nullable=always, fails=True)


def _compiled(kind: TypedLambda) -> Callable[[tuple[Any, ...]], Function]:
    """From the values that it takes along to the function of its parameters; it ignores values beyond those."""
    from whence.functions.evaluate import compile_typed

    places = {name: place for place, name in enumerate((*kind.parameters, *kind.captured))}
    evaluate: Callable[[Any], Any] = compile_typed(kind.body, {}, {}, places=places)
    count = len(kind.parameters)
    return lambda rest: lambda *given: evaluate((*given[:count], *rest))


def _transform(array: Sequence[Any], function: Function) -> tuple[Any, ...]:
    return tuple([function(each, place) for place, each in enumerate(array)])


def _filter(array: Sequence[Any], function: Function) -> tuple[Any, ...]:
    return tuple([each for place, each in enumerate(array) if function(each, place)])


def _exists(array: Sequence[Any], function: Function) -> bool | None:
    unknown = False
    for each in array:
        found = function(each)
        if found:
            return True
        unknown = unknown or found is None
    return None if unknown else False


def _forall(array: Sequence[Any], function: Function) -> bool | None:
    unknown = False
    for each in array:
        found = function(each)
        if found is False:
            return False
        unknown = unknown or found is None
    return None if unknown else True


def _aggregate_shape(resolution: _Resolution) -> Type:
    zero = resolution.values[1]
    merged = resolution.body(zero, resolution.element())
    if merged != zero:
        raise resolution.misfit(f"what it begins with, {zero}", merged)
    return resolution.body(zero) if resolution.has_more else zero


def _aggregate(array: Sequence[Any], value: Any, merge: Function, finish: Function | None = None) -> Any:
    for each in array:
        value = merge(value, each)
    return value if finish is None else finish(value)


def _zip_with(left: Sequence[Any], right: Sequence[Any], function: Function) -> tuple[Any, ...]:
    length = max(len(left), len(right))
    padded = ((*each, *[None] * (length - len(each))) for each in (left, right))
    return tuple([function(*pair) for pair in zip(*padded, strict=True)])


def _sort_shape(resolution: _Resolution) -> Type:
    kind = resolution.body(resolution.element(), resolution.element())
    if kind not in (INT, NULL):
        raise resolution.misfit("an INT, less than, equal to or greater than 0", kind)
    return resolution.values[0]


def _sorted(array: Sequence[Any], compare: Function) -> tuple[Any, ...]:
    def compared(left: Any, right: Any) -> int:
        found = compare(left, right)
        if found is None:
            raise EvaluationError("the lambda of array_sort() gives NULL for two elements")
        return int(found)

    return tuple(sorted(array, key=cmp_to_key(compared)))


def _entry(resolution: _Resolution) -> tuple[Type, Type]:
    key, value = resolution.values[0].inner
    return key, value


def _keys_shape(resolution: _Resolution) -> Type:
    key, value = _entry(resolution)
    made = resolution.body(key, value)
    check_key(made, resolution.call.span)
    return MapType(made, value)


def _values_shape(resolution: _Resolution) -> Type:
    key, value = _entry(resolution)
    return MapType(key, resolution.body(key, value))


def _map_filter_shape(resolution: _Resolution) -> Type:
    resolution.truth(*_entry(resolution))
    return resolution.values[0]


def _map_zip_shape(resolution: _Resolution) -> Type:
    kinds = resolution.values
    key = common_type([kind.inner[0] for kind in kinds])
    if key is None:
        raise TypeMismatchError(
            f"map_zip_with() takes two maps with keys of one type, not {kinds[0]} and {kinds[1]}",
            span=resolution.call.span,
        )
    values = [kind.inner[1] for kind in kinds]
    resolution.values = [MapType(key, value) for value in values]
    return MapType(key, resolution.body(key, *values))


def _map_zip_with(left: Pairs, right: Pairs, function: Function) -> Pairs:
    one, other = dict(left), dict(right)
    keys = dict.fromkeys((*one, *other))
    return tuple([(key, function(key, one.get(key), other.get(key))) for key in keys])


def _each_pair(make: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Function:
    def apply(pairs: Pairs, function: Function) -> Pairs:
        made: Iterator[tuple[Any, Any]] = (make(key, value, function(key, value)) for key, value in pairs)
        return unique_keys(list(made))

    return apply


LAMBDAS = (
    _higher_order("transform", (ARRAY,), lambda r: ArrayType(r.body(r.element(), INT, least=1)), _transform),
    _higher_order("filter", (ARRAY,), lambda r: (r.truth(r.element(), INT, least=1), r.values[0])[1], _filter),
    _higher_order("exists", (ARRAY,), lambda r: r.truth(r.element()), _exists),
    _higher_order("forall", (ARRAY,), lambda r: r.truth(r.element()), _forall),
    _higher_order("aggregate", (ARRAY, ANYTHING), _aggregate_shape, _aggregate),
    _higher_order(
        "zip_with", (ARRAY, ARRAY), lambda r: ArrayType(r.body(r.element(0), r.element(1))), _zip_with, strict=2
    ),
    _higher_order("array_sort_with", (ARRAY,), _sort_shape, _sorted),
    _higher_order("transform_keys", (MAP,), _keys_shape, _each_pair(lambda _, value, made: (made, value))),
    _higher_order("transform_values", (MAP,), _values_shape, _each_pair(lambda key, _, made: (key, made))),
    _higher_order(
        "map_filter", (MAP,), _map_filter_shape, lambda pairs, keep: tuple([pair for pair in pairs if keep(*pair)])
    ),
    _higher_order("map_zip_with", (MAP, MAP), _map_zip_shape, _map_zip_with, strict=2),
)
HIGHER_ORDER = frozenset(_SHAPES)
