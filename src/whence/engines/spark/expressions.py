"""Columns that Python computes, in batches that come and go as Arrow arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.sql import Column
from pyspark.sql.types import StringType, StructField, StructType

from whence.engines.spark.errors import failure
from whence.engines.spark.native.columns import COMPARISON, Builder, ColumnExpression, NativeCall, cast, failed, literal
from whence.engines.spark.native.functions import FUNCTIONS
from whence.engines.spark.types import spark_type, values_from_arrow, values_to_arrow
from whence.errors import EvaluationError
from whence.functions.builtin import BUILTINS
from whence.functions.evaluate import compile_term
from whence.functions.types import Typed, TypedTerm, annotate, infer
from whence.model.program import Functions, Signature
from whence.model.terms import Call, Cast, Constant, Term, Variable, variables, walk
from whence.model.types import NULL, IntervalType, Type, Value

# All functions that Spark computes as we do, by name.
NATIVE: dict[str, Builder] = {**COMPARISON, **FUNCTIONS}


def python_column(
    make: Callable[[], Callable[..., Value]], arguments: Sequence[tuple[Column, Type]], result: Type
) -> Column:
    """The values that the function made by `make` has for the arguments' values. It is made where it is used.

    Spark lets Python compute what a condition may yet rule out. So a value that cannot be computed comes back with its
    error, which is raised where the value is asked for.
    """
    answer = StructType([StructField("value", spark_type(result)), StructField("error", StringType())])
    compute = F.arrow_udf(_batches(make, [kind for _, kind in arguments], result), answer)  # type: ignore[attr-defined]
    # Without any column there would be no telling how many values are wanted.
    computed = compute(*(column for column, _ in arguments)) if arguments else compute(F.lit(True))
    error = computed.getField("error")
    return F.when(error.isNotNull(), F.raise_error(error)).otherwise(computed.getField("value"))


def _batches(make: Callable[[], Callable[..., Value]], kinds: Sequence[Type], result: Type) -> Callable[..., pa.Array]:
    def compute(*arrays: pa.Array) -> pa.Array:
        function = make()
        columns = [values_from_arrow(array, kind) for array, kind in zip(arrays, kinds, strict=False)]
        rows = zip(*columns, strict=True) if columns else [()] * len(arrays[0])
        values: list[Value] = []
        errors: list[str | None] = []
        for row in rows:
            try:
                values.append(function(*row))
                errors.append(None)
            except EvaluationError as error:
                values.append(None)
                errors.append(failure(error))
        return pa.StructArray.from_arrays(
            [values_to_arrow(values, result), pa.array(errors, pa.string())], names=["value", "error"]
        )

    return compute


# Beyond that Python computes a term, since nested checks of values double its size each time.
LARGEST = 256


class ColumnTerms:
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

    def _piece(self, node: TypedTerm) -> ColumnExpression:
        term = node.term
        if isinstance(term, Variable):
            return ColumnExpression(F.col(self._columns[term.name]), node.typed.type)
        if isinstance(term, Constant):
            return ColumnExpression(literal(term.value, term.type), term.type)
        if all(map(_is_constant, walk(term))):
            return self._computed_once(term, node.typed.type)
        piece = self._native(node)
        return self._in_python(node) if piece is None or piece.size > LARGEST else piece

    def _native(self, node: TypedTerm) -> ColumnExpression | None:
        if any(isinstance(each.typed.type, IntervalType) for each in (node, *node.arguments)):
            # Months are numbers here, which Spark would take for numbers.
            return None
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

    def _computed_once(self, term: Term, kind: Type) -> ColumnExpression:
        try:
            return ColumnExpression(literal(compile_term(term, {}, self._signatures, {})({}), kind), kind)
        except EvaluationError as error:
            # It is an error of the rows that need it; Spark's own would be one even without rows.
            return ColumnExpression(failed(error).cast(spark_type(kind)), kind)

    def _in_python(self, node: TypedTerm) -> ColumnExpression:
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
        return ColumnExpression(python_column(make, arguments, node.typed.type), node.typed.type)


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
