"""A constant that a statement gives for a column: its value as the column holds it."""

from __future__ import annotations

from sqlglot import exp

from whence.errors import DataError, TypeMismatchError, UnsupportedError
from whence.functions.evaluate import compile_term, convert
from whence.functions.types import fits, infer
from whence.lang.sql.block import Block
from whence.lang.sql.expressions import translate
from whence.lang.sql.lowering import Lowering
from whence.model.schema import Column, check_value
from whence.model.span import Span
from whence.model.types import Value


def is_constant(node: exp.Expr) -> bool:
    return node.find(exp.Query, exp.Column) is None


def constant_value(lowering: Lowering, node: exp.Expr, column: Column, span: Span | None) -> Value:
    """Raises where the column does not take it. Of an integer the value matters, and not its type."""
    if not is_constant(node):
        raise UnsupportedError("VALUES takes constants", span=span, hint="use INSERT INTO ... SELECT ...")
    term = translate(lowering, Block.top({}), node)
    typed = infer(term, {}, lowering.signatures)
    value = compile_term(term, {}, lowering.signatures, {})({})
    if value is not None and typed.type != column.type:
        # An integer that is too large is refused below, by its value.
        if not fits(typed.type, column.type) and not isinstance(value, int):
            raise TypeMismatchError(
                f"column {column.name!r} is {column.type}, and this value is {typed.type}", span=span, hint="CAST it"
            )
        if fits(typed.type, column.type):
            value = convert(value, typed.type, column.type, span)
    try:
        return check_value(value, column)
    except DataError as error:
        raise DataError(error.message, span=span, hint=error.hint) from None
