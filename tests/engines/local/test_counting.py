"""Maintenance with counts, case by case."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pytest

from tests.engines.local.counting_driver import Driver
from whence.analysis.analyze import analyze
from whence.errors import EvaluationError
from whence.incremental.counting.counting import Counting
from whence.incremental.store import Key, Store
from whence.lang.datalog.parse import parse_datalog
from whence.model.program import Function, Functions, Signature
from whence.model.types import INT, Row
from whence.model.updates import Delta

SCHEMA = """
.decl e(x: INT, y: INT)
.decl f(x: INT, y: INT)
.decl bag(x: INT, y: DOUBLE nullable) bag
"""


def driver(rules: str, functions: Functions | None = None, **base: Delta) -> Driver:
    functions = functions or {}
    signatures = {name: function.signature for name, function in functions.items()}
    made = Driver(analyze(parse_datalog(SCHEMA + rules), signatures), Counting, base, functions)
    made.check()
    return made


def changes(made: Driver, view: str = "v", **deltas: Delta) -> Delta:
    """What a commit changes in a view."""
    found = made.commit(deltas)
    made.check()
    return found.get(view, {})


def test_a_set_changes_with_the_first_derivation_and_the_last() -> None:
    made = driver("v(x) :- e(x, _).", e={(1, 1): 1})
    assert changes(made, e={(1, 2): 1}) == {}
    assert changes(made, e={(1, 1): -1}) == {}
    assert changes(made, e={(1, 2): -1}) == {(1,): -1}
    assert changes(made, e={(1, 3): 1}) == {(1,): 1}


def test_a_bag_counts_derivations() -> None:
    made = driver(".decl v(x: INT) bag\nv(x) :- bag(x, _), e(x, _).", e={(1, 1): 1, (1, 2): 1}, bag={(1, 0.5): 3})
    assert made.counts()["v"] == {(1,): 6}
    assert changes(made, bag={(1, 0.5): -1}, e={(1, 1): -1}) == {(1,): -4}


def test_a_set_clamps_what_is_owed() -> None:
    made = driver("v(x) :- e(x, _). -v(x) :- f(x, _).")
    assert changes(made, f={(1, 1): 1, (1, 2): 1}) == {}
    assert changes(made, e={(1, 1): 1}) == {}
    assert changes(made, e={(1, 2): 1, (1, 3): 1}) == {(1,): 1}
    assert len(made.maintainers[0][1].counts("v")) == 1
    assert (2,) not in made.maintainers[0][1].counts("v")


def test_a_bag_can_owe() -> None:
    made = driver(".decl v(x: INT) bag\nv(x) :- e(x, _). -v(x) :- f(x, _).", f={(1, 1): 1})
    assert made.counts()["v"] == {(1,): -1}
    assert changes(made, e={(1, 1): 1}) == {(1,): 1}


def test_a_negation_changes_when_the_last_row_goes() -> None:
    made = driver("v(x) :- e(x, _), !f(x, _).", e={(1, 1): 1})
    assert changes(made, f={(1, 1): 1, (1, 2): 1}) == {(1,): -1}
    assert changes(made, f={(1, 1): -1}) == {}
    assert changes(made, f={(1, 2): -1, (1, 3): 1}) == {}
    assert changes(made, f={(1, 3): -1}, e={(1, 2): 1}) == {(1,): 1}


def test_a_relation_joined_with_itself_and_negated() -> None:
    made = driver("v(x, z) :- e(x, y), e(y, z), !e(x, z).", e={(1, 2): 1, (2, 3): 1})
    assert made.counts()["v"] == {(1, 3): 1}
    assert changes(made, e={(1, 3): 1}) == {(1, 3): -1}
    assert changes(made, e={(1, 3): -1, (3, 1): 1, (1, 1): 1}) == {(1, 3): 1, (2, 1): 1, (3, 2): 1}
    assert changes(made, e={(1, 2): -1, (2, 3): -1, (3, 1): -1, (1, 1): -1}) == {(1, 3): -1, (2, 1): -1, (3, 2): -1}


def test_facts_and_rules_without_atoms() -> None:
    made = driver("v(1, 2). v(x, 3) :- x = 1 + 1. v(x, y) :- e(x, y).")
    assert made.counts()["v"] == {(1, 2): 1, (2, 3): 1}
    assert changes(made, e={(1, 2): 1, (5, 5): 1}) == {(5, 5): 1}


def test_a_head_without_groups_always_has_a_row() -> None:
    made = driver("v(count<*>, sum<y>, max<x>) :- bag(x, y).")
    assert made.counts()["v"] == {(0, None, None): 1}
    assert changes(made, bag={(1, None): 2}) == {(0, None, None): -1, (2, None, 1): 1}
    assert changes(made, bag={(1, None): -2}) == {(0, None, None): 1, (2, None, 1): -1}


def test_a_group_goes_with_its_last_binding() -> None:
    made = driver("v(x, min<y>, count<distinct y>) :- e(x, y). v(x, min<y>, count<distinct y>) :- f(x, y).")
    assert changes(made, e={(1, 5): 1}, f={(1, 5): 1, (1, 7): 1}) == {(1, 5, 2): 1}
    assert changes(made, e={(1, 5): -1}) == {}
    assert changes(made, f={(1, 5): -1}) == {(1, 5, 2): -1, (1, 7, 1): 1}
    assert changes(made, f={(1, 7): -1}) == {(1, 7, 1): -1}


def test_a_sum_of_doubles_stays_exact() -> None:
    made = driver("v(sum<y>) :- bag(_, y).", bag={(1, 1e16): 1, (1, 0.1): 1})
    assert changes(made, bag={(1, 1e16): -1}) == {(1e16,): -1, (0.1,): 1}


def test_registered_functions() -> None:
    twice = Function(Signature("twice", INT), lambda x: 2 * x)
    made = driver("v(twice(x)) :- e(x, y), twice(y) > 2.", {"twice": twice})
    assert changes(made, e={(1, 1): 1, (3, 2): 1}) == {(6,): 1}


def test_undo_leaves_no_trace() -> None:
    made = driver("v(max<y>) :- e(_, y). w(x) :- e(x, _).", e={(x, x): 1 for x in range(10)})
    for _ in range(2):
        assert made.commit({"e": {(9, 9): -1, (8, 8): -1, (20, 1): 1}}, settle=False)["v"] == {(9,): -1, (7,): 1}
        made.check()
    assert changes(made, e={(0, 0): -1}) == {}


def test_an_error_leaves_no_trace() -> None:
    made = driver("w(x) :- e(x, _). v(max<10 / y>) :- e(_, y).", e={(1, 1): 1, (2, 2): 1})
    with pytest.raises(EvaluationError):
        made.commit({"e": {(1, 1): -1, (3, 0): 1}})
    made.check()
    assert changes(made, e={(1, 1): -1}) == {(10.0,): -1, (5.0,): 1}


def test_rows_that_never_met_cause_no_error() -> None:
    made = driver("v(x, y / z) :- e(x, y), f(x, z).", e={(1, 7): 1}, f={(1, 1): 1})
    # 7 / 0 holds neither before nor after.
    assert changes(made, e={(1, 7): -1}, f={(1, 1): -1, (1, 0): 1}) == {(1, 7): -1}
    assert changes(made, e={(1, 7): 1}, f={(1, 0): -1, (1, 2): 1}) == {(1, 3): 1}


class CountingStore(Store):
    """Counts the rows that are looked at."""

    looked_at = 0

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        found = super().matching(positions, key)
        CountingStore.looked_at += len(found)
        return found

    def matching_all(self, positions: tuple[int, ...], keys: Sequence[Key]) -> list[Collection[Row]]:
        found = super().matching_all(positions, keys)
        CountingStore.looked_at += sum(map(len, found))
        return found


@pytest.mark.parametrize(
    "rules",
    [
        "v(x, z) :- e(x, y), f(y, z).",
        "v(x, z) :- e(x, y), f(w, z), w = y.",
        "v(x, z) :- e(x, y), e(y, z), !f(x, z).",
        "v(x, sum<z>, min<z>) :- e(x, y), f(y, z).",
    ],
)
def test_a_change_looks_only_at_rows_it_joins(rules: str) -> None:
    looked_at = rows_looked_at(rules, {"e": {(100, 101): -1, (100, 250): 1}, "f": {(200, 202): -1}})
    assert 0 < looked_at < 50


def rows_looked_at(rules: str, deltas: Mapping[str, Delta]) -> int:
    made = driver(rules, e={(x, x + 1): 1 for x in range(300)}, f={(x, x + 2): 1 for x in range(300)})
    for name, store in made.stores.items():
        counting = CountingStore(store.counts)
        made.stores[name] = counting
    analysis = made.analysis
    (component,) = [component for component in analysis.components if component.rules]
    maintainer = Counting(component, analysis.relations, {}, made.stores, made.limits)
    maintainer.build()
    maintainer.settle()
    CountingStore.looked_at = 0
    maintainer.apply(deltas)
    return CountingStore.looked_at


@pytest.mark.parametrize(
    "rules",
    [
        "v(x, z) :- e(x, y), f(x, z), y < 400.",
        "v(x, z) :- e(x, y), f(x, z), y + 1 != 7.",
        "v(x, z, t) :- e(x, y), f(x, z), t = sign(y).",
        "v(x, count<*>) :- e(x, _), f(x, _).",
    ],
)
def test_what_the_rule_does_not_see_is_not_followed(rules: str) -> None:
    assert rows_looked_at(rules, {"e": {(100, 101): -1, (100, 250): 1}}) == 0
    assert rows_looked_at(rules, {"e": {(100, 101): -1}}) > 0


def test_a_row_stands_for_one_that_came_in_its_place() -> None:
    made = driver("v(x, z) :- e(x, y), f(x, z), y < 10. w(x, y) :- e(x, y), e(y, x).", e={(1, 2): 1}, f={(1, 7): 1})
    # For v nothing happens to e, and its other literal meets the row from before.
    assert changes(made, e={(1, 2): -1, (1, 3): 1}, f={(1, 8): 1}) == {(1, 8): 1}
    assert changes(made, e={(1, 3): -1, (1, 4): 1}, f={(1, 7): -1}) == {(1, 7): -1}
    # Out of sight and back.
    assert changes(made, e={(1, 4): -1, (1, 11): 1}, f={(1, 9): 1}) == {(1, 8): -1}
    assert changes(made, e={(1, 11): -1, (1, 5): 1}) == {(1, 8): 1, (1, 9): 1}
    # Two that look the same, one of which goes.
    assert changes(made, e={(1, 6): 1}) == {}
    assert changes(made, e={(1, 5): -1, (1, 6): -1, (1, 7): 1}) == {}
    assert changes(made, e={(1, 7): -1}) == {(1, 8): -1, (1, 9): -1}


def test_rows_of_a_key_change_places() -> None:
    rules = ".decl k(x: INT, y: INT) key(x)\nv(x, y, z) :- e(x, z), k(z, y)."
    made = driver(rules, e={(1, 1): 1, (2, 2): 1}, k={(1, 5): 1, (2, 6): 1})
    assert changes(made, k={(1, 6): 1, (1, 5): -1, (2, 6): -1, (2, 5): 1}) == {
        (1, 5, 1): -1, (2, 6, 2): -1, (1, 6, 1): 1, (2, 5, 2): 1
    }  # fmt: skip
    assert changes(made, k={(1, 6): -1}, e={(1, 1): -1, (3, 1): 1}) == {(1, 6, 1): -1}
    assert changes(made, k={(1, 9): 1}, e={(2, 2): -1}) == {(3, 9, 1): 1, (2, 5, 2): -1}


ORDERS = """
.decl order_(id: INT, day: INT) key(id)
.decl item(order_: INT, number: INT, price: INT, sent: INT) key(order_, number)
v(o, d, sum<p>) :- order_(o, d), item(o, _, p, s), s < 10.
"""


def test_rows_that_join_alike_go_together() -> None:
    made = driver(ORDERS, order_={(1, 5): 1, (2, 5): 1}, item={(1, 1, 10, 0): 1, (1, 2, 20, 0): 1, (2, 1, 30, 0): 1})
    prices: Delta = {(1, 1, 10, 0): -1, (1, 1, 11, 0): 1, (1, 2, 20, 0): -1, (1, 2, 22, 0): 1}
    assert changes(made, item=prices) == {(1, 5, 30): -1, (1, 5, 33): 1}
    # The order moves to another group, and its items change beside it: what goes meets what was there before.
    day: Delta = {(1, 5): -1, (1, 6): 1}
    items: Delta = {(1, 1, 11, 0): -1, (1, 1, 12, 0): 1, (1, 2, 22, 0): -1}
    assert changes(made, order_=day, item=items) == {(1, 5, 33): -1, (1, 6, 12): 1}
    # One item goes out of sight and comes back, another changes where nobody looks.
    sent: Delta = {(1, 1, 12, 0): -1, (1, 1, 12, 10): 1, (2, 1, 30, 0): -1, (2, 1, 30, 9): 1}
    assert changes(made, item=sent) == {(1, 6, 12): -1}
    assert changes(made, item={(1, 1, 12, 10): -1, (1, 1, 12, 9): 1}) == {(1, 6, 12): 1}


def test_copies_that_stay_meet_what_changes_beside_them() -> None:
    made = driver("v(x, sum<y>) :- bag(x, _), e(x, y).", bag={(1, None): 3}, e={(1, 2): 1})
    assert changes(made, bag={(1, None): -1}, e={(1, 2): -1, (1, 5): 1}) == {(1, 6): -1, (1, 10): 1}
    assert changes(made, bag={(1, None): 2}, e={(1, 7): 1}) == {(1, 10): -1, (1, 48): 1}
