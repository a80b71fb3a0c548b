"""Answers of queries that are taken into tables as a whole, where they are no rows of this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from whence.model.program import ChangeRows
from whence.model.schema import Relation
from whence.model.types import Row
from whence.session.draft import Draft
from whence.session.lifetimes import Clock


class BulkInput(Protocol):
    """Takes the answers of queries into tables as a whole; None for one whose rows have to be looked at one by one."""

    def inserting(self, rows: Mapping[Row, int], relation: Relation, clock: Clock) -> Draft | None:
        """All rows come, with their copies."""

    def removing(self, rows: Mapping[Row, int], relation: Relation, clock: Clock) -> Draft | None:
        """All rows go, with all copies that the table has."""

    def overwriting(self, rows: Mapping[Row, int], relation: Relation, clock: Clock) -> Draft | None:
        """All rows come, and those that are there go if they are not among them."""

    def changing(
        self, rows: Mapping[Row, int], relation: Relation, statement: ChangeRows, clock: Clock
    ) -> Draft | None:
        """Rows take the place of others."""
