"""Small random programs over two tables, for questions whose answers can be found by trying everything."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from hypothesis import strategies as st

import whence
from whence.lab.strategies import connect
from whence.model.types import Row

VALUES = ("a", "b", "c")
TABLES = """
.decl edge(x: symbol, y: symbol)
.decl mark(x: symbol)
"""
ALL_ROWS: list[tuple[str, Row]] = [
    *(("edge", (x, y)) for x in VALUES for y in VALUES),
    *(("mark", (x,)) for x in VALUES),
]

# The rules of views that may stand together; `!` is about tables and views below only.
RULES = {
    "path": ("path(x, y) :- edge(x, y).", "path(x, y) :- edge(x, z), path(z, y)."),
    "even": ("even(x, y) :- edge(x, z), edge(z, y).", "even(x, y) :- even(x, z), even(z, y)."),
    "round": ("round(x) :- path(x, x), mark(x).",),
    "marked": ("marked(x, y) :- path(x, y), mark(x), mark(y), x != y.", 'marked(x, "a") :- edge(_, x), !mark(x).'),
    "free": ("free(x, y) :- even(x, y), !mark(y).", "free(x, x) :- edge(x, _), edge(_, x)."),
    "both": ("both(x, y) :- path(x, y), path(y, x).", "both(x, y) :- marked(y, x), free(x, y)."),
    "reach": ("reach(x, count<y>) :- path(x, y).",),
    "first": ("first(x, min<y>) :- even(x, y).",),
}
POSITIVE = ("path", "even", "round", "marked", "free", "both")

# The same rules for rows that have something to do with one of `edge_t` and `mark_t`, which are among the others.
TAINTED = """
.decl edge_t(x: symbol, y: symbol)
.decl mark_t(x: symbol)
path_t(x, y) :- edge_t(x, y).
path_t(x, y) :- edge_t(x, z), path(z, y).
path_t(x, y) :- edge(x, z), path_t(z, y).
even_t(x, y) :- edge_t(x, z), edge(z, y).
even_t(x, y) :- edge(x, z), edge_t(z, y).
even_t(x, y) :- even_t(x, z), even(z, y).
even_t(x, y) :- even(x, z), even_t(z, y).
round_t(x) :- path_t(x, x), mark(x).
round_t(x) :- path(x, x), mark_t(x).
marked_t(x, y) :- path_t(x, y), mark(x), mark(y), x != y.
marked_t(x, y) :- path(x, y), mark_t(x), mark(y), x != y.
marked_t(x, y) :- path(x, y), mark(x), mark_t(y), x != y.
marked_t(x, "a") :- edge_t(_, x), !mark(x).
free_t(x, y) :- even_t(x, y), !mark(y).
free_t(x, x) :- edge_t(x, _), edge(_, x).
free_t(x, x) :- edge(x, _), edge_t(_, x).
both_t(x, y) :- path_t(x, y), path(y, x).
both_t(x, y) :- path(x, y), path_t(y, x).
both_t(x, y) :- marked_t(y, x), free(x, y).
both_t(x, y) :- marked(y, x), free_t(x, y).
reach_t(x, n) :- reach(x, n), path_t(x, _).
first_t(x, y) :- first(x, y), even_t(x, _).
"""


def program() -> str:
    return TABLES + "\n".join(rule for rules in RULES.values() for rule in rules)


facts = st.frozensets(st.sampled_from(ALL_ROWS), max_size=6)


def by_table(rows: frozenset[tuple[str, Row]]) -> dict[str, list[Row]]:
    tables: dict[str, list[Row]] = {}
    for name, row in sorted(rows):
        tables.setdefault(name, []).append(row)
    return tables


def database(rows: frozenset[tuple[str, Row]], engine: str = "local", maintenance: str = "auto") -> whence.Database:
    db = connect(maintenance) if engine == "local" else whence.connect(engine=engine)
    db.rules(program())
    for name, of_name in by_table(rows).items():
        db.insert(name, of_name)
    return db


def subsets(rows: list[tuple[str, Row]], largest: int) -> Iterator[frozenset[tuple[str, Row]]]:
    """Smallest first."""
    for size in range(1, largest + 1):
        yield from map(frozenset, combinations(rows, size))
