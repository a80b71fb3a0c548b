"""`db.why_not`: what a row lacks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whence
from tests.explain.changes.programs import ALL_ROWS, POSITIVE, VALUES, by_table, database, facts, subsets
from whence.model.types import Row

NETWORK = """
.decl link(src: symbol, dst: symbol)
.decl closed(x: symbol)
reachable(x, y) :- link(x, y).
reachable(x, y) :- link(x, z), reachable(z, y).
open(x, y) :- reachable(x, y), !closed(y), x != y.
total(x, count<y>) :- reachable(x, y).
"""


@pytest.fixture
def db() -> whence.Database:
    db = whence.connect()
    db.rules(NETWORK)
    db.insert("link", [("a", "b"), ("b", "c"), ("d", "e")])
    db.insert("closed", [("c",)])
    return db


@settings(max_examples=40)
@given(rows=facts, view=st.sampled_from(POSITIVE), values=st.tuples(st.sampled_from(VALUES), st.sampled_from(VALUES)))
def test_no_smaller_set_produces_the_row(rows: frozenset[tuple[str, Row]], view: str, values: Row) -> None:
    db = database(rows)
    row = values[: len(db.table(view).schema)]
    if row in db.rows(view):
        with pytest.raises(whence.DataError, match="is there"):
            db.why_not(view, row)
        return
    oracle = database(rows, engine="reference")
    # The values of the question and of the rules are known as well.
    known = {value for _, each in rows for value in each} | {*row, "a"}
    absent = [fact for fact in ALL_ROWS if fact not in rows and known.issuperset(fact[1])]
    smallest = next(
        (
            len(each)
            for each in subsets(absent, 3)
            if oracle.what_if(insert=by_table(each)).changes.get(view, {}).get(row, 0) > 0
        ),
        None,
    )
    answer = db.why_not(view, row)
    assert answer.complete
    assert (None if answer.missing is None else len(answer.missing)) == smallest
    for missing in () if answer.missing is None else (answer.missing, *answer.others):
        assert len(missing) == smallest
        assert oracle.what_if(insert=by_table(missing)).changes[view][row] == 1
    assert {name: db.rows(name) for name in ("edge", "mark", view)} == {
        name: oracle.rows(name) for name in ("edge", "mark", view)
    }
