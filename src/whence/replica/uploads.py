"""A folder in which sites leave what they know as Parquet files, for a cloud site on Spark to take in.

Below it, each shared table has a folder with its rows, their causal lengths and last updates; `base_rows` has those of
rows that supports mention, whatever their table; and each view that is told has one with supports: sets of base rows
each of which is enough for a row. A file has its name when it is complete, and files may come twice, late and in any
order: of lengths the greatest counts, and supports are united.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from whence.errors import DataError, UnsupportedError
from whence.model.schema import Column
from whence.model.types import Row, Value
from whence.replica.knowledge import Key, Length
from whence.replica.membership import Peer
from whence.replica.provenance import changed_heads, supports_of
from whence.replica.rows import Id, columns_of, difference, schema_of

if TYPE_CHECKING:
    from whence.replica.site import Site

BASE_ROWS = "base_rows"
SUPPORTS = "_supports"  # after the name of a view
# Beside the columns of a table, and of a view.
ROW, LENGTH, UPDATE, SITE, NEEDS = "_row", "_length", "_update", "_site", "_needs"
_COLUMNS = "_columns.json"  # Spark leaves out files whose names begin like this


def upload(site: Site, folder: str | os.PathLike[str], views: Sequence[str] = ()) -> int:
    """Leave what is new since the last time: all rows of shared tables, and the supports of these views.

    Returns the number of pieces. Deleted rows are remembered until they have been left here.
    """
    root = Path(folder)
    with site.telling(views) as augmented:
        knowledge = augmented.knowledge
        for name, text in augmented.shared.items():
            check_columns(root / name, text.relation.columns, site.name)
        peer = site.membership.peers.setdefault(f"files in {root}", Peer(""))
        told = ("shared tables", *views)
        since = peer.acked if peer.follows == told else 0
        changed = [key for key, _ in knowledge.since(since)]
        lengths = [knowledge.lengths[key] for key in changed if isinstance(key, bytes)]
        count = 0
        for name, text in augmented.shared.items():
            found = [each for each in lengths if each.space == name]
            count += len(found)
            rows = [text.row(each.text) for each in found]
            _leave(root / name, site.name, [*zip(text.relation.columns, _columns(rows), strict=False)], found)
        for view in views:
            text = site.text_of(view)
            if view in augmented.owned or any(told.without for told in knowledge.told.values()):
                raise UnsupportedError(
                    f"{view!r} rests on an aggregate or on the absence of rows, which supports do not tell",
                    hint="define it at the cloud, over the shared tables",
                )
            check_columns(root / f"{view}{SUPPORTS}", text.relation.columns, site.name)
            # What is known of a row that was followed may come after its derivations.
            starts = [key if isinstance(key, bytes) else key.head for key in changed]
            heads = changed_heads(knowledge, text.space, starts if augmented.followed else _heads(changed))
            count += _leave_supports(root, view, site, heads)
        mentioned = [each for each in lengths if knowledge.mentioning.get(each.id)] if views else []
        _leave(root / BASE_ROWS, site.name, [], mentioned)
        peer.acked, peer.follows, peer.tables = knowledge.number, told, frozenset(augmented.shared)
        peer.spaces = frozenset(site.text_of(view).space for view in views)
        return count


def check_columns(folder: Path, columns: Sequence[Column], site: str) -> None:
    """The first site says which columns a table has; raises where they are others."""
    file = folder / _COLUMNS
    if file.exists():
        told = json.loads(file.read_text())
        theirs = columns_of(told["columns"], f"table {folder.name!r} in {folder.parent}")
        if words := difference(columns, theirs, site, str(told["site"])):
            raise DataError(f"table {folder.name!r} is not the same everywhere: {words}")
    else:
        _write(file, json.dumps({"site": site, "columns": schema_of(columns)}).encode())


def _heads(keys: Iterable[Key]) -> list[Id]:
    return [key.head for key in keys if not isinstance(key, bytes)]


def _leave_supports(root: Path, view: str, site: Site, heads: Iterable[Id]) -> int:
    knowledge, text = site.augmented.knowledge, site.text_of(view)
    found = supports_of(knowledge, heads)
    texts = {derivation.head: told.text for derivation, told in knowledge.told.items() if derivation.head in found}
    rows: list[Row] = []
    needs: list[list[str]] = []
    for head, sets in found.items():
        for each in sets:
            if all(node in knowledge.lengths for node in each):
                rows.append(text.row(texts[head]))
                needs.append(sorted(_named(knowledge.lengths[node]) for node in each))
    if rows:
        import pyarrow as pa

        columns = [*zip(text.relation.columns, _columns(rows), strict=True)]
        arrays = {column.name: column.type.to_arrow(values) for column, values in columns}
        _write_parquet(root / f"{view}{SUPPORTS}", site.name, {**arrays, NEEDS: pa.array(needs, pa.list_(pa.string()))})
    return len(rows)


def _named(length: Length) -> str:
    """A base row, by its table and what is in it: what its id is derived from."""
    return f"{length.space}{length.text}"


def _columns(rows: Sequence[Row]) -> list[list[Value]]:
    return [list(each) for each in zip(*rows, strict=True)]


def _leave(folder: Path, site: str, columns: Sequence[tuple[Column, list[Value]]], lengths: Sequence[Length]) -> None:
    if not lengths:
        return
    import pyarrow as pa

    arrays = {column.name: column.type.to_arrow(values) for column, values in columns}
    arrays[ROW] = pa.array([_named(each) for each in lengths])
    arrays[LENGTH] = pa.array([each.length for each in lengths], pa.int64())
    arrays[UPDATE] = pa.array([each.update for each in lengths], pa.int64())
    arrays[SITE] = pa.array([each.site for each in lengths])
    _write_parquet(folder, site, arrays)


def _write_parquet(folder: Path, site: str, arrays: dict[str, object]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    out = pa.BufferOutputStream()
    parquet.write_table(pa.table(arrays), out)
    _write(folder / f"{site}-{uuid4().hex}.parquet", out.getvalue().to_pybytes())


def _write(file: Path, data: bytes) -> None:
    """Complete or not at all, and on disk."""
    file.parent.mkdir(parents=True, exist_ok=True)
    hidden = file.with_name(f".{uuid4().hex}")
    with hidden.open("wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    hidden.rename(file)
