"""All states of an engine by name: the rows of tables and views, and what views with aggregates keep beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, KeysView, Mapping, Sequence
from functools import partial, reduce
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
from pyspark.sql import DataFrame, SparkSession

from whence.algebra.deltas import first_to_merge
from whence.engines.spark.decoded_segment import Heap, Points, decoded_table, heaps_of
from whence.engines.spark.fetch import page_question, read_resting, read_rows
from whence.engines.spark.frames import FrameDelta, as_seen, overlaid
from whence.engines.spark.pages import Base, KnownPage, PageQuery, Paging, Segments
from whence.engines.spark.payloads import Codec, CountPayload, Payload, SupportPayload
from whence.engines.spark.state import AnnotatedRows, CountedRows, Present, TieredRows
from whence.engines.spark.state_changes import (
    Appended,
    ChangedColumns,
    ChangedState,
    FrameHome,
    Merged,
    Renewed,
    Replaced,
    Spilled,
    StateChange,
    Stored,
)
from whence.engines.spark.supported import Supported
from whence.engines.spark.types import arrow_frame, column_names, rows_from_arrow
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta

# The kinds of states.
COUNTS, SUPPORTS, GROUPS = "counts", "supports", "groups"

State: TypeAlias = CountedRows | AnnotatedRows[Any]


def readable(state: State, relation: Relation) -> State | Present:
    """A relation as its readers see it. A set that is kept with the number of its derivations reads as a set."""
    return Present(state) if isinstance(state, CountedRows) and relation.distinct else state


class Registry:
    def __init__(self, spark: SparkSession, home: FrameHome, paging: Paging) -> None:
        self._spark = spark
        self._home = home
        self.paging = paging
        self._states: dict[str, State] = {}
        self._codecs: dict[str, Codec[Any]] = {}
        # The bags in which differential rules may take away more than there is.
        self.owing: set[str] = set()
        # The relations that have rules. In a set of these a row may have several derivations, which its count tells.
        self.derived: set[str] = set()
        # The kept frames that bases consist of, and what finds rows in them.
        self._kept: dict[str, list[DataFrame]] = {}
        self._points: dict[str, list[Points]] = {}
        # Overlays in columns, as they were after so many changes.
        self._recent: dict[str, tuple[tuple[int, int], Heap]] = {}

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
        """A new state, unless there is one that was taken over, and which goes on."""
        if name in self._states:
            return self.counted(name)
        self._codecs[name] = Codec(relation, CountPayload(), COUNTS)
        state = self._states[name] = CountedRows(relation, Base(relation.arity, self.paging))
        return state

    def add_supported(self, name: str, relation: Relation) -> Supported:
        self._codecs[name] = Codec(relation, SupportPayload(), SUPPORTS)
        state = self._states[name] = Supported(relation, Base(relation.arity, self.paging), self.paging)
        return state

    def add_known(self, name: str, relation: Relation, payload: Payload[Any]) -> AnnotatedRows[Any]:
        codec = self._codecs[name] = Codec(relation, payload, GROUPS)
        state = self._states[name] = TieredRows(relation, Base(relation.arity, self.paging), codec.decode_log)
        return state

    def adopt(self, other: Registry, names: Iterable[str]) -> None:
        """Take over states from another registry."""
        for name in names:
            self._states[name], self._codecs[name] = other._states[name], other._codecs[name]
            self._kept[name] = other.kept_frames(name)
            self.owing |= other.owing & {name}
            self.derived |= other.derived & {name}
            self._points[name] = other._points.get(name, [])

    def frame(self, name: str) -> DataFrame:
        """The state as a frame: `c0`, `c1`, ... and its payload, each row once."""
        segments = self._states[name].base.segments
        return self.frame_in(self._spark, name, None if segments is None else segments.frame)

    def frame_in(self, spark: SparkSession, name: str, base: DataFrame | None) -> DataFrame:
        """The same for a session which reads the base as this frame."""
        # Several frames can have the same row.
        frames = self.kept_frames(name)
        is_alone = base is not None and len(frames) == 1 and not self._states[name].overlay_size
        if base is not None and is_alone and not self._home.repeats(frames[0]):
            return base
        codec = self._codecs[name]
        return overlaid(codec.relation, base, arrow_frame(spark, self.overlay_table(name)), codec.known)

    def summands(self, name: str) -> list[DataFrame] | None:
        """Frames of rows that are all there, which together are a bag; None if some rows have gone since they came."""
        state = self._states[name]
        if not isinstance(state, CountedRows) or state.relation.distinct:
            return None
        counts = [self._home.least_count(frame) for frame in self.kept_frames(name)]
        if any(least is None or least < 0 for least in (*counts, min(state.overlay_rows.values(), default=1))):
            return None
        return self._parts(name)

    def added(self, name: str) -> DataFrame:
        """A state of counts as rows and counts that add up to it: a row can be there several times, or for nothing."""
        parts = self._parts(name) or [arrow_frame(self._spark, self.overlay_table(name))]
        return reduce(DataFrame.unionByName, parts)

    def _parts(self, name: str) -> list[DataFrame]:
        state = self._states[name]
        parts = [] if state.base.segments is None else [state.base.segments.frame]
        return [*parts, arrow_frame(self._spark, self.overlay_table(name))] if state.overlay_size else parts

    def added_up_later(self, name: str) -> DataFrame:
        """A state of counts as a frame in which a row can be several times, with counts that may be negative."""
        segments = self._states[name].base.segments
        if segments is not None and not self._states[name].overlay_size:
            return segments.frame
        overlay = arrow_frame(self._spark, self.overlay_table(name))
        return overlay if segments is None else segments.frame.unionByName(overlay)

    def overlay_table(self, name: str) -> pa.Table:
        """What lies over a base, each row once."""
        state, codec = self._states[name], self._codecs[name]
        overlay = codec.encode(state.overlay_rows).cast(codec.schema)
        tiers = state.tiers if isinstance(state, TieredRows) else []
        return (
            latest(pa.concat_tables([*(tier.table() for tier in tiers), overlay]), codec.relation) if tiers else overlay
        )

    def recent(self, name: str) -> list[Heap]:
        """What lies over a base, as columns in which rows are found, the newest last."""
        state = self._states[name]
        tiers = state.tiers if isinstance(state, TieredRows) else []
        if not state.overlay_rows:
            return [*tiers]
        known = self._recent.get(name)
        if known is None or known[0] != (id(state), state.stamp):
            table = self._codecs[name].encode(state.overlay_rows).cast(self._codecs[name].schema)
            known = self._recent[name] = (id(state), state.stamp), decoded_table(table, None)
        return [*tiers, known[1]]

    def known_sum(self, name: str, first: int) -> pa.Table | None:
        """What the kept frames of counts from the `first` one on add up to, if all of them are known here."""
        codec = self._codecs[name]
        heaps = [points.known_heap for points in self._points[name][first:]]
        known = [heap for heap in heaps if heap is not None]
        if (
            codec.kind != COUNTS
            or len(known) < len(heaps)
            or any(pa.types.is_nested(field.type) for field in codec.schema)
        ):
            return None
        names = column_names(codec.relation.arity)
        rows = pa.concat_tables([heap.table() for heap in known]).group_by(names).aggregate([("n", "sum")])
        rows = rows.rename_columns([*names, "n"]).select(codec.schema.names)
        return rows.filter(compute.not_equal(rows.column("n"), 0)).cast(codec.schema)

    def put_together(self, name: str, parts: Sequence[pa.Table]) -> pa.Table:
        """What a base and what lies over it say of some rows, the newest last."""
        codec = self._codecs[name]
        together = pa.concat_tables(parts)
        if codec.kind == COUNTS:
            return together
        if sum(part.num_rows > 0 for part in parts) > 1:
            together = latest(together, codec.relation)
        return together.filter(together.column(codec.known).is_valid())

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
            base, relation, most = state.base, state.relation, self.paging.rows
            questions += [page_question(self._spark, base, wanted, relation, most) for wanted in base.wanted()]
            if isinstance(state, Supported):
                questions += state.support_questions(self._spark)
        return questions

    def forget(self) -> None:
        """A commit is over, and what it paged in goes."""
        for state in self._states.values():
            state.base.forget()
            if isinstance(state, Supported | TieredRows):
                state.forget()

    def tidy(self) -> None:
        """Nothing has changed, so that what was paged in is still right; but it must leave room for more."""
        for state in self._states.values():
            if state.base.is_half_full:
                state.base.forget()
            if isinstance(state, Supported | TieredRows):
                state.forget()

    def change(self, name: str, change: StateChange) -> None:
        """Let a state change. This cannot fail."""
        state = self._states[name]
        match change:
            case ChangedState(rows=rows):
                state.change(rows)
            case ChangedColumns(table=table):
                assert isinstance(state, TieredRows)
                schema = self._codecs[name].schema
                overlay = self._codecs[name].encode(state.overlay_rows).cast(schema)
                state.put_over(overlay, table.cast(schema), self._home.scratch)
                self._merge_tiers(name, state)
            case Appended(frame=frame, rows=count, table=table):
                self._append(name, frame, count, table)
            case Spilled(frame=frame, table=table):
                assert isinstance(state, CountedRows)
                self._append(name, frame, table.num_rows, table)
                state.clear_overlay()
            case Merged(first=first, frame=frame, rows=count, table=table):
                self._kept[name] = [*self._kept[name][:first], frame]
                self._points[name] = [*self._points[name][:first], self._points_of(name, frame, table)]
                total = sum(self._home.rows(each) for each in self._kept[name][:first]) + count
                state.base.stand_on(self._segments(name, total))
            case Replaced(frame=frame, rows=count):
                self._kept[name] = [frame]
                self._points[name] = [self._points_of(name, frame)]
                state.replace(self._segments(name, count))
            case Renewed(frames=frames, overlay=overlay):
                self._kept[name] = [*frames]
                self._points[name] = [self._points_of(name, frame) for frame in frames]
                state.replace(self._segments(name, sum(map(self._home.rows, frames))) if frames else None)
                state.change(overlay)

    def reversal(self, name: str, change: StateChange) -> Callable[[], None]:
        """What takes a change back that a state is going to make. This cannot fail either."""
        state = self._states[name]
        match change:
            case ChangedState(rows=rows):
                return state.reversal(rows)
            case ChangedColumns():
                assert isinstance(state, TieredRows)
                return partial(state.take_back_tiers, [*state.tiers], dict(state.overlay))
            case Merged() | Spilled():
                raise AssertionError("what is compacted is the same as before")
            case Appended():
                return partial(self._take_back_frame, name, state.base.segments)
            case Replaced() | Renewed():
                tiers = [*state.tiers] if isinstance(state, TieredRows) else []
                return partial(_put_back, state, state.base.segments, state.overlay_rows, tiers)

    def restore(self, name: str, stored: Stored) -> None:
        """Fill an empty state with what was stored."""
        for frame, rows in stored.frames:
            self.change(name, Appended(frame, rows))
        state: Any = self._states[name]
        if stored.log is not None and isinstance(state, TieredRows) and stored.log.num_rows > self.paging.columns:
            self.change(name, ChangedColumns(latest(stored.log, state.relation)))
        elif stored.log is not None:
            for row, known in self._codecs[name].decode_log(stored.log):
                state.change({row: known})

    def _append(self, name: str, frame: DataFrame, rows: int, table: pa.Table | None) -> None:
        self._kept[name] = [*self.kept_frames(name), frame]
        self._points[name] = [*self._points.get(name, []), self._points_of(name, frame, table)]
        base = self._states[name].base
        base.stand_on(self._segments(name, rows + len(base)))

    def _segments(self, name: str, rows: int) -> Segments[Any]:
        """What all kept frames have, which are so many rows."""
        codec = self._codecs[name]
        is_counted = isinstance(self._states[name], CountedRows)
        read = partial(read_rows, self._points[name], codec.relation)
        resting = partial(read_resting, self._points[name], codec.relation)
        heaps = partial(heaps_of, self._points[name])
        return Segments(
            self._kept[name],
            [column.name for column in codec.columns],
            rows,
            codec.decode,
            add_up=is_counted,
            read=read,
            read_resting=resting,
            heaps=heaps,
        )

    def _points_of(self, name: str, frame: DataFrame, table: pa.Table | None = None) -> Points:
        codec = self._codecs[name]
        return self._home.points(frame, codec, self.paging, None if table is None else table.cast(codec.schema))

    def take_read_bytes(self) -> int:
        """What was read of files without a job since this was last asked."""
        return sum(points.take_read_bytes() for parts in self._points.values() for points in parts)

    def put_down(self, name: str) -> None:
        """Let what lies over the tiers of a state in memory be another tier."""
        state = self._states[name]
        assert isinstance(state, TieredRows)
        codec = self._codecs[name]
        state.put_over(codec.encode(state.overlay_rows).cast(codec.schema), None, self._home.scratch)
        self._merge_tiers(name, state)

    def _merge_tiers(self, name: str, state: TieredRows[Any]) -> None:
        """Few tiers, of which each is large against those over it."""
        first = first_to_merge([len(tier) for tier in state.tiers])
        below, merged = state.tiers[:first], state.tiers[first:]
        if len(merged) > 1:
            table = latest(pa.concat_tables([tier.table() for tier in merged]), self._codecs[name].relation)
            state.tiers = [*below, decoded_table(table, self._home.scratch)]

    def _take_back_frame(self, name: str, segments: Segments[Any] | None) -> None:
        self._kept[name], self._points[name] = self._kept[name][:-1], self._points[name][:-1]
        self._states[name].base.stand_on(segments)


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


def _put_back(state: State, segments: Segments[Any] | None, overlay: Mapping[Row, Any], tiers: Sequence[Heap]) -> None:
    state.replace(segments)
    if isinstance(state, TieredRows):
        state.take_back_tiers(tiers, overlay)
    else:
        state.change(overlay)


def latest(table: pa.Table, relation: Relation) -> pa.Table:
    """The last that a table says of each row of a relation."""
    names = column_names(relation.arity)
    if not names:
        return table.slice(max(0, table.num_rows - 1))
    if any(pa.types.is_nested(table.schema.field(name).type) for name in names):
        # Arrow cannot tell such rows apart.
        known = {row: place for place, row in enumerate(rows_from_arrow(table, relation))}
        return table.take(pa.array(list(known.values()), pa.int64()))
    places = pa.array(np.arange(table.num_rows))
    last = table.select(names).append_column("at", places).group_by(names).aggregate([("at", "max")]).column("at_max")
    return table.take(last) if len(last) < table.num_rows else table
