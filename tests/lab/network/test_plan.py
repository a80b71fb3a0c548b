"""Rules that are cut until every one of them can run on one node."""

from __future__ import annotations

import pytest

from whence.analysis.analyze import analyze
from whence.errors import UnknownNameError, UnsupportedError
from whence.lab.network.plan.localize import Localizer
from whence.lab.network.plan.placements import Best, LocalProgram, StageKind
from whence.lang.datalog.parse import parse_datalog
from whence.lang.datalog.write import to_datalog
from whence.model.program import Program

TABLES = (
    ".decl a(x: number, y: number) .decl b(x: number, y: number) .decl c(x: number, y: number) .decl d(t: symbol)\n"
)


def plan(rules: str, partition: dict[str, str] | None = None, best: dict[str, Best] | None = None) -> LocalProgram:
    return Localizer(analyze(parse_datalog(TABLES + rules)), {}, partition or {}, best or {}, selects=True).program()


def texts(program: LocalProgram) -> list[str]:
    rules = [rule for stage in program.stages for rule in stage.rules]
    return [to_datalog(Program((), (rule,))).strip() for rule in rules]


def test_the_recursion_ships_what_it_reads() -> None:
    program = plan("r(x, y) :- a(x, y). r(x, y) :- a(x, z), r(z, y).")
    assert texts(program) == ["r(x, y) :- a(x, y).", "r(x, y) :- a$at2(x, z), r(z, y)."]
    assert program.leaves == {"a"}
    assert not program.gathers


def test_what_is_at_home_together_is_joined_at_home() -> None:
    assert texts(plan("v(z) :- a(x, y), b(x, z).")) == ["v(z) :- a(x, y), b(x, z)."]
    assert texts(plan("v(z) :- a(x, y), b(w, z), x = w.")) == ["v(z) :- a(x, y), b(w, z), x = w."]


def test_another_partition() -> None:
    rules = "v(x, z) :- a(x, y), b(y, z)."
    assert texts(plan(rules, {"a": "y"})) == ["v(x, z) :- a(x, y), b(y, z)."]
    with pytest.raises(UnknownNameError, match="no column 'nope'"):
        plan(rules, {"a": "nope"})


def test_a_chain_of_joins() -> None:
    program = plan("v(x, w) :- a(x, y), b(y, z), c(z, w), x < w.")
    assert texts(program) == [
        "v$join1_1(x, z) :- a$at2(x, y), b(y, z).",
        "v(x, w) :- v$join1_1(x, z), c(z, w), x < w.",
    ]
    assert program.placements.homes["v$join1_1"] == 1


def test_what_shares_nothing_is_gathered() -> None:
    program = plan("v(x) :- a(x, _), b(y, _), x < y.")
    assert texts(program) == ["v(x) :- a$gathered(x, _), b$gathered(y, _), x < y."]
    assert program.gathers


def test_a_negation_is_asked_where_its_rows_are() -> None:
    assert texts(plan("v(x, y) :- a(x, y), !b(x, y).")) == ["v(x, y) :- a(x, y), !b(x, y)."]
    assert texts(plan("v(x, y) :- a(x, y), !b(y, _).")) == ["v(x, y) :- a$at2(x, y), !b(y, _)."]


def test_groups_are_held_together() -> None:
    program = plan("v(y, count<*>) :- a(_, y).")
    assert texts(program) == ["v$found(y) :- a(_, y).", "v(y, count<*>) :- v$found(y)."]
    assert program.placements.homes["v$found"] == 0
    assert plan("v(count<*>) :- a(_, _).").placements.homes["v$found"] is None


def test_columns_that_hash_differently_are_no_place_to_meet() -> None:
    program = plan(".decl e(x: BIGINT) .decl f(x: DOUBLE) v(x) :- e(x), f(x).")
    assert texts(program) == ["v(x) :- e$gathered(x), f$gathered(x)."]


def test_a_min_in_a_recursion_selects_rows() -> None:
    rules = "m(x, y, min<c>) :- a(x, y), c = 1. m(x, y, min<c>) :- a(x, z), m(z, y, d), c = d + 1."
    (stage,) = plan(rules).stages
    assert stage.kind is StageKind.RECURSIVE
    assert [each.group for each in stage.selections] == [(0, 1)]
    (gathered,) = plan(rules, {"m": "c"}).stages
    assert gathered.kind is StageKind.GATHERED


def test_selections_that_make_no_sense() -> None:
    with pytest.raises(UnknownNameError, match="no column 'z' to select by"):
        plan("r(x, y) :- a(x, y). r(x, y) :- a(x, z), r(z, y).", best={"r": Best(("x",), min=("z",))})
    with pytest.raises(UnsupportedError, match="on different nodes"):
        plan("r(x, y) :- a(x, y). r(x, y) :- a(x, z), r(z, y).", best={"r": Best(("y",), min=("x",))})
    with pytest.raises(UnsupportedError, match="'v' has none such"):
        plan("v(x, y) :- a(x, y).", best={"v": Best(("x",), min=("y",))})
