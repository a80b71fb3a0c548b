"""Programs written as text and read again, and texts read and written."""

from __future__ import annotations

import decimal
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from whence.lang.datalog.parse import parse_datalog
from whence.lang.datalog.write import to_datalog
from whence.model.program import Directive, Program
from whence.model.rules import COMPARISONS, Atom, Comparison, Condition, Literal, Negation, Rule
from whence.model.schema import Column, Relation, RowWindow, TimeToLive
from whence.model.terms import AGGREGATES, Aggregate, Call, Cast, Constant, Skolem, Term, Variable, Wildcard
from whence.model.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Type,
    Value,
)

# Words that mean something somewhere, names that need quotes, and names like everybody's.
WORDS = """a b x link n1 ?v x$1 path$agg1 _ _x count min sum mean key bag ttl window partition property nullable and or
    not as distinct true FALSE Null nil date DATE decimal array like contains match cat day ord range length select decl
    type input eqrel inline if with""".split()
NAMES = st.one_of(
    st.sampled_from([*WORDS, "two words", "back`tick", "t.x", "$A", "1st", "ä", "数", "a-b", ".decl"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=4),
)
FUNCTIONS = st.one_of(
    st.sampled_from(
        ["+", "-", "*", "/", "%", "power", "**", "and", "or", "not", "<=>", "div", "if", "in", "isnull", "like"]
    ),
    st.sampled_from(["concat", "contains", "array", "min", "cat", "match", "substring", "f", "F", "as", "null", "="]),
    st.sampled_from(COMPARISONS),
    NAMES,
)
STRINGS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
TYPES = st.recursive(
    st.one_of(
        st.sampled_from([STRING, INT, BIGINT, DOUBLE, BOOLEAN, DATE, TIMESTAMP]),
        st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: DecimalType(p, s))),
    ),
    lambda inner: inner.map(ArrayType),
    max_leaves=3,
)


def values(of: Type) -> st.SearchStrategy[Value]:
    match of:
        case Type(name="STRING"):
            return STRINGS
        case Type(name="INT"):
            return st.integers(-(2**31), 2**31 - 1)
        case Type(name="BIGINT"):
            return st.integers(-(2**63), 2**63 - 1) | st.integers(-(2**31), 2**31 - 1)
        case Type(name="DOUBLE"):
            return st.floats(allow_nan=False, allow_infinity=False).map(lambda value: value + 0.0)
        case Type(name="BOOLEAN"):
            return st.booleans()
        case Type(name="DATE"):
            return st.dates()
        case Type(name="TIMESTAMP"):
            return st.datetimes()
        case DecimalType(precision=precision, scale=scale):
            unscaled = st.integers(-(10**precision) + 1, 10**precision - 1)
            return unscaled.map(lambda n: decimal.Decimal(n).scaleb(-scale, decimal.Context(prec=40)))
        case ArrayType(element=element):
            return st.lists(values(element) | st.none(), max_size=3).map(tuple)
    raise AssertionError(of)


CONSTANTS = st.one_of(
    TYPES.flatmap(lambda of: (values(of) | st.none()).map(lambda value: Constant(value, of))),
    st.just(Constant(None, NULL)),
)
TERMS: st.SearchStrategy[Term] = st.recursive(
    st.one_of(NAMES.map(Variable), CONSTANTS),
    lambda inner: st.one_of(
        st.builds(Call, FUNCTIONS, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Cast, inner, TYPES),
        st.builds(Skolem, NAMES, st.lists(inner, max_size=2).map(tuple)),
    ),
    max_leaves=8,
)
BODY_ATOMS = st.builds(Atom, NAMES, st.lists(TERMS | st.builds(Wildcard), max_size=3).map(tuple))
LITERALS: st.SearchStrategy[Literal] = st.one_of(
    BODY_ATOMS,
    st.builds(Negation, BODY_ATOMS),
    st.builds(Comparison, st.sampled_from(COMPARISONS), TERMS, TERMS),
    st.builds(Condition, TERMS),
)
HEAD_TERMS: st.SearchStrategy[Term] = st.one_of(
    TERMS,
    st.builds(Aggregate, st.sampled_from(AGGREGATES), TERMS, st.booleans()),
    st.just(Aggregate("count", None)),
)
RULES = st.builds(
    Rule,
    st.builds(Atom, NAMES, st.lists(HEAD_TERMS, max_size=3).map(tuple)),
    st.lists(LITERALS, max_size=3).map(tuple),
    st.sampled_from([1, -1]),
)


@st.composite
def relations(draw: st.DrawFn) -> Relation:
    names = draw(st.lists(NAMES, max_size=4, unique=True))
    columns = tuple(Column(name, draw(TYPES), draw(st.booleans())) for name in names)
    some_column = st.none() | st.sampled_from(names) if names else st.none()
    some_columns = st.lists(st.sampled_from(names), max_size=2, unique=True) if names else st.just([])
    key = tuple(draw(some_columns))
    window = draw(st.none() | st.builds(RowWindow, st.integers(0, 2**63 - 1), some_columns.map(tuple)))
    ttl = draw(st.none() | st.builds(TimeToLive, st.integers(1, 10**15), some_column))
    return Relation(
        draw(NAMES),
        columns,
        distinct=bool(key) or draw(st.booleans()),
        key=key,
        partition=draw(some_column),
        ttl=ttl,
        window=window,
        properties=tuple(draw(st.lists(st.tuples(STRINGS, STRINGS), max_size=2))),
    )


DIRECTIVES = st.builds(
    Directive,
    st.sampled_from(["input", "output", "printsize"]),
    NAMES,
    st.lists(st.tuples(NAMES, STRINGS), max_size=2).map(tuple),
)


def as_read(program: Program) -> Program:
    """Without `.input` of a declared relation that has rules: reading gives its file a table of its own."""
    ruled = {rule.head.relation for rule in program.rules if not rule.is_fact}
    split = ruled & {relation.name for relation in program.relations}
    kept = (each for each in program.directives if each.kind != "input" or each.relation not in split)
    return replace(program, directives=tuple(kept))


PROGRAMS = st.builds(
    Program,
    st.lists(relations(), max_size=2).map(tuple),
    st.lists(RULES, max_size=3).map(tuple),
    st.lists(DIRECTIVES, max_size=2).map(tuple),
).map(as_read)


@given(PROGRAMS)
@settings(max_examples=300)
def test_a_program_is_read_as_it_was_written(program: Program) -> None:
    assert parse_datalog(to_datalog(program)) == program


def test_a_relation_with_rules_and_a_file_is_written_with_the_table_of_its_file() -> None:
    program = parse_datalog(".decl a(x: number) .decl b(x: number) .input a a(x) :- b(x).")
    assert [each.relation for each in program.directives] == ["a_input"]
    again = parse_datalog(to_datalog(program))
    assert replace(again, notices=program.notices) == program


@given(TERMS)
@settings(max_examples=300)
def test_a_term_is_read_as_it_was_written(term: Term) -> None:
    program = Program((), (Rule(Atom("a", (term,)), (Condition(term), Comparison("=", term, term))),))
    assert parse_datalog(to_datalog(program)) == program


def test_conditions_of_many_parts() -> None:
    x = Variable("x")
    alternatives: Term = x
    branches: Term = x
    for i in range(180):
        test = Call("=", (x, Constant(i, INT)))
        alternatives = Call("or", (alternatives, test))
        branches = Call("if", (test, Constant(i, INT), branches))
    rule = Rule(Atom("a", (branches,)), (Atom("b", (x,)), Condition(alternatives)))
    assert parse_datalog(to_datalog(Program((), (rule,)))) == Program((), (rule,))


def test_a_term_deeper_than_the_stack_is_written() -> None:
    term: Term = Variable("x")
    for _ in range(5000):
        term = Call("-", (Call("f", (term,)),))
    assert to_datalog(Program((), (Rule(Atom("a", (term,)), ()),))).startswith("a(-f(-f(")
