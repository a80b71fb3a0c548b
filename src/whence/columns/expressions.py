"""Typed terms as functions of a batch of columns.

They mean exactly what `whence.functions.evaluate` makes of the same terms for every row. What arrays cannot compute is
computed row by row: a call for which there is no array function, once for each different combination of its arguments,
and the whole term for each row that is in doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

import numpy as np

from whence.columns import NotInColumnsError
from whence.columns.arithmetic import whole
from whence.columns.encoding import INTEGER, NULL, OUTLIER, Array, Encodings
from whence.columns.functions import FUNCTIONS, converted
from whence.columns.parts import Batch, Computed, Mask, Part, Run, dtype_of, either
from whence.columns.row_terms import RowTerm, different, encoded_rows
from whence.errors import EvaluationError
from whence.functions.builtin import BUILTINS
from whence.functions.evaluate import compile_typed
from whence.functions.types import Typed, TypedTerm
from whence.functions.widening import is_integer
from whence.model.program import Signature
from whence.model.terms import Call, Cast, Term, Variable, variables, walk
from whence.model.types import BIGINT, BOOLEAN, DOUBLE, REAL, DecimalType, IntervalType, Type, Value

__all__ = ["Batch", "VectorTerm", "compile_condition", "compile_vector"]

_TRUE = whole(1)


class VectorTerm(Protocol):
    def __call__(self, batch: Batch) -> Array:
        """The encoded values, NULL included. The array may be a column of the batch, so it is not to be changed.

        Raises the EvaluationError of the first row that has no value, and NotInColumnsError for a value that columns
        cannot hold.
        """
        ...


def compile_vector(
    node: TypedTerm,
    signatures: Mapping[str, Signature],
    implementations: Mapping[str, Callable[..., object]],
    encodings: Encodings,
    types: Mapping[int, Type],
    slots: Mapping[str, int],
    target: Type | None = None,
) -> VectorTerm:
    """The function that computes a term, converted to `target` where that is another type.

    `slots` has the place of every variable in a batch, and `types` the type of the values there. Raises what
    `compile_typed` raises.
    """
    kind = node.typed.type if target is None else target
    if kind != node.typed.type:
        node = _cast(node, kind)
    if isinstance(node.term, Variable):
        slot = slots[node.term.name]
        return lambda batch: batch.columns[slot]
    return _Compiler(signatures, implementations, encodings, types, slots).whole_term(node)


def compile_condition(
    node: TypedTerm,
    signatures: Mapping[str, Signature],
    implementations: Mapping[str, Callable[..., object]],
    encodings: Encodings,
    types: Mapping[int, Type],
    slots: Mapping[str, int],
) -> Callable[[Batch], Mask]:
    """The function that computes for which rows a condition is true."""
    value = compile_vector(node, signatures, implementations, encodings, types, slots)
    part = _Compiler(signatures, implementations, encodings, types, slots).part(node)
    if part.is_constant or part.is_by_rows:
        return lambda batch: value(batch) == 1
    run = part.run

    def is_true(batch: Batch) -> Mask:
        values, nulls, doubt = run(batch)
        if doubt is not None and np.count_nonzero(doubt):
            certain: Mask = value(batch) == 1
            return certain
        return values if nulls is None else values & ~nulls

    return is_true


def _cast(node: TypedTerm, kind: Type) -> TypedTerm:
    cast = Cast(node.term, kind, span=node.term.span)
    return TypedTerm(cast, Typed(kind, node.typed.nullable), (node,), depth=node.depth + 1)


class _Compiler:
    def __init__(
        self,
        signatures: Mapping[str, Signature],
        implementations: Mapping[str, Callable[..., object]],
        encodings: Encodings,
        types: Mapping[int, Type],
        slots: Mapping[str, int],
    ) -> None:
        self._signatures = signatures
        self._implementations = implementations
        self._encodings = encodings
        self._types = types
        self._slots = slots

    def whole_term(self, node: TypedTerm) -> VectorTerm:
        encode = self._encodings.of(node.typed.type).encode
        by_rows = self._by_rows(node)
        part = self.part(node)
        if part.is_constant:
            value = part.value
            return lambda batch: np.repeat(encode([value]), batch.length)
        if part.is_by_rows:
            return partial(encoded_rows, by_rows, encode)
        run, finish = part.run, self._finish(node.typed.type)

        def compute(batch: Batch) -> Array:
            values, nulls, doubt = run(batch)
            if doubt is None or not np.count_nonzero(doubt):
                return finish(values, nulls)
            rows = np.flatnonzero(doubt)
            certain = encode([by_rows.evaluate(row) for row in by_rows.read(batch, rows)])
            result = finish(values, either(nulls, doubt))
            result[rows] = certain
            return result

        return compute

    def _finish(self, kind: Type) -> Callable[[Array, Mask | None], Array]:
        """Computed values as they lie in columns."""
        encoding = self._encodings.of(kind)
        null = encoding.null
        if kind == BOOLEAN:
            return lambda values, nulls: _with_nulls(values.astype(INTEGER), nulls, null)
        if kind == BIGINT:
            return lambda values, nulls: _with_nulls(_told_from_null(values, nulls), nulls, null)
        return lambda values, nulls: _with_nulls(values, nulls, null)

    def part(self, node: TypedTerm) -> Part:
        term, kind = node.term, node.typed.type
        if self._is_constant(term):
            return self._constant(node)
        if isinstance(term, Variable):
            slot = self._slots[term.name]
            return Part(kind, self._column(slot, node.typed.nullable), slots=frozenset((slot,)))
        operands: list[Part] = []
        run: Run | None = None
        if any(isinstance(each.typed.type, IntervalType) for each in (node, *node.arguments)):
            return self._row_by_row(node)
        match term:
            case Cast():
                operands = [self.part(node.arguments[0])]
                run = converted(operands[0], kind)
            case Call() if node.resolved is not None and term.function in FUNCTIONS:
                operands = [
                    self.part(argument if argument.typed.type == wanted else _cast(argument, wanted))
                    for argument, wanted in zip(node.arguments, node.resolved.arguments, strict=True)
                ]
                run = FUNCTIONS[term.function](node.resolved, operands)
        if run is None:
            return self._row_by_row(node)
        slots = frozenset[int]().union(*[operand.slots for operand in operands])
        return Part(kind, run, slots=slots, is_costly=any(operand.is_costly for operand in operands))

    def _is_constant(self, term: Term) -> bool:
        """Functions from outside are not called before there is a row."""
        return not any(
            isinstance(each, Variable) or (isinstance(each, Call) and each.function not in BUILTINS)
            for each in walk(term)
        )

    def _constant(self, node: TypedTerm) -> Part:
        kind = node.typed.type
        try:
            value = compile_typed(node, self._signatures, self._implementations)({})
        except EvaluationError:
            return Part(kind, _unknown(kind))
        values, nulls, doubt = self._represented(kind)([value])
        if doubt is not None:
            return Part(kind, _unknown(kind))
        computed = np.array(values[0]), None if nulls is None else np.array(nulls[0]), None
        return Part(kind, lambda _: computed, is_constant=True, value=value)

    def _column(self, slot: int, nullable: bool) -> Run:
        kind = self._types[slot]
        encoding = self._encodings.of(kind)
        is_null = np.isnan if kind in (DOUBLE, REAL) else partial(np.equal, whole(NULL))
        has_outliers = isinstance(kind, DecimalType) and not encoding.is_ordered
        is_truth = kind == BOOLEAN

        def run(batch: Batch) -> Computed:
            values = batch.columns[slot]
            nulls: Mask | None = None
            if nullable:
                nulls = is_null(values)
                if not np.count_nonzero(nulls):
                    nulls = None
            if has_outliers:
                doubt = values >= OUTLIER
                return values, nulls, doubt if np.count_nonzero(doubt) else None
            return values == _TRUE if is_truth else values, nulls, None

        return run

    def _by_rows(self, node: TypedTerm) -> RowTerm:
        names = sorted({variable.name for variable in variables(node.term)})
        places = {name: place for place, name in enumerate(names)}
        slots = [self._slots[name] for name in names]
        return RowTerm(
            compile_typed(node, self._signatures, self._implementations, None, places),
            [(slot, self._encodings.of(self._types[slot])) for slot in slots],
        )

    def _row_by_row(self, node: TypedTerm) -> Part:
        """A call that arrays cannot compute, for the different rows of what it reads."""
        kind = node.typed.type
        by_rows, represent = self._by_rows(node), self._represented(kind)
        slots = by_rows.slots

        def run(batch: Batch) -> Computed:
            rows, places = different(batch, slots)
            results: list[Value] = []
            failed: list[int] = []
            for row in by_rows.read(batch, rows):
                try:
                    results.append(by_rows.evaluate(row))
                except EvaluationError:
                    # It is the error of those rows that need the value, if they do.
                    failed.append(len(results))
                    results.append(None)
            values, nulls, doubt = represent(results)
            if failed:
                if doubt is None:
                    doubt = np.zeros(len(results), np.bool_)
                doubt[failed] = True
            if places is None:
                return values, nulls, doubt
            return values[places], None if nulls is None else nulls[places], None if doubt is None else doubt[places]

        return Part(kind, run, slots=frozenset(slots), is_costly=True, is_by_rows=True)

    def _represented(self, kind: Type) -> Callable[[list[Value]], Computed]:
        """Values as parts of terms have them."""
        encoding, dtype = self._encodings.of(kind), dtype_of(kind)

        def represent(values: list[Value]) -> Computed:
            nulls = np.array([value is None for value in values], np.bool_) if None in values else None
            if is_integer(kind) or kind == BOOLEAN:
                return np.array([0 if value is None else value for value in values], dtype), nulls, None
            numbers = encoding.encode(values)
            if isinstance(kind, DecimalType) and not encoding.is_ordered:
                too_long = numbers >= OUTLIER
                return numbers, nulls, too_long if np.count_nonzero(too_long) else None
            return numbers, nulls, None

        return represent


def _unknown(kind: Type) -> Run:
    """A constant that no row can have the value of."""
    dtype = dtype_of(kind)
    return lambda batch: (np.zeros(batch.length, dtype), None, np.ones(batch.length, np.bool_))


def _with_nulls(values: Array, nulls: Mask | None, null: Any) -> Array:
    if nulls is None:
        return values
    # The values may be a column that others read.
    values = values.copy()
    values[nulls] = null
    return values


def _told_from_null(values: Array, nulls: Mask | None) -> Array:
    alike = values == NULL
    if np.count_nonzero(alike if nulls is None else alike & ~nulls):
        raise NotInColumnsError(f"the number {NULL}, which stands for NULL")
    return values
