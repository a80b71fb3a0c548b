"""Random programs, partitions, delays and changes: whatever the nodes do, they have the reference engine's rows."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engines.local.counting_programs import Generator, random_delta
from tests.engines.local.recursive_programs import FUNCTIONS, random_program, random_update
from tests.lab.network.twins import Twins, random_partition
from whence.analysis.limits import RecursionLimits
from whence.lab.network.options import FORMS, ORDERS, PROVENANCE, SHIP, Options
from whence.lab.network.wire import Links

LIMITS = RecursionLimits(rounds=40, rows=400)
NODES = st.sampled_from([1, 2, 3, 7, None])
SEEDS = st.integers(0, 2**32 - 1)
SLOW = settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@pytest.mark.parametrize("ship", SHIP)
@pytest.mark.parametrize(("provenance", "form"), [*((each, FORMS[0]) for each in PROVENANCE), ("absorption", FORMS[1])])
@SLOW
@given(seed=SEEDS, nodes=NODES, delay=st.sampled_from([0, 3, 9]), window=st.sampled_from([1, 4, 100]))
def test_recursive_programs(
    provenance: str, form: str, ship: str, seed: int, nodes: int | None, delay: int, window: int
) -> None:
    chance = Random(seed)
    order = chance.choice(ORDERS)
    _, analysis = random_program(seed)
    options = Options(nodes, provenance, ship, form, order, window, random_partition(chance, analysis))
    twins = Twins(analysis, options, Links(delay, seed), FUNCTIONS, LIMITS)
    for _ in range(8):
        twins.apply(random_update(chance, twins.base, chance.choice((1, 3, 8)), 5))


@settings(SLOW, max_examples=40)
@given(seed=SEEDS, nodes=NODES, delay=st.sampled_from([0, 3, 9]))
def test_programs_without_recursion(seed: int, nodes: int | None, delay: int) -> None:
    chance = Random(seed)
    analysis = Generator(chance).program()
    options = Options(nodes, partition=random_partition(chance, analysis))
    twins = Twins(analysis, options, Links(delay, seed))
    for _ in range(8):
        names = chance.sample(sorted(twins.base), chance.randint(1, len(twins.base)))
        deltas = {name: random_delta(chance, analysis.relations[name], twins.base[name]) for name in names}
        twins.apply({name: delta for name, delta in deltas.items() if delta})
