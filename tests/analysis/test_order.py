from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.analysis import order
from whence.analysis.order import Absent, Define, Match, order_body
from whence.errors import UnsafeRuleError, WhenceError
from whence.lang.datalog.parse import parse_datalog
from whence.model.rules import Atom, Comparison, Condition, Literal, Negation, Rule, literal_variables
from whence.model.terms import Call, Constant, Term, Variable, Wildcard, variables
from whence.model.types import INT

Refusal = Callable[[str, type[WhenceError]], str]

DECLARED = ".decl a(x: INT, y: INT)\n.decl b(x: INT)\n"


def shown(term: Term) -> str:
    match term:
        case Variable(name=name):
            return name
        case Constant(value=value):
            return str(value)
        case Wildcard():
            return "_"
        case Call(function=function, arguments=arguments):
            return f"({f' {function} '.join(map(shown, arguments))})"
    raise AssertionError(term)


def written(step: order.Step) -> str:
    match step:
        case Match(atom):
            return f"{atom.relation}({', '.join(map(shown, atom.terms))})"
        case Absent(atom):
            return f"!{atom.relation}({', '.join(map(shown, atom.terms))})"
        case Define(variable, term):
            return f"{variable.name} := {shown(term)}"
        case order.Test(Comparison(op, left, right)):
            return f"{shown(left)} {op} {shown(right)}"
        case order.Test(Condition(term)):
            return shown(term)
    raise AssertionError(step)


def steps(rule: str) -> list[str]:
    return [written(step) for step in order_body(parse_datalog(DECLARED + rule).rules[0])]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        # Filters as soon as their variables are bound.
        ("p(x) :- a(x, y), b(z), x < y, z > 1.", ["a(x, y)", "x < y", "b(z)", "z > 1"]),
        ("p(x) :- x < 3, !b(y), a(x, y).", ["a(x, y)", "x < 3", "!b(y)"]),
        # Atoms with more bound terms first, otherwise as given.
        ("p(x) :- b(x), b(y), a(x, z).", ["b(x)", "a(x, z)", "b(y)"]),
        ("p(x) :- b(x), a(1, y).", ["a(1, y)", "b(x)"]),
        ("p(x) :- a(x, y), a(y, z), a(z, x).", ["a(x, y)", "a(y, z)", "a(z, x)"]),
        # Definitions chain, in any order, and feed atoms' terms.
        ("p(z) :- z = y + 1, y = x + 1, b(x).", ["b(x)", "y := (x + 1)", "z := (y + 1)"]),
        ("p(z) :- 1 = z.", ["z := 1"]),
        ("p(z) :- z = 1, z = 2.", ["z := 1", "z = 2"]),
        ("p(y) :- b(y + 1), y = x, a(x, _).", ["a(x, _)", "y := x", "b((y + 1))"]),
        # What an atom binds is compared, never defined, although it could be defined earlier.
        ("p(x) :- x = 1, b(x).", ["b(x)", "x = 1"]),
        # A computed term over variables that are bound nowhere before becomes a comparison by identity.
        ("p(x) :- a(x, x + 1).", ["a(x, a$0.2)", "(a$0.2 <=> (x + 1))"]),
        ("p(x) :- a(x, y + 1), a(y, x + 1).", ["a(x, a$0.2)", "a(y, (x + 1))", "(a$0.2 <=> (y + 1))"]),
        ("p(x) :- b(x), !a(x, _).", ["b(x)", "!a(x, _)"]),
        ("p(1).", []),
    ],
)
def test_the_order_of_a_body(rule: str, expected: list[str]) -> None:
    assert steps(rule) == expected


def test_negated_atoms_wait_for_computed_terms() -> None:
    assert steps("p(x) :- !b(x + y), b(x), b(y).") == ["b(x)", "b(y)", "!b((x + y))"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("p(x, «z) :- a(x, y).", "variable 'z' occurs only in the head of 'p', so nothing binds it"),
        ("p(x, min<«z>) :- a(x, y).", "variable 'z' occurs only in the head of 'p'"),
        ("p(x) :- b(x), !a(x, «z).", "variable 'z' occurs only in a negated atom, so nothing binds it"),
        ("p(x, z) :- b(x), !a(x, «z).", "variable 'z' occurs only in a negated atom"),
        ("p(x) :- b(x), x < «z.", "variable 'z' occurs only in comparisons, so nothing binds it"),
        ("p(x) :- b(x), x < «z, !b(z).", "variable 'z' occurs only in comparisons and negated atoms"),
        ("p(x) :- x = «y + 1.", "variable 'y' occurs only in comparisons"),
        ("p(x) :- «x = x + 1.", "variable 'x' occurs only in comparisons"),
        ("p(x) :- «x = y, y = x.", "variable 'x' occurs only in comparisons"),
        ("p(1) :- b(«x + 1).", "variable 'x' occurs only inside a computed term"),
        ('p(1) :- startswith(«x, "a").', "variable 'x' occurs only in comparisons"),
        ("p(«x).", "variable 'x' stands in a fact of 'p', which has no body to bind it"),
        ("p(1 + «x).", "variable 'x' stands in a fact of 'p'"),
    ],
)
def test_an_unbound_variable_is_refused(refusal: Refusal, text: str, words: str) -> None:
    said = refusal(DECLARED + text, UnsafeRuleError)
    assert said.startswith(words)
    assert "hint: " in said


def test_hints_say_what_would_bind_the_variable(refusal: Refusal) -> None:
    assert "hint: did you mean 'cost'?" in refusal(DECLARED + "p(«cots) :- b(cost).", UnsafeRuleError)
    assert "write _ if any value is meant" in refusal(DECLARED + "p(x) :- b(x), !b(«z).", UnsafeRuleError)
    assert "give it a value with z = ..." in refusal(DECLARED + "p(x) :- b(x), «z > x.", UnsafeRuleError)
    assert 'write "x" if the text is meant' in refusal("p(«x).", UnsafeRuleError)


NAMES = st.sampled_from("uvwxyz")
TERMS = st.one_of(
    NAMES.map(Variable),
    st.just(Wildcard()),
    st.just(Constant(1, INT)),
    NAMES.map(lambda name: Call("+", (Variable(name), Constant(1, INT)))),
)
VALUES = TERMS.filter(lambda term: not isinstance(term, Wildcard))
ATOMS = st.builds(lambda terms: Atom("r", tuple(terms)), st.lists(TERMS, min_size=1, max_size=3))
LITERALS = st.one_of(
    ATOMS,
    ATOMS.map(Negation),
    st.builds(Comparison, st.sampled_from(["=", "<"]), VALUES, VALUES),
    VALUES.map(lambda term: Condition(Call("isnull", (term,)))),
)
BODIES = st.lists(LITERALS, max_size=8)


def polled(body: list[Literal]) -> set[str]:
    """The variables that can be bound at all, by asking every literal again and again."""
    bound = {t.name for a in body if isinstance(a, Atom) for t in a.terms if isinstance(t, Variable)}
    while True:
        before = len(bound)
        for literal in body:
            if isinstance(literal, Comparison) and literal.op == "=":
                for one, other in ((literal.left, literal.right), (literal.right, literal.left)):
                    if isinstance(one, Variable) and all(v.name in bound for v in variables(other)):
                        bound.add(one.name)
        if len(bound) == before:
            return bound


@given(BODIES)
def test_every_step_finds_its_variables_bound_and_nothing_is_lost(
    body: list[Literal],
) -> None:
    rule = Rule(Atom("p", ()), tuple(body))
    needed = {v.name for literal in body for v in literal_variables(literal)}
    if not needed <= polled(body):
        with pytest.raises(UnsafeRuleError):
            order_body(rule)
        return
    bound: set[str] = set()
    placed = order_body(rule)
    for step in placed:
        match step:
            case Match(atom):
                assert {v.name for t in atom.terms if not isinstance(t, Variable) for v in variables(t)} <= bound
                bound |= {t.name for t in atom.terms if isinstance(t, Variable)}
            case Absent(atom):
                assert {v.name for t in atom.terms for v in variables(t)} <= bound
            case Define(variable, term):
                assert variable.name not in bound
                assert {v.name for v in variables(term)} <= bound
                bound.add(variable.name)
            case order.Test(literal):
                assert {v.name for v in literal_variables(literal)} <= bound
    assert needed <= bound
    late = sum(isinstance(step, order.Test) and isinstance(step.literal, Condition) for step in placed)
    late -= sum(isinstance(literal, Condition) for literal in body)
    assert len(placed) - late == len(body)


def test_a_body_of_many_thousand_literals_is_ordered() -> None:
    # Far apart in the text, so that nothing is in its place already.
    numbers = [i * 7 % 5_000 for i in range(5_000)]
    body: tuple[Literal, ...] = (
        *(Comparison("<", Variable(f"x{i}"), Variable(f"x{i + 1}")) for i in numbers),
        *(Atom("a", (Variable(f"x{i}"), Variable(f"x{i + 1}"))) for i in numbers),
    )
    placed = order_body(Rule(Atom("p", (Variable("x0"),)), body))
    assert len(placed) == 10_000
    assert sum(isinstance(step, Match) for step in placed) == 5_000
