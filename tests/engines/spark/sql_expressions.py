"""Random SQL expressions over every built-in function and operator, and rows with the values that matter."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from random import Random

from whence.errors import WhenceError
from whence.functions.builtin import BUILTINS
from whence.functions.evaluate import compile_term
from whence.functions.resolve import Evaluator, takes
from whence.functions.types import Typed, infer
from whence.lang.sql.functions import SYNONYMS
from whence.lang.sql.parse import parse_sql
from whence.model.program import Catalog, CreateView
from whence.model.rules import Atom
from whence.model.schema import Column, Relation
from whence.model.terms import Call, Constant, Term, Variable
from whence.model.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    REAL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    ArrayType,
    DecimalType,
    MapType,
    Row,
    StructType,
    Type,
    Value,
)
from whence.model.types.intervals import DAY_TIME, YEAR_MONTH, Months

PRICE, WIDE, FINE, LONG = DecimalType(6, 2), DecimalType(38, 4), DecimalType(38, 30), DecimalType(18, 0)
LOOKUP = MapType(STRING, INT)
PAIR = StructType([("a", INT), ("b", STRING)])
EXACT = Context(prec=100)


def units(kind: DecimalType, number: int) -> Decimal:
    """So many of the smallest steps that the type has."""
    return Decimal(number).scaleb(-kind.scale, EXACT)


VALUES: dict[Type, Sequence[Value]] = {
    STRING: ("", "a", "ab", "Ab%_", " b ", "xxa", "äßŒİ", "😀z", "12", "-1.5e2", " 7 ", "true", "2024-02-29", "\t1\n"),
    TINYINT: (0, 1, -1, 7, 127, -128),
    SMALLINT: (0, 3, -12, 300, 2**15 - 1, -(2**15)),
    INT: (0, 1, -1, 2, 3, 7, -12, 100, 2**31 - 1, -(2**31)),
    BIGINT: (0, 1, -1, 5, -30, 2**31, 2**53 + 1, 10**15, 2**63 - 1, -(2**63)),
    DOUBLE: (0.0, 1.0, -1.0, 0.1, -2.5, 3.5, 1e-3, 123456.789, 2.0**53, 2.0**63, 5e-324, 1e308, -1.7e308, 1e22, 4.35),
    REAL: (0.0, 1.0, -2.5, 0.10000000149011612, 16777216.0, 3.4028234663852886e38, 1.401298464324817e-45),
    BINARY: (b"", b"a", b"ab", b"Spark", b"\x00\x7f"),
    PRICE: tuple(map(Decimal, ("0.00", "0.01", "-0.05", "1.00", "2.50", "-9999.99", "9999.99"))),
    LONG: tuple(map(Decimal, (0, 3, -7, 10**18 - 1, 1 - 10**18))),
    WIDE: tuple(units(WIDE, each) for each in (0, 10_000, -25_000, 10**37 - 1, 10**38 - 1)),
    FINE: tuple(units(FINE, each) for each in (0, 1, 10**30, 5 * 10**29, 1 - 10**38)),
    BOOLEAN: (True, False),
    DATE: tuple(
        datetime.date(*each)
        for each in ((1, 1, 1), (1582, 10, 10), (1969, 12, 31), (2024, 2, 29), (2023, 12, 31), (9999, 12, 31))
    ),
    TIMESTAMP: tuple(
        datetime.datetime(*each)
        for each in (
            (1, 1, 1),
            (1582, 10, 10, 1, 2, 3, 4),
            (1969, 12, 31, 23, 59, 59, 999999),
            (2024, 2, 29, 12, 30, 0, 500000),
            # Clocks were put forward in New York, in London and, by a whole day, in Apia.
            (2024, 3, 10, 2, 30),
            (2024, 3, 31, 1, 30),
            (2011, 12, 30, 12),
            (9999, 12, 31, 23, 59, 59, 999999),
        )
    ),
    ArrayType(INT): ((), (1,), (3, 1, 2), (None,), (1, None), (2**31 - 1,)),
    ArrayType(STRING): ((), ("a",), ("b", None, "😀")),
    ArrayType(PRICE): ((), (Decimal("0.50"), None)),
    ArrayType(REAL): ((), (0.5, -2.0), (1.5, None), (3.0, 4.0)),
    ArrayType(DATE): ((), (datetime.date(2024, 2, 29),)),
    YEAR_MONTH: tuple(map(Months, (0, 1, -1, 14, -30, 2**31 - 1))),
    DAY_TIME: tuple(
        datetime.timedelta(microseconds=each)
        for each in (0, 1, -1, 86_400_000_000, 93_784_500_000, -5 * 3_600_000_000, 2**63 - 1, 1_500_000)
    ),
    LOOKUP: ((), (("a", 1),), (("b", None), ("a", 2)), (("12", -7),)),
    PAIR: ((1, "a"), (1, None), (None, None), (-3, "b")),
    ArrayType(PAIR): ((), ((1, "a"),), ((2, None), None, (2, "😀"), (1, "x"))),
}
TYPES = tuple(VALUES)
TABLE = Relation("t", tuple(Column(f"x{number}", TYPES[number % len(TYPES)]) for number in range(2 * len(TYPES))))
NUMBERED = Relation("t", (Column("row", BIGINT), *TABLE.columns))
_TYPED = {column.name: Typed(column.type, column.nullable) for column in NUMBERED.columns}
_CATALOG = Catalog(relations={"t": NUMBERED})

_TEXTS = (
    "a",
    "b%",
    "_",
    "",
    " ",
    "ab",
    "x",
    "2024-01-31",
    "2024-02-29 12:30:45.25",
    "day",
    "WEEK",
    "5",
    "😀",
    "[a-b]+",
)
_CONSTANTS: dict[Type, Sequence[Value]] = {
    STRING: _TEXTS,
    # None so large that Spark would pad a text to that length.
    INT: (0, 1, 2, -1, 3, 10, 12345),
    BIGINT: (0, 3, 2**63 - 1),
    DOUBLE: (0.5, 2.0, -1e300),
    PRICE: (Decimal("1.50"), Decimal("-0.01")),
    BOOLEAN: (True, False),
    DATE: (datetime.date(2000, 1, 31), datetime.date(9999, 12, 31)),
    TIMESTAMP: (datetime.datetime(2000, 1, 31, 1, 2, 3, 4),),
}
_LITERALS = ("NULL", "1.5", "0.10", "12345678901", "7L", "1e3", "-2", "- 3", "1.5BD", "2D", "array(1, NULL)")
_INTERVALS = ("'1' DAY", "'-2' MONTH", "'3' HOUR", "1 YEAR", "'90' MINUTE", "'1' MICROSECOND", "2 WEEK", "'1' QUARTER")
_INFIX = ("+", "-", "*", "/", "%", "div", "&", "|", "^", "=", "!=", "<", "<=", ">", ">=", "<=>", "and", "or")
_PATTERNS = (
    "'yyyy-MM-dd HH:mm:ss'",
    "'d.M.y'",
    "'yyyyMMdd'",
    "'EEEE, MMMM d'",
    "'hh:mm a'",
    "'yy-MM-dd'",
    "'H:m:s.SSS'",
)
_CHARSETS = ("'utf-8'", "'UTF-16'", "'utf-16le'", "'UTF-32'", "'US-ASCII'", "'iso-8859-1'", "'koi8'")
_BINARY_FORMATS = ("'hex'", "'UTF-8'", "'base64'")
_NUMBER_FORMATS = ("'99'", "'9,999.99'", "'000'", "'S99.9'", "'99MI'", "'99PR'", "'$9.99'")
_STRING_FORMATS = ("'%s'", "'<%5s|%-3s>'", "'%2$s %1$s %%'", "'none'")
_JSON = (
    """'{"a": 1, "b": [1, {"c": "x"}, null], "d": {"e": 1.50, "f": null}}'""",
    """'[1, "a", [2, 3], {"a": "b"}]'""",
    """'{"a": [{"b": "x"}, {"b": 2}], "c": "y", "c": "z"} tail'""",
    """'{"a": tru'""",
    """'"text"'""",
    """'null'""",
)
_MORE_JSON = (
    """'{"a": "1", "b": 2.0, "c": [1, 2], "d": {"e": "2024-02-29", "f": true}}'""",
    """'{"b": "x", "a": 2147483648, "d": [{"e": 1}, {"e": "y"}], "c": [1, "z"]}'""",
    """'[{"a": 3, "b": 1e2}, {"a": null}, null]'""",
    """'{"a": 7, "A": 8, "b": -0.125, "d": {"e": null}, "c": []}'""",
    "x0",
    "''",
)
_SCHEMAS = (
    "'a INT, b STRING'",
    "'a STRING, b DOUBLE, c ARRAY<INT>'",
    "'b DECIMAL(5,1), d STRUCT<e: DATE, f: BOOLEAN>'",
    "'d ARRAY<STRUCT<e: INT>>, a BIGINT'",
    "'ARRAY<STRUCT<a: INT, b: DOUBLE>>'",
    "'ARRAY<STRING>'",
    "'MAP<STRING, STRING>'",
    "'MAP<STRING, INT>'",
    "'STRUCT<d: STRING, c: STRING>'",
)
_JSON_PATHS = (
    "'$'",
    "'$.a'",
    "'$.b[0]'",
    "'$.b[1].c'",
    "'$.b[2]'",
    "'$.a[*].b'",
    "'$[*]'",
    "'$.d'",
    "'$.d.e'",
    "'$.c'",
    "'a'",
)
_URLS = (
    "'http://user:pass@host.org:8080/a/b.html?x=1&y=%20z#part'",
    "'https://host'",
    "'mailto:me@host'",
    "'ftp://[::1]/x'",
    "'no url at all'",
)
_URL_PARTS = ("HOST", "PATH", "QUERY", "REF", "PROTOCOL", "FILE", "AUTHORITY", "USERINFO", "OTHER")
# Over an INT, arrays of numbers, texts, prices and structs, and a map.
_LAMBDAS: dict[str, tuple[str, ...]] = {
    "transform": (
        "transform({ints}, x -> x + {int})",
        "transform({texts}, (x, i) -> concat(x, i))",
        "transform({pairs}, p -> p.a * 2)",
        "transform({ints}, x -> filter({texts}, s -> length(s) <= x))",
        "transform({ints}, x -> x + '1')",
    ),
    "filter": ("filter({ints}, x -> x > {int})", "filter({texts}, (x, i) -> i % 2 = 0)", "filter({ints}, x -> NULL)"),
    "exists": ("exists({ints}, x -> x = 1)", "exists({pairs}, p -> p.b IS NULL)"),
    "forall": ("forall({ints}, x -> x > 0)", "forall({texts}, s -> s != 'a')"),
    "aggregate": (
        "aggregate({ints}, 0, (a, x) -> a + x)",
        "reduce({texts}, '', (a, x) -> concat(a, coalesce(x, '-')), a -> length(a))",
        "aggregate({ints}, {int}, (a, x) -> coalesce(x, a), a -> a * 1.5)",
        "aggregate({ints}, struct(0 AS n, 0L AS s), (a, x) -> struct(a.n + 1 AS n, a.s + x AS s), a -> a.s / a.n)",
        "aggregate({ints}, 0L, (a, x) -> a + x)",
        "aggregate({prices}, CAST(0 AS DECIMAL(38,2)), (a, x) -> CAST(a + x AS DECIMAL(38,2)))",
    ),
    "zip_with": ("zip_with({ints}, {texts}, (x, s) -> concat(s, x))", "zip_with({ints}, {ints}, (x, y) -> x - y)"),
    "array_sort_with": (
        "array_sort({ints}, (l, r) -> CASE WHEN l < r THEN 1 WHEN l > r THEN -1 ELSE 0 END)",
        "array_sort({texts}, (l, r) -> coalesce(length(l), 0) - coalesce(length(r), 0))",
        "array_sort({ints}, (l, r) -> sign(l - r)::INT)",
    ),
    "transform_keys": ("transform_keys({map}, (k, v) -> k || 'x')", "transform_keys({map}, (k, v) -> v)"),
    "transform_values": ("transform_values({map}, (k, v) -> v / 2)", "transform_values({map}, (k, v) -> {int})"),
    "map_filter": ("map_filter({map}, (k, v) -> v > 1)", "map_filter({map}, (k, v) -> k < 'b' OR v IS NULL)"),
    "map_zip_with": (
        "map_zip_with({map}, map('a', 1.5), (k, v, w) -> v + w)",
        "map_zip_with({map}, {map}, (k, v, w) -> struct(v, w))",
    ),
}
_OVER = {
    "int": INT,
    "ints": ArrayType(INT),
    "texts": ArrayType(STRING),
    "prices": ArrayType(PRICE),
    "pairs": ArrayType(PAIR),
    "map": LOOKUP,
}
_SIGNS = ("'X'", "'q'", "'1'", "NULL", "'😀'")
_UNITS = ("DAY", "MONTH", "HOUR", "YEAR", "QUARTER", "WEEK", "SECOND", "MICROSECOND")
# Arguments of functions that chance alone would not find.
_PLACES: dict[str, tuple[Type, ...]] = {
    "make_ym_interval": (INT, INT),
    "make_dt_interval": (INT, INT, INT, PRICE),
    "make_timestamp": (INT, INT, INT, INT, INT, PRICE),
    "try_make_timestamp": (INT, INT, INT, INT, INT, PRICE),
    "make_date": (INT, INT, INT),
    "width_bucket": (DOUBLE, DOUBLE, DOUBLE, INT),
    "mask": (STRING, STRING, STRING, STRING, STRING),
    "overlay": (STRING, STRING, INT, INT),
    "translate": (STRING, STRING, STRING),
    "substring_index": (STRING, STRING, INT),
    "split_part": (STRING, STRING, INT),
    "regexp_replace": (STRING, STRING, STRING, INT),
    "regexp_extract": (STRING, STRING, INT),
    "regexp_extract_all": (STRING, STRING, INT),
    "regexp_instr": (STRING, STRING, INT),
    "split": (STRING, STRING, INT),
    "levenshtein": (STRING, STRING, INT),
    "locate": (STRING, STRING, INT),
    "conv": (STRING, INT, INT),
    "months_between": (TIMESTAMP, TIMESTAMP, BOOLEAN),
    "next_day": (DATE, STRING),
    "trunc": (DATE, STRING),
    "sha2": (BINARY, INT),
    "array_join": (ArrayType(STRING), STRING, STRING),
    "array_insert": (ArrayType(INT), INT, INT),
    "slice": (ArrayType(INT), INT, INT),
    "timestampadd": (STRING, INT, TIMESTAMP),
    "timestampdiff": (STRING, TIMESTAMP, TIMESTAMP),
    "date_format": (TIMESTAMP, STRING),
    "from_unixtime": (INT, STRING),
    "try_cast": (STRING,),
    "flatten": (ArrayType(INT), ArrayType(INT)),
    "map_from_arrays": (ArrayType(INT), ArrayType(STRING)),
    "map_from_entries": (ArrayType(PAIR),),
    "map_concat": (LOOKUP, LOOKUP),
    "map_contains_key": (LOOKUP, STRING),
    **dict.fromkeys(("map_keys", "map_values", "map_entries"), (LOOKUP,)),
    "encode": (STRING, STRING),
    "decode_bytes": (BINARY, STRING),
    "hmac": (BINARY, STRING),
    **dict.fromkeys(("to_binary", "try_to_binary", "to_number", "try_to_number"), (STRING,)),
    "format_string": (STRING, INT),
    **dict.fromkeys(("from_json", "get_json_object", "json_array_length", "json_object_keys"), (STRING,)),
    **dict.fromkeys(("parse_url", "try_parse_url"), (STRING,)),
    "to_char": (TIMESTAMP, STRING),
    **dict.fromkeys(("vector_norm", "vector_normalize"), (ArrayType(REAL),)),
    **dict.fromkeys(
        ("vector_inner_product", "vector_cosine_similarity", "vector_l2_distance"), (ArrayType(REAL), ArrayType(REAL))
    ),
}
_OPTIONAL = dict.fromkeys(
    "mask overlay regexp_replace regexp_extract regexp_extract_all regexp_instr split levenshtein locate "
    "months_between array_join from_unixtime make_ym_interval".split(),
    1,
)
_FIELDS = ("YEAR", "QTR", "MONTH", "DAYS", "DOW", "HOUR", "MIN", "SECOND", "SECONDS")
_CASTS = (
    *(str(kind) for kind in TYPES),
    "DECIMAL(10,0)",
    "DECIMAL(38,38)",
    "DECIMAL(3,3)",
    "ARRAY<BIGINT>",
    "ARRAY<DOUBLE>",
    "STRUCT<q: DOUBLE, b: STRING>",
    "STRUCT<a: STRING, b: INT>",
    "INTERVAL YEAR",
    "INTERVAL DAY TO HOUR",
    "INTERVAL MINUTE",
    "INTERVAL SECOND",
)

_ESCAPES = ("'!'", "'%'", "'a'")
# Java and C round these differently in the last digit. Within another expression that could become any difference.
APPROXIMATE = (
    *("exp(", "ln(", "log(", "pow(", "power(", "log10(", "log2(", "log1p(", "expm1(", "cbrt(", "hypot(", "atan2("),
    *("sin(", "cos(", "tan(", "cot(", "sec(", "csc(", "sinh(", "cosh(", "tanh(", "asin(", "acos(", "atan("),
    *("asinh(", "acosh(", "atanh(", "degrees(", "radians(", "months_between("),
)
_OTHER_NAMES = {builtin: [name for name, meant in SYNONYMS.items() if meant == builtin] for builtin in BUILTINS}


@dataclass(frozen=True)
class Expression:
    """SQL text that whence accepts, with the type and the function that it has there."""

    text: str
    kind: Type
    places: Mapping[str, int]
    evaluate: Evaluator

    def value(self, row: Row) -> Value:
        """Its value for a row of the numbered table."""
        return self.evaluate({name: row[place] for name, place in self.places.items()})


def random_rows(chance: Random, count: int) -> list[Row]:
    """Rows of the numbered table."""
    return [(number, *(_nullable(chance, column.type) for column in TABLE.columns)) for number in range(count)]


def _nullable(chance: Random, kind: Type) -> Value:
    return None if chance.random() < 0.12 else _random_value(chance, kind)


def _random_value(chance: Random, kind: Type) -> Value:
    if chance.random() < 0.3:
        if kind == DOUBLE:
            return chance.choice((1, 1, 1e-20, 1e12)) * round(chance.uniform(-1000, 1000), chance.randint(0, 15)) + 0.0
        if isinstance(kind, DecimalType):
            sign = chance.choice((1, -1))
            return units(kind, sign * chance.randrange(1, 10 ** chance.randint(1, kind.precision)))
        if kind == INT:
            return chance.randrange(-50, 50)
        if kind == STRING:
            return "".join(chance.choice("abAB 1%_äé.😀-\\") for _ in range(chance.randrange(6)))
        if kind == DATE:
            return datetime.date.fromordinal(chance.randrange(1, 3652060))
        if kind == TIMESTAMP:
            return datetime.datetime(1, 1, 1) + datetime.timedelta(microseconds=chance.randrange(315537897600 * 10**6))
    return chance.choice(VALUES[kind])


def accepted(text: str) -> Expression | None:
    """What whence makes of the text; None where it refuses it."""
    try:
        (view,) = parse_sql(f"CREATE VIEW v AS SELECT {text} AS x FROM t", _CATALOG)
    except WhenceError:
        return None
    assert isinstance(view, CreateView)
    (rule,) = view.definition.rules
    (relation,) = view.definition.relations
    (atom,) = rule.body
    assert isinstance(atom, Atom)
    places = {term.name: place for place, term in enumerate(atom.terms) if isinstance(term, Variable)}
    types = {name: Typed(NUMBERED.columns[place].type, True) for name, place in places.items()}
    evaluate = compile_term(rule.head.terms[0], types, {}, {})
    return Expression(text, relation.columns[0].type, places, evaluate)


class Expressions:
    """Random expressions. Those that were made before become arguments of new ones."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self._made: dict[Type, list[str]] = {}

    def of(self, function: str) -> Expression:
        """An expression around this function."""
        while True:
            call = self._legal(function)
            text = self._written(function, [self._argument(term) for term in call])
            found = None if text is None else accepted(text)
            if found is not None:
                return self._kept(found)

    def cast(self) -> Expression:
        while True:
            argument = self._argument(self._term(self.chance.choice(TYPES)))
            found = accepted(f"CAST({argument} AS {self.chance.choice(_CASTS)})")
            if found is not None:
                return self._kept(found)

    def _kept(self, found: Expression) -> Expression:
        if len(found.text) < 100 and not any(name in found.text for name in APPROXIMATE):
            self._made.setdefault(found.kind, []).append(found.text)
        return found

    def _legal(self, function: str) -> Sequence[Term]:
        """Arguments of types that the function takes."""
        if function in _LAMBDAS:
            return []
        if function == "add_interval":
            return [self._term(self.chance.choice((DATE, TIMESTAMP)))]
        if BUILTINS[function].resolve == takes(returns=DOUBLE):
            return []
        if function == "named_struct":
            return [self._term(self.chance.choice(TYPES)) for _ in range(self.chance.randint(1, 3))]
        if function == "map":
            return [self._term(kind) for kind in self.chance.choices(TYPES, k=2)]
        if function == "to_json":
            return [self._term(self.chance.choice([kind for kind in TYPES if kind.inner]))]
        if function == "struct_field":
            return [self._term(self.chance.choice((PAIR, ArrayType(PAIR))))]
        known = _PLACES.get(function)
        while True:
            if known is not None:
                count = self.chance.randint(len(known) - _OPTIONAL.get(function, 0), len(known))
                return [self._term(kind) for kind in known[:count]]
            kinds = self.chance.choices(TYPES, k=2)
            terms = tuple(
                self._term(self.chance.choice(kinds)) for _ in range(self.chance.choice((1, 1, 2, 2, 3, 4, 5)))
            )
            try:
                infer(Call(function, terms), _TYPED, {})
            except WhenceError:
                continue
            return terms

    def _term(self, kind: Type) -> Term:
        if kind in _CONSTANTS and self.chance.random() < 0.35:
            return Constant(self.chance.choice(_CONSTANTS[kind]), kind)
        return Variable(self._column(kind))

    def _column(self, kind: Type) -> str:
        return self.chance.choice([column.name for column in TABLE.columns if column.type == kind])

    def _argument(self, term: Term) -> str:
        """The term, or now and then something else of its type."""
        kind = infer(term, _TYPED, {}).type
        luck = self.chance.random()
        if luck < 0.04:
            return self.chance.choice(_LITERALS)
        if luck < 0.3 and kind in self._made and isinstance(term, Variable):
            made = self.chance.choice(self._made[kind])
            # Without parentheses it may be taken apart; Spark has to take it apart just so.
            return made if self.chance.random() < 0.25 else f"({made})"
        return kind.sql_constant(term.value) if isinstance(term, Constant) else str(getattr(term, "name", ""))

    def _written(self, function: str, arguments: list[str]) -> str | None:
        choose = self.chance.choice
        if function in _LAMBDAS:
            return choose(_LAMBDAS[function]).format(**{name: self._column(kind) for name, kind in _OVER.items()})
        listed = ", ".join(arguments)
        own = self._with_own_syntax(function, arguments) or self._of_values(function, arguments)
        if own is not None:
            return own
        match function, arguments:
            case (("+" | "-"), [one]):
                return f"{function} {one}"
            case _, [left, right] if function in _INFIX:
                return f"{left} {function} {right}"
            case _ if function in _INFIX:
                return f" {function} ".join(arguments)
            case "not", [one]:
                return f"NOT {one}"
            case "in", [one, *others]:
                return f"{one} {choose(('IN', 'NOT IN'))} ({', '.join(others)})"
            case "isnull", [one]:
                return choose((f"isnull({one})", f"{one} IS NULL"))
            case "isnotnull", [one]:
                return choose((f"isnotnull({one})", f"{one} IS NOT NULL"))
            case "like", [one, pattern]:
                return f"{one} {choose(('LIKE', 'NOT LIKE', 'ILIKE'))} {pattern}"
            case "like", _:
                return f"{arguments[0]} LIKE {arguments[1]} ESCAPE {choose(_ESCAPES)}"
            case "rlike", [one, pattern]:
                return choose((f"rlike({listed})", f"{one} RLIKE {pattern}"))
            case "case", _:
                *pairs, last = arguments
                branches = " ".join(f"WHEN {a} THEN {b}" for a, b in zip(pairs[::2], pairs[1::2], strict=True))
                return f"CASE {branches} ELSE {last} END"
            case "add_interval", [one, *_]:
                return f"{one} {choose('+-')} INTERVAL {choose(_INTERVALS)}"
            case "extract_second", [one]:
                return f"EXTRACT({choose(_FIELDS)} FROM {one})"
            # Of an interval they are parts of EXTRACT only.
            case (("year" | "month" | "day" | "hour" | "minute"), [one]) if choose((True, False)):
                return f"EXTRACT({function} FROM {one})"
            case "concat", [one, *_] if choose((True, False)):
                return " || ".join(arguments)
            case (("trim" | "ltrim" | "rtrim"), [characters, one]) if choose((True, False)):
                return f"trim({choose(('BOTH', 'LEADING', 'TRAILING'))} {characters} FROM {one})"
            case "locate", [part, text] if choose((True, False)):
                return f"position({part} IN {text})"
        return f"{choose((function, *_OTHER_NAMES.get(function, ())))}({listed})"

    def _with_own_syntax(self, function: str, arguments: list[str]) -> str | None:
        """Built-ins that SQL has by another name only."""
        choose = self.chance.choice
        listed = ", ".join(arguments)
        match function, arguments:
            case "~", [one]:
                return f"~ {one}"
            case "mask", [one, *others]:
                return f"mask({', '.join([one, *(choose(_SIGNS) for _ in others)])})"
            case "flatten", _:
                return f"flatten(array({listed}))"
            case "item", [array, place]:
                return f"{array}[{place}]"
            case (("floor_digits" | "ceil_digits"), [one, digits]):
                return f"{function.removesuffix('_digits')}({one}, {digits})"
            case "try_cast", _:
                return f"try_cast({arguments[0]} AS {choose(_CASTS)})"
            case (("parse_date" | "parse_timestamp" | "try_parse_timestamp" | "try_parse_date"), [text, _]):
                return f"{function.replace('parse', 'to')}({text}, {choose(_PATTERNS)})"
            case "encode", [one, _]:
                return f"encode({one}, {choose(_CHARSETS)})"
            case "decode_bytes", [one, _]:
                return f"decode({one}, {choose(_CHARSETS)})"
            case (("to_binary" | "try_to_binary"), [one]):
                return f"{function}({one}, {choose(_BINARY_FORMATS)})"
            case (("to_number" | "try_to_number"), [one]):
                return f"{function}({one}, {choose(_NUMBER_FORMATS)})"
            case "format_string", _:
                return f"{choose(('format_string', 'printf'))}({choose(_STRING_FORMATS)}, {listed})"
            case "get_json_object", _:
                return f"get_json_object({choose(_JSON)}, {choose(_JSON_PATHS)})"
            case (("json_array_length" | "json_object_keys"), [one]):
                return f"{function}({choose((one, *_JSON))})"
            case (("parse_url" | "try_parse_url"), _):
                return f"{function}({choose(_URLS)}, '{choose(_URL_PARTS)}')"
            case (("vector_norm" | "vector_normalize"), [one]):
                return f"{function}({one}, {choose(('1.0F', '2.0F'))})"
            case (("date_format" | "from_unixtime" | "to_char"), [moment, _]):
                return f"{function}({moment}, {choose(_PATTERNS)})"
            case (("dayofweek_iso" | "yearofweek"), [one]):
                return f"EXTRACT({function} FROM {one})"
            case (("timestampadd" | "timestampdiff"), [_, one, other]):
                return f"{function}({choose(_UNITS)}, {one}, {other})"
        return None

    def _of_values(self, function: str, arguments: list[str]) -> str | None:
        """Functions of structs, maps and JSON, of arguments that chance alone would not find."""
        choose = self.chance.choice
        listed = ", ".join(arguments)
        match function, arguments:
            case "named_struct", _:
                named = ", ".join(f"'{name}', {each}" for name, each in zip("aBc", arguments, strict=False))
                return choose((f"struct({listed})", f"named_struct({named})"))
            # After a key that comes twice, Spark's next maps have what this one had.
            case "map_concat", [one, _]:
                return f"map_concat({one}, map('zz', {choose((1, 'NULL'))}))"
            case "map_from_arrays", [keys, _]:
                return f"map_from_arrays(array_distinct(array_compact({keys})), array_distinct(array_compact({keys})))"
            case "map_from_entries", [_]:
                return f"map_from_entries(array(struct(1, x0), {choose(('struct(2, x0)', 'NULL'))}))"
            case "struct_field", [one]:
                return f"({one}).{choose('aB')}"
            case "from_json", _:
                return f"from_json({choose((*_JSON, *_MORE_JSON))}, {choose(_SCHEMAS)})"
        return None
