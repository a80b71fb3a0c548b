from __future__ import annotations

from whence.analysis.analyze import analyze
from whence.lang.datalog.parse import parse_datalog
from whence.model.program import Program
from whence.model.rules import Atom, Rule
from whence.model.schema import Column, Relation
from whence.model.terms import Call, Constant, Variable
from whence.model.types import INT


def test_an_empty_program() -> None:
    analysis = analyze(Program())
    assert (analysis.program, dict(analysis.relations), analysis.components) == (Program(), {}, ())


def test_components_come_in_the_order_of_their_dependencies() -> None:
    text = """
.decl link(x: STRING, y: STRING)
alone(x) :- node(x), !linked(x).
linked(x) :- reach(x, _).
reach(x, y) :- link(x, y).
reach(x, y) :- reach(x, z), link(z, y).
node(x) :- link(x, _).
node(y) :- link(_, y).
node("z").
"""
    parts = analyze(parse_datalog(text)).components
    assert [part.relations for part in parts] == [("link",), ("node",), ("reach",), ("linked",), ("alone",)]


def test_a_hundred_thousand_rules() -> None:
    x, y, z = Variable("x"), Variable("y"), Variable("z")
    rules = []
    for i in range(25_000):
        here = f"reach{i}"
        rules += [
            Rule(Atom(here, (x, y)), (Atom("link", (x, y)),)),
            Rule(Atom(here, (x, y)), (Atom("link", (x, z)), Atom(here, (z, y)))),
            Rule(Atom(f"next{i}", (x,)), (Atom(here, (x, x)),)),
            Rule(Atom(f"next{i}", (Constant(i, INT),)), ()),
        ]
    link = Relation("link", (Column("x", INT), Column("y", INT)))
    analysis = analyze(Program((link,), tuple(rules)))
    assert len(analysis.components) == 50_001
    assert sum(part.recursive for part in analysis.components) == 25_000


def test_a_chain_of_fifty_thousand_views() -> None:
    x = Variable("x")
    depth = 50_000
    rules = [Rule(Atom(f"v{i}", (x,)), (Atom(f"v{i + 1}", (x,)),)) for i in range(depth)]
    rules.append(Rule(Atom(f"v{depth}", (Constant(1, INT),)), ()))
    analysis = analyze(Program((), tuple(rules)))
    assert analysis.components[0].relations == (f"v{depth}",)
    assert analysis.components[-1].relations == ("v0",)
    assert analysis.relations["v0"].columns[0].type == INT


def test_a_ring_of_twenty_thousand_views_gets_its_types_from_one_fact() -> None:
    x = Variable("x")
    size = 20_000
    rules = [Rule(Atom(f"v{i}", (x,)), (Atom(f"v{(i + 1) % size}", (x,)),)) for i in range(size)]
    rules.append(Rule(Atom("v7", (Call("+", (Constant(1, INT), Constant(1, INT))),)), ()))
    analysis = analyze(Program((), tuple(rules)))
    assert len(analysis.components) == 1
    assert {relation.columns[0].type for relation in analysis.relations.values()} == {INT}
