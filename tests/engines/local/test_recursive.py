"""Every strategy for recursive components against the reference engine, on random programs and changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from tests.engines.local.recursive_driver import Driver
from tests.engines.local.recursive_programs import FUNCTIONS, random_program, random_update
from whence.analysis.components import Component
from whence.analysis.limits import RecursionLimits
from whence.engines.local.forest import maintainer
from whence.engines.local.forest.forests import forest_for, over_deleting_forest_for
from whence.engines.local.forest.values import NotCompiledError
from whence.engines.local.split_forest import split_forest_for
from whence.errors import ConvergenceError, EvaluationError
from whence.incremental.maintainer import Maintainer
from whence.incremental.recursive.absorption import Absorption
from whence.incremental.recursive.dred import DRed
from whence.incremental.recursive.recompute import Recompute
from whence.lab.strategies import EagerAbsorption, Relative

LIMITS = RecursionLimits(rounds=40, rows=400)
PROGRAMS = 120
STEPS = 12
BLOCK = 20


def compiled(component: Component, *parts: Any) -> Maintainer:
    make: Callable[..., Maintainer] = forest_for
    if any(len(rule.aggregates) > 1 for rule in component.rules):
        make = split_forest_for
    try:
        return make(component, *parts, Absorption)
    except NotCompiledError:
        return Absorption(component, *parts)


def compiled_dred(*parts: Any) -> Maintainer:
    make: Callable[..., Maintainer] = over_deleting_forest_for
    try:
        return make(*parts, DRed)
    except NotCompiledError:
        return DRed(*parts)


def play(seed: int, strategies: Sequence[Callable[..., Maintainer]], size: int) -> None:
    """Random changes to a random program, over tables of this size."""
    rng = Random(seed)
    text, analysis = random_program(seed)
    try:
        driver = Driver(analysis, FUNCTIONS, LIMITS, strategies)
        for _ in range(STEPS):
            update = random_update(rng, driver.base, rng.choice((1, 3, 8)), size)
            try:
                driver.apply(update, rehearse=rng.random() < 0.2)
            except ConvergenceError:
                errors = driver.fails(update)
                assert len(errors) == len(driver.maintained)
                assert all(isinstance(error, ConvergenceError) and error.span is not None for error in errors)
            except EvaluationError:
                # Of values on the way to a better one, only the reference engine sees every one.
                driver.fails(update)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}:\n{text}") from error


@pytest.mark.parametrize("first", range(0, PROGRAMS, BLOCK))
def test_random_programs(first: int) -> None:
    for seed in range(first, first + BLOCK):
        play(seed, [Absorption, DRed, Relative, Recompute], 14)


@pytest.mark.parametrize("is_rebuilt", [False, True])
@pytest.mark.parametrize("first", range(PROGRAMS, PROGRAMS + 80, BLOCK))
def test_compiled_programs(first: int, is_rebuilt: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Followed as far as it goes, or grown again wherever anything dies."""
    if is_rebuilt:
        monkeypatch.setattr(maintainer, "_WORTH_REBUILDING", 0)
        monkeypatch.setattr(maintainer, "_PARTS_THAT_GO", ((0, 0),))
    for seed in range(first, first + BLOCK // 2):
        play(seed, [compiled, compiled_dred], 14)


@pytest.mark.parametrize("first", range(0, PROGRAMS, BLOCK))
def test_exact_provenance_of_small_tables(first: int) -> None:
    for seed in range(first, first + BLOCK):
        play(seed, [EagerAbsorption], 3)
