"""What holds for all programs: the languages agree on the types, and what does not end says so."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeAlias

import pytest

import whence

PROGRAMS = sorted(path.stem for path in Path(__file__).parent.glob("*.sql"))

Databases: TypeAlias = Callable[..., AbstractContextManager[tuple[whence.Database, whence.Database]]]


@pytest.mark.parametrize("program", PROGRAMS)
def test_both_languages_give_a_view_the_same_types(program: str, databases: Databases) -> None:
    with databases(program) as (sql, datalog):
        for name in sql.catalog().views:
            one, other = (database.catalog().relations[name].columns for database in (sql, datalog))
            for ours, theirs in zip(one, other, strict=True):
                assert ours.nullable == theirs.nullable
                assert ours.type == theirs.type or ours.name.startswith("vec")


@pytest.mark.parametrize("program", ["bandwidth", "hops", "paths", "resilience"])
def test_all_paths_over_a_cycle_do_not_end(program: str, databases: Databases) -> None:
    """The error names the relation, and the links are not taken."""
    with databases(program, max_rounds=20) as both:
        for database in both:
            columns = len(database.catalog().relations["link"].columns)
            with pytest.raises(whence.ConvergenceError, match=r"'path.*' does not come to an end"):
                database.insert("link", [("a", "b", 1)[:columns], ("b", "a", 1)[:columns]])
            assert database.rows("link") == set()
