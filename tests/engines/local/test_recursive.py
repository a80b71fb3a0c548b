"""Every strategy for recursive components against the reference engine, on random programs and changes."""

from __future__ import annotations

from random import Random

import pytest

from tests.engines.local.recursive_driver import Driver
from tests.engines.local.recursive_programs import FUNCTIONS, random_program, random_update
from whence.engines.reference.fixpoint import Limits
from whence.errors import ConvergenceError, EvaluationError

LIMITS = Limits(rounds=40, rows=400)
PROGRAMS = 200
STEPS = 12
BLOCK = 20


def play(seed: int, steps: int = STEPS) -> str:
    """Random changes to a random program; what the strategies said they could not do."""
    rng = Random(seed)
    text, analysis = random_program(seed)
    try:
        driver = Driver(analysis, FUNCTIONS, LIMITS)
        for _ in range(steps):
            update = random_update(rng, driver.base, rng.choice((1, 3, 8)))
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
    return text


@pytest.mark.parametrize("first", range(0, PROGRAMS, BLOCK))
def test_random_programs(first: int) -> None:
    for seed in range(first, first + BLOCK):
        play(seed)
