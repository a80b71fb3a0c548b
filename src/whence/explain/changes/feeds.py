"""What the change feeds say about one row, and about one commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whence.engines.local.engine import reads
from whence.explain.explain import components_below
from whence.model.types import Row
from whence.model.updates import Delta
from whence.session.history import Entry, ForgottenError
from whence.session.session import Session


@dataclass(frozen=True)
class Kept:
    """The changes of a relation that are kept, oldest first: those after version `since`."""

    since: int
    entries: Sequence[Entry]


def kept(session: Session, name: str) -> Kept:
    try:
        return Kept(0, session.history.since(name, 0))
    except ForgottenError as error:
        return Kept(error.dropped, session.history.since(name, error.dropped))


def change_in(session: Session, name: str, version: int) -> Delta:
    """What a commit changed in a relation."""
    entries = session.history.since(name, version - 1)
    return entries[0].delta if entries and entries[0].version == version else {}


def change_after(session: Session, name: str, version: int) -> dict[Row, int]:
    """What all commits after a version changed in a relation, together."""
    total: dict[Row, int] = {}
    for entry in session.history.since(name, version):
        for row, change in entry.delta.items():
            total[row] = total.get(row, 0) + change
            if not total[row]:
                del total[row]
    return total


def tables_under(session: Session, view: str) -> list[str]:
    """The tables that a view reads, itself or through others; a table is its own."""
    definitions = session.definitions
    if view not in definitions.views:
        return [view]
    read = {name for component in components_below(view, definitions.analysis) for name in reads(component)}
    return [name for name in definitions.visible if name in read and name not in definitions.views]


def added(*deltas: Mapping[str, Delta]) -> dict[str, dict[Row, int]]:
    """Changes of tables one after the other, as one."""
    total: dict[str, dict[Row, int]] = {}
    for each in deltas:
        for name, delta in each.items():
            counts = total.setdefault(name, {})
            for row, change in delta.items():
                counts[row] = counts.get(row, 0) + change
                if not counts[row]:
                    del counts[row]
    return {name: counts for name, counts in total.items() if counts}


def inverse(deltas: Mapping[str, Delta]) -> dict[str, dict[Row, int]]:
    return {name: {row: -change for row, change in delta.items()} for name, delta in deltas.items()}
