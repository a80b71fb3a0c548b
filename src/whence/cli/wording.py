"""Ways to go on, in the words of the command line and of its shell."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from types import EllipsisType

from whence.cli.arguments import ANY, NULL
from whence.cli.values import written
from whence.errors import Say, Way


def on_terminal(target: Path | None, changes: Sequence[Path] = ()) -> Say:
    """Commands about a target, with the changes that were run after it."""
    place = "TARGET" if target is None else shlex.quote(str(target))
    changed = "".join(f" --changes {shlex.quote(str(file))}" for file in changes)

    def say(way: Way) -> str | None:
        match way.name, way.about:
            case ("why" | "why_not") as question, (str() as relation, tuple() as row):
                values = [shlex.quote(_typed(value)) for value in row]
                return f"`whence {question.replace('_', '-')} {place} {' '.join((relation, *values))}{changed}`"
            case "what_if", _:
                return f"`whence what-if {place} --delete TABLE VALUE ...{changed}`"
            case "since", (int() as version,):
                return f"with --since {version}"
            case "query", _:
                return "`whence shell`"
            case "rules", _:
                return "a .dl file"
            case "connect", (Path() as directory,):
                return f"`whence shell {shlex.quote(str(directory))}`"
        return _in_a_program(way)

    return say


def in_shell(way: Way) -> str | None:
    match way.name, way.about:
        case "why", (str() as relation, tuple() as row):
            return f"`.why {' '.join((relation, *map(_in_quotes, row)))}`"
        case "why_not", (str() as relation, tuple() as row):
            return f"`.whynot {' '.join((relation, *map(_in_quotes, row)))}`"
        case "what_if", _:
            return "`.whatif delete TABLE VALUE ...`"
        case "since", (int() as version,):
            return f"since version {version}"
        case "query", _:
            return "SELECT"
    return _in_a_program(way)


def _in_a_program(way: Way) -> str | None:
    # An option of a call says nothing to those who make no calls.
    return None if way.name == "option" else f"{way.python} in a Python program"


def _in_quotes(value: object) -> str:
    """As the shell takes a value: quotes hold blanks together."""
    text = _typed(value)
    return f"'{text}'" if any(map(str.isspace, text)) and not text.startswith("'") else text


def _typed(value: object) -> str:
    """A value as it is typed in a question."""
    match value:
        case EllipsisType():
            return ANY
        case str() if value in (ANY, NULL, "") or value[0] == value[-1] == "'":
            return "'" + value.replace("'", "''") + "'"
    return written(value)
