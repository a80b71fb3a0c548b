"""Three truth values as two programs over two: each threshold is a homomorphism, and both together lose nothing."""

from __future__ import annotations

from itertools import product

from whence.algebra.semiring import BOOLEAN, KLEENE, Truth


def test_thresholds_are_homomorphisms() -> None:
    for threshold, left, right in product((Truth.MAYBE, Truth.TRUE), Truth, Truth):
        one, other = left.reaches(threshold), right.reaches(threshold)
        assert KLEENE.plus(left, right).reaches(threshold) == BOOLEAN.plus(one, other)
        assert KLEENE.times(left, right).reaches(threshold) == BOOLEAN.times(one, other)
        assert KLEENE.zero.reaches(threshold) == BOOLEAN.zero
        assert KLEENE.one.reaches(threshold) == BOOLEAN.one


def test_both_thresholds_tell_the_value() -> None:
    for value in Truth:
        assert Truth.between(sure=value.reaches(Truth.TRUE), possible=value.reaches(Truth.MAYBE)) is value
