"""How property tests draw their examples: in CI the same ones in every complete run, elsewhere new ones from a printed
seed. And one small Spark for all tests that need it.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests.engines.local import machine_steps
from tests.random import tally

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A shared machine stalls now and then, and a slow example is no wrong one: there is no deadline, nor for making them.
PATIENT: dict[str, Any] = {"print_blob": True, "deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("ci", derandomize=True, **PATIENT)
settings.register_profile("local", **PATIENT)
PROFILE = "ci" if os.environ.get("CI") else "local"

# What is asserted about compiled views holds from the first test on, also in the processes that tests start.
os.environ.setdefault("WHENCE_COMPILE", "wait")
settings.load_profile(PROFILE)


# What looks at the page in Chromium.
BROWSER = {"test_browser"}
# Folders and files of long searches, and of what starts many processes: each layer has quicker tests beside them.
SLOW = {
    "random",
    "network",
    "experiments",
    "tpch",
    "mutants",
    "papers",
    "test_simulation",
    "test_state_machine",
    "test_state_machine_forest",
    "test_counting_random",
    "test_random_changes",
    "test_random_folds",
    "test_recursive",
    "test_recursive_cases",
    "test_nullable_costs",
    "test_forest_functions",
    "test_kill",
    "test_interrupts",
    "test_damage",
    "test_following",
    "test_view_deltas",
    "test_in_columns",
    "test_column_changes",
    "test_reopening",
    "test_values",
    "test_programs",
    "test_attacks",
    "test_patience",
    "test_large",
    "test_bounds",
    "test_serving",
    "test_setup",
    "test_warmup",
    "test_checkpoint",
    "test_engine_state",
    "test_traces",
    "test_dependents",
    "test_impact",
    "test_what_if",
    "test_why_not",
    "test_history",
    "test_random_in_driver",
    "weighing",
    "test_sequences",
    "test_analyze",
    "test_texts",
    "test_round_trip",
    "test_docs",
    "test_garbage",
    "test_keyed_batches",
    "test_shapes",
    "test_windows",
    "test_random_verdicts",
    "test_random_useless",
    "test_xquery",
    "test_collection",
    "test_example",
}


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # Before Hypothesis reads its options, so that it takes the seed from there.
    if PROFILE == "local" and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(random.randrange(2**32))


def pytest_report_header(config: pytest.Config) -> str:
    if PROFILE == "ci":
        return "property tests: the same examples in every complete run"
    return f"property tests: --hypothesis-seed={config.option.hypothesis_seed}"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Of several processes one compiles the kernels; the others, which it starts then, find them."""
    if not hasattr(session.config, "workerinput") and not session.config.option.collectonly:
        from whence.engines.local.warmup import warm_up

        warm_up(lambda line: sys.stderr.write(f"{line}\n"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """What a process of several has counted goes to the one that tells it."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["counted"] = (dict(tally.OUTCOMES), dict(machine_steps.TAKEN))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    outcomes, taken = getattr(node, "workeroutput", {}).get("counted", ({}, {}))
    tally.OUTCOMES.update(outcomes)
    machine_steps.TAKEN.update(taken)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if tally.OUTCOMES:
        terminalreporter.write_line(tally.summary())
    if machine_steps.TAKEN:
        terminalreporter.write_line(machine_steps.summary())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs Spark comes last, because it takes most of the time. `make test-fast` goes by the marks."""
    for item in items:
        if _needs_spark(item):
            item.add_marker(pytest.mark.spark)
        if item.path.stem in BROWSER:
            item.add_marker(pytest.mark.browser)
        if not SLOW.isdisjoint((*item.path.parts, item.path.stem)):
            item.add_marker(pytest.mark.slow)
    items.sort(key=_needs_spark)


def _needs_spark(item: pytest.Item) -> bool:
    return "spark" in getattr(item, "fixturenames", ()) or "spark" in item.path.parts


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    # Workers run the Python of the tests, and not the first one on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local[2]")
        .appName("whence-tests")
        .config("spark.driver.memory", "1g")
        # Most plans run once: to optimise what they are compiled to takes longer than to run it.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.ansi.enabled", "true")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
