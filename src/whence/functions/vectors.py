"""Arrays of FLOATs as vectors: lengths, products and distances. They are computed as DOUBLEs, and rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from whence.errors import EvaluationError
from whence.functions.mathematics import finite
from whence.functions.resolve import Builtin, Parameter, always, plain, takes
from whence.model.types import REAL, ArrayType

Vector = Sequence[float | None]

_VECTOR = Parameter("an ARRAY of FLOATs", lambda given: given if given == ArrayType(REAL) else None)
_DEGREE = Parameter("a FLOAT", lambda given: given if given == REAL else None)


def _single(value: float, name: str) -> float:
    return finite(REAL.nearest(value), lambda: name) + 0.0


def _length(vector: Sequence[float], degree: float) -> float:
    if degree == 1:
        return math.fsum(map(abs, vector))
    if degree == 2:
        return math.sqrt(math.fsum(each * each for each in vector))
    raise EvaluationError(f"a vector has a length of degree 1 or 2, and not {degree}")


def _norm(vector: Vector, degree: float = 2.0) -> float | None:
    present = [each for each in vector if each is not None]
    length = _length(present, degree)
    return None if len(present) < len(vector) else _single(length, "vector_norm()")


def _normalize(vector: Vector, degree: float = 2.0) -> tuple[float, ...] | None:
    present = [each for each in vector if each is not None]
    length = _length(present, degree)
    if len(present) < len(vector) or (present and not length):
        return None
    return tuple(_single(each / length, "vector_normalize()") for each in present)


def _of_two(
    name: str, compute: Callable[[Sequence[float], Sequence[float]], float | None]
) -> Callable[[Vector, Vector], float | None]:
    def function(left: Vector, right: Vector) -> float | None:
        if len(left) != len(right):
            raise EvaluationError(f"{name}() takes vectors of one length, not of {len(left)} and {len(right)}")
        if None in left or None in right:
            return None
        found = compute(left, right)  # type: ignore[arg-type]
        return None if found is None else _single(found, f"{name}()")

    return function


def _product(left: Sequence[float], right: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(left, right, strict=True))


def _cosine(left: Sequence[float], right: Sequence[float]) -> float | None:
    lengths = math.sqrt(_product(left, left)) * math.sqrt(_product(right, right))
    return _product(left, right) / lengths if lengths else None


def _distance(left: Sequence[float], right: Sequence[float]) -> float:
    return math.sqrt(math.fsum((a - b) ** 2 for a, b in zip(left, right, strict=True)))


def _builtin(name: str, compute: Callable[..., Any]) -> Builtin:
    return Builtin(name, takes(_VECTOR, _VECTOR, returns=REAL), plain(_of_two(name, compute)), nullable=always)


VECTORS = (
    Builtin("vector_norm", takes(_VECTOR, _DEGREE, optional=1, returns=REAL), plain(_norm), nullable=always),
    Builtin(
        "vector_normalize",
        takes(_VECTOR, _DEGREE, optional=1, returns=ArrayType(REAL)),
        plain(_normalize),
        nullable=always,
    ),
    _builtin("vector_inner_product", _product),
    _builtin("vector_cosine_similarity", _cosine),
    _builtin("vector_l2_distance", _distance),
)
