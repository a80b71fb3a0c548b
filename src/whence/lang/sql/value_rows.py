"""stack and json_tuple: rows of values that a call lists or reads, as an array of structs to be taken apart.

stack(2, a, b, c, d)           [{a, b}, {c, d}]
json_tuple(t, 'x', 'y')        [{json_field(t, 'x'), json_field(t, 'y')}]
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from whence.errors import ArityError, TypeMismatchError
from whence.functions.resolve import constant_integer
from whence.lang.sql.block import Block
from whence.lang.sql.expressions import translate
from whence.lang.sql.lowering import Lowering
from whence.model import types
from whence.model.span import Span
from whence.model.terms import Call, Constant, Term


def values_array(lowering: Lowering, block: Block, call: exp.Anonymous) -> Term:
    span = lowering.span(call)
    arguments = [block.resolve_term(translate(lowering, block, each)) for each in call.expressions]
    if len(arguments) < 2:
        raise ArityError(f"{call.this} takes at least 2 arguments", span=span)
    if str(call.this).lower() == "json_tuple":
        text, *names = arguments
        return _array([[Call("json_field", (text, name), span=span) for name in names]], "c", span)
    count, *values = arguments
    number = constant_integer(count)
    if number is None or number < 1:
        raise TypeMismatchError(f"{call.this} takes a number of rows, from 1 on", span=count.span or span)
    width = -(-len(values) // number)
    values += [Constant(None, types.NULL)] * (number * width - len(values))
    rows = [values[start : start + width] for start in range(0, len(values), width)]
    for column in zip(*rows, strict=True):
        kinds = dict.fromkeys(lowering.typed(each, block).type for each in column)
        if len(kinds) - (types.NULL in kinds) > 1:
            raise TypeMismatchError(
                f"a column of {call.this} has one type, and not {', '.join(map(str, kinds))}", span=span
            )
    return _array(rows, "col", span)


def _array(rows: Sequence[Sequence[Term]], name: str, span: Span | None) -> Term:
    structs: list[Term] = []
    for row in rows:
        fields: list[Term] = []
        for place, value in enumerate(row):
            fields += (Constant(f"{name}{place}", types.STRING), value)
        structs.append(Call("named_struct", tuple(fields), span=span))
    return Call("array", tuple(structs), span=span)
