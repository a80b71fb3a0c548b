"""Supports and diagrams are the same annotations, and both are what a truth table says."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterable
from itertools import chain, combinations
from math import prod
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.algebra import diagrams as bdd_module
from whence.algebra.diagrams import Bdd, Diagram
from whence.algebra.provenance import Antichain, Supports
from whence.errors import DataError, UnsupportedError

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


def annotate(formula: Formula, semiring: Supports[int] | Bdd) -> Any:
    match formula:
        case bool():
            return semiring.one if formula else semiring.zero
        case int():
            return semiring.variable(formula)
        case ("and", left, right):
            return semiring.times(annotate(left, semiring), annotate(right, semiring))
        case (_, left, right):
            return semiring.plus(annotate(left, semiring), annotate(right, semiring))


def minimal_by_table(formula: Formula) -> Antichain[int]:
    true = [present for present in ASSIGNMENTS if truth(formula, present)]
    return frozenset(present for present in true if not any(other < present for other in true))


def holds(bdd: Bdd, diagram: Diagram, present: frozenset[int], variables: Iterable[int] = VARIABLES) -> bool:
    return bdd.probability(diagram, {variable: float(variable in present) for variable in variables}) == 1.0


def node_count(diagram: Diagram) -> int:
    """Inner nodes; the constant is not counted."""
    return diagram.function.node_count() - 1


@given(FORMULAS, st.permutations(VARIABLES))
def test_both_forms_agree_with_the_truth_table(formula: Formula, order: list[int]) -> None:
    supports: Supports[int] = Supports()
    bdd = Bdd(order)
    spelled, drawn = annotate(formula, supports), annotate(formula, bdd)
    for present in ASSIGNMENTS:
        is_there = any(support <= present for support in spelled)
        assert is_there == holds(bdd, drawn, present) == truth(formula, present)
    assert spelled == minimal_by_table(formula)
    assert (spelled == supports.zero) == (drawn is bdd.zero)


@given(FORMULAS, FORMULAS)
def test_equal_expressions_are_the_same_annotation(one: Formula, other: Formula) -> None:
    supports: Supports[int] = Supports()
    bdd = Bdd()
    equal = all(truth(one, present) == truth(other, present) for present in ASSIGNMENTS)
    assert (annotate(one, supports) == annotate(other, supports)) == equal
    assert (annotate(one, bdd) is annotate(other, bdd)) == equal


@given(FORMULAS, st.sets(st.integers(0, 7)))
def test_a_delete_makes_variables_false(formula: Formula, deleted: set[int]) -> None:
    supports: Supports[int] = Supports()
    left = supports.without(annotate(formula, supports), deleted)
    for present in ASSIGNMENTS:
        assert any(support <= present for support in left) == truth(formula, present - deleted)


@given(FORMULAS, st.lists(st.floats(0, 1), min_size=len(VARIABLES), max_size=len(VARIABLES)))
def test_probability_sums_the_truth_table(formula: Formula, chances: list[float]) -> None:
    bdd = Bdd()
    expected = 0.0
    for present in ASSIGNMENTS:
        if truth(formula, present):
            weights = [chance if variable in present else 1 - chance for variable, chance in enumerate(chances)]
            expected += prod(weights)
    assert bdd.probability(annotate(formula, bdd), dict(enumerate(chances))) == pytest.approx(expected)


def test_probabilities_are_checked() -> None:
    bdd = Bdd()
    both = bdd.times(bdd.variable(7), bdd.variable(8))
    with pytest.raises(DataError, match="base tuple 8 has no probability"):
        bdd.probability(both, {7: 0.5})
    with pytest.raises(DataError, match=r"the probability of base tuple 8 is 1\.5"):
        bdd.probability(both, {7: 0.5, 8: 1.5})


def pairs(bdd: Bdd, number: int) -> Diagram:
    """x0·y0 + x1·y1 + ..., which is small when each x is next to its y, and exponential when all x come first."""
    total = bdd.zero
    for i in range(number):
        total = bdd.plus(total, bdd.times(bdd.variable(i), bdd.variable(number + i)))
    return total


def test_diagrams_move_to_a_larger_manager() -> None:
    bdd = Bdd(range(20), capacity=1)
    kept = bdd.times(bdd.variable(3), bdd.variable(17))
    total = pairs(bdd, 10)
    assert node_count(total) == 2 * (2**10 - 1)
    assert bdd.times(bdd.variable(17), bdd.variable(3)) is kept
    assert holds(bdd, total, frozenset({4, 14}), range(20)) and not holds(bdd, total, frozenset({4, 15}), range(20))


def test_garbage_makes_room_before_the_manager_grows() -> None:
    bdd = Bdd(capacity=256, most_nodes=256)
    for i in range(100):
        assert node_count(pairs(bdd, 2 + i % 3)) > 0


def test_diagrams_that_are_too_large_are_refused_and_the_others_stay() -> None:
    bdd = Bdd(range(40), capacity=64, most_nodes=512)
    kept = pairs(bdd, 3)
    with pytest.raises(UnsupportedError, match="more than 512 diagram nodes") as caught:
        pairs(bdd, 20)
    assert "depth-first" in str(caught.value)
    # An error that somebody holds has the diagrams of the frames that it came through.
    del caught
    gc.collect()
    assert holds(bdd, kept, frozenset({1, 4}), range(6)) and pairs(bdd, 3) is kept


def test_more_variables_than_the_stack_bears_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bdd_module, "MOST_VARIABLES", 3)
    bdd = Bdd(range(3))
    with pytest.raises(UnsupportedError, match="at most 3 base rows"):
        bdd.variable(3)
    assert bdd.variable(2) is bdd.variable(2)


def test_the_longest_derivation_that_is_allowed() -> None:
    # In a process of its own, because a stack that is too small cannot be caught.
    script = """
from whence.algebra.diagrams import MOST_VARIABLES, Bdd
bdd = Bdd(range(MOST_VARIABLES), capacity=1 << 18)
whole = half = bdd.one
for i in reversed(range(MOST_VARIABLES)):
    whole = bdd.times(bdd.variable(i), whole)
    half = bdd.times(bdd.variable(i), half) if i % 2 else half
assert bdd.plus(whole, half) is half and bdd.times(whole, half) is whole
assert whole.function.node_count() - 1 == MOST_VARIABLES
assert bdd.probability(whole, dict.fromkeys(range(MOST_VARIABLES), 1.0)) == 1.0
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_too_many_supports_are_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"too many different supports .*\(more than 10,000\)"):
        product_of_sums(Supports[int](), 14)
    assert len(product_of_sums(Supports[int](most=2**14), 14)) == 2**14
    assert node_count(product_of_sums(Bdd(), 14)) == 28


def product_of_sums(semiring: Supports[int] | Bdd, number: int) -> Any:
    """(x0 + y0)(x1 + y1)...: two to the power of `number` supports."""
    product: Any = semiring.one
    plus: Any = semiring.plus
    times: Any = semiring.times
    for i in range(number):
        product = times(product, plus(semiring.variable(2 * i), semiring.variable(2 * i + 1)))
    return product


def test_oxidd_is_loaded_only_when_a_diagram_is_made() -> None:
    script = """
import sys, whence, whence.algebra.diagrams as bdd
assert "oxidd" not in sys.modules
bdd.Bdd()
assert "oxidd" in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)
