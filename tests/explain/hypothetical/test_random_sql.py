"""Questions about random SQL programs, with NULL, outer joins, subqueries, aggregates, bags and keys."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeVar

import pytest

import whence
from tests.random.maintenance import Changes
from tests.random.sql_programs import SqlProgram, random_program
from whence.model.types import Row

T = TypeVar("T")

PROGRAMS = 60
CHANGES = 6


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_answers_are_what_happens_then(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Some rows lack what no search finds.
    monkeypatch.setattr("whence.explain.hypothetical.why_not.SECONDS", 0.5)
    play(seed)


def play(seed: int) -> None:
    program = random_program(seed)
    rng = Random(seed)
    db = whence.connect()
    try:
        db.execute(program.script)
    except whence.WhenceError:
        return
    for table in program.tables:
        try:
            db.insert(table.name, table.rows)
        except whence.EvaluationError:
            return
    changes = Changes(rng, program.tables)
    for table in program.tables:
        changes.current[table.name].update(table.rows)
    for _ in range(CHANGES):
        change = changes.change()
        rows, verb = list(change.rows), "insert" if change.insert else "delete"
        before = {view.name: db.table(view.name) for view in program.views}
        answer = said(lambda: db.what_if(**{verb: {change.table.name: rows}}))  # noqa: B023 - called at once
        assert {view.name: db.table(view.name) for view in program.views} == before
        since = db.version
        done = said(lambda: (db.insert if change.insert else db.delete)(change.table.name, rows))  # noqa: B023
        if isinstance(answer, str) or isinstance(done, str):
            assert answer == done
            continue
        changes.applied(change)
        for view in program.views:
            happened = db.changes(view.name, since).drop_columns(["_commit_timestamp"])
            assert answer.table(view.name).drop_columns(["_commit_timestamp"]) == happened
        ask(db, program, rng)


def said(attempt: Callable[[], T]) -> T | str:
    """What comes of it, or what is wrong."""
    try:
        return attempt()
    except whence.WhenceError as error:
        return str(error)


def ask(db: whence.Database, program: SqlProgram, rng: Random) -> None:
    """Rows that are there and rows that are not: what is told about them holds."""
    table = rng.choice(program.tables)
    there = sorted(db.rows(table.name), key=repr)
    if there:
        row = dict(zip(db.table(table.name).column_names, rng.choice(there), strict=True))
        impact = db.impact(table.name, row)
        for view, gone in impact.vanish.items():
            assert set(gone) <= db.rows(view)
    view = rng.choice(program.views).name
    shown = db.table(view)
    rows = sorted(db.rows(view), key=repr)
    if not rows:
        return
    mixed: Row = tuple(rng.choice(rows)[at] for at in range(shown.num_columns))
    asked = dict(zip(shown.column_names, mixed, strict=True))
    if len(asked) < shown.num_columns or mixed in db.rows(view):
        return
    missing = db.why_not(view, asked).missing
    if missing is not None:
        insert: dict[str, list[Row]] = {}
        for name, each in missing:
            insert.setdefault(name, []).append(each)
        assert db.what_if(insert=insert).changes[view][mixed] > 0
