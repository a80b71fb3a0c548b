"""Shapley and Banzhaf values against all orders and all sets, exact probabilities of ladders, costs in fractions."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from decimal import Decimal
from itertools import combinations
from math import factorial

import pytest

import whence

Link = tuple[int, int]
REACH = """.decl link(x: number, y: number)
    reach(x, y) :- link(x, y).
    reach(x, y) :- reach(x, z), link(z, y)."""


def _leads(links: Sequence[Link], start: int, end: int) -> bool:
    met = {start}
    while new := {y for x, y in links if x in met} - met:
        met |= new
    return end in met


@pytest.mark.parametrize("seed", range(6))
def test_values_are_those_of_all_orders_and_sets(seed: int) -> None:
    source = random.Random(seed)
    links = [(x, y) for x in range(4) for y in range(4) if x != y and source.random() < 0.6]
    links = links[:9] if _leads(links[:9], 0, 3) else [*links[:8], (0, 3)]
    links = list(dict.fromkeys(links))
    database = whence.connect()
    database.rules(REACH)
    database.insert("link", links)
    shapley, banzhaf = database.shapley("reach", (0, 3)), database.banzhaf("reach", (0, 3))
    count = len(links)
    for link in links:
        others = [each for each in links if each != link]
        share = sets = 0.0
        for size in range(count):
            for some in combinations(others, size):
                if _leads([*some, link], 0, 3) and not _leads(some, 0, 3):
                    share += factorial(size) * factorial(count - size - 1) / factorial(count)
                    sets += 1 / 2 ** (count - 1)
        assert shapley.get(("link", link), 0.0) == pytest.approx(share, abs=1e-12)
        assert banzhaf.get(("link", link), 0.0) == pytest.approx(sets, abs=1e-12)
    assert sum(shapley.values()) == pytest.approx(1.0)
    rounded = [round(value, 9) for value in shapley.values()]
    assert rounded == sorted(rounded, reverse=True)


def test_aggregates_have_no_such_values() -> None:
    database = whence.connect()
    database.rules(".decl link(x: number, y: number) many(x, count<*>) :- link(x, _).")
    database.insert("link", [(1, 2), (1, 3)])
    with pytest.raises(whence.errors.UnsupportedError, match="contributes"):
        database.shapley("many", (1, 2))


@pytest.mark.parametrize("rule", ["reach(x, z), hop(z, y)", "hop(x, z), reach(z, y)", "reach(x, z), reach(z, y)"])
def test_a_ladder_is_exact(rule: str) -> None:
    database = whence.connect()
    database.rules(
        ".decl link(x: number, y: number) hop(x, y) :- link(x, y). hop(x, y) :- link(y, x)."
        f"reach(x, y) :- hop(x, y). reach(x, y) :- {rule}."
    )
    rungs = 30
    links = [(at, at + 2) for at in range(2 * rungs - 2)] + [(at, at + 1) for at in range(0, 2 * rungs, 2)]
    assert len(links) == 88
    random.Random(5).shuffle(links)
    database.insert("link", links)
    started = time.process_time()
    found = database.probability("reach", (0, 2 * rungs - 1), {"link": 0.9})
    assert found.exact
    assert found.value == pytest.approx(_ladder(rungs, 0.9), abs=1e-12)
    assert time.process_time() - started < 20  # about half a second; this is for machines that do much else


def _ladder(rungs: int, chance: float) -> float:
    """How likely the ends of a ladder are connected, rung by rung: what holds of the two nodes of the last rung."""
    # Connected with the start: the upper one only, the lower one only, both; or neither, but with each other.
    states = {(True, False): 1.0 - chance, (True, True): chance}
    for _ in range(rungs - 1):
        following: dict[tuple[bool, bool], float] = {}
        for (upper, lower), weight in states.items():
            for up in (True, False):
                for low in (True, False):
                    for rung in (True, False):
                        share = weight
                        for there in (up, low, rung):
                            share *= chance if there else 1.0 - chance
                        above, below = upper and up, lower and low
                        if rung:
                            above = below = above or below
                        following[above, below] = following.get((above, below), 0.0) + share
        states = following
    return sum(weight for (_, lower), weight in states.items() if lower)


def test_costs_may_be_fractions() -> None:
    database = whence.connect()
    database.rules(REACH)
    database.insert("link", [(1, 2), (2, 3), (1, 3)])
    costs = {(1, 2): 0.1, (2, 3): Decimal("0.2"), (1, 3): 1}
    assert database.evaluate("reach", "tropical", {"link": costs}, row=(1, 3)) == {(1, 3): 0.3}
    assert database.evaluate("reach", "tropical", {"link": 2}, row=(1, 3)) == {(1, 3): 2}
    for wrong in (-0.5, float("nan"), float("inf"), "1"):
        with pytest.raises(whence.errors.DataError, match="a cost is a number"):
            database.evaluate("reach", "tropical", {"link": wrong}, row=(1, 3))


def test_an_update_is_one_step() -> None:
    database = whence.connect()
    database.execute(
        "CREATE TABLE link(src INT NOT NULL, dst INT NOT NULL, cost INT NOT NULL, PRIMARY KEY (src, dst));"
        "CREATE VIEW cheap AS SELECT src, dst FROM link WHERE cost < 5;"
        "INSERT INTO link VALUES (1, 2, 9), (2, 3, 2); UPDATE link SET cost = 3 WHERE src = 1"
    )
    told = database.why("cheap", (1, 2), version=database.version)
    assert told.updates == {("link", (1, 2, 9)): ("link", (1, 2, 3))}
    assert "  ~ link(1, 2, 9) became link(1, 2, 3)" in str(told).splitlines()
    assert told.json()["updates"] == [{"relation": "link", "before": [1, 2, 9], "after": [1, 2, 3]}]
