"""Terms as wholes: names, places, depth, and the registry."""

from __future__ import annotations

import pytest

from whence.errors import EvaluationError, UnknownNameError, UnsafeRuleError, UnsupportedError
from whence.functions.builtin import BUILTINS
from whence.functions.evaluate import compile_term
from whence.functions.types import Typed, infer
from whence.model.program import Signature
from whence.model.span import SourceText, Span
from whence.model.terms import Aggregate, Call, Constant, Term, Variable, Wildcard
from whence.model.types import BOOLEAN, INT, NULL, STRING

X = Variable("x")
TYPES = {"x": Typed(INT, True)}
NAMES = """+ - * / div % = != < <= > >= <=> and or not isnull isnotnull if coalesce nullif in like rlike concat lower
upper length substring trim ltrim rtrim replace startswith endswith contains left right lpad rpad reverse repeat instr
locate abs round floor ceil sqrt power exp ln sign greatest least year month day hour minute second quarter dayofweek
date_add date_sub datediff add_months add_interval date_trunc array array_contains size element_at"""


def number(value: int) -> Constant:
    return Constant(value, INT)


def test_the_registry_is_complete() -> None:
    assert set(NAMES.split()) <= set(BUILTINS)
    assert all(name == builtin.name == name.lower() for name, builtin in BUILTINS.items())


def test_simple_terms() -> None:
    assert infer(X, TYPES, {}) == Typed(INT, True)
    assert infer(number(1), {}, {}) == Typed(INT, False)
    assert infer(Constant(None, NULL), {}, {}) == Typed(NULL, True)
    assert compile_term(X, TYPES, {}, {})({"x": 3}) == 3
    assert compile_term(number(1), {}, {}, {})({}) == 1


def test_unknown_names() -> None:
    with pytest.raises(UnknownNameError, match=r"there is no cots here\nhint: did you mean 'cost'"):
        infer(Variable("cots"), {"cost": Typed(INT, True)}, {})
    with pytest.raises(UnknownNameError, match=r"there is no function substrin\(\)\nhint: did you mean 'substring'"):
        infer(Call("substrin", ()), {}, {})
    with pytest.raises(UnknownNameError, match="hint: did you mean 'distance'"):
        infer(Call("distanse", ()), {}, {"distance": Signature("distance", INT)})


def test_terms_without_a_value() -> None:
    with pytest.raises(UnsafeRuleError, match="_ has no value here"):
        infer(Call("+", (Wildcard(), X)), TYPES, {})
    with pytest.raises(UnsupportedError, match="sum stands inside another term"):
        infer(Call("+", (Aggregate("sum", X), X)), TYPES, {})


def test_the_first_wrong_argument_is_blamed() -> None:
    with pytest.raises(UnknownNameError, match="there is no a here"):
        infer(Call("+", (Variable("a"), Variable("b"))), {}, {})


def test_an_error_is_placed_at_the_innermost_call() -> None:
    source = SourceText("<sql>", "1 + 1 / x")
    quotient = Call("/", (number(1), X), span=Span(source, 4, 9))
    evaluate = compile_term(Call("+", (number(1), quotient), span=Span(source, 0, 9)), TYPES, {}, {})
    with pytest.raises(EvaluationError) as caught:
        evaluate({"x": 0})
    assert str(caught.value).splitlines() == [
        "division by zero: 1 / 0",
        " --> <sql>:1:5",
        "  |",
        "1 | 1 + 1 / x",
        "  |     ^^^^^",
        "hint: nullif(divisor, 0) makes the result NULL instead",
    ]


def test_each_row_gets_its_own_error() -> None:
    evaluate = compile_term(Call("+", (X, number(1))), TYPES, {}, {})
    for x in (2**31 - 1, 2**31 - 1):
        with pytest.raises(EvaluationError, match=r"2147483647 \+ 1 does not fit INT"):
            evaluate({"x": x})


def test_long_chains_are_not_deep() -> None:
    case: Term = X
    either: Term = Constant(False, BOOLEAN)
    for i in range(5000):
        case = Call("if", (Call("=", (X, number(i))), number(-i), case))
        either = Call("or", (either, Call("=", (X, number(i)))))
    assert compile_term(case, TYPES, {}, {})({"x": 7}) == -7
    assert compile_term(case, TYPES, {}, {})({"x": 9999}) == 9999
    assert compile_term(either, TYPES, {}, {})({"x": 7}) is True
    assert compile_term(either, TYPES, {}, {})({"x": 9999}) is False
    assert compile_term(either, TYPES, {}, {})({"x": None}) is None


def test_deep_terms_are_refused_and_nothing_breaks() -> None:
    deep: Term = X
    for _ in range(199):
        deep = Call("-", (deep, number(1)))
    assert compile_term(deep, TYPES, {}, {})({"x": 199}) == 0
    for _ in range(100_000):
        deep = Call("-", (deep, number(1)))
    with pytest.raises(UnsupportedError, match="nested more than 200 calls deep"):
        infer(deep, TYPES, {})


def test_constants_on_either_side() -> None:
    null = Constant(None, INT)
    assert compile_term(Call("-", (X, number(1))), TYPES, {}, {})({"x": 5}) == 4
    assert compile_term(Call("-", (number(1), X)), TYPES, {}, {})({"x": 5}) == -4
    assert compile_term(Call("-", (X, X)), TYPES, {}, {})({"x": 5}) == 0
    assert compile_term(Call("-", (number(3), number(1))), TYPES, {}, {})({}) == 2
    for term in (Call("-", (X, null)), Call("-", (null, X)), Call("-", (null,))):
        assert compile_term(term, TYPES, {}, {})({"x": 5}) is None
    assert compile_term(Call("concat", (Constant("a", STRING), X)), TYPES, {}, {})({"x": 5}) == "a5"
