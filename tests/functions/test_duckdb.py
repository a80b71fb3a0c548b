"""Functions and operators against DuckDB: an independent opinion on what they mean.

Where the two disagree by design, the arguments keep away from it, and a comment says why.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whence.errors import EvaluationError
from whence.functions.evaluate import compile_term
from whence.functions.types import Typed
from whence.model.terms import Call, Variable
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
    Type,
    Value,
)


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


D = DecimalType(9, 2)
INTS = ArrayType(INT)
DUCK_TYPES = {STRING: "VARCHAR", INT: "INTEGER", INTS: "INTEGER[]"}

ALPHABET = st.text(alphabet="abAB 1%_äé.", max_size=6)
CENTURY = {"min_value": datetime.date(1900, 1, 1), "max_value": datetime.date(2100, 1, 1)}
ARGUMENTS: dict[Type, st.SearchStrategy[Value]] = {
    STRING: ALPHABET,
    INT: st.one_of(st.integers(-(2**31), 2**31 - 1), st.integers(-9, 9)),
    BIGINT: st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-9, 9)),
    # Denormal numbers and the largest ones only test the two floating point units.
    DOUBLE: st.one_of(st.floats(-1e9, 1e9).map(lambda x: round(x, 4) + 0.0), st.integers(-9, 9).map(float)),
    D: st.decimals(Decimal(-1000), Decimal(1000), places=2).map(lambda d: d + 0),
    BOOLEAN: st.booleans(),
    DATE: st.dates(**CENTURY),
    TIMESTAMP: st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)),
    INTS: st.lists(st.none() | st.integers(-3, 3), max_size=4).map(tuple),
}


@dataclass(frozen=True)
class Case:
    """`function` of arguments of `types` means `sql`, where $1, $2, ... are the arguments."""

    function: str
    types: tuple[Type, ...]
    sql: str
    suitable: Callable[..., bool] = lambda *values: True

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.types))})"


def can_be_padded(_: str | None, length: int | None, pad: str | None) -> bool:
    return (length is None or 0 <= length < 1000) and pad != ""


def infix(function: str, *types: Type) -> Case:
    return Case(function, types, f"$1 {function} $2")


def same_name(function: str, *types: Type) -> Case:
    arguments = ", ".join(f"${i + 1}" for i in range(len(types)))
    return Case(function, types, f"{function}({arguments})")


DIVISIONS = ("/", "div", "%")
# What both say of an overflow, instead of a value; no function gives this string.
NO_VALUE = "no value"
SCALARS = (STRING, INT, BIGINT, DOUBLE, D, BOOLEAN, DATE, TIMESTAMP)
CASES = [
    *[infix(op, kind, kind) for op in ("=", "!=", "<", "<=", ">", ">=") for kind in SCALARS],
    *[infix(op, INT, BIGINT) for op in ("=", "<")],
    *[infix(op, INT, D) for op in ("=", "<")],
    *[infix(op, DATE, TIMESTAMP) for op in ("=", "<", ">=")],
    *[infix(op, kind, kind) for op in "+-*" for kind in (INT, BIGINT, DOUBLE)],
    *[infix(op, INT, BIGINT) for op in "+-*"],
    *[infix(op, D, D) for op in "+-*"],
    infix("/", INT, INT),
    infix("/", DOUBLE, DOUBLE),
    *[infix("%", kind, kind) for kind in (INT, BIGINT)],
    # DuckDB divides whole numbers to whole numbers with //.
    Case("div", (INT, INT), "$1::BIGINT // $2::BIGINT"),
    Case("div", (BIGINT, BIGINT), "$1 // $2"),
    # Where the result does not fit, DuckDB makes it a BIGINT.
    Case("-", (INT,), "-$1", lambda n: n != -(2**31)),
    Case("-", (D,), "-$1"),
    *[Case("<=>", (kind, kind), "$1 IS NOT DISTINCT FROM $2") for kind in SCALARS],
    Case("and", (BOOLEAN, BOOLEAN), "$1 AND $2"),
    Case("or", (BOOLEAN, BOOLEAN, BOOLEAN), "$1 OR $2 OR $3"),
    Case("not", (BOOLEAN,), "NOT $1"),
    *[Case("in", (kind, kind, kind), "$1 IN ($2, $3)") for kind in (INT, STRING, DATE)],
    Case("isnull", (INT,), "$1 IS NULL"),
    Case("isnotnull", (STRING,), "$1 IS NOT NULL"),
    Case("if", (BOOLEAN, INT, INT), "CASE WHEN $1 THEN $2 ELSE $3 END"),
    same_name("coalesce", INT, BIGINT, DOUBLE),
    same_name("nullif", INT, INT),
    *[same_name(function, kind, kind, kind) for function in ("greatest", "least") for kind in (INT, STRING, DATE)],
    *[same_name("abs", kind) for kind in (INT, BIGINT, DOUBLE, D)],
    # DuckDB rounds doubles in binary, Spark their shortest decimal form; both agree on whole numbers.
    Case("round", (DOUBLE,), "round($1)", lambda x: x is None or abs(x) < 1e6),
    Case("round", (D,), "round($1)"),
    *[Case(function, (DOUBLE,), f"{function}($1)::BIGINT") for function in ("floor", "ceil")],
    *[same_name(function, D) for function in ("floor", "ceil")],
    Case("sign", (DOUBLE,), "sign($1)::DOUBLE"),
    same_name("sqrt", DOUBLE),
    Case("exp", (DOUBLE,), "exp($1)", lambda x: x is None or abs(x) < 700),
    # Of what has no logarithm DuckDB makes an error, Spark NULL.
    Case("ln", (DOUBLE,), "ln($1)", lambda x: x is None or x > 0),
    Case("power", (DOUBLE, DOUBLE), "pow($1, $2)", lambda x, y: x is None or y is None or abs(y) < 5),
    same_name("lower", STRING),
    same_name("upper", STRING),
    same_name("length", STRING),
    # Negative positions before the start, and position 0, count differently.
    Case(
        "substring",
        (STRING, INT, INT),
        "substring($1, $2, $3)",
        lambda s, p, n: None in (s, p, n) or (-len(s) <= p < 1000 and p != 0 and 0 <= n < 1000),
    ),
    # A negative count leaves out that many characters in DuckDB, and leaves nothing in Spark.
    *[
        Case(function, (STRING, INT), f'"{function}"($1, $2)', lambda s, n: n is None or n >= 0)
        for function in ("left", "right")
    ],
    *[same_name(function, STRING) for function in ("trim", "ltrim", "rtrim")],
    *[Case(function, (STRING, STRING), f"{function}($2, $1)") for function in ("trim", "ltrim", "rtrim")],
    same_name("replace", STRING, STRING, STRING),
    # Without anything to pad with, DuckDB raises and Spark does not pad.
    *[Case(pad, (STRING, INT, STRING), f"{pad}($1, $2, $3)", can_be_padded) for pad in ("lpad", "rpad")],
    Case("repeat", (STRING, INT), "repeat($1, $2)", lambda _, n: n is None or abs(n) < 1000),
    same_name("reverse", STRING),
    same_name("instr", STRING, STRING),
    Case("locate", (STRING, STRING), "instr($2, $1)"),
    Case("startswith", (STRING, STRING), "starts_with($1, $2)"),
    Case("endswith", (STRING, STRING), "ends_with($1, $2)"),
    same_name("contains", STRING, STRING),
    # A function, concat of DuckDB skips NULL; the operator does not.
    Case("concat", (STRING, STRING), "$1 || $2"),
    Case("like", (STRING, STRING), "$1 LIKE $2"),
    *[same_name(part, kind) for part in ("year", "quarter", "month", "day") for kind in (DATE, TIMESTAMP)],
    Case("dayofweek", (DATE,), "dayofweek($1) + 1"),
    *[same_name(part, TIMESTAMP) for part in ("hour", "minute", "second")],
    Case("date_add", (DATE, INT), "$1 + $2", lambda d, n: n is None or abs(n) < 100_000),
    Case("-", (DATE, INT), "$1 - $2", lambda d, n: n is None or abs(n) < 100_000),
    Case("datediff", (DATE, DATE), "datediff('day', $2, $1)"),
    Case("add_months", (DATE, INT), "($1 + to_months($2))::DATE", lambda d, n: n is None or abs(n) < 1000),
    Case(
        "add_interval",
        (TIMESTAMP, INT, INT, INT),
        "$1 + to_months($2) + to_days($3) + to_microseconds($4)",
        lambda t, months, days, _: (months is None or abs(months) < 1000) and (days is None or abs(days) < 10_000),
    ),
    # Whether an unknown element is the one looked for is unknown in Spark, and no in DuckDB.
    Case("array_contains", (INTS, INT), "array_contains($1, $2)", lambda a, _: a is None or None not in a),
    Case("size", (INTS,), "len($1)"),
    # Outside of the array there is NULL in DuckDB and an error in Spark.
    Case(
        "element_at",
        (INTS, INT),
        "list_extract($1, $2)",
        lambda a, i: a is None or i is None or 0 < abs(i) <= len(a),
    ),
    Case("array", (INT, INT), "[$1, $2]"),
]


def ours(case: Case, values: tuple[Value, ...]) -> Value:
    names = [f"x{i}" for i in range(len(values))]
    types = {name: Typed(kind, True) for name, kind in zip(names, case.types, strict=True)}
    evaluate = compile_term(Call(case.function, tuple(map(Variable, names))), types, {}, {})
    try:
        return evaluate(dict(zip(names, values, strict=True)))
    except EvaluationError:
        return NO_VALUE


def theirs(duck: duckdb.DuckDBPyConnection, case: Case, values: tuple[Value, ...]) -> Value:
    sql = case.sql
    for position, kind in enumerate(case.types, start=1):
        sql = sql.replace(f"${position}", f"(${position}::{DUCK_TYPES.get(kind, kind.name)})")
    given = [list(value) if isinstance(value, tuple) else value for value in values]
    try:
        row = duck.execute(f"SELECT {sql}", given).fetchone()
    except duckdb.Error:
        return NO_VALUE
    assert row is not None
    result: Value = tuple(row[0]) if isinstance(row[0], list) else row[0]
    if isinstance(result, float) and not math.isfinite(result):
        return NO_VALUE
    # A division by zero is NULL in DuckDB, and an error in Spark.
    by_zero = case.function in DIVISIONS and None not in values and values[1] == 0
    return NO_VALUE if by_zero else result


def agree(left: Value, right: Value) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-12)
    return left == right and type(left) is type(right)


@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=25, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_agrees_with_duckdb(duck: duckdb.DuckDBPyConnection, case: Case, data: st.DataObject) -> None:
    arguments = st.tuples(*(st.none() | ARGUMENTS[kind] for kind in case.types))
    values = data.draw(arguments.filter(lambda values: case.suitable(*values)))
    result, expected = ours(case, values), theirs(duck, case, values)
    assert agree(result, expected), f"{result!r} is not DuckDB's {expected!r}"
