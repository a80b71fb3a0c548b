"""Every instance keeps the laws of semirings, and the ones that it claims beyond them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.errors import EvaluationError, StratificationError
from whence.semirings.bdd import Bdd
from whence.semirings.boolean import BOOLEAN
from whence.semirings.counts import COUNTS, HIGHEST, LOWEST
from whence.semirings.handles import Handles
from whence.semirings.kleene import KLEENE, Truth
from whence.semirings.lineage import Lineage
from whence.semirings.polynomials import How
from whence.semirings.security import Security
from whence.semirings.semiring import Laws, Ring, Semiring, require_sound
from whence.semirings.supports import Supports, minimal
from whence.semirings.tropical import INFINITE, TROPICAL
from whence.semirings.viterbi import VITERBI
from whence.semirings.witnesses import Why

SUPPORTS = Supports()
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
    laws: Laws


IDEMPOTENT = Laws(idempotent=True, absorptive=False, negatives=False)
ABSORPTIVE = Laws(idempotent=True, absorptive=True, negatives=False)
INSTANCES = [
    Instance(COUNTS, st.integers(-(10**6), 10**6), Laws(idempotent=False, absorptive=False, negatives=True)),
    Instance(BOOLEAN, st.booleans(), ABSORPTIVE),
    Instance(KLEENE, st.sampled_from(Truth), ABSORPTIVE),
    Instance(TROPICAL, st.integers(0, 10**6) | st.just(INFINITE), ABSORPTIVE),
    Instance(SUPPORTS, FAMILIES.map(minimal), ABSORPTIVE),
    Instance(BDD, FAMILIES.map(diagram), ABSORPTIVE),
    Instance(WHY, FAMILIES.map(frozenset), IDEMPOTENT),
    Instance(LINEAGE, st.none() | st.frozensets(st.integers(0, 5), max_size=4), IDEMPOTENT),
    Instance(HOW, FAMILIES.map(polynomial), Laws(idempotent=False, absorptive=False, negatives=False)),
    # Powers of one half, so that products are exact in any order.
    Instance(VITERBI, st.integers(0, 40).map(lambda power: 0.5**power) | st.just(0.0), ABSORPTIVE),
    Instance(SECURITY, st.integers(0, SECURITY.zero), ABSORPTIVE),
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
    assert instance.semiring.is_zero(a) == (a == zero)
    assert instance.semiring.is_zero(zero) and not instance.semiring.is_zero(one)


@every_instance
@given(data=st.data())
def test_the_laws_that_an_instance_claims(instance: Instance, data: st.DataObject) -> None:
    semiring, laws = instance.semiring, instance.semiring.laws
    a, b = data.draw(instance.elements), data.draw(instance.elements)
    if laws.idempotent:
        assert semiring.plus(a, a) == a
    if laws.absorptive:
        assert semiring.plus(a, semiring.times(a, b)) == a
        assert semiring.plus(semiring.one, a) == semiring.one


@every_instance
def test_which_laws_an_instance_claims(instance: Instance) -> None:
    laws = instance.semiring.laws
    assert laws == instance.laws
    assert laws.idempotent or not laws.absorptive, "a + a = a + a · 1 = a"
    assert not (laws.idempotent and laws.negatives), "a = a + a - a = 0 for every a"


@given(st.integers(LOWEST + 1, HIGHEST))
def test_counts_have_negatives(count: int) -> None:
    ring: Ring[int] = COUNTS
    assert ring.plus(count, ring.negate(count)) == ring.zero
    assert ring.negate_batch(np.array([count])).tolist() == [ring.negate(count)]


@every_instance
@given(data=st.data())
def test_a_batch_is_row_by_row(instance: Instance, data: st.DataObject) -> None:
    semiring = instance.semiring
    rows = data.draw(st.lists(st.tuples(instance.elements, instance.elements), max_size=8))
    left, right = column(semiring, [a for a, _ in rows]), column(semiring, [b for _, b in rows])
    assert semiring.plus_batch(left, right).tolist() == [semiring.handle(semiring.plus(a, b)) for a, b in rows]
    assert semiring.times_batch(left, right).tolist() == [semiring.handle(semiring.times(a, b)) for a, b in rows]
    assert semiring.plus_batch(left, right).dtype == semiring.times_batch(left, right).dtype == np.int64


@every_instance
@given(data=st.data())
def test_equal_annotations_have_equal_handles(instance: Instance, data: st.DataObject) -> None:
    semiring = instance.semiring
    a, b = data.draw(instance.elements), data.draw(instance.elements)
    assert (semiring.handle(a) == semiring.handle(b)) == (a == b)
    assert semiring.value(semiring.handle(a)) == a


def column(semiring: Semiring[Any], annotations: list[Any]) -> Handles:
    return np.array([semiring.handle(annotation) for annotation in annotations], np.int64)


EXTREME = st.integers(LOWEST, HIGHEST) | st.sampled_from([LOWEST, LOWEST + 1, -1, 0, 1, 2**31, 2**32, HIGHEST])


@given(EXTREME, EXTREME)
def test_counts_overflow_alike_one_by_one_and_in_a_batch(a: int, b: int) -> None:
    left, right = np.array([1, a]), np.array([1, b])
    for exact, batch, scalar in [(a + b, COUNTS.plus_batch, COUNTS.plus), (a * b, COUNTS.times_batch, COUNTS.times)]:
        if LOWEST <= exact <= HIGHEST:
            assert scalar(a, b) == exact
            assert batch(left, right).tolist()[1] == exact
        else:
            with pytest.raises(EvaluationError, match="more often than can be counted"):
                scalar(a, b)
            with pytest.raises(EvaluationError, match="more often than can be counted"):
                batch(left, right)


def test_the_lowest_count_has_no_negative() -> None:
    with pytest.raises(EvaluationError, match="more often"):
        COUNTS.negate(LOWEST)
    with pytest.raises(EvaluationError, match="more often"):
        COUNTS.negate_batch(np.array([LOWEST]))


@given(st.integers(0, INFINITE) | st.just(INFINITE - 1), st.integers(0, INFINITE) | st.just(1))
def test_costs_overflow_alike_one_by_one_and_in_a_batch(a: int, b: int) -> None:
    left, right = np.array([1, a]), np.array([1, b])
    if INFINITE in (a, b):
        assert TROPICAL.times(a, b) == TROPICAL.times_batch(left, right)[1] == INFINITE
    elif a + b < INFINITE:
        assert TROPICAL.times(a, b) == TROPICAL.times_batch(left, right)[1] == a + b
    else:
        with pytest.raises(EvaluationError, match="too large"):
            TROPICAL.times(a, b)
        with pytest.raises(EvaluationError, match="too large"):
            TROPICAL.times_batch(left, right)


def test_a_negative_cost_is_refused() -> None:
    with pytest.raises(EvaluationError, match=r"a cost is negative \(-3\)"):
        TROPICAL.times(0, -3)
    with pytest.raises(EvaluationError, match=r"a cost is negative \(-3\)"):
        TROPICAL.times_batch(np.array([0, 1]), np.array([5, -3]))


@every_instance
def test_recursion_is_refused_where_it_has_no_end(instance: Instance) -> None:
    if instance.laws.absorptive:
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
