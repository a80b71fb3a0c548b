"""The workload of mappings that change: every primitive change, and many at once, give what a new database has."""

from __future__ import annotations

import pyarrow as pa
import pytest

import whence
from whence.database.database import Database
from whence.lab.workloads.exchange import PRIMITIVES, Exchange, ExchangeSize, changed, exchange, source_columns

SIZE = ExchangeSize(views=5, sources=5, rows=60)


def loaded(program: Exchange, names: list[str] | None = None, derivations: str = "counted") -> Database:
    db = whence.connect(derivations=derivations)
    db.execute(program.tables())
    for name, attributes in program.sources.items():
        db.insert(name, pa.table(source_columns(SIZE, name, attributes)))
    db.mappings(program.mappings(names))
    return db


def test_it_is_the_same_for_the_same_seed() -> None:
    assert exchange(SIZE) == exchange(SIZE)
    assert changed(exchange(SIZE), 10, seed=3) == changed(exchange(SIZE), 10, seed=3)
    assert sum(each.percent for each in PRIMITIVES) == 100


@pytest.mark.parametrize("derivations", ["counted", "kept"])
def test_changed_mappings_give_what_new_ones_do(derivations: str) -> None:
    program = exchange(SIZE)
    for count, kinds in [*((1, [kind]) for kind in PRIMITIVES), (8, PRIMITIVES)]:
        new = changed(program, count, 1, kinds)
        names = [name for name in new.views if new.views[name] != program.views.get(name)]
        if not names:
            # In so small a program there is nothing to which this could be done.
            continue
        db = loaded(program, derivations=derivations)
        with db.redefine() as change:
            change.mappings(new.mappings(names))
        fresh = loaded(new)
        for name in new.views:
            assert db.table(name).equals(fresh.table(name)), (name, kinds)
