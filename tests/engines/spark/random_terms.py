"""Random terms over columns of all types, and rows for them with the values that matter."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Context, Decimal
from random import Random

from whence.errors import WhenceError
from whence.functions.builtin import BUILTINS
from whence.functions.lambdas import HIGHER_ORDER
from whence.functions.types import Typed, infer
from whence.model.lambdas import MARK, closed
from whence.model.schema import Column, Relation
from whence.model.terms import Call, Cast, Constant, Lambda, Skolem, Term, Variable
from whence.model.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    REAL,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    Row,
    StructType,
    Type,
    Value,
)

PRICE, WIDE, FINE = DecimalType(6, 2), DecimalType(38, 4), DecimalType(38, 30)
PAIR = StructType([("a", INT), ("b", STRING)])
EXACT = Context(prec=100)


def units(kind: DecimalType, number: int) -> Decimal:
    """So many of the smallest steps that the type has."""
    return Decimal(number).scaleb(-kind.scale, EXACT)


VALUES: dict[Type, Sequence[Value]] = {
    STRING: ("", "a", "ab", " b ", "Ab%_", "äßŒ", "12", "1.5", "true", "2024-02-29", "2024-02-29 12:30:00.5", "𝒳yz"),
    INT: (0, 1, -1, 2, 3, 7, 100, -12345, 2**31 - 1, -(2**31)),
    BIGINT: (0, 1, -1, 5, -30, 2**53 + 1, 10**15, 2**63 - 1, -(2**63)),
    DOUBLE: (0.0, 1.0, -1.0, 0.1, -2.5, 1e-3, 123456.789, 2.0**53, 2.0**63, -(2.0**63), 5e-324, 1e308, -1.7e308),
    PRICE: tuple(map(Decimal, ("0.00", "0.01", "-0.05", "1.00", "2.50", "-9999.99", "9999.99"))),
    WIDE: tuple(units(WIDE, each) for each in (0, 10_000, -25_000, 10**37 - 1, 10**38 - 1)),
    FINE: tuple(units(FINE, each) for each in (0, 1, 10**30, 5 * 10**29, 1 - 10**38)),
    BOOLEAN: (True, False),
    DATE: tuple(
        datetime.date(*each)
        for each in ((1, 1, 1), (1582, 10, 10), (1969, 12, 31), (2024, 2, 29), (2024, 12, 31), (9999, 12, 31))
    ),
    TIMESTAMP: tuple(
        datetime.datetime(*each)
        for each in (
            (1, 1, 1),
            (1582, 10, 10, 1, 2, 3, 4),
            (1969, 12, 31, 23, 59, 59, 999999),
            (2024, 2, 29, 12, 30, 0, 500000),
            (9999, 12, 31, 23, 59, 59, 999999),
        )
    ),
    ArrayType(INT): ((), (1,), (3, 1, 2), (None,), (1, None), (2**31 - 1,)),
    ArrayType(STRING): ((), ("a",), ("b", None)),
    ArrayType(DOUBLE): ((), (0.1, 2.0)),
    ArrayType(REAL): ((), (0.5, 2.0), (1.5, None)),
    PAIR: ((1, "a"), (None, None), (-2, "b")),
    ArrayType(PAIR): ((), ((1, "a"), (2, None)), (None,)),
    MapType(STRING, INT): ((), (("a", 1),), (("b", None), ("a", 2))),
}
TYPES = tuple(VALUES)
RELATION = Relation("t", tuple(Column(f"x{number}", TYPES[number % len(TYPES)]) for number in range(2 * len(TYPES))))
VARIABLES = {column.name: Typed(column.type, column.nullable) for column in RELATION.columns}
CONSTANTS: dict[Type, Sequence[Value]] = {
    STRING: ("a", "%b_", "day", "month", "WEEK", "2024-01-31", "", "ab", "99.9"),
    INT: (0, 1, 2, -1, 10),
    BIGINT: (0, 3),
    DOUBLE: (0.5, 2.0),
    PRICE: (Decimal("1.50"),),
    BOOLEAN: (True, False),
    DATE: (datetime.date(2000, 1, 31),),
}


def random_row(chance: Random) -> Row:
    return tuple(None if chance.random() < 0.15 else random_value(chance, column.type) for column in RELATION.columns)


def random_value(chance: Random, kind: Type) -> Value:
    if chance.random() < 0.3:
        if kind == DOUBLE:
            return round(chance.uniform(-1000, 1000), chance.randint(0, 15))
        if isinstance(kind, DecimalType):
            return units(kind, chance.randrange(1, 10 ** chance.randint(1, kind.precision)))
        if kind == INT:
            return chance.randrange(-50, 50)
    return chance.choice(VALUES[kind])


def random_term(chance: Random, depth: int = 3) -> Term:
    """A term that analysis accepts."""
    kind = chance.random()
    if depth and kind < 0.6:
        tried = _tried(chance, depth)
        return tried if is_legal(tried) else random_term(chance, depth)
    if kind < 0.75:
        constant = chance.choice(tuple(CONSTANTS))
        return Constant(chance.choice((*CONSTANTS[constant], None)), constant)
    return Variable(chance.choice(RELATION.column_names))


def _tried(chance: Random, depth: int) -> Term:
    kind = chance.random()
    if kind < 0.2:
        return Cast(random_term(chance, depth - 1), chance.choice(TYPES))
    if kind < 0.22:
        return Skolem("f", (random_term(chance, depth - 1),))
    return _call(chance, chance.choice(tuple(BUILTINS)), depth)


# So often calls are tried whose arguments are terms; then with columns, which some functions accept very few of.
NESTED_TRIES, PLAIN_TRIES = 100, 100_000


def random_call(chance: Random, function: str, depth: int = 2) -> Term:
    """A call of this function that analysis accepts."""
    for tries in range(NESTED_TRIES + PLAIN_TRIES):
        is_nested = tries < NESTED_TRIES
        call = _call(chance, function, depth)
        if not is_nested and function not in HIGHER_ORDER:
            call = Call(function, _plain_arguments(chance))
        if is_legal(call):
            return call
    raise AssertionError(f"no call of {function} was found that is accepted")


def _call(chance: Random, function: str, depth: int) -> Term:
    if function in HIGHER_ORDER:
        return _lambda_call(chance, function)
    count = chance.choice((1, 1, 2, 2, 2, 3, 3, 4))
    return Call(function, tuple(random_term(chance, depth - 1) for _ in range(count)))


def _lambda_call(chance: Random, function: str) -> Term:
    nested: list[Term] = [Variable(column.name) for column in RELATION.columns if column.type.inner]
    values = [chance.choice(nested), *(random_term(chance, 0) for _ in range(chance.randrange(2)))]
    return closed(function, [*values, *(_lambda(chance) for _ in range(chance.choice((1, 1, 2))))], None)


def _lambda(chance: Random) -> Lambda:
    """A lambda of its parameters, and perhaps of a column."""
    names = tuple(MARK + letter for letter in "xyz"[: chance.choice((1, 2, 2, 3))])
    first, last = Variable(names[0]), Variable(names[-1])
    is_null = Call("isnull", (first,))
    column = Variable(chance.choice(RELATION.column_names))
    bodies: tuple[Term, ...] = (
        *(first, last, is_null, column),
        *(Call(each, (first, last)) for each in ("coalesce", "=", "<")),
        *(Call(each, (first, column)) for each in ("coalesce", "<=>", "+")),
        Call("if", (is_null, Constant(chance.randrange(-1, 2), INT), Constant(0, INT))),
    )
    return Lambda(names, (), chance.choice(bodies))


def _plain_arguments(chance: Random) -> tuple[Term, ...]:
    """Columns and constants, in half of all cases of one type: that is what functions of many arguments take."""
    count = chance.randrange(8)
    if chance.random() < 0.5:
        return tuple(random_term(chance, 0) for _ in range(count))
    kind = chance.choice(TYPES)
    columns: list[Term] = [Variable(column.name) for column in RELATION.columns if column.type == kind]
    if isinstance(kind, ArrayType):
        columns.append(Call("array", tuple(columns)))
    return tuple(chance.choice(columns) for _ in range(count))


def is_legal(term: Term) -> bool:
    try:
        infer(term, VARIABLES, {})
    except WhenceError:
        return False
    return True
