"""The machine that drives the local engine drives Spark as well: after every step it agrees with the reference engine.

In one form every state fits the driver; in another nothing stays there: each commit is followed by a compaction,
whatever is looked up is fetched, and recursion follows changes on the cluster, with and without proofs. In the third,
rows are looked up on disk, and in the last one in sorted copies.
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
from whence.database.database import Database
from whence.engines.spark import decoded_segment, sorted_lookups
from whence.engines.spark.pages import DEFAULT_PAGING, Paging, TooLargeError
from whence.engines.spark.recursion import delta_rules
from whence.engines.spark.recursive import RecursivePlan
from whence.model.updates import Commit
from whence.spark import journal
from whence.spark.database import SparkDatabase


class InDriver(Machine):
    session: ClassVar[SparkSession]
    paging: ClassVar[Paging] = DEFAULT_PAGING
    maintenance: ClassVar[str] = "auto"
    smallest: ClassVar[int] = journal.SMALL_OVERLAY
    scanned_first: ClassVar[int] = decoded_segment.SCANNED_FIRST

    def databases(self) -> Mapping[str, Database]:
        self.spark_database = SparkDatabase(self.session, None, self.maintenance, paging=self.paging)
        return {"spark": self.spark_database}

    def act(self, action: Action) -> Commit | None:
        TAKEN["on Spark"] += 1
        return self.twins.act(action)

    def teardown(self) -> None:
        super().teardown()
        self.spark_database.close()


class OnCluster(InDriver):
    paging = Paging(whole=0, delta=3)
    smallest = 0


class Rederiving(OnCluster):
    maintenance = "dred"


class OnDisk(InDriver):
    paging = Paging(whole=0)
    smallest = 4
    scanned_first = 0


class InCopies(OnDisk):
    paging = Paging(whole=0, mapped=0, fetched=0)


@pytest.mark.parametrize(
    ("machine", "share", "steps"),
    [
        (InDriver, 0.02, 30),
        (OnCluster, 0.002, 12),
        (Rederiving, 0.002, 12),
        (OnDisk, 0.004, 20),
        (InCopies, 0.002, 12),
    ],
)
def test_spark_follows(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, machine: type[InDriver], share: float, steps: int
) -> None:
    machine.session = spark
    if issubclass(machine, OnCluster):
        monkeypatch.setattr(RecursivePlan, "try_change", mock.Mock(side_effect=TooLargeError))
        monkeypatch.setattr(delta_rules, "WORTH_FOLLOWING", 1.0)
    with (
        mock.patch.object(journal, "SMALL_OVERLAY", machine.smallest),
        mock.patch.object(decoded_segment, "SCANNED_FIRST", machine.scanned_first),
        mock.patch.object(sorted_lookups, "SCANNED_FIRST", machine.scanned_first),
    ):
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=runs(share, steps),
                stateful_step_count=steps,
                suppress_health_check=list(HealthCheck),
                phases=PHASES,
            ),
        )
