"""Every built-in function and operator against Spark itself: types, values and errors.

The number of expressions is small here. `WHENCE_EXPRESSIONS=20000` makes it a search that takes minutes.
"""

from __future__ import annotations

import datetime
import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pyspark.sql.functions as F
import pytest
from pyspark.errors import AnalysisException, ArithmeticException, ParseException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import ArrayType as SparkArray
from pyspark.sql.types import (
    DataType,
    DateType,
    DayTimeIntervalType,
    StringType,
    StructField,
    TimestampNTZType,
    TimestampType,
    YearMonthIntervalType,
)
from pyspark.sql.types import MapType as SparkMap
from pyspark.sql.types import StructType as SparkStruct

from tests.engines.spark.sql_expressions import APPROXIMATE, FINE, NUMBERED, Expression, Expressions, random_rows
from whence.engines.spark.types import spark_type
from whence.errors import EvaluationError
from whence.functions.builtin import BUILTINS
from whence.functions.records import RECORDS
from whence.functions.statistics import STATISTICS
from whence.model.types import DATE, STRING, TIMESTAMP, ArrayType, IntervalType, MapType, Row, StructType, Type, Value
from whence.model.types.base import converter

ZONES = ("UTC", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "Europe/London")
EXPRESSIONS = int(os.environ.get("WHENCE_EXPRESSIONS", "0"))
# A search draws others every time.
SEED = int(os.environ.get("WHENCE_SEED", Random().randrange(2**32) if EXPRESSIONS else 1))
# Functions of all values of a group have no name in SQL, where they are aggregates, those of records and Soufflé's
# power and what json_tuple is made of have none at all, and truncate() came after 4.3.
_UNNAMED = {
    "truncate",
    "**",
    "json_field",
    "interval_units",
    "interval_of",
    "only_value",
    *(each.name for each in (*STATISTICS, *RECORDS)),
}
COMPARED = [name for name in BUILTINS if name not in _UNNAMED]
AT_ONCE = 200
MAX_DAY = datetime.date.max.toordinal()
ROWS = 30


class Failed:
    """That there is no value, and why."""

    def __init__(self, why: str = "") -> None:
        self.why = why

    def __repr__(self) -> str:
        return f"fails ({self.why})" if self.why else "fails"


@dataclass(frozen=True)
class Difference:
    expression: Expression
    row: Row | None
    ours: object
    theirs: object

    def __str__(self) -> str:
        where = "" if self.row is None else f" of {self.arguments()}"
        return f"{self.expression.text}{where}: {self.ours!r}, in Spark {self.theirs!r}"

    def arguments(self) -> dict[str, Value]:
        assert self.row is not None
        columns = {self.expression.places[name]: name for name in self.expression.places}
        return {NUMBERED.columns[place].name: self.row[place] for place in columns}


def _fails_with(*messages: str) -> Callable[[Difference], bool]:
    return lambda found: isinstance(found.ours, Failed) and any(message in found.ours.why for message in messages)


def _refused_with(*messages: str) -> Callable[[Difference], bool]:
    """Spark refuses the expression."""
    return lambda found: found.row is None and any(message in str(found.theirs) for message in messages)


def _too_long(value: object) -> bool:
    return isinstance(value, Failed) and "is too long" in value.why


def _nearly(found: Difference) -> bool:
    match found.ours, found.theirs:
        case float() as ours, float() as theirs:
            return found.expression.text.startswith(APPROXIMATE) and math.isclose(ours, theirs, rel_tol=1e-14)
    return False


def _no_bigint(found: Difference) -> bool:
    why = found.ours.why if isinstance(found.ours, Failed) else ""
    return "does not fit BIGINT" in why and (" div " in why or why.startswith(("floor(", "ceil(")))


def _cast_of_timestamp(found: Difference) -> bool:
    refusal = str(found.theirs)
    return found.row is None and "CAST_WITHOUT_SUGGESTION" in refusal and "TIMESTAMP" in refusal


def _rounded_comparison(found: Difference) -> bool:
    text = found.expression.text
    if found.row is None or not any(sign in text for sign in ("=", "<", ">", " IN ", "nullif")):
        return False
    places = found.expression.places.values()
    return "DECIMAL(38,3" in text or any(NUMBERED.columns[place].type == FINE for place in places)


def _long_decimal(found: Difference) -> bool:
    """A DECIMAL of more digits than Java's DECIMAL128 takes part."""
    return found.row is not None and any(
        isinstance(value, Decimal) and len(value.as_tuple().digits) > 34 for value in found.arguments().values()
    )


def _long_pattern(found: Difference) -> bool:
    text = found.expression.text.lower()
    return isinstance(found.theirs, Failed) and "12345" in text and any(name in text for name in ("rlike", "regexp"))


def _infinite(found: Difference) -> bool:
    return isinstance(found.theirs, float) and math.isinf(found.theirs)


def _beyond_int(found: Difference) -> bool:
    """A place at the very ends of INT, where Java's sums wrap around, or one beyond, which Java cuts off."""
    ends = [value for value in ([] if found.row is None else found.arguments().values()) if isinstance(value, int)]
    wide = any(abs(value) >= 2**31 - 1 for value in ends)
    return wide and any(sign in found.expression.text for sign in ("overlay", "["))


def _counted_twice(found: Difference) -> bool:
    return "regexp_count" in found.expression.text and "😀" in str(found)


# What Spark computes of a TIMESTAMP with a zone, to which it converts one without.
ZONED = ("months_between(", "date_format(", "to_char(", "to_varchar(", "timestampdiff(", "timestampadd(", "typeof(")
MADE_WITH_ZONE = ("timestamp_seconds(", "timestamp_millis(", "timestamp_micros(")


def _clock_change(found: Difference) -> bool:
    """A zone does not have all times of such a day, or some of them twice."""
    if found.row is None or not any(name in found.expression.text for name in ZONED):
        return False
    if any(name in found.expression.text for name in MADE_WITH_ZONE):
        return True
    moments = [value for value in found.arguments().values() if isinstance(value, datetime.datetime)]
    return any(_is_uneven(moment.date(), ZoneInfo(zone)) for moment in moments for zone in ZONES)


def _is_uneven(day: datetime.date, zone: ZoneInfo) -> bool:
    """Whether the zone has another offset before or after the day: it may not have the day at all."""
    noon = datetime.datetime.combine(day, datetime.time(12), zone)
    near = (noon + datetime.timedelta(days=days) for days in (-1, 1) if 1 < day.toordinal() < MAX_DAY)
    return len({moment.utcoffset() for moment in near}) > 1


def _tried_year(found: Difference) -> bool:
    is_other = isinstance(found.theirs, str) and found.theirs.startswith(("-", "+", "0000"))
    return "try_make_timestamp(" in found.expression.text and found.ours is None and is_other


def _of_no_bytes(found: Difference) -> bool:
    is_of_bytes = any(f"{name}(" in found.expression.text for name in ("lpad", "rpad", "startswith", "endswith"))
    return found.row is not None and found.ours is None and isinstance(found.theirs, Failed) and is_of_bytes


def _null_threshold(found: Difference) -> bool:
    return found.row is not None and found.ours is None and "levenshtein(" in found.expression.text


def _key_twice(found: Difference) -> bool:
    pairs = found.theirs if isinstance(found.theirs, tuple) and "from_json(" in found.expression.text else ()
    keys = [pair[0] for pair in pairs if isinstance(pair, tuple)]
    return len(set(keys)) < len(keys)


COUNTING = (
    *("date_add", "date_sub", "add_months", "element_at", "try_element_at"),
    *("array_repeat", "slice", "array_insert"),
)
# Where whence answers differently on purpose, and why.
DELIBERATE: dict[str, Callable[[Difference], bool]] = {
    "a DOUBLE is a finite number": _fails_with("is not a finite DOUBLE"),
    "dates have the years 1 to 9999": _fails_with("is outside the years 1 to 9999"),
    "a unit that does not exist is a mistake; Spark says NULL": _fails_with("date_trunc() knows no unit"),
    "a whole quotient, or a DOUBLE without its fraction, that is no BIGINT; Spark takes another number": _no_bigint,
    "2 to the power of 63 is no BIGINT; Spark takes the largest one instead": _fails_with(
        "cannot cast 9.223372036854776e+18 to BIGINT"
    ),
    "the result of a function that takes an INT depends on the value of a BIGINT, not on its type": _refused_with(
        *(f'UNEXPECTED_INPUT_TYPE] Cannot resolve "{name}(' for name in COUNTING)
    ),
    "parts of intervals by the functions that take those of times; Spark has them in EXTRACT only": _refused_with(
        *(f'UNEXPECTED_INPUT_TYPE] Cannot resolve "{name}(' for name in ("year", "month", "day", "hour", "minute"))
    ),
    "the division of Datalog, which views written in it are shown by in SQL": _refused_with("routine `quotient`"),
    "a STRING is text in UTF-8, whatever bytes it is made of": _fails_with("it is no text in UTF-8"),
    "Java formats what whence refuses by name": _fails_with("is no pattern of a date"),
    "TIMESTAMP and numbers convert as Spark's zoned TIMESTAMP does in UTC": _cast_of_timestamp,
    "a TIMESTAMP has no zone: each day has 24 hours": _clock_change,
    "times have the years 1 to 9999, and others are tried in vain": _tried_year,
    "Spark computes what the functions of a BINARY that is NULL are told": _of_no_bytes,
    "a threshold that is NULL gives NULL, as in Spark's compiled code; its interpreter takes 0": _null_threshold,
    "numbers are compared exactly; Spark rounds DECIMALs that have more than 38 digits together": _rounded_comparison,
    "Spark rounds to 34 digits where it changes a sign or leaves out a fraction": _long_decimal,
    "a map has each key once, also where an object has a name twice": _key_twice,
    "an infinite result is none": _infinite,
    "places beyond INT": _beyond_int,
    "Java counts a character of more than 16 bits twice": _counted_twice,
    "Java has no stack for a regular expression of so many characters": _long_pattern,
    "regular expressions are Python's, which refuses more": _fails_with("is not a regular expression"),
    "Java and C round exp, ln and power differently in the last digit": _nearly,
}


def test_a_sample(session: SparkSession) -> None:
    """Each function once, in one time zone that is drawn."""
    expressions = Expressions(SEED)
    drawn = [expressions.of(name) for name in COMPARED] + [expressions.cast() for _ in range(10)]
    found = search(session, drawn, random_rows(expressions.chance, ROWS), expressions.chance.choice(ZONES))
    assert not found, f"WHENCE_SEED={SEED}\n" + "\n".join(map(str, found))


@pytest.mark.parametrize(("mode", "expected"), [("CODEGEN_ONLY", None), ("NO_CODEGEN", -1)])
def test_spark_knows_two_answers_for_a_null_threshold(session: SparkSession, mode: str, expected: int | None) -> None:
    own = session.newSession()
    own.conf.set("spark.sql.codegen.factoryMode", mode)
    own.conf.set("spark.sql.codegen.wholeStage", "false")
    frame = own.range(1).selectExpr("levenshtein('ab', 'cd', CAST(nullif(id, 0) AS INT)) AS distance")
    assert [each.distance for each in frame.collect()] == [expected]


@pytest.mark.skipif(not EXPRESSIONS, reason="a search, started by WHENCE_EXPRESSIONS")
def test_search(session: SparkSession) -> None:
    expressions = Expressions(SEED)
    names = (*COMPARED, *["cast"] * 12)
    found: list[Difference] = []
    for start in range(0, EXPRESSIONS, AT_ONCE):
        drawn = [_drawn(expressions, names[number % len(names)]) for number in range(start, start + AT_ONCE)]
        rows = random_rows(expressions.chance, ROWS)
        found += search(session, drawn, rows, ZONES[start // AT_ONCE % len(ZONES)])
    sys.stderr.write(f"{EXPRESSIONS} expressions with WHENCE_SEED={SEED}\n")
    assert not found, f"{len(found)} differences with WHENCE_SEED={SEED}\n" + "\n".join(map(str, found))


def _drawn(expressions: Expressions, name: str) -> Expression:
    return expressions.cast() if name == "cast" else expressions.of(name)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    return without_zones(spark)


def without_zones(spark: SparkSession) -> SparkSession:
    """A session of its own, in which TIMESTAMP is what it is here: without a time zone."""
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", "true")
    session.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    # Compiling each expression would take longer than computing its few values.
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    # What is computed ahead for nullif and BETWEEN would fail outside of what catches it.
    session.conf.set("spark.sql.alwaysInlineCommonExpr", "true")
    return session


@dataclass(frozen=True)
class Answer:
    """What Spark says of an expression: its type or why it has none, and where they were asked for its values."""

    kind: DataType | str
    values: Sequence[Any] = ()


def search(session: SparkSession, drawn: Sequence[Expression], rows: Sequence[Row], zone: str) -> list[Difference]:
    return differences(drawn, ask(session, drawn, rows, zone), rows)


def ask(session: SparkSession, drawn: Sequence[Expression], rows: Sequence[Row], zone: str) -> list[Answer]:
    session.conf.set("spark.sql.session.timeZone", zone)
    frame = arguments_frame(session, rows)
    kinds = types_in_spark(frame, [each.text for each in drawn])
    texts = {
        each.text: as_text(each.text, kind)
        for each, kind in zip(drawn, kinds, strict=True)
        if isinstance(kind, DataType)
        # Spark would try, and run out of memory.
        and not any(_too_long(ours(each, row)) for row in rows)
        and (zone == "UTC" or not has_zone(each.text, kind))
    }
    values = dict(zip(texts, values_in_spark(frame, list(texts.values())), strict=True))
    return [Answer(kind, values.get(each.text, ())) for each, kind in zip(drawn, kinds, strict=True)]


def has_zone(text: str, kind: DataType) -> bool:
    """In Spark these moments have a time zone, even those made of times that have none."""
    return isinstance(kind, TimestampType) or any(word in text for word in ("date_trunc", "INTERVAL", "unix"))


def differences(drawn: Sequence[Expression], answers: Sequence[Answer], rows: Sequence[Row]) -> list[Difference]:
    """Those that are not deliberate, one of each expression."""
    return [
        found
        for expression, answer in zip(drawn, answers, strict=True)
        for found in _differences(expression, answer, rows)
        if not any(is_deliberate(found) for is_deliberate in DELIBERATE.values())
    ]


def _differences(expression: Expression, answer: Answer, rows: Sequence[Row]) -> list[Difference]:
    if not isinstance(answer.kind, DataType):
        return [Difference(expression, None, str(expression.kind), answer.kind)]
    if not same_type(expression.kind, answer.kind):
        return [Difference(expression, None, str(expression.kind), answer.kind.simpleString())]
    found = [
        Difference(expression, row, ours(expression, row), Failed() if theirs is None else plain(theirs[0]))
        for row, theirs in zip(rows, answer.values, strict=False)
    ]
    return [each for each in found if not agree(each.ours, each.theirs)]


def arguments_frame(session: SparkSession, rows: Sequence[Row]) -> DataFrame:
    """The rows, with times as texts first: PySpark would take early ones by another calendar."""
    import pyarrow as pa

    names = [column.name for column in NUMBERED.columns]
    kinds = [column.type for column in NUMBERED.columns]
    columns = [
        pa.array([in_text(value, kind) for value in values], text_type(kind).arrow())
        for values, kind in zip(zip(*rows, strict=True), kinds, strict=True)
    ]
    frame = session.createDataFrame(pa.Table.from_arrays(columns, names=names))
    frame = frame.select(*(F.col(name).cast(ntz(kind)).alias(name) for name, kind in zip(names, kinds, strict=True)))
    frame.createOrReplaceTempView("t")
    return frame


def ntz(kind: Type) -> DataType | str:
    if isinstance(kind, IntervalType):
        return kind.simple_name
    return TimestampNTZType() if kind == TIMESTAMP else spark_type(kind)


def text_type(kind: Type) -> Type:
    if kind.inner:
        return kind.with_inner([text_type(each) for each in kind.inner])
    return STRING if kind in (DATE, TIMESTAMP) or isinstance(kind, IntervalType) else kind


def in_text(value: Value, kind: Type) -> Value:
    target = text_type(kind)
    return value if value is None or kind == target else converter(kind, target)(value)


def ours(expression: Expression, row: Row) -> object:
    try:
        return in_text(expression.value(row), expression.kind)
    except EvaluationError as error:
        return Failed(error.message)


def types_in_spark(frame: DataFrame, texts: Sequence[str]) -> list[DataType | str]:
    """The type of each expression, or why there is none. All are asked for at once; where one fails, halves are."""
    try:
        fields = frame.selectExpr(*(f"{text} AS c{number}" for number, text in enumerate(texts))).schema.fields
        return [field.dataType for field in fields]
    except (AnalysisException, ArithmeticException, ParseException) as error:
        # Constants are computed while Spark analyzes, and may overflow then.
        if len(texts) == 1:
            return [f"refused: {str(error).splitlines()[0] if str(error) else 'syntax'}"]
    middle = len(texts) // 2
    return types_in_spark(frame, texts[:middle]) + types_in_spark(frame, texts[middle:])


def values_in_spark(frame: DataFrame, texts: Sequence[str]) -> list[list[Any]]:
    """For each expression and row an array with the value, or None where there is none."""
    if not texts:
        return []
    import pyarrow as pa

    computed = frame.select("row", *(tried(frame.sparkSession, text) for text in texts))
    try:
        table = computed.toArrow().sort_by("row")
        return [column.to_pylist() for column in table.columns[1:]]
    except pa.ArrowInvalid:
        # Spark says of some arrays that no element is NULL although one is, which Arrow does not let pass.
        if len(texts) == 1:
            return [[values for _, values in sorted(computed.collect(), key=lambda each: each[0])]]
    except (PySparkException, UnicodeDecodeError):
        if len(texts) == 1:
            return [[["not caught"]] * frame.count()]
    middle = len(texts) // 2
    return values_in_spark(frame, texts[:middle]) + values_in_spark(frame, texts[middle:])


def same_type(ours: Type, theirs: DataType) -> bool:
    if isinstance(ours, ArrayType) and isinstance(theirs, SparkArray):
        return same_type(ours.element, theirs.elementType)
    if isinstance(ours, MapType) and isinstance(theirs, SparkMap):
        return same_type(ours.key, theirs.keyType) and same_type(ours.value, theirs.valueType)
    if isinstance(ours, StructType) and isinstance(theirs, SparkStruct):
        kinds = [field.dataType for field in theirs.fields]
        return [name for name, _ in ours.fields] == theirs.names and all(map(same_type, ours.inner, kinds))
    if isinstance(ours, IntervalType):
        return ours.simple_name == theirs.simpleString()
    # Spark's date_trunc makes a moment with a zone even of a time that has none.
    return spark_type(ours) == theirs or (ours == TIMESTAMP and isinstance(theirs, TimestampType | TimestampNTZType))


def as_text(text: str, kind: DataType) -> str:
    """Dates and times as texts, since Python has no year 10000."""
    target = _in_texts(kind)
    return text if target == kind else f"CAST({text} AS {target.simpleString()})"


def _in_texts(kind: DataType) -> DataType:
    match kind:
        case SparkArray(elementType=element):
            return SparkArray(_in_texts(element), kind.containsNull)
        case SparkMap(keyType=key, valueType=value):
            return SparkMap(_in_texts(key), _in_texts(value), kind.valueContainsNull)
        case SparkStruct(fields=fields):
            return SparkStruct([StructField(each.name, _in_texts(each.dataType), each.nullable) for each in fields])
        case DateType() | TimestampType() | TimestampNTZType() | YearMonthIntervalType() | DayTimeIntervalType():
            return StringType()
    return kind


def tried(session: SparkSession, text: str) -> Column:
    """An array with the value, or NULL where computing it fails."""
    jvm: Any = session._jvm  # noqa: SLF001 (PySpark has no function that catches errors)
    utilities = jvm.org.apache.spark.sql.classic.ExpressionUtils
    inner = utilities.expression(F.expr(f"array({text})")._jc)  # noqa: SLF001 (as above)
    return Column(utilities.column(jvm.org.apache.spark.sql.catalyst.expressions.TryEval(inner)))


def plain(value: object) -> object:
    if isinstance(value, float):
        return value + 0.0
    if isinstance(value, dict):
        return tuple(map(plain, value.values()))
    return tuple(map(plain, value)) if isinstance(value, list | tuple) else value


def agree(ours: object, theirs: object) -> bool:
    if isinstance(ours, Failed) or isinstance(theirs, Failed):
        return isinstance(ours, Failed) and isinstance(theirs, Failed)
    # As text, which tells 1.5 from 1.50.
    return repr(ours) == repr(theirs)
