"""Single expressions against Spark itself: those that a search seldom draws."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.engines.spark.sql_expressions import NUMBERED, Expression, accepted
from tests.engines.spark.test_functions import search, types_in_spark, without_zones
from whence.model.types import INT, STRING, ArrayType, DecimalType

# The columns have NULL, apart from the number of the row.
ROWS = [(number, *[None] * (len(NUMBERED.columns) - 1)) for number in range(2)]
TEXT, WHOLE, PRICE, ARRAY = (
    next(column.name for column in NUMBERED.columns if column.type == kind)
    for kind in (STRING, INT, DecimalType(6, 2), ArrayType(INT))
)
# No constant, so that nothing is computed before there is a row.
FAILING_NUMBER = "CAST(1 div (row - row) AS INT)"
FAILING_TEXT = f"CAST({FAILING_NUMBER} AS STRING)"

ALIKE = {
    "a NULL is found before what comes after it": [
        f"position({TEXT} IN {FAILING_TEXT})",
        f"position({FAILING_TEXT} IN {TEXT})",
        f"position({TEXT} IN substring('_', 9223372036854775807))",
        f"position({TEXT} IN rpad('..', 2147483648))",
        f"locate({TEXT}, {FAILING_TEXT})",
        f"locate('a', {TEXT})",
        f"instr({TEXT}, {FAILING_TEXT})",
        f"instr({FAILING_TEXT}, {TEXT})",
        f"trim({TEXT}, {FAILING_TEXT})",
        f"trim(LEADING {FAILING_TEXT} FROM {TEXT})",
        f"replace({TEXT}, {FAILING_TEXT}, 'a')",
        f"replace({FAILING_TEXT}, {TEXT}, 'a')",
        f"lpad({TEXT}, {FAILING_NUMBER}, 'a')",
        f"substring('a', {WHOLE}, {FAILING_NUMBER})",
        f"substring('a', {FAILING_NUMBER}, {WHOLE})",
        f"{TEXT} RLIKE {FAILING_TEXT}",
        f"{FAILING_NUMBER} / {WHOLE}",
        f"{FAILING_NUMBER} % {WHOLE}",
        f"{WHOLE} - {FAILING_NUMBER}",
        f"concat({TEXT}, {FAILING_TEXT})",
        f"concat({ARRAY}, array({FAILING_NUMBER}))",
        f"nullif({WHOLE}, {FAILING_NUMBER})",
    ],
    "what is found": ["position('b' IN 'abc')", "locate('c', 'abc')", "locate('x', 'abc')", "position('' IN 'abc')"],
    "the type of a NULL between numbers": [
        f"{text}"
        for number in ("CAST('1.50' AS DECIMAL(6,2))", PRICE, "1.5", "7L", "2D")
        for operator in ("+", "-", "*", "/", "%")
        for text in (f"NULL {operator} {number}", f"{number} {operator} NULL")
    ],
    "words do not begin or end there": [
        f"rlike('{text}', '{pattern}')"
        for text in ("", "a", "ab", " ", "a b", "_")
        for pattern in (r"\\B", r"^\\B$", r"\\b", r"a\\B", r"\\\\B", r"\\Bb|x")
    ],
    "letters of all languages make words": [
        rf"regexp_count('{text}', '{pattern}')"
        for text in ("Bé", "é", "_é", "é b", "x€")
        for pattern in (r"B\\bé", r"B\\Bé", r"\\bé", r"\\b", r"x\\b")
    ],
    "from nowhere on": [f"locate('a', 'banana', {WHOLE})", f"locate({TEXT}, {FAILING_TEXT}, {WHOLE})"],
    "what is tried": [
        f"try_make_timestamp({WHOLE}, 1, 1, 1, 1, {FAILING_NUMBER})",
        f"try_make_timestamp(2020, 1, 1, 1, 1, {FAILING_NUMBER})",
        f"try_add(DATE '2020-01-01', {FAILING_NUMBER})",
        f"try_add({FAILING_NUMBER}, 1)",
        f"try_subtract(DATE '2020-01-01', {FAILING_NUMBER})",
        f"try_to_binary({FAILING_TEXT})",
        f"try_url_decode({FAILING_TEXT})",
    ],
    "the least REALs": [
        f"CAST(CAST({value} AS FLOAT) AS STRING)" for value in ("1.4E-45", "2.8E-45", "1E-44", "2E-44")
    ],
    "types as they are": [
        "'3' | 1",
        "NULL & 1",
        "nanvl(CAST(1 AS FLOAT), CAST(2 AS FLOAT))",
        "nanvl(CAST(1 AS FLOAT), 2)",
        "typeof(TIMESTAMP_NTZ '2020-01-01 00:00:00')",
    ],
    "remainders of large quotients": [
        f"CAST('{dividend}' AS DECIMAL(18,0)) % CAST('{divisor}' AS DECIMAL(38,30))"
        # Quotients of 38 to 40 digits, the last of which may be zeros.
        for dividend in ("935858357", "-9358583575", "93585835755", "100000000000")
        for divisor in ("0.00000000000000000000000000006", "-0.00000000000000000000000000007", "1e-29")
    ],
}
REFUSED = [
    "array_contains(NULL, 1e3)",
    "array_contains(NULL, NULL)",
    "array_contains(array(1), NULL)",
    "element_at(array(1), NULL)",
    "round(1.5, 9223372036854775807)",
    "unix_date(TIMESTAMP_NTZ '2020-01-01 00:00:00')",
    "unix_date('2020-01-01')",
    "unix_millis('2020-01-01')",
    "array_join(array('a'), 1)",
    "soundex(12345678901)",
    "2D | 1",
    "~ 0.10",
    "bit_count('3')",
    "getbit('3', 1)",
]


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    return without_zones(spark)


@pytest.mark.parametrize("kind", ALIKE)
def test_alike(session: SparkSession, kind: str) -> None:
    found = search(session, [_expression(text) for text in ALIKE[kind]], ROWS, "UTC")
    assert not found, "\n".join(map(str, found))


def _expression(text: str) -> Expression:
    expression = accepted(text)
    assert expression is not None, text
    return expression


def test_refused_here_and_there(session: SparkSession) -> None:
    frame = session.range(1)
    assert [text for text in REFUSED if accepted(text) is not None] == []
    assert [kind for kind in types_in_spark(frame, REFUSED) if not isinstance(kind, str)] == []


@pytest.mark.parametrize("number", ["NULL", "1.5", "2D"])
def test_no_such_number_of_digits(session: SparkSession, number: str) -> None:
    """Spark finds it where it has a row, at the latest."""
    text = f"round({number}, 3000000000)"
    assert accepted(text) is None
    with pytest.raises(Exception, match="CAST_OVERFLOW"):
        session.range(1).selectExpr(text).collect()
