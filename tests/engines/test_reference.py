"""Naive evaluation against answers worked out by hand."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal

import pytest

from whence.analysis.analyze import analyze
from whence.analysis.limits import DEFAULT_LIMITS, RecursionLimits
from whence.engines.reference.evaluate import evaluate
from whence.errors import ConvergenceError, EvaluationError
from whence.lang.datalog.parse import parse_datalog
from whence.model.program import Function, Program, Signature
from whence.model.rules import Atom, Comparison, Condition, Negation, Rule
from whence.model.schema import Column, Relation
from whence.model.terms import Aggregate, Call, Constant, Term, Variable, Wildcard
from whence.model.types import BIGINT, DATE, DOUBLE, INT, STRING, DecimalType, Row, Type, Value

LINKS: dict[Row, int] = {("a", "b", 1): 1, ("b", "c", 2): 1, ("c", "a", 3): 1, ("c", "d", 1): 1}
DECLARED = ".decl link(src: symbol, dst: symbol, cost: number)\n"


def run(
    text: str, base: Mapping[str, Mapping[Row, int]] | None = None, limits: RecursionLimits = DEFAULT_LIMITS
) -> dict[str, Mapping[Row, int]]:
    return evaluate(analyze(parse_datalog(text)), base or {}, {}, limits)


def rows(text: str, relation: str, base: Mapping[str, Mapping[Row, int]] | None = None) -> set[Row]:
    counts = run(text, base)[relation]
    assert set(counts.values()) <= {1}
    return set(counts)


def bag(name: str, *columns: Column) -> Relation:
    return Relation(name, columns)


def atom(relation: str, *terms: Term | str) -> Atom:
    """An atom whose variables are given by name."""
    return Atom(relation, tuple(Variable(term) if isinstance(term, str) else term for term in terms))


def constant(value: Value, kind: Type) -> Constant:
    return Constant(value, kind)


T = bag("t", Column("x", INT), Column("y", STRING))
U = bag("u", Column("x", INT))


def counts_of(*rules: Rule, head: Relation, base: Mapping[str, Mapping[Row, int]]) -> Mapping[Row, int]:
    return evaluate(analyze(Program((T, U, head), rules)), base)[head.name]


class TestRecursion:
    def test_reachability_ends_on_a_cycle(self) -> None:
        text = DECLARED + "reach(x, y) :- link(x, y, _). reach(x, y) :- link(x, z, _), reach(z, y)."
        cycle = {(x, y) for x in "abc" for y in "abcd"}
        assert rows(text, "reach", {"link": LINKS}) == cycle

    def test_no_input_no_rows(self) -> None:
        text = DECLARED + "reach(x, y) :- link(x, y, _). reach(x, y) :- link(x, z, _), reach(z, y)."
        assert run(text) == {"link": {}, "reach": {}}

    def test_two_relations_that_need_each_other(self) -> None:
        text = """
            .decl next(x: number, y: number)
            even(0). even(y) :- odd(x), next(x, y).
            odd(y) :- even(x), next(x, y).
        """
        found = run(text, {"next": {(i, i + 1): 1 for i in range(7)}})
        assert (sorted(found["even"]), sorted(found["odd"])) == ([(0,), (2,), (4,), (6,)], [(1,), (3,), (5,), (7,)])

    def test_min_settles_on_a_cycle(self) -> None:
        text = (
            DECLARED
            + """
            best(x, y, min<c>) :- link(x, y, c).
            best(x, y, min<c>) :- link(x, z, c1), best(z, y, c2), c = c1 + c2.
        """
        )
        best = rows(text, "best", {"link": LINKS})
        assert {row for row in best if row[0] == "a"} == {("a", "b", 1), ("a", "c", 3), ("a", "a", 6), ("a", "d", 4)}

    def test_a_nonlinear_rule(self) -> None:
        text = DECLARED + "reach(x, y) :- link(x, y, _). reach(x, y) :- reach(x, z), reach(z, y)."
        chain: dict[Row, int] = {(str(i), str(i + 1), 1): 1 for i in range(9)}
        assert len(rows(text, "reach", {"link": chain})) == 45

    def test_a_long_chain_of_plain_values_has_no_limit(self) -> None:
        text = ".decl next(x: number, y: number)\nseen(0). seen(y) :- seen(x), next(x, y)."
        chain: dict[Row, int] = {(i, i + 1): 1 for i in range(200)}
        assert len(run(text, {"next": chain}, RecursionLimits(rounds=10))["seen"]) == 201


class TestEndless:
    GROWING = DECLARED + "path(x, y, c) :- link(x, y, c).\npath(x, y, c1 + c2) :- link(x, z, c1), path(z, y, c2).\n"

    def test_costs_that_grow_around_a_cycle(self) -> None:
        with pytest.raises(ConvergenceError) as caught:
            run(self.GROWING, {"link": LINKS}, RecursionLimits(rounds=20))
        message = str(caught.value)
        assert message.startswith(
            "'path' does not come to an end: after 20 rounds it still gets new rows, such as ('a', 'a', 42)\n"
        )
        assert "3 | path(x, y, c1 + c2) :- link(x, z, c1), path(z, y, c2)." in message
        assert "hint: stop it with a condition on the value that grows, or keep the best row only" in message
        assert "2 |" not in message

    def test_the_example_is_the_same_in_whatever_order_rows_come(self) -> None:
        nodes = [f"node {number}" for number in range(30)]
        text = ".decl node(x: symbol)\nage(x, 0) :- node(x). age(x, n + 1) :- age(x, n)."
        for base in (nodes, nodes[::-1]):
            with pytest.raises(ConvergenceError, match=r"such as \('node 0', 9\)"):
                run(text, {"node": {(name,): 1 for name in base}}, RecursionLimits(rounds=9))

    def test_the_same_rules_end_without_a_cycle(self) -> None:
        base = {"link": {row: 1 for row in LINKS if row[1] != "a"}}
        assert ("a", "d", 4) in run(self.GROWING, base, RecursionLimits(rounds=20))["path"]

    def test_a_limit_that_is_just_enough(self) -> None:
        text = "n(0). n(x + 1) :- n(x), x < 5."
        assert len(run(text, limits=RecursionLimits(rounds=6))["n"]) == 6
        with pytest.raises(ConvergenceError):
            run(text, limits=RecursionLimits(rounds=5))

    def test_the_default_limit_is_finite(self) -> None:
        with pytest.raises(ConvergenceError, match="'n' does not come to an end: after 1,000 rounds"):
            run("n(0). n(x + 1) :- n(x).")

    def test_min_around_a_negative_cycle(self) -> None:
        text = (
            DECLARED
            + """
            best(x, y, min<c>) :- link(x, y, c).
            best(x, y, min<c>) :- link(x, z, c1), best(z, y, c2), c = c1 + c2.
        """
        )
        with pytest.raises(ConvergenceError) as caught:
            run(text, {"link": {("a", "b", 1): 1, ("b", "a", -2): 1}}, RecursionLimits(rounds=50))
        assert "'best' does not come to an end: after 50 rounds" in str(caught.value)
        assert "hint: around some cycle the values get better every time, so there is no best one" in str(caught.value)

    def test_every_rule_that_goes_on_is_named(self) -> None:
        with pytest.raises(ConvergenceError) as caught:
            run("n(0).\nn(x + 1) :- n(x).\nn(x + 2) :- n(x).\n", limits=RecursionLimits(rounds=10))
        assert "note: this rule keeps producing new rows too" in str(caught.value)
        assert "3 | n(x + 2) :- n(x)." in str(caught.value)

    def test_rows_are_limited_within_a_round(self) -> None:
        with pytest.raises(ConvergenceError, match=r"'n' grows without end: it has more than 1,000 rows") as caught:
            run("n(1). n(2). n(3). n(x * 7 + y) :- n(x), n(y).", limits=RecursionLimits(rows=1_000))
        assert caught.value.span is not None
        assert caught.value.span.text.startswith("n(x * 7 + y)")

    def test_an_overflow_is_told_as_what_it_is(self) -> None:
        with pytest.raises(EvaluationError, match="does not fit INT"):
            run("n(1). n(x * 4) :- n(x).")


class TestBags:
    def test_counts_multiply_in_a_join_and_add_up_in_a_projection(self) -> None:
        head = bag("v", Column("y", STRING))
        rule = Rule(atom("v", "y"), (atom("t", "x", "y"), atom("u", "x")))
        base: dict[str, dict[Row, int]] = {"t": {(1, "a"): 2, (2, "a"): 1, (3, "b"): 1}, "u": {(1,): 3, (2,): 1}}
        assert counts_of(rule, head=head, base=base) == {("a",): 7}

    def test_what_is_not_needed_any_more_is_counted_and_not_listed(self) -> None:
        """There are 10 ** 10 ways to satisfy the body."""
        many: dict[Row, int] = {(number,): 1 for number in range(100)}
        body = tuple(atom("u", name) for name in "abcde")
        rule = Rule(Atom("h", (Aggregate("count", None), Aggregate("max", Variable("c")))), body)
        head = bag("h", Column("n", BIGINT), Column("most", INT))
        assert counts_of(rule, head=head, base={"u": many}) == {(10**10, 99): 1}

    def test_rules_add_up(self) -> None:
        head = bag("v", Column("x", INT))
        rules = [Rule(atom("v", "x"), (atom("u", "x"),)), Rule(atom("v", "x"), (atom("t", "x", Wildcard()),))]
        assert counts_of(*rules, head=head, base={"u": {(1,): 2}, "t": {(1, "a"): 1, (1, "b"): 1}}) == {(1,): 4}

    def test_a_set_counts_once(self) -> None:
        head = Relation("v", (Column("x", INT),), distinct=True)
        rules = [Rule(atom("v", "x"), (atom("u", "x"),)), Rule(atom("v", "x"), (atom("t", "x", Wildcard()),))]
        assert counts_of(*rules, head=head, base={"u": {(1,): 2}, "t": {(1, "a"): 5}}) == {(1,): 1}

    def test_a_differential_rule_takes_away(self) -> None:
        rules = [Rule(atom("v", "x"), (atom("u", "x"),)), Rule(atom("v", "x"), (atom("t", "x", Wildcard()),), sign=-1)]
        base: dict[str, dict[Row, int]] = {"u": {(1,): 2, (2,): 1}, "t": {(1, "a"): 1, (2, "a"): 1, (3, "a"): 1}}
        assert counts_of(*rules, head=bag("v", Column("x", INT)), base=base) == {(1,): 1, (3,): -1}
        distinct = Relation("v", (Column("x", INT),), distinct=True)
        assert counts_of(*rules, head=distinct, base=base) == {(1,): 1}

    def test_negation_counts_as_one(self) -> None:
        rule = Rule(atom("v", "x"), (atom("u", "x"), Negation(atom("t", "x", Wildcard()))))
        base: dict[str, dict[Row, int]] = {"u": {(1,): 2, (2,): 3}, "t": {(1, "a"): 9}}
        assert counts_of(rule, head=bag("v", Column("x", INT)), base=base) == {(2,): 3}

    def test_a_row_that_is_owed_is_not_there(self) -> None:
        owing = bag("owing", Column("x", INT))
        head = bag("v", Column("x", INT))
        rules = (
            Rule(atom("owing", "x"), (atom("t", "x", Wildcard()),), sign=-1),
            Rule(atom("v", "x"), (atom("u", "x"), Negation(atom("owing", "x")))),
        )
        found = evaluate(analyze(Program((T, U, owing, head), rules)), {"t": {(1, "a"): 1}, "u": {(1,): 1}})
        assert (found["owing"], found["v"]) == ({(1,): -1}, {(1,): 1})


class TestMatching:
    def test_null_is_the_same_as_null_for_a_repeated_variable(self) -> None:
        rule = Rule(atom("v", "x"), (atom("t", "x", Wildcard()), atom("u", "x")))
        base: dict[str, dict[Row, int]] = {"t": {(None, "a"): 1, (1, "a"): 1}, "u": {(None,): 1}}
        assert counts_of(rule, head=bag("v", Column("x", INT)), base=base) == {(None,): 1}

    def test_a_comparison_is_not_true_of_null(self) -> None:
        equal = Comparison("=", Variable("x"), Variable("z"))
        rule = Rule(atom("v", "x"), (atom("t", "x", Wildcard()), atom("u", "z"), equal))
        base: dict[str, dict[Row, int]] = {"t": {(None, "a"): 1, (1, "a"): 1}, "u": {(None,): 1, (1,): 1}}
        assert counts_of(rule, head=bag("v", Column("x", INT)), base=base) == {(1,): 1}

    def test_a_definition_may_be_null(self) -> None:
        define = Comparison("=", Variable("z"), Call("+", (Variable("x"), constant(1, INT))))
        rule = Rule(atom("v", "z"), (atom("u", "x"), define))
        assert counts_of(rule, head=bag("v", Column("z", INT)), base={"u": {(None,): 1, (1,): 1}}) == {
            (None,): 1,
            (2,): 1,
        }

    def test_a_variable_twice_in_one_atom(self) -> None:
        assert rows(DECLARED + "loop(x) :- link(x, x, _).", "loop", {"link": {("a", "a", 1): 1, ("a", "b", 1): 1}}) == {
            ("a",)
        }

    def test_constants_and_computed_terms_in_an_atom(self) -> None:
        text = """
            .decl p(x: number, y: number)
            next(x) :- p(x, x + 1).
            five(x) :- p(x, 5).
            up(y) :- p(1, x), p(x + 1, y).
        """
        base: dict[str, dict[Row, int]] = {"p": {(1, 2): 1, (4, 5): 1, (3, 9): 1}}
        found = run(text, base)
        assert [sorted(found[name]) for name in ("next", "five", "up")] == [[(1,), (4,)], [(4,)], [(9,)]]

    def test_numbers_match_across_their_types(self) -> None:
        wide = bag("wide", Column("x", DOUBLE))
        rule = Rule(atom("v", "x"), (atom("wide", "x"), atom("u", "x")))
        analysis = analyze(Program((U, wide, bag("v", Column("x", DOUBLE))), (rule,)))
        found = evaluate(analysis, {"u": {(1,): 1, (2,): 1}, "wide": {(1.0,): 1, (2.5,): 1}})["v"]
        assert found == {(1.0,): 1}
        assert [type(row[0]) for row in found] == [float]

    def test_head_values_take_the_type_of_their_column(self) -> None:
        rule = Rule(atom("v", "x", constant(1, INT)), (atom("u", "x"),))
        head = bag("v", Column("x", DOUBLE), Column("y", BIGINT))
        assert [tuple(map(type, row)) for row in counts_of(rule, head=head, base={"u": {(1,): 1}})] == [(float, int)]

    def test_a_condition(self) -> None:
        condition = Condition(Call("not", (Call("isnull", (Variable("x"),)),)))
        rule = Rule(atom("v", "x"), (atom("u", "x"), condition))
        assert counts_of(rule, head=bag("v", Column("x", INT)), base={"u": {(1,): 1, (None,): 1}}) == {(1,): 1}

    def test_text_order_of_conditions_protects_a_division(self) -> None:
        text = ".decl p(x: number, y: number)\nq(x) :- p(x, y), y != 0, x / y > 1."
        assert rows(text, "q", {"p": {(4, 2): 1, (1, 0): 1}}) == {(4,)}


class TestAggregates:
    def test_over_all_rules_together(self) -> None:
        text = """
            .decl a(x: symbol, n: number)
            .decl b(x: symbol, n: number)
            total(x, sum<n>) :- a(x, n).
            total(x, sum<n>) :- b(x, n).
        """
        base: dict[str, dict[Row, int]] = {"a": {("p", 1): 1, ("q", 5): 1}, "b": {("p", 10): 1}}
        assert rows(text, "total", base) == {("p", 11), ("q", 5)}

    def test_multiplicity_counts(self) -> None:
        head = bag("v", Column("y", STRING), Column("n", BIGINT), Column("s", BIGINT), Column("d", BIGINT))
        x = Variable("x")
        rule = Rule(
            atom("v", "y", Aggregate("count", None), Aggregate("sum", x), Aggregate("sum", x, distinct=True)),
            (atom("t", "x", "y"),),
        )
        base: dict[str, dict[Row, int]] = {"t": {(1, "a"): 3, (5, "a"): 1, (None, "a"): 2, (None, "b"): 1}}
        assert counts_of(rule, head=head, base=base) == {("a", 6, 8, 6): 1, ("b", 1, None, None): 1}

    def test_without_groups_there_is_one_row_even_of_nothing(self) -> None:
        head = bag("v", Column("n", BIGINT), Column("least", INT))
        rule = Rule(atom("v", Aggregate("count", None), Aggregate("min", Variable("x"))), (atom("u", "x"),))
        assert counts_of(rule, head=head, base={}) == {(0, None): 1}
        assert counts_of(rule, head=head, base={"u": {(3,): 2}}) == {(2, 3): 1}

    def test_a_group_of_nothing_has_no_row(self) -> None:
        assert rows(DECLARED + "n(x, count<*>) :- link(x, _, _).", "n") == set()

    def test_an_aggregate_stands_where_the_head_has_it(self) -> None:
        text = DECLARED + "n(count<*>, x) :- link(x, _, _)."
        assert rows(text, "n", {"link": LINKS}) == {(1, "a"), (1, "b"), (2, "c")}

    def test_arguments_of_different_types_meet_in_one(self) -> None:
        text = ".decl a(n: number)\n.decl b(n: float)\nmost(max<n>) :- a(n).\nmost(max<n>) :- b(n)."
        found = rows(text, "most", {"a": {(3,): 1}, "b": {(2.5,): 1}})
        assert found == {(3.0,)}
        assert [type(row[0]) for row in found] == [float]

    def test_decimals_stay_exact(self) -> None:
        price = Relation("price", (Column("p", DecimalType(10, 2)),))
        rule = Rule(atom("v", Aggregate("sum", Variable("p"))), (atom("price", "p"),))
        found = evaluate(analyze(Program((price,), (rule,))), {"price": {(Decimal("0.10"),): 3}})
        assert found["v"] == {(Decimal("0.30"),): 1}


class TestJoins:
    def test_a_body_longer_than_the_python_stack(self) -> None:
        conditions = ", ".join(f"x != {-i - 1}" for i in range(3_000))
        assert rows(f".decl p(x: number)\nq(x) :- p(x), {conditions}.", "q", {"p": {(1,): 1}}) == {(1,)}

    def test_joins_are_not_products(self) -> None:
        """With 3,000 rows in each of four tables a product would never end."""
        names = "abcd"
        declared = "".join(f".decl {name}(x: number, y: number)\n" for name in names)
        text = declared + "q(v, z) :- d(y, z), a(v, w), c(x, y), b(w, x)."
        base: dict[str, dict[Row, int]] = {name: {(i, i + 1): 1 for i in range(3_000)} for name in names}
        assert len(rows(text, "q", base)) == 2_997

    def test_a_function_of_the_user(self) -> None:
        double: Callable[[int], int] = lambda x: 2 * x  # noqa: E731 it stands for what a user passes
        functions = {"twice": Function(Signature("twice", BIGINT), double)}
        text = ".decl p(x: number)\nq(@twice(x)) :- p(x)."
        analysis = analyze(parse_datalog(text), {"twice": Signature("twice", BIGINT)})
        assert evaluate(analysis, {"p": {(4,): 1}}, functions)["q"] == {(8,): 1}

    def test_dates(self) -> None:
        base: dict[str, dict[Row, int]] = {"p": {(datetime.date(2026, 1, 31),): 1}}
        relation = Relation("p", (Column("d", DATE),))
        rule = Rule(atom("q", Call("add_months", (Variable("d"), constant(1, INT)))), (atom("p", "d"),))
        assert evaluate(analyze(Program((relation,), (rule,))), base)["q"] == {(datetime.date(2026, 2, 28),): 1}
