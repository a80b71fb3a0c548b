"""The reference engine behind the protocol that every engine keeps."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from whence.analysis.analyze import Analysis, analyze
from whence.engines.engine import Engine
from whence.engines.reference.engine import ReferenceEngine
from whence.errors import EvaluationError
from whence.lang.datalog.parse import parse_datalog
from whence.model.program import Function, Signature
from whence.model.types import BIGINT, Row
from whence.model.updates import Update

NOTHING = Update()
TEXT = """
    .decl link(src: symbol, dst: symbol)
    .decl color(name: symbol)
    reach(x, y) :- link(x, y).
    reach(x, y) :- link(x, z), reach(z, y).
    degree(x, count<*>) :- link(x, _).
    bright(upper(x)) :- color(x).
"""


def program(text: str = TEXT) -> Analysis:
    return analyze(parse_datalog(text))


@pytest.fixture
def engine() -> Engine:
    made = ReferenceEngine()
    made.define(program(), {}, NOTHING)
    return made


def put(relation: str, *rows: Row, times: int = 1) -> Update:
    return Update({relation: dict.fromkeys(rows, times)})


def test_a_change_comes_back_with_all_it_caused(engine: Engine) -> None:
    engine.apply(put("link", ("a", "b")))
    assert engine.apply(put("link", ("b", "c"))) == {
        "link": {("b", "c"): 1},
        "reach": {("b", "c"): 1, ("a", "c"): 1},
        "degree": {("b", 1): 1},
    }


def test_a_delete_is_a_negative_change(engine: Engine) -> None:
    engine.apply(put("link", ("a", "b"), ("a", "c"), ("b", "c")))
    deltas = engine.apply(put("link", ("a", "b"), times=-1))
    assert deltas["reach"] == {("a", "b"): -1}
    assert deltas["degree"] == {("a", 2): -1, ("a", 1): 1}
    assert engine.counts("reach") == {("a", "c"): 1, ("b", "c"): 1}


def test_nothing_comes_of_nothing(engine: Engine) -> None:
    assert engine.apply(NOTHING) == {}
    assert engine.apply(Update({"link": {}})) == {}


def test_counts_do_not_follow_later_changes(engine: Engine) -> None:
    engine.apply(put("link", ("a", "b")))
    before = engine.counts("reach")
    engine.apply(put("link", ("a", "b"), times=-1))
    assert (before, engine.counts("reach")) == ({("a", "b"): 1}, {})


def test_only_what_depends_on_the_change_is_computed() -> None:
    calls: list[int] = []

    def seen(x: int) -> int:
        calls.append(x)
        return 1

    functions = {"seen": Function(Signature("seen", BIGINT), seen)}
    text = ".decl p(x: number)\n.decl q(x: number)\nv(@seen(x)) :- p(x).\nw(x) :- q(x)."
    engine = ReferenceEngine()
    engine.define(analyze(parse_datalog(text), {"seen": Signature("seen", BIGINT)}), functions, put("p", (7,)))
    engine.apply(put("q", (8,)))
    assert calls == [7]
    engine.apply(put("p", (9,)))
    assert sorted(calls) == [7, 7, 9]


def test_an_error_leaves_everything_as_it_was() -> None:
    engine = ReferenceEngine()
    engine.define(program(".decl p(x: number)\nq(10 / x) :- p(x).\nr(x) :- p(x)."), {}, put("p", (5,)))
    with pytest.raises(EvaluationError):
        engine.apply(put("p", (0,)))
    assert [dict(engine.counts(name)) for name in ("p", "q", "r")] == [{(5,): 1}, {(2.0,): 1}, {(5,): 1}]


def test_a_definition_that_fails_is_not_taken_over() -> None:
    engine = ReferenceEngine()
    engine.define(program(".decl p(x: number)\nq(x) :- p(x)."), {}, put("p", (0,)))
    with pytest.raises(EvaluationError):
        engine.define(program(".decl p(x: number)\nq(1 / x) :- p(x)."), {}, put("p", (1,)))
    assert engine.apply(put("p", (2,))) == {"p": {(2,): 1}, "q": {(2,): 1}}


class TestDefine:
    BEFORE = ".decl p(x: number)\nq(x) :- p(x).\nr(x) :- q(x)."

    def define(self, after: str, update: Update = NOTHING) -> tuple[Engine, Mapping[str, Mapping[Row, int]]]:
        engine = ReferenceEngine()
        engine.define(program(self.BEFORE), {}, put("p", (1,), (2,)))
        return engine, engine.define(program(after), {}, update)

    def test_a_new_view_comes_with_all_its_rows(self) -> None:
        _, deltas = self.define(self.BEFORE + "s(x) :- r(x), x > 1.")
        assert deltas == {"s": {(2,): 1}}

    def test_another_rule_and_what_depends_on_it(self) -> None:
        _, deltas = self.define(self.BEFORE.replace("q(x) :- p(x).", "q(x) :- p(x), x > 1."))
        assert deltas == {"q": {(1,): -1}, "r": {(1,): -1}}

    def test_other_columns_start_anew(self) -> None:
        engine, deltas = self.define(".decl p(x: number)\nq(x, x) :- p(x).")
        assert deltas == {"q": {(1, 1): 1, (2, 2): 1}}
        assert engine.counts("p") == {(1,): 1, (2,): 1}

    def test_a_change_that_comes_with_it(self) -> None:
        _, deltas = self.define(self.BEFORE + ".decl z(x: number)\n", put("z", (3,)))
        assert deltas == {"z": {(3,): 1}}

    def test_the_same_again_changes_nothing(self) -> None:
        _, deltas = self.define(self.BEFORE)
        assert deltas == {}

    def test_a_base_table_with_other_columns_starts_empty(self) -> None:
        engine, deltas = self.define(".decl p(x: number, y: number)\nq(x) :- p(x, _).\nr(x) :- q(x).")
        assert dict(engine.counts("p")) == {}
        assert deltas == {"q": {(1,): -1, (2,): -1}, "r": {(1,): -1, (2,): -1}}
