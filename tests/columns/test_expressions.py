"""Terms over columns give what the same terms give row by row: values, NULLs and errors."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.spark.random_terms import VARIABLES, random_call, random_row, random_term, units
from whence.columns import NotInColumnsError
from whence.columns.encoding import NULL, Array, Encodings
from whence.columns.expressions import compile_vector
from whence.errors import EvaluationError, UnknownNameError, WhenceError
from whence.functions.builtin import BUILTINS
from whence.functions.evaluate import compile_typed
from whence.functions.records import RECORDS
from whence.functions.types import Typed, TypedTerm, annotate
from whence.model.program import Signature
from whence.model.span import SourceText, Span
from whence.model.terms import Call, Cast, Constant, Term, Variable, variable_names
from whence.model.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Row,
    Type,
    Value,
)
from whence.model.types import NULL as NULL_TYPE

Functions = Mapping[str, Callable[..., object]]
SHORT, MONEY, FINE, WHOLE, LONG = (DecimalType(*each) for each in ((3, 1), (12, 2), (18, 9), (18, 0), (38, 10)))


@dataclass
class Rows:
    """A batch of columns."""

    columns: Mapping[int, Array]
    length: int


@dataclass
class Database:
    """What terms are compiled with."""

    variables: Mapping[str, Typed]
    signatures: Mapping[str, Signature]
    functions: Functions

    def __post_init__(self) -> None:
        self.encodings = Encodings()
        self.places = {name: place for place, name in enumerate(self.variables)}
        self.types = {place: typed.type for place, typed in enumerate(self.variables.values())}

    def batch(self, term: Term, rows: Sequence[Row]) -> Rows:
        """The columns that the term reads."""
        slots = {self.places[name] for name in variable_names([term])}
        columns = {slot: self.encodings.of(self.types[slot]).encode([row[slot] for row in rows]) for slot in slots}
        return Rows(columns, len(rows))

    def annotated(self, term: Term) -> TypedTerm:
        return annotate(term, self.variables, self.signatures)

    def by_columns(self, term: Term, rows: Sequence[Row], target: Type | None = None) -> list[Value]:
        node = self.annotated(term)
        batch = self.batch(term, rows)
        before = [column.tobytes() for column in batch.columns.values()]
        compute = compile_vector(node, self.signatures, self.functions, self.encodings, self.types, self.places, target)
        encoding = self.encodings.of(target or node.typed.type)
        array = compute(batch)
        assert array.dtype == encoding.dtype
        assert array.shape == (len(rows),)
        assert [column.tobytes() for column in batch.columns.values()] == before
        return encoding.decode(array)

    def by_rows(self, term: Term, rows: Sequence[Row], target: Type | None = None) -> list[Value]:
        evaluate: Callable[[Row], Value] = compile_typed(  # type: ignore[assignment]
            self.annotated(term), self.signatures, self.functions, target, self.places
        )
        return [evaluate(row) for row in rows]


def database(**variables: Type) -> Database:
    return Database({name: Typed(kind, True) for name, kind in variables.items()}, {}, {})


def outcome(compute: Callable[..., list[Value]], *arguments: object) -> list[Value] | WhenceError:
    try:
        return compute(*arguments)
    except EvaluationError as error:
        return error


def check(tested: Database, term: Term, rows: Sequence[Row], target: Type | None = None) -> list[Value] | str:
    """Computes the term both ways, and gives the values or the error, which must be the same."""
    expected = outcome(tested.by_rows, term, rows, target)
    try:
        found = outcome(tested.by_columns, term, rows, target)
    except NotInColumnsError:
        assert isinstance(expected, WhenceError) or NULL in expected
        return "not in columns"
    if isinstance(expected, WhenceError):
        assert isinstance(found, WhenceError), (term, target, found, expected)
        assert (found.message, found.span, found.hint) == (expected.message, expected.span, expected.hint)
        return found.message
    assert repr(found) == repr(expected), (term, target)
    return expected


# Random terms.

ANYTHING = Database(VARIABLES, {}, {})


def some_rows(chance: Random, length: int) -> list[Row]:
    return [tuple(None if value == NULL else value for value in random_row(chance)) for _ in range(length)]


@pytest.mark.parametrize("length", [0, 1, 40])
def test_random_terms(length: int) -> None:
    chance = Random(length)
    batches = [some_rows(chance, length) for _ in range(5)]
    for _ in range(400):
        check(ANYTHING, random_term(chance), chance.choice(batches))


# Intervals are in no column of these rows.
_OTHERS = {"add_interval", "interval_of", "interval_units", *(each.name for each in RECORDS)}


@pytest.mark.parametrize("function", sorted(BUILTINS.keys() - _OTHERS))
def test_every_function(function: str) -> None:
    chance = Random(function)
    rows = some_rows(chance, 40)
    for _ in range(4):
        check(ANYTHING, random_call(chance, function), rows)


def test_intervals() -> None:
    moved = Call("add_interval", (Variable("d"), Variable("n"), number(2), number(0)))
    rows = [(datetime.date(2024, 1, 31), n) for n in (1, None, 13, -1)]
    assert check(database(d=DATE, n=INT), moved, rows) == [
        datetime.date(2024, 3, 2),
        None,
        datetime.date(2025, 3, 2),
        datetime.date(2024, 1, 2),
    ]


NUMBERS: dict[Type, Sequence[Value]] = {
    INT: (0, 1, -1, 2, 7, -5, 46341, 2**31 - 1, -(2**31)),
    BIGINT: (0, 1, -1, 3, -7, 10**9, 3037000500, 10**18 - 1, 10**18, -(10**18), 2**53 + 1, 2**63 - 1, 1 - 2**63),
    DOUBLE: (0.0, 1.0, -1.0, 0.1, -2.5, 0.5, 0.005, 1e15, 2.0**53, 2.0**63, -(2.0**63), 5e-324, 1e308, -1.7e308, 1e-9),
    BOOLEAN: (True, False),
    DATE: tuple(datetime.date(*each) for each in ((1, 1, 1), (1969, 12, 31), (2024, 2, 29), (9999, 12, 31))),
    TIMESTAMP: (
        datetime.datetime(1, 1, 1),
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
        datetime.datetime(2024, 2, 29, 12, 30, 0, 500000),
        datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
    ),
    STRING: ("", "a", "1.50", "2024-02-29"),
}
for decimal in (SHORT, MONEY, FINE, WHOLE, LONG):
    steps = (0, 1, -1, 5, 50, -150, 10 ** min(decimal.precision, 9) - 1, 10**decimal.precision - 1)
    NUMBERS[decimal] = tuple(units(decimal, each) for each in steps if abs(each) < 10**decimal.precision)
CALCULATED = Database(
    {
        f"{'n' if nullable else 'v'}{place}": Typed(kind, nullable)
        for place, kind in enumerate(NUMBERS)
        for nullable in (True, False)
    },
    {},
    {},
)


def number_rows(chance: Random, length: int) -> list[Row]:
    return [tuple(_number(chance, typed) for typed in CALCULATED.variables.values()) for _ in range(length)]


def _number(chance: Random, typed: Typed) -> Value:
    return chance.choice((*NUMBERS[typed.type], None) if typed.nullable else NUMBERS[typed.type])


BATCHES = {length: number_rows(Random(length), length) for length in (0, 1, 2, 40, 1000)}
BINARY = ("+", "-", "*", "/", "div", "quotient", "%", "=", "!=", "<", "<=", ">", ">=", "<=>", "nullif", "date_sub")
UNARY = ("+", "-", "abs", "not", "isnull", "isnotnull", "year", "month", "day", "quarter", "dayofweek")
LISTS = ("and", "or", "coalesce", "greatest", "least", "in", "if")

constants = st.sampled_from(
    [Constant(value, kind) for kind, values in NUMBERS.items() for value in (*values, None)]
    + [Constant(None, NULL_TYPE), Constant(NULL, BIGINT)]
)
leaves = st.one_of(st.sampled_from([*CALCULATED.variables]).map(Variable), constants)


def calls(parts: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    return st.one_of(
        st.builds(Call, st.sampled_from(BINARY), st.tuples(parts, parts)),
        st.builds(Call, st.sampled_from(UNARY), st.tuples(parts)),
        st.builds(Call, st.sampled_from(LISTS), st.tuples(parts, parts, parts)),
        st.builds(Cast, parts, st.sampled_from([*NUMBERS])),
    )


@given(st.recursive(leaves, calls, max_leaves=6), st.sampled_from([*BATCHES]), st.sampled_from([None, *NUMBERS]))
@settings(max_examples=500)
def test_calculations(term: Term, length: int, target: Type | None) -> None:
    try:
        kind = CALCULATED.annotated(term).typed.type
        if target is not None:
            CALCULATED.annotated(Cast(term, target))
    except WhenceError:
        return  # most random terms have a type error, too many to have hypothesis draw others instead
    rows = BATCHES[length]
    check(CALCULATED, term, rows, target)
    if length == 40:
        # Rows that fail hide those behind them.
        for row in rows[::4]:
            check(CALCULATED, term, [row], target if kind != target else None)


@pytest.mark.parametrize("symbol", BINARY)
def test_every_pair_of_types(symbol: str) -> None:
    names = [name for name in CALCULATED.variables if name.startswith("n")]
    for left in names:
        for right in names:
            term = Call(symbol, (Variable(left), Variable(right)))
            try:
                CALCULATED.annotated(term)
            except WhenceError:
                continue
            kinds = [CALCULATED.variables[name].type for name in (left, right)]
            pair = Database({left: Typed(kinds[0], True), right: Typed(kinds[-1], True)}, {}, {})
            rows: list[Row] = [
                (a, b) if left != right else (a,) for a in (*NUMBERS[kinds[0]], None) for b in NUMBERS[kinds[1]]
            ]
            for start in range(0, len(rows), 12):
                check(pair, term, rows[start : start + 12])


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([SHORT, MONEY, FINE, WHOLE, INT, BIGINT]))
def test_doubles_are_cast_by_their_digits(value: float, kind: Type) -> None:
    check(database(x=DOUBLE), Cast(Variable("x"), kind), [(value + 0.0,)])


@given(st.integers(-(10**6), 10**6), st.integers(0, 12))
def test_halves_are_rounded_up(digits: int, scale: int) -> None:
    value = float(Decimal(digits).scaleb(-scale)) + 0.0
    for kind in (SHORT, MONEY, FINE, WHOLE):
        check(database(x=DOUBLE), Cast(Variable("x"), kind), [(value,)])


# What is needed, and what is not.


def number(value: int) -> Constant:
    return Constant(value, INT)


X, Y = Variable("x"), Variable("y")
QUOTIENT = Call("quotient", (number(6), X))


def test_operands_that_are_not_needed_do_not_fail() -> None:
    rows = [(0,), (2,), (None,), (3,)]
    tested = database(x=INT)
    positive = Call(">", (X, number(0)))
    fails = Call("=", (QUOTIENT, number(3)))
    assert check(tested, Call("and", (positive, fails)), rows) == [False, True, None, False]
    assert check(tested, Call("or", (Call("<=", (X, number(0))), fails)), rows) == [True, True, None, False]
    assert check(tested, Call("if", (positive, QUOTIENT, number(-1))), rows) == [-1, 3, -1, 2]
    assert check(tested, Call("coalesce", (X, QUOTIENT)), [(0,), (1,)]) == [0, 1]
    assert check(tested, Call("coalesce", (Call("nullif", (X, number(0))), QUOTIENT)), [(1,), (2,)]) == [1, 2]
    assert check(tested, Call("coalesce", (Call("nullif", (X, number(0))), QUOTIENT)), rows) == (
        "division by zero: 6 / 0"
    )
    assert check(tested, Call("and", (fails, positive)), rows) == "division by zero: 6 / 0"


@pytest.mark.parametrize("length", [4, 400])
def test_functions_are_called_only_where_they_are_needed(length: int) -> None:
    called: list[object] = []

    def seen(value: int | None) -> bool:
        called.append(value)
        return value == 1

    tested = Database({"x": Typed(INT, True)}, {"seen": Signature("seen", BOOLEAN)}, {"seen": seen})
    rows: list[Row] = [(1,), (2,), (None,), (-1,)] * (length // 4)
    guarded = Call("and", (Call(">", (X, number(0))), Call("seen", (X,))))
    assert tested.by_columns(guarded, rows) == [True, False, False, False] * (length // 4)
    assert set(called) == {1, 2, None}
    assert len(called) <= 4
    called.clear()
    chosen = Call("if", (Call("=", (X, number(2))), Call("seen", (X,)), Call("isnull", (X,))))
    assert tested.by_columns(chosen, rows) == [False, False, True, False] * (length // 4)
    assert set(called) == {2}


def test_functions_of_no_column() -> None:
    tested = Database({"x": Typed(INT, True)}, {"seven": Signature("seven", INT)}, {"seven": lambda: 7})
    for length in (0, 1, 3, 50):
        rows: list[Row] = [(place,) for place in range(length)]
        assert check(tested, Call("seven", ()), rows) == [7] * length
        assert check(tested, Call("+", (X, Call("seven", ()))), rows) == [place + 7 for place in range(length)]


def test_a_function_that_is_not_there() -> None:
    tested = Database({"x": Typed(INT, True)}, {"f": Signature("f", INT)}, {})
    with pytest.raises(UnknownNameError, match="there is no function behind it"):
        tested.by_columns(Call("f", (X,)), [])


# Errors.


@pytest.mark.parametrize("length", [3, 100])
def test_the_error_is_that_of_the_first_row_that_fails(length: int) -> None:
    source = SourceText("<sql>", "x * y")
    product = Call("*", (X, Y), span=Span(source, 0, 5))
    tested = database(x=INT, y=INT)
    rows: list[Row] = [(1, 2)] * length + [(65536, 65537), (2**31 - 1, 2)] + [(None, None)] * length
    assert check(tested, product, rows) == "65536 * 65537 does not fit INT"
    assert check(tested, product, rows[::-1]) == "2147483647 * 2 does not fit INT"
    text = Cast(Call("concat", (X, Constant("a", STRING))), INT)
    assert check(tested, text, [(9, 0)] * length + [(1, 0)] * length) == (
        "cannot cast '9a' to INT: it is not a whole number"
    )


def test_errors_of_constants_need_a_row() -> None:
    tested = database(x=INT)
    failing = Call("quotient", (number(1), number(0)))
    assert check(tested, failing, []) == []
    assert check(tested, Call("+", (X, failing)), []) == []
    assert check(tested, failing, [(1,)]) == "division by zero: 1 / 0"
    assert check(tested, Call("if", (Call("=", (X, number(1))), X, failing)), [(1,)]) == [1]


def test_overflow_is_found_exactly() -> None:
    tested = database(x=BIGINT, y=BIGINT)
    largest = 2**63 - 1
    for symbol, rows in {
        "+": [(largest - 1, 1), (1 - largest, -1), (largest, -largest), (largest, 1), (-largest, -2)],
        "-": [(largest, 0), (-largest, -1), (0, largest), (-largest, 2), (1, -largest)],
        "*": [(3037000499, 3037000500), (largest, -1), (2**62, 2), (-(2**32), 2**31 + 1), (7, largest // 7)],
    }.items():
        for row in rows[::4]:
            check(tested, Call(symbol, (X, Y)), [row])


def test_the_number_that_stands_for_null_is_no_result() -> None:
    tested = database(x=BIGINT)
    least = Call("-", (X, Constant(1, BIGINT)))
    with pytest.raises(NotInColumnsError, match="-9223372036854775808, which stands for NULL"):
        tested.by_columns(least, [(1 - 2**63,)])
    # Inside of a term it is a number like any other.
    assert check(tested, Call("<", (least, X)), [(1 - 2**63,), (None,)]) == [True, None]
    assert check(tested, Call(">=", (X, Constant(NULL, BIGINT))), [(1 - 2**63,), (None,)]) == [True, None]
    with pytest.raises(NotInColumnsError):
        tested.by_columns(Call("coalesce", (X, Constant(NULL, BIGINT))), [(None,)])


# Types.


def test_long_decimals() -> None:
    tested = database(price=MONEY, discount=MONEY)
    revenue = Call("*", (Variable("price"), Call("-", (number(1), Variable("discount")))))
    rows: list[Row] = [
        (Decimal("901.00"), Decimal("0.05")),
        (Decimal("901.00"), None),
        (Decimal("0.00"), Decimal("0.10")),
        (Decimal("9999999999.99"), Decimal("-9999999999.99")),
    ]
    assert check(tested, revenue, rows) == [
        Decimal("855.9500"),
        None,
        Decimal("0.0000"),
        Decimal("100000000009799999999.9901"),
    ]
    check(tested, Call(">", (revenue, number(800))), rows)
    check(tested, Cast(revenue, MONEY), rows[:3])
    check(tested, Cast(revenue, DOUBLE), rows)


def test_a_target_converts_the_result() -> None:
    tested = database(x=INT, n=NULL_TYPE)
    rows: list[Row] = [(5, None), (None, None)]
    for target in (BIGINT, DOUBLE, MONEY, LONG, STRING, BOOLEAN, TIMESTAMP):
        check(tested, X, rows, target)
        check(tested, Variable("n"), rows, target)
        check(tested, Constant(None, NULL_TYPE), rows, target)
    check(tested, Variable("n"), rows)


def test_text_and_arrays_are_compared_by_what_they_are() -> None:
    tested = database(x=STRING, y=STRING, a=ArrayType(INT), b=ArrayType(INT))
    rows: list[Row] = [("a", "a", (1, None), (1, None)), ("a", "b", (), None), (None, None, None, (1,))]
    for left, right in (("x", "y"), ("a", "b")):
        for symbol in ("=", "!=", "<=>", "<", ">=", "nullif", "coalesce", "greatest"):
            check(tested, Call(symbol, (Variable(left), Variable(right))), rows)
    check(tested, Call("=", (Variable("a"), Constant((), ArrayType(NULL_TYPE)))), rows)
    options = tuple(Constant(each, STRING) for each in "bcdefg")
    assert check(tested, Call("in", (Y, *options)), rows) == [False, True, None]
    assert check(tested, Call("in", (Y, *options, Constant(None, STRING))), rows) == [None, True, None]


def test_columns_need_not_be_contiguous() -> None:
    tested = database(x=INT, y=DOUBLE)
    batch = tested.batch(Call("*", (X, Y)), [(place, place / 2) for place in range(100)])
    every_other = Rows({slot: column[::2] for slot, column in batch.columns.items()}, 50)
    for term in (Call("*", (X, Y)), Call("concat", (X, Y))):
        node = tested.annotated(term)
        compute = compile_vector(node, {}, {}, tested.encodings, tested.types, tested.places)
        assert np.array_equal(compute(every_other), compute(batch)[::2])
