"""How these tests point at places: `«` marks where an error must point, `‹` where one of its notes must."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from whence.analysis.analyze import analyze
from whence.errors import WhenceError
from whence.lang.datalog.parse import parse_datalog

Refusal: TypeAlias = Callable[[str, type[WhenceError]], str]


@pytest.fixture
def refusal() -> Refusal:
    """Analyze a marked text, expect an error at its marks, and return all of what it says."""
    return refuse


def refuse(marked: str, kind: type[WhenceError]) -> str:
    with pytest.raises(kind) as caught:
        analyze(parse_datalog(marked.replace("«", "").replace("‹", "")))
    error = caught.value
    assert type(error) is kind
    assert error.span is not None
    assert (error.span.line, error.span.column) == place(marked.replace("‹", ""), "«")
    if "‹" in marked:
        noted = [(span.line, span.column) for _, span in error.related if span is not None]
        assert place(marked.replace("«", ""), "‹") in noted
    return str(error)


def place(text: str, mark: str) -> tuple[int, int]:
    """The line and column of a mark, counted from 1."""
    before = text[: text.index(mark)]
    return before.count("\n") + 1, len(before) - before.rfind("\n")
