"""Making records and taking them apart. A NULL constant of the type says which type is meant.

    $record(null::list[head: BIGINT, tail: list], 1, x)     [1, x]
    $record(null::shape[...], "Circle", 1.5)                $Circle(1.5)
    $field(r, "head")                                       NULL where r is nil
    $field(s, "Circle", "r")                                NULL where s is another branch
    $branch(s)                                              "Circle"

Nobody writes these names: Datalog has brackets, `nil` and branches for them, and SQL nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from whence.errors import TypeMismatchError
from whence.functions.resolve import Builtin, Evaluator, Operand, Resolved, always, check_arity, plain
from whence.functions.widening import fits
from whence.model.terms import Call, Constant
from whence.model.types import NULL, STRING, RecordType, Type, Value
from whence.model.types.records import ONLY, Record


def _resolve_record(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 1, None)
    kind = types[0]
    if not isinstance(kind, RecordType):
        raise TypeMismatchError(f"{kind} is no type of records", span=call.span)
    own, branch = (1, ONLY) if kind.has_nil else (2, _branch(call, kind, 1))
    fields, given = kind.branches[branch], types[own:]
    if len(given) != len(fields):
        what = f"${branch}" if branch else f"a record of the type {kind.label}"
        raise TypeMismatchError(f"{what} has {len(fields)} fields, not {len(given)}", span=call.span)
    for position, ((name, wanted), found) in enumerate(zip(fields, given, strict=True), own):
        if not fits(found, wanted) or found == NULL:
            raise TypeMismatchError(
                f"field {name!r} of {branch or kind.label} is {wanted}, but this is {found}",
                span=call.arguments[position].span or call.span,
            )
    return Resolved(kind, (*types[:own], *(wanted for _, wanted in fields)))


def _record(resolved: Resolved) -> Callable[..., Evaluator]:
    kind = resolved.result
    assert isinstance(kind, RecordType)

    def build(*operands: Operand) -> Evaluator:
        evaluators = [operand.evaluate for operand in operands[1:]]

        def evaluate(environment: Any) -> Value:
            values = tuple([each(environment) for each in evaluators])
            return None if None in values else kind.make(values)

        return evaluate

    return build


def _any_field(nullable: Sequence[bool]) -> bool:
    """The constant of the type is NULL, and no field."""
    return any(nullable[1:])


def _resolve_field(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 2, 3)
    kind = types[0]
    if not isinstance(kind, RecordType) or kind.has_nil != (len(types) == 2):
        raise TypeMismatchError(f"a {kind} has no such fields", span=call.arguments[0].span or call.span)
    branch = ONLY if kind.has_nil else _branch(call, kind, 1)
    wanted = _text(call, len(types) - 1)
    for name, found in kind.branches[branch]:
        if name == wanted:
            return Resolved(found, types)
    known = ", ".join(name for name, _ in kind.branches[branch]) or "none"
    raise TypeMismatchError(
        f"{branch or kind.label} has no field {wanted!r}", span=call.span, hint=f"its fields are {known}"
    )


def _field(resolved: Resolved) -> Callable[..., Evaluator]:
    kind = resolved.arguments[0]
    assert isinstance(kind, RecordType)

    def build(record: Operand, *names: Operand) -> Evaluator:
        value_of = record.evaluate
        *branch, name = (operand.evaluate({}) for operand in names)
        assert isinstance(kind, RecordType)
        fields = [each for each, _ in kind.branches[str(branch[0]) if branch else ONLY]]
        place = fields.index(str(name)) + len(branch)

        def evaluate(environment: Any) -> Value:
            value: Any = value_of(environment)
            if not value or (branch and value[0] != branch[0]):
                return None
            found: Value = value[place]
            return found

        return evaluate

    return build


def _resolve_branch(call: Call, types: tuple[Type, ...]) -> Resolved:
    check_arity(call, 1, 1)
    if isinstance(types[0], RecordType) and not types[0].has_nil:
        return Resolved(STRING, types)
    raise TypeMismatchError(f"a {types[0]} has no branches", span=call.arguments[0].span or call.span)


def _of_branch(value: Record) -> Value:
    return value[0]


def _branch(call: Call, kind: RecordType, position: int) -> str:
    name = _text(call, position)
    if name in kind.branches:
        return name
    raise TypeMismatchError(
        f"{kind.label} has no branch {name!r}", span=call.span, hint=f"its branches are {', '.join(kind.branches)}"
    )


def _text(call: Call, position: int) -> str:
    argument = call.arguments[position] if position < len(call.arguments) else None
    if isinstance(argument, Constant) and isinstance(argument.value, str):
        return argument.value
    raise TypeMismatchError("the name of a field or a branch is a constant", span=call.span)


RECORDS = (
    Builtin("$record", _resolve_record, _record, strict=False, nullable=_any_field),
    Builtin("$field", _resolve_field, _field, strict=False, nullable=always),
    Builtin("$branch", _resolve_branch, plain(_of_branch)),
)
