"""The feed of changes as an Arrow table: column by column where a change is kept so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whence.model.schema import Relation
from whence.model.updates import CountedDelta
from whence.session.contents import changes_schema, changes_table
from whence.session.journal import Entry, changes

if TYPE_CHECKING:
    import pyarrow as pa

# Changes of fewer rows are made into rows and back in less time.
FEW_ROWS = 64


def feed_table(relation: Relation, entries: Sequence[Entry]) -> pa.Table:
    """What `changes` tells of the entries, in the same order."""
    pieces: list[pa.Table] = []
    # Entries since the last one in columns.
    by_row: list[Entry] = []
    for entry in entries:
        piece = _in_columns(relation, entry)
        if piece is None:
            by_row.append(entry)
            continue
        if by_row:
            pieces.append(changes_table(relation, changes(relation, by_row)))
            by_row = []
        pieces.append(piece)
    if by_row or not pieces:
        pieces.append(changes_table(relation, changes(relation, by_row)))
    if len(pieces) == 1:
        return pieces[0]
    import pyarrow as pa

    return pa.concat_tables(pieces).combine_chunks()


def _in_columns(relation: Relation, entry: Entry) -> pa.Table | None:
    """The changes of an entry; None where they have to be told row by row."""
    delta = entry.delta
    if not isinstance(delta, CountedDelta) or len(delta) < FEW_ROWS:
        return None
    # A row that goes and one that comes may be the two images of an update.
    if relation.key and all(delta.totals):
        return None
    # Small changes need neither numpy nor Arrow's functions.
    import numpy as np
    import pyarrow as pa

    from whence.columns.delta import sorted_change

    found = sorted_change(delta)
    if found is None:
        return None
    gone, came = np.flatnonzero(found.weights < 0), np.flatnonzero(found.weights > 0)
    deletes, inserts = np.repeat(gone, -found.weights[gone]), np.repeat(came, found.weights[came])
    places = pa.array(np.concatenate([deletes, inserts]))
    is_whole = not all(delta.totals) and len(places) == len(delta)
    schema = changes_schema(relation)
    kinds = pa.concat_arrays([pa.repeat("delete", len(deletes)), pa.repeat("insert", len(inserts))])
    stamps = [pa.scalar(entry.version, schema[-2].type), pa.scalar(entry.timestamp, schema[-1].type)]
    rows = found.arrays if is_whole else [array.take(places) for array in found.arrays]
    return pa.Table.from_arrays([*rows, kinds, *(pa.repeat(each, len(places)) for each in stamps)], schema=schema)
