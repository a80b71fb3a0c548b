"""Columns that come by name, matched with those of a relation."""

from __future__ import annotations

from collections.abc import Sequence

from whence.errors import DataError, did_you_mean
from whence.model.schema import Relation


def column_positions(names: Sequence[str], relation: Relation, place: str) -> list[int]:
    """Where each column of the relation is among `names`, which must be the same columns in any order.

    As in SQL, letter case does not matter. `place` says in an error where the names come from.
    """
    wanted = {column.lower(): column for column in relation.column_names}
    found: dict[str, int] = {}
    for position, name in enumerate(names):
        folded = name.lower()
        if folded not in wanted:
            raise DataError(
                f"{relation.name!r} has no column {name!r}, which is in {place}",
                hint=did_you_mean(name, relation.column_names) or f"it has {listed(relation.column_names)}",
            )
        if folded in found:
            raise DataError(f"column {wanted[folded]!r} comes twice in {place}")
        found[folded] = position
    missing = [column for folded, column in wanted.items() if folded not in found]
    if missing:
        raise DataError(f"{place} lacks {listed(missing)}", hint="give every column; None stands for NULL")
    return [found[folded] for folded in wanted]


def listed(columns: Sequence[str]) -> str:
    """`column 'a'`, `columns 'a', 'b'`, or `no columns`."""
    if not columns:
        return "no columns"
    return f"column{'' if len(columns) == 1 else 's'} {', '.join(map(repr, columns))}"
