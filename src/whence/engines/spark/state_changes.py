"""What a commit changes in the states of an engine, and where frames are kept that hold many rows of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame

from whence.engines.spark.decoded_segment import Points
from whence.engines.spark.pages import Paging
from whence.engines.spark.payloads import Codec
from whence.model.schema import Column, Relation
from whence.model.types import Row


class FrameHome(Protocol):
    """Where frames are kept for good."""

    def keep(self, name: str, frame: DataFrame) -> DataFrame:
        """The frame, written down, and read from there from now on."""

    def rows(self, frame: DataFrame) -> int:
        """How many rows a kept frame has."""

    def keep_table(self, name: str, table: pa.Table) -> DataFrame:
        """The same for rows of this process, which takes no job where the files are on this machine."""

    def points(self, frame: DataFrame, codec: Codec[Any], paging: Paging, known: pa.Table | None) -> Points:
        """What finds rows of a kept frame, which are `known` if they are in this process."""

    def least_count(self, frame: DataFrame) -> int | None:
        """The least number in the column `n` of a kept frame, if that is known."""

    def counts(self, frame: DataFrame) -> tuple[int, int] | None:
        """The least and the greatest number in the column `n` of a kept frame, if they are known."""

    def projected(self, frame: DataFrame, relation: Relation, positions: Sequence[int], *, repeats: bool) -> DataFrame:
        """A kept frame of rows and counts of a relation that are some columns of another's. Nothing is written."""

    def repeats(self, frame: DataFrame) -> bool:
        """Whether a row can be several times in a kept frame, so that its counts have to be added up."""

    @property
    def scratch(self) -> Path | None:
        """A directory on this machine for files that nobody else reads, if there is one."""


@dataclass(frozen=True, slots=True)
class ChangedState:
    """What a commit changes in a state, row by row: differences of counts, or what is now known of rows."""

    rows: Mapping[Row, Any]


@dataclass(frozen=True, slots=True)
class Appended:
    """A kept frame of rows and differences of counts, which a base gets beside what it has.

    `table` has the same rows, where they are in this process.
    """

    frame: DataFrame
    rows: int
    table: pa.Table | None = None


@dataclass(frozen=True, slots=True)
class Spilled:
    """A kept frame of all that lay over a base of counts in memory, which the base gets beside what it has."""

    frame: DataFrame
    table: pa.Table


@dataclass(frozen=True, slots=True)
class ChangedColumns:
    """What is now known of many rows, as columns of a state."""

    table: pa.Table


@dataclass(frozen=True, slots=True)
class Replaced:
    """A kept frame that is the whole state from now on."""

    frame: DataFrame
    rows: int


@dataclass(frozen=True, slots=True)
class Renewed:
    """Kept frames of counts that are the whole state from now on, and what lies over them."""

    frames: Sequence[DataFrame]
    overlay: Mapping[Row, int]


@dataclass(frozen=True, slots=True)
class Merged:
    """A kept frame that has what the kept frames of a base from the `first` one on add up to."""

    first: int
    frame: DataFrame
    rows: int
    table: pa.Table | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """A state as storage has it: its columns, kept frames with the number of their rows, and what has changed since."""

    columns: tuple[Column, ...]
    frames: Sequence[tuple[DataFrame, int]]
    log: pa.Table | None


StateChange: TypeAlias = ChangedState | ChangedColumns | Appended | Spilled | Merged | Replaced | Renewed
