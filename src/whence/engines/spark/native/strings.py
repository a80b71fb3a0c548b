"""Functions of strings and arrays.

Upper and lower case, regular expressions and the like depend on the version of Java, or of Python: Python does them,
here as in every engine.
"""

from __future__ import annotations

from collections.abc import Callable

import pyspark.sql.functions as F
from pyspark.sql import Column

from whence.engines.spark.native.pieces import Builder, NativeCall, Piece
from whence.model.types import BIGINT

SMALLEST_INT = -(2**31)


def _plain(function: Callable[..., Column]) -> Builder:
    """A function of the same arguments in Spark, which counts in INT."""

    def build(call: NativeCall) -> Piece | None:
        if any(piece.kind == BIGINT for piece in call.arguments):
            return None
        return call.plain(function(*(piece.column for piece in call.arguments)))

    return build


def _substring(text: Column, position: Column, length: Column | None = None) -> Column:
    if length is not None:
        return F.substr(text, position, length)
    # To Spark, no length is the largest INT, and from the smallest INT that does not lead to the end of the text.
    return F.substr(text, F.when(position == SMALLEST_INT, SMALLEST_INT + 1).otherwise(position))


def _trim(function: Callable[[Column], Column]) -> Builder:
    return lambda call: call.plain(function(call.arguments[0].column)) if len(call.arguments) == 1 else None


def _like(call: NativeCall) -> Piece | None:
    """With a constant pattern, which has been checked when the program was read."""
    constants = [call.constant(position) for position in range(1, len(call.arguments))]
    if any(constant is None or constant.value is None for constant in constants):
        return None
    return call.plain(F.like(*(piece.column for piece in call.arguments)))


STRINGS: dict[str, Builder] = {
    "concat": lambda call: call.plain(F.concat(*(piece.column for piece in call.arguments))),
    "length": _plain(F.length),
    "substring": _plain(_substring),
    "left": _plain(F.left),
    "right": _plain(F.right),
    "trim": _trim(F.trim),
    "ltrim": _trim(F.ltrim),
    "rtrim": _trim(F.rtrim),
    "replace": _plain(F.replace),
    "reverse": _plain(F.reverse),
    "instr": _plain(F.instr),
    "startswith": _plain(F.startswith),
    "endswith": _plain(F.endswith),
    "contains": _plain(F.contains),
    "like": _like,
    "array": lambda call: call.plain(F.array(*(piece.column for piece in call.arguments))),
    "array_contains": lambda call: call.plain(F.array_contains(*(piece.column for piece in call.arguments))),
    "size": _plain(F.array_size),
    "element_at": _plain(F.element_at),
}
