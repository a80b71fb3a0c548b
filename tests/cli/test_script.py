"""Change scripts: where statements end, and where errors in them are."""

from __future__ import annotations

import pytest

from whence.cli.run import ScriptStep, relocate, steps
from whence.errors import ParseError
from whence.model.span import SourceText, Span


def split(text: str) -> list[ScriptStep]:
    return [*steps(SourceText("day.sql", text))]


def statements(text: str) -> list[str]:
    return [step.statement for step in split(text)]


@pytest.mark.parametrize("text", ["", "  \n", ";", ";;", "-- only words", "/* a; b */ ;"])
def test_nothing_to_do(text: str) -> None:
    assert split(text) == []


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM t WHERE x = 'a;b'",
        "DELETE FROM t WHERE x = 'it''s;'",
        r"DELETE FROM t WHERE x = 'it\'s;'",
        'DELETE FROM t WHERE x = "a;b"',
        "DELETE FROM `a;b`",
        "DELETE FROM t -- all; of it\nWHERE true",
        "DELETE FROM t /* all; of it */ WHERE true",
        "DELETE FROM t WHERE x = '-- no comment'",
    ],
)
def test_a_semicolon_inside_does_not_end_a_statement(statement: str) -> None:
    assert statements(f"{statement};\nSELECT 1;") == [statement, "SELECT 1"]


def test_words_are_the_comments_before_a_statement() -> None:
    text = "-- One cable\n-- breaks.\nDELETE FROM t; -- after\n/* Then\n   it rains. */\nINSERT INTO t VALUES (1)"
    assert [(step.words, step.statement) for step in split(text)] == [
        ("One cable breaks.", "DELETE FROM t"),
        ("after Then it rains.", "INSERT INTO t VALUES (1)"),
    ]


def test_an_unfinished_string_is_left_to_the_parser() -> None:
    assert statements("DELETE FROM t WHERE x = 'a; b") == ["DELETE FROM t WHERE x = 'a", "b"]


def test_an_error_points_into_the_script() -> None:
    script = SourceText("day.sql", "DELETE FROM t;\nDELETE FRUM t;")
    step = [*steps(script)][1]
    own = SourceText("day.sql", step.statement)
    elsewhere = Span(SourceText("other.sql", "CREATE TABLE t"), 0, 6)
    error = ParseError("no", span=Span(own, 7, 11), related=[("here", Span(own, 0, 6)), ("there", elsewhere)])
    relocate(error, step, script)
    assert error.span is not None
    assert (error.span.text, error.span.line, error.span.column) == ("FRUM", 2, 8)
    assert [span.text for _, span in error.related if span is not None] == ["DELETE", "CREATE"]
    assert error.related[1][1] is elsewhere
