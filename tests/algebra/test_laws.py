"""Every instance keeps the laws of semirings, and the ones that it claims beyond them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.algebra.causal import PSemiring, deleted, inserted, is_in, is_present, joined
from whence.algebra.diagrams import Bdd
from whence.algebra.provenance import How, Lineage, Supports, Why, minimal
from whence.algebra.semiring import (
    BOOLEAN,
    COUNTS,
    HIGHEST,
    INFINITE,
    KLEENE,
    LOWEST,
    TROPICAL,
    VITERBI,
    Security,
    Semiring,
    Truth,
    require_sound,
)
from whence.errors import EvaluationError, StratificationError

SUPPORTS: Supports[int] = Supports()
P_SEMIRING: PSemiring[int] = PSemiring()
BDD = Bdd()
WHY = Why()
HOW = How()
LINEAGE = Lineage()
SECURITY = Security()

FAMILIES = st.sets(st.frozensets(st.integers(0, 5), max_size=4), max_size=5)


def diagram(family: set[frozenset[int]]) -> Any:
    total = BDD.zero
    for support in sorted(family, key=sorted):
        product = BDD.one
        for variable in sorted(support):
            product = BDD.times(product, BDD.variable(variable))
        total = BDD.plus(total, product)
    return total


def polynomial(family: set[frozenset[int]]) -> Any:
    total = HOW.zero
    for number, monomial in enumerate(sorted(family, key=sorted)):
        product = HOW.plus(HOW.one, HOW.one) if number % 2 else HOW.one
        for variable in sorted(monomial):
            product = HOW.times(product, HOW.variable(variable))
        total = HOW.plus(total, product)
    return total


@dataclass(frozen=True)
class Instance:
    semiring: Semiring[Any]
    elements: st.SearchStrategy[Any]
    idempotent: bool = True
    absorptive: bool = True


INSTANCES = [
    Instance(COUNTS, st.integers(-(10**6), 10**6), idempotent=False, absorptive=False),
    Instance(BOOLEAN, st.booleans()),
    Instance(KLEENE, st.sampled_from(Truth)),
    Instance(TROPICAL, st.integers(0, 10**6) | st.just(INFINITE)),
    Instance(SUPPORTS, FAMILIES.map(minimal)),
    Instance(P_SEMIRING, FAMILIES.map(minimal)),
    Instance(BDD, FAMILIES.map(diagram)),
    Instance(WHY, FAMILIES.map(frozenset), absorptive=False),
    Instance(LINEAGE, st.none() | st.frozensets(st.integers(0, 5), max_size=4), absorptive=False),
    Instance(HOW, FAMILIES.map(polynomial), idempotent=False, absorptive=False),
    # Powers of one half, so that products are exact in any order.
    Instance(VITERBI, st.integers(0, 40).map(lambda power: 0.5**power) | st.just(0.0)),
    Instance(SECURITY, st.integers(0, SECURITY.zero)),
]


def named(instance: Instance) -> str:
    return instance.semiring.name


every_instance = pytest.mark.parametrize("instance", INSTANCES, ids=named)


@every_instance
@given(data=st.data())
def test_the_laws_of_a_commutative_semiring(instance: Instance, data: st.DataObject) -> None:
    plus, times = instance.semiring.plus, instance.semiring.times
    zero, one = instance.semiring.zero, instance.semiring.one
    a, b, c = (data.draw(instance.elements) for _ in range(3))
    assert plus(plus(a, b), c) == plus(a, plus(b, c))
    assert plus(a, b) == plus(b, a)
    assert plus(a, zero) == a
    assert times(times(a, b), c) == times(a, times(b, c))
    assert times(a, b) == times(b, a)
    assert times(a, one) == a
    assert times(a, zero) == zero
    assert times(a, plus(b, c)) == plus(times(a, b), times(a, c))
    assert zero != one


@every_instance
@given(data=st.data())
def test_the_laws_beyond_them(instance: Instance, data: st.DataObject) -> None:
    semiring = instance.semiring
    a, b = data.draw(instance.elements), data.draw(instance.elements)
    if instance.idempotent:
        assert semiring.plus(a, a) == a
    if instance.absorptive:
        assert semiring.plus(a, semiring.times(a, b)) == a
        assert semiring.plus(semiring.one, a) == semiring.one


@every_instance
def test_which_laws_an_instance_has(instance: Instance) -> None:
    semiring = instance.semiring
    assert semiring.absorptive == instance.absorptive
    assert instance.idempotent or not instance.absorptive, "a + a = a + a · 1 = a"
    if not instance.idempotent:
        assert semiring.plus(semiring.one, semiring.one) != semiring.one


EXTREME = st.integers(LOWEST, HIGHEST) | st.sampled_from([LOWEST, LOWEST + 1, -1, 0, 1, 2**31, 2**32, HIGHEST])


@given(EXTREME, EXTREME)
def test_counts_are_exact_or_overflow(a: int, b: int) -> None:
    for exact, operation in [(a + b, COUNTS.plus), (a * b, COUNTS.times)]:
        if LOWEST <= exact <= HIGHEST:
            assert operation(a, b) == exact
        else:
            with pytest.raises(EvaluationError, match="more often than can be counted"):
                operation(a, b)


@given(st.integers(0, INFINITE) | st.just(INFINITE - 1), st.integers(0, INFINITE) | st.just(1))
def test_costs_are_exact_or_overflow(a: int, b: int) -> None:
    if INFINITE in (a, b):
        assert TROPICAL.times(a, b) == INFINITE
    elif a + b < INFINITE:
        assert TROPICAL.times(a, b) == a + b
    else:
        with pytest.raises(EvaluationError, match="too large"):
            TROPICAL.times(a, b)


def test_a_negative_cost_is_refused() -> None:
    with pytest.raises(EvaluationError, match=r"a cost is negative \(-3\)"):
        TROPICAL.times(0, -3)


@every_instance
def test_recursion_is_refused_where_it_has_no_end(instance: Instance) -> None:
    if instance.absorptive:
        require_sound(instance.semiring, ["reachable"])
    else:
        with pytest.raises(StratificationError) as caught:
            require_sound(instance.semiring, ["reachable", "linked"])
        assert caught.value.message == (
            f"{instance.semiring.name} have no value on a cycle, and reachable depends on itself: "
            "reachable <- linked <- reachable"
        )
        assert caught.value.hint is not None


def test_a_long_cycle_is_shown_by_its_beginning() -> None:
    with pytest.raises(StratificationError, match=r"r0 <- r1 <- r2 <- r3 <- r4 <- r5 <- r6 <- \.\.\. <- r0\n"):
        require_sound(COUNTS, [f"r{i}" for i in range(1000)])


@given(*[FAMILIES.map(minimal)] * 3)
def test_a_p_semiring_is_a_distributive_lattice(a: Any, b: Any, c: Any) -> None:
    plus, times, is_within = P_SEMIRING.plus, P_SEMIRING.times, P_SEMIRING.is_within
    assert times(a, a) == a
    assert plus(a, times(b, c)) == times(plus(a, b), plus(a, c))
    assert is_within(P_SEMIRING.zero, times(a, b)) and is_within(times(a, b), a)
    assert is_within(a, plus(a, b)) and is_within(plus(a, b), P_SEMIRING.one)


LENGTHS = st.dictionaries(st.integers(0, 5), st.integers(1, 6))


@given(LENGTHS, LENGTHS, LENGTHS)
def test_causal_lengths_are_a_lattice(a: dict[int, int], b: dict[int, int], c: dict[int, int]) -> None:
    assert joined(a, b) == joined(b, a)
    assert joined(joined(a, b), c) == joined(a, joined(b, c))
    assert joined(a, a) == a == joined(a, {})


@given(st.integers(0, 10**6))
def test_inserts_and_deletes_take_turns(length: int) -> None:
    assert is_present(inserted(length)) and not is_present(deleted(length))
    assert inserted(inserted(length)) == inserted(length) >= length
    assert deleted(deleted(length)) == deleted(length) >= length


@given(FAMILIES.map(minimal), FAMILIES.map(minimal), LENGTHS)
def test_presence_is_a_homomorphism(a: Any, b: Any, lengths: dict[int, int]) -> None:
    assert is_in(P_SEMIRING.plus(a, b), lengths) == (is_in(a, lengths) or is_in(b, lengths))
    assert is_in(P_SEMIRING.times(a, b), lengths) == (is_in(a, lengths) and is_in(b, lengths))
    assert not is_in(P_SEMIRING.zero, lengths) and is_in(P_SEMIRING.one, lengths)


def test_thresholds_are_homomorphisms() -> None:
    """Three truth values are two programs over two, and both together lose nothing."""
    for threshold, left, right in itertools.product((Truth.MAYBE, Truth.TRUE), Truth, Truth):
        one, other = left.reaches(threshold), right.reaches(threshold)
        assert KLEENE.plus(left, right).reaches(threshold) == BOOLEAN.plus(one, other)
        assert KLEENE.times(left, right).reaches(threshold) == BOOLEAN.times(one, other)
        assert KLEENE.zero.reaches(threshold) == BOOLEAN.zero
        assert KLEENE.one.reaches(threshold) == BOOLEAN.one


def test_both_thresholds_tell_a_truth_value() -> None:
    for value in Truth:
        assert Truth.between(sure=value.reaches(Truth.TRUE), possible=value.reaches(Truth.MAYBE)) is value
