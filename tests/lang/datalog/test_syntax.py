"""Every form of the language, and the model it stands for."""

from __future__ import annotations

import datetime
import decimal

import pytest

from whence.errors import UnsupportedError
from whence.lang.datalog.parse import parse_datalog
from whence.lang.datalog.write import to_datalog
from whence.model.program import Directive
from whence.model.rules import Atom, Comparison, Condition, Literal, Negation, Rule
from whence.model.schema import Column, Relation, RowWindow, TimeToLive
from whence.model.terms import Aggregate, Call, Cast, Constant, Skolem, Term, Variable, Wildcard
from whence.model.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, NULL, STRING, TIMESTAMP, ArrayType, DecimalType, Type

X, Y, Z = Variable("x"), Variable("y"), Variable("z")
ANY = Wildcard()
ZERO, ONE, TWO, THREE = (Constant(n, INT) for n in range(4))


def text(value: str) -> Constant:
    return Constant(value, STRING)


@pytest.mark.parametrize(
    ("written", "term"),
    [
        ("x", X),
        ("?x", Variable("?x")),
        ("_x1", Variable("_x1")),
        ("`two words`", Variable("two words")),
        ("`a``b`", Variable("a`b")),
        ("`null`", Variable("null")),
        ("1", ONE),
        ("0x1F", Constant(31, INT)),
        ("0b101", Constant(5, INT)),
        ("2147483647", Constant(2**31 - 1, INT)),
        ("2147483648", Constant(2**31, BIGINT)),
        ("-2147483648", Constant(-(2**31), INT)),
        ("-9223372036854775808", Constant(-(2**63), BIGINT)),
        ("1.5", Constant(1.5, DOUBLE)),
        ("1e3", Constant(1000.0, DOUBLE)),
        ("-2.5e-1", Constant(-0.25, DOUBLE)),
        ('"a"', text("a")),
        (r'"q\"\\\n\t\r\u00e9"', text('q"\\\n\t\ré')),
        ('"// no comment"', text("// no comment")),
        ("true", Constant(True, BOOLEAN)),
        ("FALSE", Constant(False, BOOLEAN)),
        ("null", Constant(None, NULL)),
        ("null::INT", Constant(None, INT)),
        ('DATE "2026-01-31"', Constant(datetime.date(2026, 1, 31), DATE)),
        ('timestamp "2026-01-31 12:00:00.5"', Constant(datetime.datetime(2026, 1, 31, 12, 0, 0, 500000), TIMESTAMP)),
        ('DECIMAL "3.50"', Constant(decimal.Decimal("3.50"), DecimalType(3, 2))),
        ('DECIMAL "0.05"', Constant(decimal.Decimal("0.05"), DecimalType(2, 2))),
        ('"3.5"::DECIMAL(10, 2)', Constant(decimal.Decimal("3.5"), DecimalType(10, 2))),
        ('BIGINT "5"', Constant(5, BIGINT)),
        ('INT "-5"', Constant(-5, INT)),
        ('DOUBLE "1e300"', Constant(1e300, DOUBLE)),
        ('STRING "a"', text("a")),
        ('BOOLEAN "true"', Constant(True, BOOLEAN)),
        ("[1, null]::ARRAY<BIGINT>", Constant((1, None), ArrayType(BIGINT))),
        ("[[1], []]::ARRAY<ARRAY<INT>>", Constant(((1,), ()), ArrayType(ArrayType(INT)))),
        ("[1, x]", Call("array", (ONE, X))),
        ("[]", Call("array", ())),
        ("nil", Call("array", ())),
        ("concat([x, y], nil)", Call("concat", (Call("array", (X, Y)), Call("array", ())))),
        ("as(x, STRING)", Cast(X, STRING)),
        ("as(x + 1, ARRAY<DECIMAL(10,2)>)", Cast(Call("+", (X, ONE)), ArrayType(DecimalType(10, 2)))),
        ("#f(x, 1)", Skolem("f", (X, ONE))),
        ("f(#g())", Call("f", (Skolem("g", ()),))),
        ("@f(x)", Call("f", (X,))),
        ("LOWER(x)", Call("lower", (X,))),
        ("`F`(x)", Call("F", (X,))),
        ("x + y * z", Call("+", (X, Call("*", (Y, Z))))),
        ("(x + y) * z", Call("*", (Call("+", (X, Y)), Z))),
        ("x - y - z", Call("-", (Call("-", (X, Y)), Z))),
        ("x - (y - z)", Call("-", (X, Call("-", (Y, Z))))),
        ("x / y % z", Call("%", (Call("quotient", (X, Y)), Z))),
        ("x ^ y ^ z", Call("**", (X, Call("**", (Y, Z))))),
        ("-x", Call("-", (X,))),
        ("-x ^ 2", Call("-", (Call("**", (X, TWO)),))),
        ("-2 ^ 2", Call("-", (Call("**", (TWO, TWO)),))),
        ("(-2) ^ 2", Call("**", (Constant(-2, INT), TWO))),
        ("-(2)", Call("-", (TWO,))),
        ("x-1", Call("-", (X, ONE))),
        ("x - -1", Call("-", (X, Constant(-1, INT)))),
        ("--x * y", Call("*", (Call("-", (Call("-", (X,)),)), Y))),
        ("(x < y)", Call("<", (X, Y))),
        ("(x <=> y)", Call("<=>", (X, Y))),
        ("(x or y and z)", Call("or", (X, Call("and", (Y, Z))))),
        ("(not x = y)", Call("not", (Call("=", (X, Y)),))),
        ("(!x)", Call("not", (X,))),
        ("((x or y) and z)", Call("and", (Call("or", (X, Y)), Z))),
        ("if((x < 1), y, z)", Call("if", (Call("<", (X, ONE)), Y, Z))),
        ("if(x, 1, y, 2, 3)", Call("if", (X, ONE, Call("if", (Y, TWO, THREE))))),
        ("cat(x, y)", Call("concat", (X, Y))),
        ("strlen(x)", Call("length", (X,))),
        ("substr(x, 0, 2)", Call("substring", (X, ONE, TWO))),
        (
            "substr(x, y, 2)",
            Call("if", (Call("<", (Y, ZERO)), text(""), Call("substring", (X, Call("+", (Y, ONE)), TWO)))),
        ),
        ("min(x, y)", Call("least", (X, Y))),
        ("max(x, y, z)", Call("greatest", (X, Y, Z))),
        ("@min(x)", Call("min", (X,))),
        ("to_string(x)", Cast(X, STRING)),
        ("to_number(x)", Cast(X, BIGINT)),
        ("to_float(x)", Cast(X, DOUBLE)),
        ('contains("a", x)', Call("contains", (X, text("a")))),
        ('@contains(x, "a")', Call("contains", (X, text("a")))),
        ('match("a|b", x)', Call("rlike", (X, text(r"^(?:a|b)(?![\s\S])")))),
        ("match(y, x)", Call("rlike", (X, Call("concat", (text("^(?:"), Y, text(r")(?![\s\S])")))))),
    ],
)
def test_term(written: str, term: Term) -> None:
    program = parse_datalog(f"a({written}) :- b({written}), 0 = {written}.")
    assert program.rules == (Rule(Atom("a", (term,)), (Atom("b", (term,)), Comparison("=", Constant(0, INT), term))),)


@pytest.mark.parametrize(
    ("written", "literals"),
    [
        ("b(x, _, 1)", [Atom("b", (X, ANY, ONE))]),
        ("b()", [Atom("b", ())]),
        ("`b c`(x)", [Atom("b c", (X,))]),
        ("!b(x, _)", [Negation(Atom("b", (X, ANY)))]),
        ("!(b(x))", [Negation(Atom("b", (X,)))]),
        ("x = 1", [Comparison("=", X, ONE)]),
        ("x + 1 != (y)", [Comparison("!=", Call("+", (X, ONE)), Y)]),
        ("(x + 1) * 2 < y", [Comparison("<", Call("*", (Call("+", (X, ONE)), TWO)), Y)]),
        ("(x < y)", [Comparison("<", X, Y)]),
        ("min < count", [Comparison("<", Variable("min"), Variable("count"))]),
        ("date = distinct", [Comparison("=", Variable("date"), Variable("distinct"))]),
        ("x <=> y", [Condition(Call("<=>", (X, Y)))]),
        ("x", [Condition(X)]),
        ("(x or y)", [Condition(Call("or", (X, Y)))]),
        ("not x", [Condition(Call("not", (X,)))]),
        ('like(x, "a%")', [Condition(Call("like", (X, text("a%"))))]),
        ('LIKE(x, "a%")', [Condition(Call("like", (X, text("a%"))))]),
        ("`like`(x, y)", [Atom("like", (X, Y))]),
        ("@f(x)", [Condition(Call("f", (X,)))]),
        ("f(x)", [Atom("f", (X,))]),
        ('contains("a", x)', [Condition(Call("contains", (X, text("a"))))]),
        ("!(x < y)", [Comparison(">=", X, Y)]),
        ("!(x = y)", [Comparison("!=", X, Y)]),
        ("!like(x, y)", [Condition(Call("not", (Call("like", (X, Y)),)))]),
        ("!(x <=> y)", [Condition(Call("not", (Call("<=>", (X, Y)),)))]),
        ("!(b(x) ; c(x) ; x < 1)", [Negation(Atom("b", (X,))), Negation(Atom("c", (X,))), Comparison(">=", X, ONE)]),
        (
            "!(x < 1, y < 2)",
            [Condition(Call("not", (Call("and", (Call("<", (X, ONE)), Call("<", (Y, TWO)))),)))],
        ),
    ],
)
def test_literal(written: str, literals: list[Literal]) -> None:
    assert parse_datalog(f"a(x) :- {written}.").rules == (Rule(Atom("a", (X,)), tuple(literals)),)


def test_a_known_relation_is_no_function() -> None:
    for known in (".decl like(a: symbol, b: symbol)", 'like("a", "b").', ".input like"):
        program = parse_datalog(f"{known}\na(x) :- like(x, y).")
        assert program.rules[-1].body == (Atom("like", (X, Y)),)


@pytest.mark.parametrize(
    ("written", "term"),
    [
        ("min<x>", Aggregate("min", X)),
        ("count<*>", Aggregate("count", None)),
        ("count< * >", Aggregate("count", None)),
        ("count<x>", Aggregate("count", X)),
        ("sum<distinct x>", Aggregate("sum", X, distinct=True)),
        ("sum<distinct (-x)>", Aggregate("sum", Call("-", (X,)), distinct=True)),
        ("sum<distinct>", Aggregate("sum", Variable("distinct"))),
        ("min<x + y * 2>", Aggregate("min", Call("+", (X, Call("*", (Y, TWO)))))),
        ("max<(x < y)>", Aggregate("max", Call("<", (X, Y)))),
        ("mean<x>", Aggregate("avg", X)),
        ("MIN<x>", Aggregate("min", X)),
    ],
)
def test_head_aggregate(written: str, term: Term) -> None:
    assert parse_datalog(f"a({written}, z) :- b(x, y, z).").rules[0].head == Atom("a", (term, Z))


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("a(1).", "a(1)."),
        ("a(x), c(x) :- b(x).", "a(x) :- b(x). c(x) :- b(x)."),
        ("-a(x), c(x) :- b(x).", "-a(x) :- b(x). c(x) :- b(x)."),
        ("a(x) :- b(x) ; c(x).", "a(x) :- b(x). a(x) :- c(x)."),
        (
            "a(x) :- (b(x) ; c(x)), (d(x) ; x = 1, e()).",
            """a(x) :- b(x), d(x). a(x) :- b(x), x = 1, e().
               a(x) :- c(x), d(x). a(x) :- c(x), x = 1, e().""",
        ),
        ("a(x) :- b(x), !(c(x) ; d(x)).", "a(x) :- b(x), !c(x), !d(x)."),
        ("a(x) :- b(x), !(c(x, y), d(y)).", "a$not1(x) :- c(x, y), d(y). a(x) :- b(x), !a$not1(x)."),
        ("a() :- b(), !(c(y), d(y)).", "a$not1() :- c(y), d(y). a() :- b(), !a$not1()."),
        (
            "a(x) :- b(x), !(c(y), y < x).",
            "a$outer1(x) :- b(x). a$not1(x) :- a$outer1(x), c(y), y < x. a(x) :- b(x), !a$not1(x).",
        ),
        ("a(x) :- b(x), !((c(x) ; d(x)), e(x)).",
         "a$not1(x) :- c(x), e(x). a$not1(x) :- d(x), e(x). a(x) :- b(x), !a$not1(x)."),
        ("a(x) :- b(x) /* all */, // of\n c(x).", "a(x) :- b(x), c(x)."),
    ],
)  # fmt: skip
def test_rules_that_one_rule_stands_for(written: str, plain: str) -> None:
    assert parse_datalog(written).rules == parse_datalog(plain).rules


def types(*declared: str) -> list[Type]:
    columns = ", ".join(f"c{i}: {each}" for i, each in enumerate(declared))
    return [column.type for column in parse_datalog(f".decl a({columns})").relations[0].columns]


def test_types() -> None:
    assert types("number", "unsigned", "float", "symbol") == [BIGINT, BIGINT, DOUBLE, STRING]
    assert types("String", "int", "BIGINT", "double", "boolean") == [STRING, INT, BIGINT, DOUBLE, BOOLEAN]
    assert types("date", "TIMESTAMP", "array<array<int>>") == [DATE, TIMESTAMP, ArrayType(ArrayType(INT))]
    assert types("DECIMAL(10,2)", "decimal(5)", "DECIMAL") == [
        DecimalType(10, 2),
        DecimalType(5, 0),
        DecimalType(10, 0),
    ]


def test_type_aliases_in_any_order() -> None:
    program = parse_datalog(
        """.decl a(x: Id, y: ARRAY<Name>) .type Id = Small | number .type Small <: number .type Name <: symbol
        b(as(x, Id)) :- a(x, _)."""
    )
    assert [column.type for column in program.relations[0].columns] == [BIGINT, ArrayType(STRING)]
    assert program.rules[0].head.terms == (Cast(X, BIGINT),)


def test_declaration() -> None:
    program = parse_datalog(
        """.decl seen(who: symbol, at: TIMESTAMP, note: symbol nullable)
             key(who, at) partition(who) ttl("1 hour 30 minutes", at) window(100, who, at) property("format", "csv")
           .decl a, b(x: number) bag
           .decl nothing()"""
    )
    assert program.relations == (
        Relation(
            "seen",
            (Column("who", STRING, False), Column("at", TIMESTAMP, False), Column("note", STRING, True)),
            distinct=True,
            key=("who", "at"),
            partition="who",
            ttl=TimeToLive(90 * 60 * 10**6, "at"),
            window=RowWindow(100, ("who", "at")),
            properties=(("format", "csv"),),
        ),
        Relation("a", (Column("x", BIGINT, False),)),
        Relation("b", (Column("x", BIGINT, False),)),
        Relation("nothing", (), distinct=True),
    )


def test_directives() -> None:
    program = parse_datalog('.input a(filename="a.csv", delimiter=",", headers=true) .output b, c(rows=3) .printsize a')
    assert program.directives == (
        Directive("input", "a", (("filename", "a.csv"), ("delimiter", ","), ("headers", "true"))),
        Directive("output", "b"),
        Directive("output", "c", (("rows", "3"),)),
        Directive("printsize", "a"),
    )


def test_words_are_free_elsewhere() -> None:
    program = parse_datalog(
        """count(sum, min) :- key(sum), bag(min), null(nil2), decl(date), as2(x), input(and2), true(x).
        decimal(array) :- array(array), array < 3."""
    )
    assert [rule.head.relation for rule in program.rules] == ["count", "decimal"]
    assert program.rules[0].body[2] == Atom("null", (Variable("nil2"),))
    assert program.rules[0].body[-1] == Atom("true", (X,))


def test_spans_point_into_the_text() -> None:
    source = 'path(x, min<c + 1>) :- link(x, "b", c), !(c < 3), like(x, y).\n'
    rule = parse_datalog("// first\n" + source, "paths.dl").rules[0]
    assert rule.span is not None
    assert (rule.span.source.name, rule.span.line, rule.span.text) == ("paths.dl", 2, source.strip())
    spans = [rule.head.span, rule.head.terms[1].span, *(literal.span for literal in rule.body)]
    assert [span.text for span in spans if span is not None] == [
        "path(x, min<c + 1>)",
        "min<c + 1>",
        'link(x, "b", c)',
        "!(c < 3)",
        "like(x, y)",
    ]


def test_the_writer_is_pleasant() -> None:
    written = """\
.decl link(src: STRING, dst: STRING, cost: BIGINT nullable) bag

.input link(filename="links.csv")

path(x, y, min<c>) :- link(x, y, c), c > 0.
path(x, y, min<c1 + c2 * 2>) :-
    path(x, z, c1),
    link(z, y, c2),
    c2 < 10 - (c1 - 1),
    !blocked(x, _),
    (c1 < 5 or not like(x, "a%")),
    isnotnull(y).
-path(x, x, 0) :- link(x, _, _), @distance(x, #n(x)).
"""
    assert to_datalog(parse_datalog(written)) == written


@pytest.mark.parametrize(
    "written",
    [
        ".functor f(x: number): number",
        ".lattice L {}",
        "a(ord(x)) :- b(x).",
        "#define N 3",
    ],
)
def test_refused_by_name(written: str) -> None:
    with pytest.raises(UnsupportedError) as raised:
        parse_datalog(written)
    assert raised.value.span is not None
