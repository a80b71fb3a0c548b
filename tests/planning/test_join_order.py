"""Orders of joins: against the best there is, and for tables that change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from random import Random

import pytest

from whence.incremental.store import Store, StoreStatistics
from whence.model.schema import Column, Relation
from whence.model.types import INT, Row
from whence.planning.join_order import COMPARED, Definition, JoinAtom, join_order
from whence.planning.statistics import Sizes

# An atom: the relation, and its variables.
Written = tuple[str, tuple[str, ...]]


def atom(name: str, names: Sequence[str], key: tuple[str, ...] = ()) -> JoinAtom:
    columns = tuple(Column(f"c{number}", INT, nullable=False) for number in range(len(names)))
    relation = Relation(name, columns, key=key, distinct=True)
    return JoinAtom(relation, tuple((frozenset({each}),) for each in names), frozenset(names))


def rows_looked_at(order: Sequence[Written], tables: Mapping[str, set[Row]]) -> int:
    """By joining them."""
    looked_at = 0
    bindings: list[dict[str, object]] = [{}]
    for name, names in order:
        found: list[dict[str, object]] = []
        for binding in bindings:
            for row in tables[name]:
                values = dict(zip(names, row, strict=True))
                if all(binding.get(each, value) == value for each, value in values.items()):
                    found.append({**binding, **values})
        looked_at += len(found)
        bindings = found
    return looked_at


def is_linked(order: Sequence[Written]) -> bool:
    bound = set(order[0][1])
    for _, names in order[1:]:
        if not bound & set(names):
            return False
        bound |= set(names)
    return True


def skewed(rng: Random, size: int) -> int:
    return int(size * rng.random() ** 3)


@pytest.mark.parametrize("seed", range(25))
def test_no_order_is_much_better(seed: int) -> None:
    rng = Random(seed)
    body: list[Written] = [("t0", ("x0", "x1"))]
    for number in range(1, rng.randint(2, 3) + 1):
        known = rng.choice(sorted({name for _, names in body for name in names}))
        names = [known, rng.choice([f"x{number + 1}", *(name for _, used in body for name in used if name != known)])]
        rng.shuffle(names)
        body.append((f"t{number}", tuple(names)))
    tables: dict[str, set[Row]] = {}
    for name, _ in body:
        values, rows = rng.choice((3, 10, 30)), rng.choice((2, 10, 40))
        tables[name] = {(skewed(rng, values), skewed(rng, values)) for _ in range(rows)}
    stores = {name: Store(dict.fromkeys(rows, 1)) for name, rows in tables.items()}
    atoms = [atom(*each) for each in body]
    chosen = [body[at] for at in join_order(atoms, StoreStatistics(stores), is_started=False)]
    assert is_linked(chosen)
    orders = [order for order in permutations(body) if is_linked(order)]
    costs = sorted(rows_looked_at(order, tables) for order in orders)
    # Skew is what averages do not see.
    assert rows_looked_at(chosen, tables) <= 3 * costs[0] + 10, costs


def test_the_smaller_one_first_where_nothing_else_differs() -> None:
    atoms = [atom("large", ("x", "y")), atom("small", ("x", "z"))]
    sizes = Sizes({"large": 1_000, "small": 10}.__getitem__)
    assert join_order(atoms, sizes, is_started=False) == [1, 0]


def test_what_is_looked_up_by_a_key_comes_first() -> None:
    atoms = [atom("a", ("x", "y")), atom("b", ("x", "z"), key=("c0",))]
    assert join_order(atoms, Sizes(lambda _: 1_000), {"x"}) == [1, 0]


def test_ties_keep_the_order_of_the_text() -> None:
    atoms = [atom(f"t{number}", ("x", f"y{number}")) for number in range(COMPARED + 2)]
    for count in (2, COMPARED, COMPARED + 2):
        assert join_order(atoms[:count], Sizes(lambda _: 100), {"x"}) == list(range(count))


def test_what_nothing_links_waits_for_what_does() -> None:
    atoms = [atom("end", ("z", "a")), atom("begin", ("x", "y")), atom("middle", ("y", "z"))]
    sizes = Sizes({"end": 1, "begin": 1_000_000, "middle": 10}.__getitem__)
    assert join_order(atoms, sizes, {"x"}) == [1, 2, 0]


def test_what_is_defined_links() -> None:
    atoms = [atom("a", ("x", "y")), atom("b", ("y", "z")), atom("c", ("z", "w"))]
    sizes = Sizes({"a": 1_000, "b": 1_000, "c": 10}.__getitem__)
    assert join_order(atoms, sizes, {"x"}) == [0, 1, 2]
    assert join_order(atoms, sizes, {"x"}, [Definition("z", frozenset({"x"}))]) == [2, 0, 1]


def test_distinct_values_tell_more_than_sizes() -> None:
    """The larger one finds fewer rows under a key."""
    unique = Store({(number, 0): 1 for number in range(100)})
    repeated = Store({(0, number): 1 for number in range(50)})
    atoms = [atom("repeated", ("x", "y")), atom("unique", ("x", "z"))]
    assert join_order(atoms, StoreStatistics({"repeated": repeated, "unique": unique}), {"x"}) == [1, 0]
