from __future__ import annotations

from collections.abc import Mapping

from hypothesis import assume, given
from hypothesis import strategies as st

from whence.analysis.direction import Compass, Direction, Moving
from whence.errors import StratificationError
from whence.functions.evaluate import compile_term
from whence.functions.types import Typed, infer
from whence.model.terms import Aggregate, Call, Cast, Constant, Term, Variable
from whence.model.types import BIGINT, BOOLEAN, DOUBLE, INT, Value

MIN = Moving(Direction.FALLS, Aggregate("min", Variable("c")))
TYPES = {"c": Typed(INT, False), "k": Typed(INT, False)}

LEAVES = st.one_of(
    st.just(Variable("c")), st.just(Variable("k")), st.integers(-5, 5).map(lambda value: Constant(value, INT))
)


def deeper(terms: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    def call(functions: list[str], arguments: int) -> st.SearchStrategy[Term]:
        return st.builds(Call, st.sampled_from(functions), st.tuples(*[terms] * arguments))

    return st.one_of(
        call(["+", "-", "*", "least", "greatest"], 2),
        call(["-", "floor", "ceil", "round", "abs"], 1),
        terms.map(lambda term: Cast(term, DOUBLE)),
    )


TERMS = st.recursive(LEAVES, deeper, max_leaves=6)
CONDITIONS = st.recursive(
    st.builds(Call, st.sampled_from(["<", "<=", ">", ">=", "=", "!="]), st.tuples(TERMS, TERMS)),
    lambda inner: st.one_of(
        st.builds(Call, st.sampled_from(["and", "or"]), st.tuples(inner, inner)),
        inner.map(lambda condition: Call("not", (condition,))),
    ),
    max_leaves=3,
)


def moves(term: Term, types: Mapping[str, Typed] = TYPES) -> Direction | None:
    """The proven direction of a term in which c falls and k stands still. What is not proven is left out."""
    compass = Compass({"c": MIN}, lambda part: infer(part, types, {}))
    try:
        move = compass.moving(term)
    except StratificationError:
        assume(False)
    assume(not compass.assumed)
    return None if move is None else move.direction


def values(term: Term, worse: int, better: int, k: int) -> tuple[Value, Value]:
    compute = compile_term(term, TYPES, {}, {})
    return compute({"c": worse, "k": k}), compute({"c": better, "k": k})


@given(TERMS | CONDITIONS, st.integers(-9, 9), st.integers(0, 9), st.integers(-9, 9))
def test_values_move_as_they_are_said_to(term: Term, worse: int, gain: int, k: int) -> None:
    direction = moves(term)
    before, after = values(term, worse, worse - gain, k)
    assert isinstance(before, int | float)
    assert isinstance(after, int | float)
    match direction:
        case None:
            assert before == after
        case Direction.FALLS:
            assert after <= before
        case Direction.RISES:
            assert after >= before


@given(TERMS | CONDITIONS, st.integers(-9, 9), st.integers(-9, 9))
def test_a_value_that_comes_after_null_is_no_worse(term: Term, first: int, k: int) -> None:
    types = {**TYPES, "c": Typed(INT, True)}
    direction = moves(term, types)
    compute = compile_term(term, types, {}, {})
    before, after = compute({"c": None, "k": k}), compute({"c": first, "k": k})
    if before is None:
        return
    assert isinstance(before, int | float)
    assert isinstance(after, int | float)
    if direction is not None:
        assert (after - before) * direction.value >= 0


def test_a_sum_deeper_than_pythons_stack() -> None:
    term: Term = Variable("c")
    for _ in range(5_000):
        term = Call("+", (term, Constant(1, INT)))
    compass = Compass({"c": MIN}, lambda part: Typed(BIGINT, False))
    move = compass.moving(term)
    assert move is not None
    assert move.direction is Direction.FALLS


def test_null_is_not_left_again() -> None:
    compass = Compass({"c": MIN}, lambda part: Typed(BOOLEAN, False))
    move = compass.moving(Call("isnotnull", (Variable("c"),)))
    assert move is not None
    assert move.direction is Direction.RISES
