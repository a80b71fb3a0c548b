"""Programs with records, subsumption, choices, ranges and witnesses under random changes, against the oracle."""

from __future__ import annotations

import random

import pytest

import whence

_TYPES = ".type list = [head: number, tail: list] .type tree = Leaf {n: number} | Node {l: tree, r: tree}\n"
PROGRAMS = [
    # Lists that grow with their elements, and their parts.
    _TYPES
    + """.decl n(x: number) .decl e(x: number, y: number)
    .decl path(p: list, last: number)
    path([x, nil], x) :- n(x).
    path([y, p], y) :- path(p, x), e(x, y), x < y.
    .decl second(x: number, y: number)
    second(x, y) :- path([x, [y, _]], _).
    .decl ends(x: number, c: number)
    ends(x, c) :- n(x), c = count : { path([x, _], _) }.
    .decl never(x: number) never(x) :- n(x), !path([_, [x, _]], _).""",
    # Trees over pairs, joined by their parts.
    _TYPES
    + """.decl n(x: number) .decl e(x: number, y: number)
    .decl t(t: tree, size: number)
    t($Leaf(x), 1) :- n(x).
    t($Node($Leaf(x), $Leaf(y)), 2) :- e(x, y), t($Leaf(x), _), n(y).
    .decl left(x: number, y: number) left(x, y) :- t($Node($Leaf(x), r), _), t(r, _), r = $Leaf(y).
    .decl mirrored(t: tree) mirrored($Node(r, l)) :- t($Node(l, r), _).
    .decl both(t: tree) both(t) :- t(t, 2), mirrored(t).""",
    """.decl n(x: number) .decl e(x: number, y: number)
    .decl best(x: number, y: number) best(x, y) :- e(x, y). best(x, y) <= best(x, z) :- z < y.
    .decl top(x: number, y: number) top(x, y) :- e(x, y). top(x, y) <= top(v, w) :- v >= x, w >= y.
    .decl near(x: number, d: number) near(x, 0) :- n(x). near(y, d + 1) :- near(x, d), e(x, y).
    near(x, d) <= near(x, c) :- c < d.
    .decl one(x: number, y: number) choice-domain x
    one(x, y) :- e(x, y), n(y).
    .decl between(x: number, y: number, z: number) between(x, y, z) :- e(x, y), z = range(x, y).
    .decl largest(x: number, y: number) largest(x, y) :- y = max z : { e(x, z) }, y > 1.""",
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_every_step_is_as_the_oracle_has_it(number: int, seed: int) -> None:
    source = random.Random(seed)
    local, oracle = whence.connect(), whence.connect(engine="reference")
    for database in (local, oracle):
        database.rules(PROGRAMS[number])
    rows: dict[str, set[tuple[int, ...]]] = {"n": set(), "e": set()}
    views = sorted(local.catalog().views)
    for _ in range(12):
        table = source.choice(["n", "e", "e"])
        arity = 1 if table == "n" else 2
        drawn = {tuple(source.randrange(5) for _ in range(arity)) for _ in range(source.choice([1, 2, 6]))}
        new, old = drawn - rows[table], drawn & rows[table]
        for database in (local, oracle):
            with database.batch() as batch:
                batch.insert(table, sorted(new))
                batch.delete(table, sorted(old))
        rows[table] ^= drawn
        for view in views:
            assert local.rows(view) == oracle.rows(view), (view, table, new, old)
