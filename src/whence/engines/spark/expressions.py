"""Terms as columns: by Spark's own functions where they mean the same, by Python where they do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import pyspark.sql.functions as F
from pyspark.sql import Column

from whence.engines.engine import Functions
from whence.engines.spark.native.builtin import NATIVE
from whence.engines.spark.native.casts import cast
from whence.engines.spark.native.pieces import NativeCall, Piece, failed, literal
from whence.engines.spark.python_columns import python_column
from whence.engines.spark.types import spark_type
from whence.errors import EvaluationError
from whence.functions.builtin import BUILTINS
from whence.functions.evaluate import compile_term
from whence.functions.typing import Typed, TypedTerm, annotate, infer
from whence.model.program import Signature
from whence.model.terms import Call, Cast, Constant, Term, Variable, variables, walk
from whence.model.types import NULL, Type, Value

# Beyond that Python computes a term, since nested checks of values double its size each time.
LARGEST = 256


class Terms:
    """What the terms of one body see: its variables, each a column, and the functions."""

    def __init__(self, columns: Mapping[str, str], types: Mapping[str, Typed], functions: Functions) -> None:
        self._columns = columns
        self._types = types
        self._signatures = {name: function.signature for name, function in functions.items()}
        self._implementations = {name: function.python for name, function in functions.items()}

    def typed(self, term: Term) -> Typed:
        return infer(term, self._types, self._signatures)

    def column(self, term: Term, target: Type | None = None) -> Column:
        """The term's value, converted to `target` where that is another type."""
        given = self.typed(term).type
        if target is not None and given == NULL:
            return F.lit(None).cast(spark_type(target))
        if target not in (None, given):
            term = Cast(term, target, span=term.span)
        return self._piece(annotate(term, self._types, self._signatures)).column

    def _piece(self, node: TypedTerm) -> Piece:
        term = node.term
        if isinstance(term, Variable):
            return Piece(F.col(self._columns[term.name]), node.typed.type)
        if isinstance(term, Constant):
            return Piece(literal(term.value, term.type), term.type)
        if all(map(_is_constant, walk(term))):
            return self._computed_once(term, node.typed.type)
        piece = self._native(node)
        return self._in_python(node) if piece is None or piece.size > LARGEST else piece

    def _native(self, node: TypedTerm) -> Piece | None:
        match node.term:
            case Cast(type=target):
                return cast(self._piece(node.arguments[0]), target)
            case Call(function=function) as call if node.resolved is not None and function in NATIVE:
                widened = [
                    cast(self._piece(argument), target)
                    for argument, target in zip(node.arguments, node.resolved.arguments, strict=True)
                ]
                pieces = [piece for piece in widened if piece is not None]
                if len(pieces) == len(widened):
                    return NATIVE[function](NativeCall(call, node.resolved, pieces))
        return None

    def _computed_once(self, term: Term, kind: Type) -> Piece:
        try:
            return Piece(literal(compile_term(term, {}, self._signatures, {})({}), kind), kind)
        except EvaluationError as error:
            # It is an error of the rows that need it; Spark's own would be one even without rows.
            return Piece(failed(error).cast(spark_type(kind)), kind)

    def _in_python(self, node: TypedTerm) -> Piece:
        names = sorted({variable.name for variable in variables(node.term)})
        types = {name: self._types[name] for name in names}
        called = {part.function for part in walk(node.term) if isinstance(part, Call)}
        make = partial(
            _function,
            node.term,
            types,
            {name: signature for name, signature in self._signatures.items() if name in called},
            {name: function for name, function in self._implementations.items() if name in called},
        )
        arguments = [(F.col(self._columns[name]), types[name].type) for name in names]
        return Piece(python_column(make, arguments, node.typed.type), node.typed.type)


def _is_constant(part: Term) -> bool:
    return isinstance(part, Constant | Cast) or (isinstance(part, Call) and part.function in BUILTINS)


def _function(
    term: Term,
    types: Mapping[str, Typed],
    signatures: Mapping[str, Signature],
    implementations: Mapping[str, Callable[..., object]],
) -> Callable[..., Value]:
    """The term as a function of its variables' values, in the order of `types`."""
    evaluate = compile_term(term, types, signatures, implementations)
    names = tuple(types)
    return lambda *values: evaluate(dict(zip(names, values, strict=True)))
