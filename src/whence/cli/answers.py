"""Answers on a terminal: coloured line by line, plain when piped, or as one JSON object."""

from __future__ import annotations

import json
import sys
from typing import Protocol

from rich.console import Console
from rich.text import Text

# By how a line begins, without the lines of a tree before it.
_STYLES = {
    "+ ": "green",
    "- ": "red",
    "missing: ": "yellow",
    "blocked by: ": "red",
    "is false: ": "red",
    "gives: ": "yellow",
    "holds: ": "green",
    "by ": "cyan",
    "of ": "cyan",
    "at ": "dim",
    "or ": "green",
}
_TREE = " │├└─"


class Answer(Protocol):
    def json(self) -> dict[str, object]: ...


def show(answer: Answer, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(answer.json(), ensure_ascii=False) + "\n")
    else:
        print_lines(Console(highlight=False, emoji=False, markup=False), str(answer))


def print_lines(console: Console, text: str) -> None:
    for line in text.splitlines():
        begin = line.lstrip(_TREE)
        style = next((style for start, style in _STYLES.items() if begin.startswith(start)), "")
        # Never wrapped or cut: a terminal or a pager does that better, and a pipe does not want it.
        console.print(Text(line, style=style), soft_wrap=True)
