"""How property tests draw their examples: in CI the same ones in every complete run, elsewhere new ones from a printed
seed. And one small Spark for all tests that need it.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A shared machine stalls now and then, and a slow example is no wrong one: there is no deadline.
settings.register_profile("ci", derandomize=True, print_blob=True, deadline=None)
settings.register_profile("local", print_blob=True, deadline=None)
PROFILE = "ci" if os.environ.get("CI") else "local"
settings.load_profile(PROFILE)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # Before Hypothesis reads its options, so that it takes the seed from there.
    if PROFILE == "local" and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(random.randrange(2**32))


def pytest_report_header(config: pytest.Config) -> str:
    if PROFILE == "ci":
        return "property tests: the same examples in every complete run"
    return f"property tests: --hypothesis-seed={config.option.hypothesis_seed}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs Spark comes last, because it takes most of the time."""
    items.sort(key=_needs_spark)


def _needs_spark(item: pytest.Item) -> bool:
    return "spark" in getattr(item, "fixturenames", ()) or not {"cluster", "spark"}.isdisjoint(item.path.parts)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    # Workers run the Python of the tests, and not the first one on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local[2]")
        .appName("whence-tests")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.ansi.enabled", "true")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
