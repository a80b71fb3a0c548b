"""Supports and diagrams are the same annotations, and both are what a truth table says."""

from __future__ import annotations

import subprocess
import sys
from itertools import chain, combinations
from typing import TypeAlias, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.errors import DataError, UnsupportedError
from whence.semirings import bdd as bdd_module
from whence.semirings.absorption import Absorption, Antichain
from whence.semirings.bdd import Bdd, Diagram
from whence.semirings.supports import Supports

A = TypeVar("A")

VARIABLES = range(5)
# A variable, a constant, or ("and" | "or", left, right).
Formula: TypeAlias = "int | bool | tuple[str, Formula, Formula]"
FORMULAS: st.SearchStrategy[Formula] = st.recursive(
    st.sampled_from(VARIABLES) | st.booleans(),
    lambda inner: st.tuples(st.sampled_from(["and", "or"]), inner, inner),
    max_leaves=12,
)
ASSIGNMENTS = [
    frozenset(present) for present in chain.from_iterable(combinations(VARIABLES, n) for n in range(len(VARIABLES) + 1))
]


def truth(formula: Formula, present: frozenset[int]) -> bool:
    match formula:
        case bool():
            return formula
        case int():
            return formula in present
        case ("and", left, right):
            return truth(left, present) and truth(right, present)
        case (_, left, right):
            return truth(left, present) or truth(right, present)


def annotate(formula: Formula, semiring: Absorption[A]) -> A:
    match formula:
        case bool():
            return semiring.one if formula else semiring.zero
        case int():
            return semiring.variable(formula)
        case ("and", left, right):
            return semiring.times(annotate(left, semiring), annotate(right, semiring))
        case (_, left, right):
            return semiring.plus(annotate(left, semiring), annotate(right, semiring))


def minimal_by_table(formula: Formula) -> Antichain:
    true = [present for present in ASSIGNMENTS if truth(formula, present)]
    return frozenset(present for present in true if not any(other < present for other in true))


@given(FORMULAS, st.permutations(VARIABLES))
def test_both_forms_agree_with_the_truth_table(formula: Formula, order: list[int]) -> None:
    supports, bdd = Supports(), Bdd(order)
    spelled, drawn = annotate(formula, supports), annotate(formula, bdd)
    for present in ASSIGNMENTS:
        assert supports.holds(spelled, present) == bdd.holds(drawn, present) == truth(formula, present)
    expected = minimal_by_table(formula)
    assert supports.minimal_supports(spelled) == bdd.minimal_supports(drawn) == expected
    assert supports.is_zero(spelled) == bdd.is_zero(drawn) == (not expected)


@given(FORMULAS, FORMULAS)
def test_equal_expressions_are_the_same_annotation(one: Formula, other: Formula) -> None:
    supports, bdd = Supports(), Bdd()
    equal = all(truth(one, present) == truth(other, present) for present in ASSIGNMENTS)
    assert (annotate(one, supports) == annotate(other, supports)) == equal
    assert (annotate(one, bdd) is annotate(other, bdd)) == equal


@given(st.lists(FORMULAS, min_size=1, max_size=4), st.sets(st.integers(0, 7)))
def test_a_delete_makes_variables_false(formulas: list[Formula], deleted: set[int]) -> None:
    check_delete(Supports(), formulas, deleted)
    check_delete(Bdd(), formulas, deleted)


def check_delete(semiring: Absorption[A], formulas: list[Formula], deleted: set[int]) -> None:
    annotations = [annotate(formula, semiring) for formula in formulas]
    left = [semiring.without(annotation, deleted) for annotation in annotations]
    for formula, annotation in zip(formulas, left, strict=True):
        for present in ASSIGNMENTS:
            assert semiring.holds(annotation, present) == truth(formula, present - deleted)
    handles = np.array([semiring.handle(annotation) for annotation in annotations], np.int64)
    assert semiring.without_batch(handles, deleted).tolist() == [semiring.handle(annotation) for annotation in left]
    assert semiring.without_batch(handles[:0], deleted).tolist() == []


@given(FORMULAS, st.lists(st.floats(0, 1), min_size=len(VARIABLES), max_size=len(VARIABLES)))
def test_probability_sums_the_truth_table(formula: Formula, chances: list[float]) -> None:
    bdd = Bdd()
    expected = 0.0
    for present in ASSIGNMENTS:
        if truth(formula, present):
            weights = [chance if variable in present else 1 - chance for variable, chance in enumerate(chances)]
            expected += float(np.prod(weights))
    assert bdd.probability(annotate(formula, bdd), dict(enumerate(chances))) == pytest.approx(expected)


def test_probabilities_are_checked() -> None:
    bdd = Bdd()
    both = bdd.times(bdd.variable(7), bdd.variable(8))
    with pytest.raises(DataError, match="base tuple 8 has no probability"):
        bdd.probability(both, {7: 0.5})
    with pytest.raises(DataError, match=r"the probability of base tuple 8 is 1\.5"):
        bdd.probability(both, {7: 0.5, 8: 1.5})


@given(st.lists(FORMULAS, min_size=1, max_size=6), st.permutations(VARIABLES))
def test_reordering_keeps_what_diagrams_mean(formulas: list[Formula], order: list[int]) -> None:
    bdd = Bdd()
    drawn = [annotate(formula, bdd) for formula in formulas]
    before = bdd.order
    bdd.reorder(order[:3])
    assert bdd.order == (*order[:3], *(variable for variable in before if variable not in order[:3]))
    for formula, diagram in zip(formulas, drawn, strict=True):
        assert all(bdd.holds(diagram, present) == truth(formula, present) for present in ASSIGNMENTS)
        assert annotate(formula, bdd) is diagram


def pairs(bdd: Bdd, number: int) -> Diagram:
    """x0·y0 + x1·y1 + ..., which is small when each x is next to its y, and exponential when all x come first."""
    total = bdd.zero
    for i in range(number):
        total = bdd.plus(total, bdd.times(bdd.variable(i), bdd.variable(number + i)))
    return total


def test_diagrams_move_to_a_larger_manager() -> None:
    bdd = Bdd(range(20), capacity=1)
    kept = bdd.times(bdd.variable(3), bdd.variable(17))
    handle = bdd.handle(kept)
    total = pairs(bdd, 10)
    assert bdd.node_count(total) == 2 * (2**10 - 1)
    assert bdd.value(handle) is kept
    assert bdd.times(bdd.variable(17), bdd.variable(3)) is kept
    assert bdd.holds(total, {4, 14}) and not bdd.holds(total, {4, 15})


def test_reordering_may_need_a_larger_manager_too() -> None:
    apart, paired = [*range(20)], [variable for i in range(10) for variable in (i, 10 + i)]
    bdd = Bdd(paired, capacity=1)
    total = pairs(bdd, 10)
    assert bdd.node_count(total) == 20
    bdd.reorder(apart)
    assert bdd.node_count(total) == 2 * (2**10 - 1)
    bdd.reorder(paired)
    assert bdd.node_count(total) == 20


def test_garbage_makes_room_before_the_manager_grows() -> None:
    bdd = Bdd(capacity=256, most_nodes=256)
    for i in range(100):
        assert bdd.node_count(pairs(bdd, 2 + i % 3)) > 0


def test_diagrams_that_are_too_large_are_refused_and_the_others_stay() -> None:
    bdd = Bdd(range(40), capacity=64, most_nodes=512)
    kept = pairs(bdd, 3)
    with pytest.raises(UnsupportedError, match="more than 512 diagram nodes") as caught:
        pairs(bdd, 20)
    assert "depth-first" in str(caught.value)
    assert bdd.holds(kept, {1, 4}) and pairs(bdd, 3) is kept


def test_more_variables_than_the_stack_bears_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bdd_module, "MOST_VARIABLES", 3)
    bdd = Bdd(range(3))
    with pytest.raises(UnsupportedError, match="at most 3 base rows"):
        bdd.variable(3)
    with pytest.raises(UnsupportedError, match="at most 3 base rows"):
        bdd.reorder([9])
    assert bdd.order == (0, 1, 2)


def test_the_longest_derivation_that_is_allowed() -> None:
    # In a process of its own, because a stack that is too small cannot be caught.
    script = """
from whence.semirings.bdd import MOST_VARIABLES, Bdd
bdd = Bdd(range(MOST_VARIABLES), capacity=1 << 18)
whole = half = bdd.one
for i in reversed(range(MOST_VARIABLES)):
    whole = bdd.times(bdd.variable(i), whole)
    half = bdd.times(bdd.variable(i), half) if i % 2 else half
assert bdd.plus(whole, half) is half and bdd.times(whole, half) is whole
assert bdd.without(half, [MOST_VARIABLES - 1]) is bdd.zero
bdd.reorder(bdd.order)
assert bdd.node_count(whole) == MOST_VARIABLES
assert bdd.minimal_supports(half) == {frozenset(range(1, MOST_VARIABLES, 2))}
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_too_many_supports_are_refused() -> None:
    supports, bdd = Supports(), Bdd()
    with pytest.raises(UnsupportedError, match="too many different supports"):
        product_of_sums(supports, 14)
    diagram = product_of_sums(bdd, 14)
    assert bdd.node_count(diagram) == 28
    with pytest.raises(UnsupportedError, match="too many different supports"):
        bdd.minimal_supports(diagram)


def product_of_sums(semiring: Absorption[A], number: int) -> A:
    """(x0 + y0)(x1 + y1)...: two to the power of `number` supports."""
    product = semiring.one
    for i in range(number):
        choice = semiring.plus(semiring.variable(2 * i), semiring.variable(2 * i + 1))
        product = semiring.times(product, choice)
    return product


def test_what_is_not_retained_makes_room_for_new_handles() -> None:
    check_retain(Supports())
    check_retain(Bdd())


def check_retain(semiring: Absorption[A]) -> None:
    zero, one = semiring.handle(semiring.zero), semiring.handle(semiring.one)
    first, second = semiring.handle(semiring.variable(1)), semiring.handle(semiring.variable(2))
    semiring.retain([second])
    assert semiring.handle(semiring.variable(2)) == second
    assert semiring.handle(semiring.variable(3)) == first
    assert (semiring.handle(semiring.zero), semiring.handle(semiring.one)) == (zero, one)


def test_oxidd_is_loaded_only_when_a_diagram_is_made() -> None:
    script = """
import sys, whence, whence.semirings.bdd as bdd
assert "oxidd" not in sys.modules
bdd.Bdd()
assert "oxidd" in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)
