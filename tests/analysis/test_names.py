from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from whence.analysis.analyze import analyze
from whence.errors import (
    ArityError,
    DataError,
    DuplicateNameError,
    TypeMismatchError,
    UnknownNameError,
    UnsupportedError,
    WhenceError,
)
from whence.lang.datalog.parse import parse_datalog
from whence.model.program import Program
from whence.model.schema import Column, Relation, RowWindow, TimeToLive
from whence.model.types import DATE, INT, STRING, TIMESTAMP

Refusal = Callable[[str, type[WhenceError]], str]

LINK = ".decl link(src: STRING, dst: STRING)\n"


def test_an_unknown_relation_is_refused_with_the_closest_name(refusal: Refusal) -> None:
    said = refusal(LINK + "reach(x, y) :- «links(x, y).", UnknownNameError)
    assert said.startswith("there is no relation 'links'")
    assert "hint: did you mean 'link'?" in said


def test_an_undeclared_relation_in_bodies_only_is_unknown(refusal: Refusal) -> None:
    said = refusal(LINK + "reach(x, y) :- link(x, y), !«blocked(y).", UnknownNameError)
    assert "there is no relation 'blocked'" in said
    assert "hint: declare 'blocked', or write a rule that defines it" in said


def test_an_undeclared_head_is_known_by_its_first_rule(refusal: Refusal) -> None:
    analyze(parse_datalog(LINK + "reach(x, y) :- link(x, y). far(x) :- reach(x, _)."))
    said = refusal(LINK + "‹reach(x, y) :- link(x, y).\n«reach(x) :- link(x, _).", ArityError)
    assert said.startswith("'reach' has 2 columns, but is given 1")
    assert "note: it is first defined here" in said


def test_the_wrong_number_of_columns_names_the_declared_ones(refusal: Refusal) -> None:
    said = refusal(".decl ‹link(src: STRING, dst: STRING)\nreach(x) :- «link(x).", ArityError)
    assert said.startswith("'link' has 2 columns (src, dst), but is given 1")
    assert "note: it is declared here" in said
    assert "hint: write _ for a column that does not matter" in said
    assert "hint" not in refusal(LINK + "reach(x) :- «link(x, _, _).", ArityError)


def test_a_relation_is_declared_once(refusal: Refusal) -> None:
    said = refusal(".decl ‹link(src: STRING)\n.decl «link(a: INT)", DuplicateNameError)
    assert said.startswith("relation 'link' is declared twice")


@pytest.mark.parametrize(
    "text",
    [
        ".decl ‹link(src: STRING)\n.decl «Link(src: STRING)",
        ".decl ‹link(src: STRING)\n«Link(x) :- link(x).",
        '‹a("x").\n«A("y").',
    ],
)
def test_relations_that_differ_only_in_case_are_refused(refusal: Refusal, text: str) -> None:
    assert "differ only in case" in refusal(text, DuplicateNameError)


def test_a_column_is_declared_once_whatever_its_case(refusal: Refusal) -> None:
    said = refusal(".decl link(‹src: STRING, «SRC: STRING)", DuplicateNameError)
    assert said.startswith("'link' has two columns 'SRC'")


def test_a_directive_names_a_known_relation(refusal: Refusal) -> None:
    assert "did you mean 'link'?" in refusal(LINK + "«.output lnk", UnknownNameError)


EVENT = Relation("event", (Column("at", TIMESTAMP), Column("day", DATE), Column("what", STRING), Column("n", INT)))


@pytest.mark.parametrize(
    ("relation", "words"),
    [
        (replace(EVENT, key=("wat",)), "the key of 'event' names column 'wat', which it does not have"),
        (replace(EVENT, partition="wat"), "the partition of 'event' names column 'wat'"),
        (replace(EVENT, ttl=TimeToLive(1, "wat")), "the time to live of 'event' names column 'wat'"),
        (replace(EVENT, window=RowWindow(1, ("n", "wat"))), "the window of 'event' names column 'wat'"),
    ],
)
def test_keys_partitions_and_times_to_live_name_columns(relation: Relation, words: str) -> None:
    with pytest.raises(UnknownNameError, match=words) as caught:
        analyze(Program((relation,)))
    assert caught.value.hint == "did you mean 'what'?"


def test_a_key_names_a_column_once() -> None:
    with pytest.raises(DuplicateNameError, match="the key of 'event' names a column twice"):
        analyze(Program((replace(EVENT, key=("n", "n")),)))


def test_a_time_to_live_counts_from_a_time() -> None:
    for column in ("at", "day", None):
        analyze(Program((replace(EVENT, ttl=TimeToLive(1, column)),)))
    with pytest.raises(TypeMismatchError, match="counts from column 'n', which is INT"):
        analyze(Program((replace(EVENT, ttl=TimeToLive(1, "n")),)))


def test_a_window_has_room_and_names_a_column_once() -> None:
    analyze(Program((replace(EVENT, window=RowWindow(1)),)))
    with pytest.raises(DataError, match="the window of 'event' holds 0 rows"):
        analyze(Program((replace(EVENT, window=RowWindow(0)),)))
    with pytest.raises(DuplicateNameError, match="the window of 'event' names a column twice"):
        analyze(Program((replace(EVENT, window=RowWindow(1, ("n", "n"))),)))


@pytest.mark.parametrize("qualifier", ['ttl("1 hour")', "window(3)"])
def test_only_the_rows_of_tables_leave_by_themselves(qualifier: str) -> None:
    analyze(parse_datalog(f".decl a(x: number) {qualifier} a(1)."))
    with pytest.raises(UnsupportedError, match=r"'a' has a (time to live|window) and rules"):
        analyze(parse_datalog(f".decl a(x: number) {qualifier} .decl b(x: number) a(x) :- b(x)."))


def test_the_subquery_of_a_view_goes_by_the_view() -> None:
    program = Program((Relation("cut_off$matched", (Column("n", INT), Column("N", INT))),))
    with pytest.raises(DuplicateNameError, match="a subquery of 'cut_off' has two columns"):
        analyze(program)
