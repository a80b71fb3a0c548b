"""Recursive components in situations that have gone wrong, or could."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal

import pytest

from tests.engines.local.recursive_driver import ALL, Driver, analysis_of
from whence.analysis.limits import DEFAULT_LIMITS, RecursionLimits
from whence.errors import ConvergenceError, EvaluationError
from whence.incremental.recursive.absorption import Absorption
from whence.incremental.recursive.dred import DRed
from whence.incremental.recursive.matcher import Matcher
from whence.incremental.recursive.rules import Rules
from whence.incremental.recursive.strategy import OWING
from whence.incremental.store import Store
from whence.model.program import Function, Signature
from whence.model.types import INT, Row, Value

LINKS = ".decl link(x: number, y: number, c: number)\n"
REACH = LINKS + "reach(x, y) :- link(x, y, _). reach(x, y) :- link(x, z, _), reach(z, y)."
CHEAPEST = LINKS + "best(x, y, min<c>) :- link(x, y, c). best(x, y, min<c>) :- link(x, z, a), best(z, y, b), c = a + b."


def driver(text: str, base: Mapping[str, list[Row]] | None = None, limits: RecursionLimits = DEFAULT_LIMITS) -> Driver:
    rows = {name: dict.fromkeys(of_table, 1) for name, of_table in (base or {}).items()}
    return Driver(analysis_of(text), limits=limits, base=rows)


def plus(*rows: Row) -> dict[Row, int]:
    return dict.fromkeys(rows, 1)


def minus(*rows: Row) -> dict[Row, int]:
    return dict.fromkeys(rows, -1)


class TestSearch:
    """The derivations of two heads: of one there are many, and of the other there is one, which comes last."""

    MANY = 5000

    def search(self) -> tuple[Matcher, Mapping[str, Store]]:
        analysis = analysis_of("""
            .decl a(x: number, z: number)
            .decl b(z: number, y: number)
            p(x, y) :- a(x, z), b(z, y).
        """)
        (component,) = [each for each in analysis.components if each.rules]
        stores = {
            "a": Store({(x, z): 1 for x in (0, 1) for z in range(self.MANY)}),
            "b": Store({**{(z, 0): 1 for z in range(self.MANY)}, (self.MANY - 1, 1): 1}),
        }
        rules = Rules(component, analysis.relations, {}, stores, {"p": lambda: 0})
        return rules.deriving["p"][0], stores

    def test_all_are_found(self) -> None:
        matcher, stores = self.search()
        found = [match for matches in matcher.backwards_all([(0, 0), (1, 1)], stores) for match in matches]
        assert Counter(match.head for match in found) == {(0, 0): self.MANY, (1, 1): 1}
        assert len(set(found)) == len(found)

    def test_no_more_are_looked_for_than_are_wanted(self) -> None:
        matcher, stores = self.search()
        wanted: dict[Row, None] = {(0, 0): None, (1, 1): None}
        found: list[Row] = []
        for matches in matcher.backwards_all(wanted, stores):
            for match in matches:
                found.append(match.head)
                wanted.pop(match.head, None)
        assert sorted(found) == [(0, 0), (1, 1)]


class TestPlain:
    def test_a_cycle_does_not_keep_itself_alive(self) -> None:
        d = driver(REACH, {"link": [(0, 1, 1), (1, 2, 1), (2, 1, 1)]})
        d.apply({"link": minus((1, 2, 1))})
        assert d.tables["reach"].keys() == {(0, 1), (2, 1)}

    def test_what_has_another_proof_stays(self) -> None:
        d = driver(REACH, {"link": [(0, 1, 1), (0, 1, 2), (1, 2, 1)]})
        for each in d.maintained:
            assert each.maintainer.apply({"link": minus((0, 1, 1))}) == {}
            each.maintainer.undo()

    def test_a_row_that_goes_and_another_that_comes_in_one_commit_cancel_out(self) -> None:
        d = driver(REACH, {"link": [(0, 1, 1), (1, 2, 1)]})
        for each in d.maintained:
            assert each.maintainer.apply({"link": {(0, 1, 1): -1, (0, 1, 7): 1}}) == {}
            each.maintainer.undo()

    def test_negation_turns_changes_round(self) -> None:
        d = driver(
            LINKS + ".decl down(x: number, why: number)\n"
            "reach(x, y) :- link(x, y, _), !down(x, _). reach(x, y) :- reach(x, z), !down(z, _), reach(z, y).",
            {"link": [(0, 1, 1), (1, 2, 1), (2, 3, 1)]},
        )
        d.apply({"down": plus((1, 1))})
        assert d.tables["reach"].keys() == {(0, 1), (2, 3)}
        d.apply({"down": plus((1, 2))})
        d.apply({"down": minus((1, 1))})
        assert d.tables["reach"].keys() == {(0, 1), (2, 3)}
        d.apply({"down": minus((1, 2))}, rehearse=True)
        assert (0, 3) in d.tables["reach"]

    def test_one_row_takes_the_place_of_another_in_a_negation(self) -> None:
        d = driver(
            LINKS + ".decl down(x: number, why: number)\n"
            "reach(x, y) :- link(x, y, _), !down(x, _). reach(x, y) :- reach(x, z), reach(z, y).",
            {"link": [(0, 1, 1)], "down": [(0, 1)]},
        )
        d.apply({"down": {(0, 1): -1, (0, 2): 1}})
        assert d.tables["reach"] == {}

    def test_constants_repeated_variables_and_computed_terms(self) -> None:
        text = (
            LINKS + "p(0, 0). p(x, x) :- link(x, x, _). p(x, y + 1) :- p(x, y), link(y, y + 1, 1).\n"
            'p(y, x) :- p(x, y), link(1, x, y), x < y. q(#node(x)) :- p(x, x). q(n) :- q(n), p(0, _), n != "".'
        )
        d = driver(text, {"link": [(0, 1, 1), (1, 2, 1), (2, 2, 5), (1, 0, 1)]})
        d.apply({"link": minus((0, 1, 1))}, rehearse=True)
        d.apply({"link": {(0, 1, 1): 1, (2, 2, 5): -1, (3, 3, 3): 1}}, rehearse=True)
        d.apply({"link": minus((1, 0, 1))})

    def test_columns_of_different_types_meet(self) -> None:
        text = """
            .decl link(x: number, y: number)
            .decl weight(x: float)
            .decl off(x: float, y: number)
            p(x, y) :- link(x, y), !off(x, y). p(x, y) :- p(x, z), weight(z), p(z, y), !off(y, _).
        """
        d = driver(text, {"link": [(0, 1), (1, 2)], "weight": [(1.0,), (0.5,)]})
        assert (0, 2) in d.tables["p"]
        d.apply({"off": plus((2.0, 9), (0.5, 1))})
        assert (0, 2) not in d.tables["p"]
        d.apply({"off": minus((2.0, 9)), "weight": minus((0.5,))}, rehearse=True)
        d.apply({"off": plus((0.0, 1))})
        assert d.tables["p"].keys() == {(1, 2)}

    def test_copies_in_a_bag_below_count_once(self) -> None:
        text = (
            ".decl link(x: number, y: number) bag\nreach(x, y) :- link(x, y). reach(x, y) :- link(x, z), reach(z, y)."
        )
        d = driver(text)
        d.apply({"link": {(0, 1): 2, (1, 2): 1}})
        d.apply({"link": minus((0, 1))})
        assert (0, 2) in d.tables["reach"]
        d.apply({"link": minus((0, 1))})
        assert d.tables["reach"].keys() == {(1, 2)}

    def test_rows_that_are_owed_below_make_it_recompute(self) -> None:
        text = """
            .decl link(x: number, y: number)
            .decl cut(x: number, y: number)
            .decl open(x: number, y: number) bag
            open(x, y) :- link(x, y). -open(x, y) :- cut(x, y).
            reach(x, y) :- open(x, y). reach(x, y) :- open(x, z), reach(z, y).
        """
        d = driver(text, {"link": [(0, 1), (1, 2)]})
        d.apply({"cut": plus((1, 2))})
        assert [each.maintainer.reason for each in d.maintained] == [None] * len(ALL)  # type: ignore[attr-defined]
        d.apply({"cut": plus((2, 3))}, rehearse=True)
        assert {each.maintainer.reason for each in d.maintained} == {OWING, None}  # type: ignore[attr-defined]
        d.apply({"link": plus((2, 3), (3, 4)), "cut": minus((1, 2))})

    def test_a_long_chain_of_given_values_is_not_limited(self) -> None:
        d = Driver(
            analysis_of(LINKS + "at(x) :- link(x, _, 0). at(y) :- at(x), link(x, y, _)."),
            limits=RecursionLimits(rounds=5, rows=5),
            strategies=[Absorption, DRed],
            base={"link": {(i, i + 1, int(i > 0)): 1 for i in range(60)}},
        )
        d.apply({"link": minus((30, 31, 1))})
        assert len(d.tables["at"]) == 31


class TestAggregates:
    def test_the_next_best_comes_back(self) -> None:
        d = driver(CHEAPEST, {"link": [(0, 1, 1), (1, 2, 1), (0, 2, 5), (2, 0, 1)]})
        d.apply({"link": minus((0, 1, 1))})
        assert (0, 2, 5) in d.tables["best"]
        d.apply({"link": plus((0, 1, 1), (1, 2, 0))}, rehearse=True)
        assert (0, 2, 1) in d.tables["best"]

    def test_the_greatest_of_decimals_that_differ_in_the_last_of_38_digits(self) -> None:
        text = (
            ".decl e(x: number, y: number, c: decimal(38, 0))\n"
            "best(x, y, max<c>) :- e(x, y, c). best(x, y, max<c>) :- e(x, z, a), best(z, y, b), c = least(a, b)."
        )
        least, greatest = Decimal("1234567890" * 3 + "12345670"), Decimal("1234567890" * 3 + "12345678")
        d = driver(text, {"e": [(0, 1, least), (0, 1, greatest)]})
        assert d.tables["best"].keys() == {(0, 1, greatest)}
        d.apply({"e": minus((0, 1, greatest))})
        assert d.tables["best"].keys() == {(0, 1, least)}

    def test_no_cycle_of_no_cost_keeps_itself_alive(self) -> None:
        d = driver(CHEAPEST, {"link": [(0, 1, 0), (1, 0, 0), (1, 2, 3)]})
        d.apply({"link": minus((1, 2, 3))})
        assert d.tables["best"].keys() == {(0, 1, 0), (1, 0, 0), (0, 0, 0), (1, 1, 0)}

    def test_two_aggregates_that_rest_on_each_other(self) -> None:
        # The cheapest way from 0 leads over 1, and the one with the fewest hops from 1 over 0.
        text = LINKS + (
            "best(x, y, min<c>, min<h>) :- link(x, y, c), h = 1.\n"
            "best(x, y, min<c>, min<h>) :- link(x, z, a), best(z, y, b, g), c = a + b, h = g + 1."
        )
        links: list[Row] = [(0, 9, 10), (0, 1, 1), (1, 0, 1), (1, 2, 1), (2, 3, 1), (3, 9, 1)]
        d = driver(text, {"link": links})
        assert (0, 9, 4, 1) in d.tables["best"] and (1, 9, 3, 2) in d.tables["best"]
        assert {each.maintainer.reason for each in d.maintained} == {None}  # type: ignore[attr-defined]
        for row in links:
            d.apply({"link": minus(row)}, rehearse=True)
            d.apply({"link": plus(row)})

    def test_values_that_improve_upon_themselves_up_to_a_limit(self) -> None:
        text = """
            .decl base(x: number, c: number)
            .decl link(x: number, y: number)
            low(x, min<c>) :- base(x, c).
            low(y, min<c>) :- low(x, b), link(x, y), c = greatest(b - 1, 0).
        """
        d = driver(text, {"base": [(0, 5), (2, 7)], "link": [(0, 1), (1, 0), (1, 2)]})
        assert d.tables["low"].keys() == {(0, 0), (1, 0), (2, 0)}
        d.apply({"base": minus((0, 5))}, rehearse=True)
        assert d.tables["low"].keys() == {(2, 7)}
        d.apply({"base": plus((0, 5)), "link": minus((1, 2))})
        d.apply({"link": minus((1, 0))})
        assert d.tables["low"].keys() == {(0, 5), (1, 4), (2, 7)}

    def test_a_value_that_rests_on_the_existence_of_its_own_group(self) -> None:
        text = """
            .decl base(x: number, c: number)
            .decl bonus(x: number, c: number)
            low(x, min<c>) :- base(x, c). low(x, min<c>) :- low(x, _), bonus(x, c).
        """
        d = driver(text, {"base": [(0, 5)], "bonus": [(0, 1)]})
        assert d.tables["low"].keys() == {(0, 1)}
        d.apply({"base": minus((0, 5))})
        assert d.tables["low"] == {}

    def test_a_negation_under_a_value_that_has_been_improved_upon(self) -> None:
        text = """
            .decl base(x: number, c: number)
            .decl link(x: number, y: number)
            .decl down(x: number)
            low(x, min<c>) :- base(x, c), !down(x).
            low(y, min<c>) :- low(x, b), link(x, y), !down(y), c = greatest(b - 1, 0).
        """
        d = driver(text, {"base": [(0, 5)], "link": [(0, 1), (1, 0)]})
        d.apply({"down": plus((0,))}, rehearse=True)
        assert d.tables["low"] == {}
        d.apply({"down": minus((0,))})
        d.apply({"down": plus((1,))})
        assert d.tables["low"].keys() == {(0, 5)}

    def test_plain_rows_follow_the_best_value(self) -> None:
        text = LINKS + (
            "best(x, y, min<c>) :- path(x, y, c). path(x, y, c) :- link(x, y, c).\n"
            "path(x, y, c) :- link(x, z, a), best(z, y, b), c = a + b."
        )
        d = driver(text, {"link": [(0, 1, 1), (1, 2, 5)]})
        d.apply({"link": plus((1, 2, 3))}, rehearse=True)
        assert (0, 2, 4) in d.tables["path"] and (0, 2, 6) not in d.tables["path"]
        d.apply({"link": minus((1, 2, 3))}, rehearse=True)
        assert (0, 2, 6) in d.tables["path"]

    def test_values_passed_around_a_cycle_without_an_aggregate_make_it_recompute(self) -> None:
        text = LINKS + (
            "best(x, y, min<c>) :- link(x, y, c). path(x, y, c) :- best(x, y, c).\n"
            "path(x, y, c) :- path(x, z, c), link(z, y, 0). best(x, y, min<c>) :- path(x, y, b), c = b + 1."
        )
        d = driver(text, {"link": [(0, 1, 3), (1, 2, 0), (2, 1, 0)]})
        d.apply({"link": minus((2, 1, 0))})
        reasons = [each.maintainer.reason for each in d.maintained]  # type: ignore[attr-defined]
        assert all("'path'" in reason for reason in reasons[:-1])

    def test_aggregates_without_a_group_have_a_row_over_nothing(self) -> None:
        text = ".decl t(c: number)\n.decl s(c: number)\nlow(min<c>) :- t(c). low(min<c>) :- low(b), s(a), c = b + a."
        d = driver(text)
        assert d.tables["low"].keys() == {(None,)}
        d.apply({"s": plus((2,))})
        d.apply({"t": plus((4,))}, rehearse=True)
        d.apply({"t": minus((4,))})
        assert d.tables["low"].keys() == {(None,)}

    def test_nulls_and_texts(self) -> None:
        text = """
            .decl t(x: number, s: symbol nullable)
            .decl link(x: number, y: number)
            last(x, max<s>) :- t(x, s). last(y, max<s>) :- last(x, s), link(x, y).
        """
        d = driver(text, {"t": [(0, None)], "link": [(0, 1), (1, 2), (2, 0)]})
        assert d.tables["last"].keys() == {(0, None), (1, None), (2, None)}
        d.apply({"t": plus((2, "b"), (1, "ab"))})
        d.apply({"t": minus((2, "b"))}, rehearse=True)
        assert d.tables["last"].keys() == {(0, "ab"), (1, "ab"), (2, "ab")}
        d.apply({"t": minus((0, None), (1, "ab"))})
        assert d.tables["last"] == {}


class TestErrors:
    def test_costs_that_fall_forever(self) -> None:
        d = driver(CHEAPEST, {"link": [(0, 1, 1), (1, 2, 1)]}, RecursionLimits(rounds=30))
        errors = d.fails({"link": plus((2, 0, -5))})
        assert len(errors) == len(ALL)
        for error in errors:
            assert isinstance(error, ConvergenceError)
            assert error.message.startswith("'best' does not come to an end: after 30 rounds")
            assert error.span is not None and "best(z, y, b)" in error.span.text
        d.apply({"link": plus((2, 0, 5))})

    def test_paths_that_grow_forever(self) -> None:
        text = LINKS + "path(x, y, c) :- link(x, y, c). path(x, y, c) :- link(x, z, a), path(z, y, b), c = a + b."
        for limits in (RecursionLimits(rounds=30), RecursionLimits(rows=40)):
            d = driver(text, {"link": [(0, 1, 1), (1, 2, 1)]}, limits)
            errors = d.fails({"link": plus((2, 0, 1))})
            assert [type(error) for error in errors] == [ConvergenceError] * len(ALL)
            assert all(error.span is not None for error in errors)

    def test_rows_that_are_replaced_do_not_count_twice(self) -> None:
        text = LINKS + "at(x, 0 + x) :- link(x, _, _). at(x, y) :- at(y, x)."
        old: list[Row] = [(x, 0, 0) for x in range(10)]
        new: list[Row] = [(x, 0, 0) for x in range(10, 20)]
        d = driver(text, {"link": old}, RecursionLimits(rows=12))
        d.apply({"link": minus(*old) | plus(*new)})

    @pytest.mark.parametrize("strategy", ALL)
    def test_a_function_that_fails_half_way_leaves_no_trace(self, strategy: type[Absorption]) -> None:
        def fussy(x: Value) -> Value:
            if x == 7:
                raise EvaluationError("seven")
            return x

        functions = {"fussy": Function(Signature("fussy", INT), fussy)}
        text = LINKS + (
            ".decl down(x: number)\n"
            "best(x, fussy(y), min<c>) :- link(x, y, c), !down(x).\n"
            "best(x, fussy(y), min<c>) :- link(x, z, a), best(z, y, b), c = a + b, !down(z)."
        )
        links: list[Row] = [(0, 1, 1), (1, 2, 1), (2, 3, 1), (0, 3, 9)]
        d = Driver(analysis_of(text, functions), functions, strategies=[strategy], base={"link": plus(*links)})
        bad: dict[str, dict[Row, int]] = {"link": {(0, 1, 1): -1, (3, 5, 1): 1, (5, 7, 1): 1}, "down": plus((2,))}
        assert [type(error) for error in d.fails(bad)] == [EvaluationError]
        d.apply({"link": {(0, 1, 1): -1, (3, 5, 1): 1}, "down": plus((2,))}, rehearse=True)
        assert [type(error) for error in d.fails({"link": plus((5, 7, 1)), "down": minus((2,))})] == [EvaluationError]
        d.apply({"link": plus((0, 1, 1)), "down": minus((2,))})


class TestDerivations:
    def absorption(self, text: str, base: Mapping[str, list[Row]]) -> Absorption:
        maintainer = driver(text, base).maintained[0].maintainer
        assert isinstance(maintainer, Absorption)
        return maintainer

    def test_the_proof_comes_first_and_ends(self) -> None:
        links: list[Row] = [(0, 1, 1), (1, 2, 1), (2, 0, 1), (0, 2, 1)]
        maintainer = self.absorption(REACH, {"link": links})
        for row in maintainer.counts("reach"):
            todo: list[tuple[str, Row]] = [("reach", row)]
            for relation, here in todo:
                if relation == "reach":
                    todo += next(iter(maintainer.derivations(relation, here)))[1]
                assert len(todo) < 30
            assert {here for relation, here in todo if relation == "link"} <= set(links)

    def test_all_ways_are_listed_once(self) -> None:
        text = LINKS + "reach(x, y) :- link(x, y, _). reach(x, y) :- reach(x, z), reach(z, y)."
        maintainer = self.absorption(text, {"link": [(0, 1, 1), (1, 2, 1), (0, 2, 1), (0, 3, 1), (3, 2, 1)]})
        ways = list(maintainer.derivations("reach", (0, 2)))
        assert ways[0][1] == (("link", (0, 2, 1)),)
        assert sorted(body for _, body in ways[1:]) == [
            (("reach", (0, 1)), ("reach", (1, 2))),
            (("reach", (0, 3)), ("reach", (3, 2))),
        ]
        assert list(maintainer.derivations("reach", (2, 0))) == []

    def test_only_the_best_value_is_derived(self) -> None:
        maintainer = self.absorption(CHEAPEST, {"link": [(0, 1, 1), (1, 2, 1), (0, 2, 2), (0, 2, 5)]})
        bodies = {body for _, body in maintainer.derivations("best", (0, 2, 2))}
        assert bodies == {(("link", (0, 2, 2)),), (("link", (0, 1, 1)), ("best", (1, 2, 1)))}
