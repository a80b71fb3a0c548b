"""The order of a body's steps, and what they look rows up by."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from whence.analysis.analyze import analyze
from whence.analysis.typed_rules import TypedRule
from whence.incremental.counting.counting import DeltaPart, delta_parts
from whence.incremental.counting.sources import LiteralState
from whence.incremental.plan import Compute, Filter, Flip, Missing, Plan, Probe
from whence.incremental.planner import make_delta_plan, make_plan
from whence.lang.datalog.parse import parse_datalog
from whence.model.terms import Constant
from whence.model.types import DATE
from whence.planning.statistics import Sizes

SCHEMA = """
.decl order_(id: INT, customer: INT, day: DATE) bag
.decl customer(id: INT, name: STRING nullable, rank: INT nullable)
.decl item(order_: INT, price: DOUBLE)
.decl big(id: BIGINT, price: DOUBLE)
"""


def plan(rule: str, trigger: int | None = None, bound: Sequence[str] = (), schema: str = SCHEMA) -> Plan:
    sizes = {"order_": 1_000, "customer": 100, "item": 10_000, "big": 10_000}
    return make_plan(_rule(rule, schema), Sizes(sizes.__getitem__), trigger, bound)


def _rule(text: str, schema: str = SCHEMA) -> TypedRule:
    return analyze(parse_datalog(schema + text)).components[-1].typed[-1]


def shown(made: Plan) -> list[str]:
    """The steps, in short: `item(0)` looks items up by their column 0, `item()` goes through them."""
    return [_shown(step) for step in made.steps]


def _shown(step: object) -> str:
    match step:
        case Probe(relation=relation, positions=positions):
            return f"{relation}({', '.join(map(str, positions))})"
        case Missing(pattern=pattern):
            return f"!{pattern.relation}({', '.join(map(str, pattern.positions))})"
        case Flip(pattern=pattern):
            return f"flip {pattern.relation}({', '.join(map(str, pattern.positions))})"
        case Compute():
            return "compute"
        case Filter():
            return "filter"
    raise AssertionError(step)


JOIN = "v(o, n, p) :- order_(o, c, d), customer(c, n, _), item(o, p), p > 1.0."


@pytest.mark.parametrize(
    ("trigger", "steps"),
    [
        (None, ["customer()", "order_(1)", "item(0)", "filter"]),
        (0, ["order_()", "customer(0)", "item(0)", "filter"]),
        (1, ["customer()", "order_(1)", "item(0)", "filter"]),
        (2, ["item()", "filter", "order_(0)", "customer(0)"]),
    ],
)
def test_atoms_follow_the_trigger_by_what_is_bound(trigger: int | None, steps: list[str]) -> None:
    assert shown(plan(JOIN, trigger)) == steps


def test_variables_that_are_given() -> None:
    made = plan("v(o, p) :- order_(o, c, d), customer(c, _, _), item(o, p).", bound=("o", "p"))
    assert shown(made) == ["item(0, 1)", "order_(0)", "customer(0)"]
    assert (made.slots["o"], made.slots["p"]) == (0, 1)


def test_a_definition_of_a_given_variable_is_a_test() -> None:
    assert shown(plan("v(t) :- customer(c, _, _), t = c + 1.", bound=("t",))) == ["customer()", "filter"]


def test_an_equality_is_looked_up() -> None:
    assert shown(plan("v(o) :- item(o, _), customer(c, _, _), c = o + 1.", 0)) == ["item()", "customer(0)"]


def test_an_equality_that_can_be_null_is_looked_up_and_tested() -> None:
    rule = "v(i) :- customer(i, n, r), customer(_, m, s), n = m, r <=> s."
    assert shown(plan(rule, 0)) == ["customer()", "customer(1, 2)", "filter"]


def test_a_column_that_has_to_be_widened_is_not_looked_up() -> None:
    # A DOUBLE does not tell all BIGINTs apart.
    assert shown(plan("v(x) :- item(_, x), big(x, _).", 0)) == ["item()", "big()", "filter"]
    assert shown(plan("v(x) :- item(_, x), big(x, _).", 1)) == ["big()", "compute", "item(1)"]
    assert shown(plan("v(x) :- item(_, x), item(x, _).", 0)) == ["item()", "item(0)"]


def test_a_key_is_looked_up_alone() -> None:
    keyed = SCHEMA.replace("customer(id: INT,", "customer(id: INT, kind: INT,")
    rule = "v(o) :- order_(o, c, _), customer(c, 7, _, _)."
    assert shown(plan(rule, 0, schema=keyed)) == ["order_()", "customer(0, 1)"]


def test_constants_of_the_first_atom_need_no_index() -> None:
    assert shown(plan('v(i) :- customer(i, "Ann", _).')) == ["customer()", "filter"]


def test_a_computed_term_waits_for_its_variables() -> None:
    assert shown(plan("v(x) :- item(x, _), customer(x + 1, _, _).", 0)) == ["item()", "customer(0)"]
    assert shown(plan("v(x) :- item(x, _), customer(x + 1, _, _).", 1)) == ["customer()", "item()", "filter"]


def test_a_negation_as_trigger_binds_its_variables() -> None:
    made = plan("v(o) :- order_(o, c, _), !customer(c, _, _), !item(o, 1.0).", 1)
    assert shown(made) == ["flip customer(0)", "order_(1)", "!item(0, 1)"]


def test_only_bags_are_counted() -> None:
    made = plan(JOIN)
    assert [step.counted for step in made.steps if isinstance(step, Probe)] == [False, True, False]
    assert len(made.counts) == 1


def test_what_is_used_once_takes_no_slot() -> None:
    assert set(plan(JOIN).slots) == {"o", "n", "p", "c"}


def test_constants_in_conditions_are_computed_once() -> None:
    made = plan('v(o) :- order_(o, _, d), d <= date_sub(DATE "2024-03-01", 1).')
    (condition,) = [step.condition for step in made.steps if isinstance(step, Filter)]
    assert any(isinstance(side, Constant) and side.type == DATE for side in condition.arguments)  # type: ignore[union-attr]


def test_delta_parts() -> None:
    kept, its = LiteralState.KEPT, LiteralState.ITS
    assert list(delta_parts([0, 2, 4])) == [
        DeltaPart(0, {2: its, 4: its}),
        DeltaPart(2, {0: kept, 4: its}),
        DeltaPart(4, {0: kept, 2: kept}),
    ]
    assert list(delta_parts([])) == []


def test_a_change_has_a_slot_for_how_often() -> None:
    rule = _rule(JOIN)
    made = make_delta_plan(rule, Sizes(lambda _: 10), 0)
    assert made.counts == (0,)
    assert made.slots["o"] == 1
    assert not any(step.counted for step in made.steps if isinstance(step, Probe))
    # Of the other bags it still matters how often a row is there.
    assert make_delta_plan(rule, Sizes(lambda _: 10), 1).counts == (0, 4)


def test_constants_are_looked_up_where_an_index_is_there_anyway() -> None:
    rule = _rule("v(n) :- customer(i, n, r), i = 7, r = 2.")

    def made(*indexes: tuple[int, ...], trigger: int | None = None) -> list[str]:
        return shown(make_plan(rule, Sizes(lambda _: 100), trigger, indexes=lambda _: indexes))

    assert made() == ["customer()", "filter", "filter"]
    assert made((1,)) == ["customer()", "filter", "filter"]
    assert made((0,)) == ["customer(0)", "filter"]
    assert made((0,), (0, 2)) == ["customer(0, 2)"]
    # A change comes with its rows, and is not looked up.
    assert made((0,), trigger=0) == ["customer()", "filter", "filter"]
