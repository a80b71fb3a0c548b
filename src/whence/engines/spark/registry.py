"""All states of an engine by name: the rows of tables and views, and what views with aggregates keep beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, KeysView, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from whence.engines.spark.decoded_segment import Points, Reachable
from whence.engines.spark.fetch import page_question, read_resting, read_rows
from whence.engines.spark.frames import FrameDelta, as_seen, overlaid
from whence.engines.spark.pages import Base, KnownPage, PageQuery, Paging, Segments
from whence.engines.spark.payloads import Codec, CountPayload, Payload, SupportPayload
from whence.engines.spark.state import AnnotatedRows, CountedRows, Present
from whence.engines.spark.supported import Supported
from whence.engines.spark.types import arrow_frame
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta

# The kinds of states.
COUNTS, SUPPORTS, GROUPS = "counts", "supports", "groups"

State: TypeAlias = CountedRows | AnnotatedRows[Any]


class FrameHome(Protocol):
    """Where frames are kept for good."""

    def keep(self, name: str, frame: DataFrame) -> DataFrame:
        """The frame, written down, and read from there from now on."""

    def rows(self, frame: DataFrame) -> int:
        """How many rows a kept frame has."""

    def reachable(self, frame: DataFrame, most: int) -> Reachable | None:
        """Where a kept frame is, if that is on this machine and it has no more than so many bytes."""


@dataclass(frozen=True, slots=True)
class ChangedState:
    """What a commit changes in a state, row by row: differences of counts, or what is now known of rows."""

    rows: Mapping[Row, Any]


@dataclass(frozen=True, slots=True)
class Appended:
    """A kept frame of rows and differences of counts, which a base gets beside what it has."""

    frame: DataFrame
    rows: int


@dataclass(frozen=True, slots=True)
class Replaced:
    """A kept frame that is the whole state from now on."""

    frame: DataFrame
    rows: int


@dataclass(frozen=True, slots=True)
class Stored:
    """A state as storage has it: kept frames with the number of their rows, and what has changed since."""

    frames: Sequence[tuple[DataFrame, int]]
    log: pa.Table | None


StateChange: TypeAlias = ChangedState | Appended | Replaced


def readable(state: State, relation: Relation) -> State | Present:
    """A relation as its readers see it. A set that is kept with the number of its derivations reads as a set."""
    return Present(state) if isinstance(state, CountedRows) and relation.distinct else state


class Registry:
    def __init__(self, spark: SparkSession, home: FrameHome, paging: Paging) -> None:
        self._spark = spark
        self._home = home
        self._paging = paging
        self._states: dict[str, State] = {}
        self._codecs: dict[str, Codec[Any]] = {}
        # The kept frames that bases consist of, and what finds rows in them.
        self._kept: dict[str, list[DataFrame]] = {}
        self._points: dict[str, list[Points]] = {}

    def names(self) -> KeysView[str]:
        return self._states.keys()

    def kept_frames(self, name: str) -> list[DataFrame]:
        """The kept frames that a state's base consists of."""
        return self._kept.get(name, [])

    def __contains__(self, name: str) -> bool:
        return name in self._states

    def __getitem__(self, name: str) -> State:
        return self._states[name]

    def counted(self, name: str) -> CountedRows:
        state = self._states[name]
        assert isinstance(state, CountedRows)
        return state

    def codec(self, name: str) -> Codec[Any]:
        return self._codecs[name]

    def add_counted(self, name: str, relation: Relation) -> CountedRows:
        self._codecs[name] = Codec(relation, CountPayload(), COUNTS)
        state = self._states[name] = CountedRows(relation, Base(relation.arity, self._paging))
        return state

    def add_supported(self, name: str, relation: Relation) -> Supported:
        self._codecs[name] = Codec(relation, SupportPayload(), SUPPORTS)
        state = self._states[name] = Supported(relation, Base(relation.arity, self._paging), self._paging)
        return state

    def add_known(self, name: str, relation: Relation, payload: Payload[Any]) -> AnnotatedRows[Any]:
        self._codecs[name] = Codec(relation, payload, GROUPS)
        state = self._states[name] = AnnotatedRows(relation, Base(relation.arity, self._paging))
        return state

    def adopt(self, other: Registry, names: Iterable[str]) -> None:
        """Take over states from another registry."""
        for name in names:
            self._states[name], self._codecs[name] = other._states[name], other._codecs[name]
            self._kept[name] = other.kept_frames(name)
            self._points[name] = other._points.get(name, [])

    def frame(self, name: str) -> DataFrame:
        """The state as a frame: `c0`, `c1`, ... and its payload, each row once."""
        segments = self._states[name].base.segments
        return self.frame_in(self._spark, name, None if segments is None else segments.frame)

    def frame_in(self, spark: SparkSession, name: str, base: DataFrame | None) -> DataFrame:
        """The same for a session which reads the base as this frame."""
        overlay = self._states[name].overlay_rows
        # Several frames can have the same row.
        if base is not None and not overlay and len(self.kept_frames(name)) == 1:
            return base
        codec = self._codecs[name]
        return overlaid(codec.relation, base, arrow_frame(spark, codec.encode(overlay)), codec.known)

    def contents(self, relation: Relation) -> Delta:
        """All that readers see of a relation, as a change from nothing."""
        state = self._states[relation.name]
        if state.base.segments is None:
            return dict(readable(state, relation).counts)
        return FrameDelta(relation, as_seen(self.frame(relation.name), relation), len(state.counts))

    def questions(self, names: Iterable[str]) -> list[PageQuery | KnownPage]:
        """What these states miss."""
        questions: list[PageQuery | KnownPage] = []
        for name in names:
            state = self._states[name]
            base, relation, most = state.base, state.relation, self._paging.rows
            questions += [page_question(self._spark, base, wanted, relation, most) for wanted in base.wanted()]
            if isinstance(state, Supported):
                questions += state.support_questions(self._spark)
        return questions

    def forget(self) -> None:
        """A commit is over, and what it paged in goes."""
        for state in self._states.values():
            state.base.forget()
            if isinstance(state, Supported):
                state.forget()

    def tidy(self) -> None:
        """Nothing has changed, so that what was paged in is still right; but it must leave room for more."""
        for state in self._states.values():
            if state.base.is_half_full:
                state.base.forget()
            if isinstance(state, Supported):
                state.forget()

    def change(self, name: str, change: StateChange) -> None:
        """Let a state change. This cannot fail."""
        state = self._states[name]
        match change:
            case ChangedState(rows=rows):
                state.change(rows)
            case Appended(frame=frame, rows=count):
                former = state.base.segments
                both = frame if former is None else former.frame.unionByName(frame)
                self._kept[name] = [*self.kept_frames(name), frame]
                self._points[name] = [*self._points.get(name, []), self._points_of(name, frame)]
                state.base.stand_on(self._segments(name, both, count + len(state.base)))
            case Replaced(frame=frame, rows=count):
                self._kept[name] = [frame]
                self._points[name] = [self._points_of(name, frame)]
                state.replace(self._segments(name, frame, count))

    def reversal(self, name: str, change: StateChange) -> Callable[[], None]:
        """What takes a change back that a state is going to make. This cannot fail either."""
        state = self._states[name]
        match change:
            case ChangedState(rows=rows):
                return state.reversal(rows)
            case Appended():
                return partial(state.base.stand_on, state.base.segments)
            case Replaced():
                return partial(_put_back, state, state.base.segments, state.overlay_rows)

    def restore(self, name: str, stored: Stored) -> None:
        """Fill an empty state with what was stored."""
        for frame, rows in stored.frames:
            self.change(name, Appended(frame, rows))
        if stored.log is not None:
            state: Any = self._states[name]
            for row, known in self._codecs[name].decode_log(stored.log):
                state.change({row: known})

    def _segments(self, name: str, frame: DataFrame, rows: int) -> Segments[Any]:
        codec = self._codecs[name]
        frame = frame.select([column.name for column in codec.columns])
        is_counted = isinstance(self._states[name], CountedRows)
        read = partial(read_rows, self._points[name], codec.relation)
        resting = partial(read_resting, self._points[name])
        return Segments(frame, rows, codec.decode, add_up=is_counted, read=read, read_resting=resting)

    def _points_of(self, name: str, frame: DataFrame) -> Points:
        columns = self._codecs[name].columns
        schema = pa.schema([(column.name, column.type.arrow()) for column in columns])
        return Points(self._home.reachable(frame, self._paging.mapped), schema)


class RegistryStatistics:
    """What is known without a job: how many rows bases have, as their manifests say, and overlays beside them."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def size(self, relation: str) -> int:
        return len(self._registry[relation].counts)

    def distinct(self, relation: str, columns: tuple[int, ...]) -> int | None:
        """Counted only while all rows are in the driver."""
        state = self._registry[relation]
        if isinstance(state, CountedRows) and state.base.segments is None:
            return state.overlay.distinct(columns)
        return None


def _put_back(state: State, segments: Segments[Any] | None, overlay: Mapping[Row, Any]) -> None:
    state.replace(segments)
    state.change(overlay)
