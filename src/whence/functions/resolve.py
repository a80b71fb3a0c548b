"""What a built-in function is, and the tools its family uses to check a call's arguments."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard

from whence.errors import ArityError, TypeMismatchError, shortened, shown
from whence.functions import implicit
from whence.functions.widening import is_integer, is_number
from whence.model.span import Span
from whence.model.terms import Call, Constant, Term
from whence.model.types import BIGINT, BOOLEAN, DOUBLE, INT, NULL, STRING, ArrayType, Type, Value

Evaluator: TypeAlias = Callable[[Mapping[str, Value]], Value]


@dataclass(frozen=True, slots=True)
class Resolved:
    """A call's result type, and the types its arguments are implicitly widened to first."""

    result: Type
    arguments: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Operand:
    """A compiled argument. Of a constant or a variable more is known, for shorter closures."""

    evaluate: Evaluator
    constant: bool = False
    # The key that an environment has its value under.
    variable: str | int | None = None


Resolver: TypeAlias = Callable[[Call, tuple[Type, ...]], Resolved]


@dataclass(frozen=True, slots=True)
class Builtin:
    """A built-in function.

    `python` makes the implementation for the resolved types. A strict function is NULL when an argument is; its
    implementation takes the other values and gives the result. Any other function decides itself which arguments to
    evaluate: its implementation takes Operands and gives an Evaluator. `nullable` says whether the result can be
    NULL, from whether each argument can. Arguments are evaluated up to the first NULL, the last one first if
    `last_first` says so: nothing that comes after it can fail. What is not strict and yet fails by itself says so.
    """

    name: str
    resolve: Resolver
    python: Callable[[Resolved], Callable[..., Any]]
    strict: bool = True
    nullable: Callable[[Sequence[bool]], bool] = any
    last_first: bool = False
    fails: bool = False


def plain(function: Callable[..., Any]) -> Callable[[Resolved], Callable[..., Any]]:
    """An implementation that is the same for all types."""
    return lambda _: function


def never(_nullable: Sequence[bool]) -> bool:
    return False


def always(_nullable: Sequence[bool]) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a function takes in one place. `accept` gives the type the argument is widened to, or None."""

    description: str
    accept: Callable[[Type], Type | None]
    cast: Type | None = None


def exactly(kind: Type) -> Parameter:
    return Parameter(f"a {kind}", lambda given: kind if given in (kind, NULL) else None, kind)


def uncast(kind: Type) -> Parameter:
    """Of arguments that Spark casts nothing to."""
    return Parameter(f"a {kind}", exactly(kind).accept)


TEXT = exactly(STRING)
TRUTH = exactly(BOOLEAN)
INTEGER = Parameter(
    "an INT or BIGINT", lambda given: given if is_integer(given) else INT if given == NULL else None, INT
)
# A position or a length, which is an INT to Spark. What a BIGINT holds beyond that is an error.
COUNT = Parameter("an INT or BIGINT", lambda given: INT if is_integer(given) or given == NULL else None, INT)
NUMBER = Parameter("a number", lambda given: given if is_number(given) else DOUBLE if given == NULL else None, DOUBLE)
APPROXIMATE = Parameter("a number", lambda given: DOUBLE if is_number(given) or given == NULL else None, DOUBLE)
ARRAY = Parameter(
    "an ARRAY",
    lambda given: given if isinstance(given, ArrayType) else ArrayType(NULL) if given == NULL else None,
)
ANYTHING = Parameter("a value", lambda given: given)


@dataclass(frozen=True, slots=True)
class Takes:
    """The resolver of a function with these parameters, the last `optional` of which may be left out. With `repeated`
    the last one may stand any number of times.
    """

    parameters: tuple[Parameter, ...]
    returns: Type | Callable[[tuple[Type, ...]], Type]
    optional: int = 0
    repeated: bool = False

    def __call__(self, call: Call, types: tuple[Type, ...]) -> Resolved:
        most = None if self.repeated else len(self.parameters)
        check_arity(call, len(self.parameters) - self.optional, most)
        arguments = tuple(accept(call, position, self.parameter(position), kind) for position, kind in enumerate(types))
        return Resolved(self.returns if isinstance(self.returns, Type) else self.returns(arguments), arguments)

    def parameter(self, position: int) -> Parameter:
        return self.parameters[min(position, len(self.parameters) - 1)]


def takes(
    *parameters: Parameter,
    returns: Type | Callable[[tuple[Type, ...]], Type],
    optional: int = 0,
    repeated: bool = False,
) -> Takes:
    return Takes(parameters, returns, optional, repeated)


def accept(call: Call, position: int, parameter: Parameter, given: Type) -> Type:
    """The type that the argument at `position` is widened to; raises where the parameter does not take it."""
    argument = call.arguments[position]
    target = parameter.accept(given)
    if target is not None:
        return target
    if parameter.cast is not None and parameter.cast.is_time and is_text_constant(argument):
        check_time(argument, parameter.cast)
        return parameter.cast
    if parameter.cast is not None and implicit.are_on():
        target = implicit.argument_type(given, parameter.cast)
        if target is not None:
            return target
    place = f"argument {position + 1} of " if len(call.arguments) > 1 else ""
    raise TypeMismatchError(
        f"{place}{title(call.function)} must be {parameter.description}, not {given}",
        span=argument.span or call.span,
        hint=None if parameter.cast is None else cast_hint(argument, parameter.cast),
    )


def check_arity(call: Call, least: int, most: int | None) -> None:
    count = len(call.arguments)
    if least <= count and (most is None or count <= most):
        return
    if most is None:
        wanted = f"at least {least}"
    elif least == most:
        wanted = str(least)
    else:
        wanted = f"{least} to {most}" if most - least > 1 else f"{least} or {most}"
    plural = "" if wanted in ("1", "at least 1") else "s"
    raise ArityError(f"{title(call.function)} takes {wanted} argument{plural}, not {count}", span=call.span)


def is_text_constant(term: Term) -> TypeGuard[Constant]:
    return isinstance(term, Constant) and term.type == STRING and term.value is not None


_SOME_TIME = datetime.datetime(1994, 1, 31, 12)  # noqa: DTZ001 - a TIMESTAMP has no time zone


def check_time(constant: Constant, kind: Type) -> None:
    """Raises unless a STRING constant that stands in for a point in time reads as one."""
    if kind.from_literal(str(constant.value)) is None:
        example = kind.to_text(_SOME_TIME)
        raise TypeMismatchError(
            f"{shown(constant.value)} is not a {kind}", span=constant.span, hint=f"write it like '{example}'"
        )


def constant_integer(term: Term) -> int | None:
    """The value of an integer constant, also behind a minus sign; None for anything else."""
    match term:
        case Constant(value=int() as value, type=kind) if is_integer(kind):
            return value
        case Call(function="-", arguments=(Constant(value=int() as value, type=kind),)) if is_integer(kind):
            return -value
    return None


def constant_arguments(call: Call, first: int) -> None:
    """Raises unless the arguments from that place on are constants, which Spark asks for."""
    for position, argument in enumerate(call.arguments[first:], start=first + 1):
        if not isinstance(argument, Constant) and constant_integer(argument) is None:
            raise TypeMismatchError(
                f"argument {position} of {title(call.function)} must be a constant", span=argument.span or call.span
            )


def title(function: str) -> str:
    """A function's name in a message: `'+'` for an operator, `substring()` for the rest."""
    if function == "quotient":
        return "'/'"  # as it is written in Datalog
    operator = not function.replace("_", "").isalnum() or function in ("and", "or", "not", "in", "like", "rlike", "div")
    return f"'{function}'" if operator else f"{function}()"


def cast_hint(argument: Term, kind: Type) -> str:
    """How to make the argument one of `kind`, in the user's own words and language where they are known."""
    words = shortened(argument.span.text) if argument.span is not None else "..."
    if argument.span is None or not argument.span.source.is_datalog:
        return f"CAST({words} AS {kind}) converts it"
    name = {STRING: "to_string", BIGINT: "to_number", DOUBLE: "to_float"}.get(kind)
    return f"as({words}, {kind}) converts it" if name is None else f"{name}({words}) converts it"


def mismatch(
    call: Call, types: Sequence[Type], *, span: Span | None = None, hint: str | None = None
) -> TypeMismatchError:
    """The error for an operator that does not work on arguments of these types together."""
    listed = " and ".join(map(str, types))
    return TypeMismatchError(f"{title(call.function)} does not work on {listed}", span=span or call.span, hint=hint)
