"""The machine that drives the local engine drives Spark as well: after every step it agrees with the reference engine.

In one form every state fits the driver; in the other nothing stays there: each commit is followed by a compaction, and
whatever is looked up is fetched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from pyspark.sql import SparkSession

from tests.engines.local.machine_actions import Action
from tests.engines.local.machine_steps import PHASES, TAKEN, runs
from tests.engines.local.test_state_machine import Machine
from whence.cluster import journal
from whence.cluster.database import SparkDatabase
from whence.database import Database
from whence.engines.spark.paging import DEFAULT_PAGING, Paging
from whence.model.updates import Commit


class InDriver(Machine):
    session: ClassVar[SparkSession]
    paging: ClassVar[Paging] = DEFAULT_PAGING

    def databases(self) -> Mapping[str, Database]:
        self.spark_database = SparkDatabase(self.session, None, paging=self.paging)
        return {"spark": self.spark_database}

    def act(self, action: Action) -> Commit | None:
        TAKEN["on Spark"] += 1
        return self.twins.act(action)

    def teardown(self) -> None:
        super().teardown()
        self.spark_database.close()


class OnCluster(InDriver):
    paging = Paging(whole=0, delta=3)


@pytest.mark.parametrize(("machine", "share", "steps"), [(InDriver, 0.02, 30), (OnCluster, 0.002, 12)])
def test_spark_follows(spark: SparkSession, machine: type[InDriver], share: float, steps: int) -> None:
    machine.session = spark
    smallest = 0 if machine is OnCluster else journal.SMALL_OVERLAY
    with mock.patch.object(journal, "SMALL_OVERLAY", smallest):
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=runs(share, steps),
                stateful_step_count=steps,
                suppress_health_check=list(HealthCheck),
                phases=PHASES,
            ),
        )
