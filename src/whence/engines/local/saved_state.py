"""What the engine keeps in arrays, as JSON with arrays in it: tables in columns, and the state of views.

It is bound to the code that made it, and each view to its rules: what does not fit is built instead.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import whence.columns
import whence.incremental.columnar
from whence.analysis.components import Component
from whence.columns import NotInColumnsError
from whence.engines.engine import SavedState
from whence.engines.local.evidence import ProofForest
from whence.engines.local.propagation import ComponentWork, MaintainedView, apply_to
from whence.incremental.columnar.store import ColumnStore
from whence.incremental.maintainer import Maintainer, SavesState
from whence.incremental.store import Store
from whence.lang.datalog.write import to_datalog
from whence.model.program import Program
from whence.model.schema import Relation
from whence.model.updates import Delta

if TYPE_CHECKING:
    from whence.engines.local.columns import Columns

# What decides how state lies in memory.
_SOURCES = (
    Path(__file__).parent,
    Path(__file__).parent / "forest",
    Path(str(whence.columns.__file__)).parent,
    Path(str(whence.incremental.columnar.__file__)).parent,
)


@cache
def layout() -> str:
    """Tells this version of whence, and machines like this one, from all others."""
    found = sha256(sys.byteorder.encode())
    with suppress(PackageNotFoundError):
        found.update(version("whence").encode())
    for folder in _SOURCES:
        for path in sorted(folder.glob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()


def saved_state(
    columns: Columns | None,
    tables: Mapping[str, Store],
    views: Iterable[tuple[Component, Maintainer]],
    relations: Mapping[str, Relation],
) -> SavedState | None:
    """None if nothing is kept in arrays."""
    in_columns = {name: store for name, store in tables.items() if isinstance(store, ColumnStore)}
    size = sum(store.size for store in in_columns.values())
    saved: list[tuple[str, Mapping[str, Any]]] = []
    try:
        encodings = None if columns is None else columns.encodings.saved()
    except NotInColumnsError:
        # Columns have values that no file can hold.
        return None
    for component, maintainer in views:
        state = _saved_view(maintainer)
        if state is not None:
            saved.append((_definition(component, relations, maintainer), state))
            size += sum(len(maintainer.counts(name)) for name in component.relations)
    found = {name: store.table.saved() for name, store in in_columns.items()}
    return {"encodings": encodings, "tables": list(found.items()), "views": saved, "size": size} if size else None


def _saved_view(maintainer: Maintainer) -> Mapping[str, Any] | None:
    try:
        return maintainer.saved() if isinstance(maintainer, SavesState) else None
    except NotInColumnsError:
        return None


def _definition(component: Component, relations: Mapping[str, Relation], maintainer: Maintainer) -> str:
    """What the state of a component is the state of: its rules, its columns and those below, and who keeps it."""
    names = dict.fromkeys((*component.relations, *component.reads))
    program = Program(tuple(relations[name] for name in names), component.rules)
    return sha256(f"{type(maintainer).__name__}\n{to_datalog(program)}".encode()).hexdigest()


def load_tables(saved: SavedState, stores: Mapping[str, Store]) -> None:
    """The stores are empty. A table that is not among them belongs to nobody any more."""
    for name, state in saved["tables"]:
        store = stores.get(name)
        if isinstance(store, ColumnStore):
            store.table.restore(state)


def loaded(
    view: MaintainedView,
    component: Component,
    relations: Mapping[str, Relation],
    every: Sequence[Mapping[str, Store]],
    saved: SavedState,
) -> tuple[ComponentWork, Mapping[str, Delta]] | None:
    """In place of building a component: its state as it was saved, and its rows in stores for those above it.

    None where that is not possible.
    """
    maintainer, forest = view.maintainer, view.maintainer
    state = dict(saved["views"]).get(_definition(component, relations, maintainer))
    if state is None or not isinstance(maintainer, SavesState) or not maintainer.restore(state):
        return None
    if isinstance(forest, ProofForest):
        read = [name for name in view.relations if any(name in stores for stores in every)]
        apply_to(every, {name: forest.everything(name) for name in read})
    return ComponentWork({}, {}, 0.0), {}
