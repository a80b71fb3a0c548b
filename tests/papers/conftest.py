"""The recursive queries that whence began with, each in SQL and in Datalog, against plain Python.

They are those of section 2 of "Recursive Computation of Regions and Connectivity in Networks" and of section 3.1 of
the dissertation that contains it. A path is the text `a.b.c` in SQL and the array `[a, b, c]` in Datalog, as it is
printed there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

import whence

HERE = Path(__file__).parent

Row: TypeAlias = tuple[object, ...]
Views: TypeAlias = Mapping[str, Collection[Row]]
Both: TypeAlias = tuple[whence.Database, whence.Database]


def distance(here: Sequence[float], there: Sequence[float]) -> float:
    return math.dist(here, there)


@contextmanager
def open_databases(program: str, max_rounds: int = 1000) -> Iterator[Both]:
    """The program in SQL and in Datalog, without data."""
    with whence.connect(max_rounds=max_rounds) as sql, whence.connect(max_rounds=max_rounds) as datalog:
        for database in (sql, datalog):
            database.function("distance", distance, returns="DOUBLE")
        sql.execute((HERE / f"{program}.sql").read_text(), name=f"{program}.sql")
        datalog.rules((HERE / f"{program}.dl").read_text(), name=f"{program}.dl")
        yield sql, datalog


def assert_views(both: Both, expected: Views) -> None:
    for view, rows in expected.items():
        answers = [{spelled(row) for row in database.rows(view)} for database in both]
        assert answers == [set(rows), set(rows)], view


def spelled(row: Row) -> Row:
    """The row with its paths as text."""
    return tuple(".".join(value) if isinstance(value, tuple) else value for value in row)


@pytest.fixture(scope="session")
def databases() -> Callable[..., AbstractContextManager[Both]]:
    return open_databases


@pytest.fixture(scope="session")
def check() -> Callable[..., None]:
    """Both languages answer as `answer` does: without data, with all of it, and when every second row is gone.

    `answer` takes the rows of the tables and gives those of the views.
    """

    def check(program: str, answer: Callable[..., Views], tables: Mapping[str, Collection[Row]]) -> None:
        stays = {name: sorted(rows)[::2] for name, rows in tables.items()}
        goes = {name: sorted(rows)[1::2] for name, rows in tables.items()}
        with open_databases(program) as both:
            assert_views(both, answer(*[()] * len(tables)))
            for database in both:
                for name, rows in tables.items():
                    database.insert(name, rows)
            assert_views(both, answer(*tables.values()))
            for database in both:
                with database.batch() as batch:
                    for name, rows in goes.items():
                        batch.delete(name, rows)
            assert_views(both, answer(*stays.values()))

    return check
