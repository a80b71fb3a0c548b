"""What a command is about: a program or database, and rows as people type them, read by the types of their columns."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING

from whence.cli.output import written
from whence.cli.run import FileError, add_changes_option, is_program, running, working
from whence.errors import DataError, EvaluationError, NextStep, Say, UnknownNameError, did_you_mean
from whence.model.schema import Column, Relation
from whence.model.types import STRING, Value
from whence.model.types.base import castable, converter
from whence.sources.rows import listed

if TYPE_CHECKING:
    from whence.database.database import Database


# What stands for any value in a question, and for NULL in a row; in quotes they are themselves.
ANY = "_"
NULL = "NULL"


def read_question(texts: Sequence[str], relation: Relation) -> tuple[Value, ...]:
    """The row of a question: `_`, or None, is any value."""
    return _read(texts, relation, allow_any=True)


def read_row(texts: Sequence[str], relation: Relation) -> tuple[Value, ...]:
    """A row to be inserted or deleted."""
    return _read(texts, relation, allow_any=False)


def _read(texts: Sequence[str], relation: Relation, *, allow_any: bool) -> tuple[Value, ...]:
    if len(texts) != relation.arity:
        given = " ".join(texts) or "nothing"
        raise DataError(
            f"{relation.name!r} has {listed(relation.column_names)}, and {len(texts)} "
            f"value{' was' if len(texts) == 1 else 's were'} given: {given}",
            hint=f"write one value for each column{', and _ for any value' if allow_any else ', and NULL for none'}",
        )
    return tuple(
        _value(text, column, relation, allow_any=allow_any)
        for text, column in zip(texts, relation.columns, strict=True)
    )


def _value(text: str, column: Column, relation: Relation, *, allow_any: bool) -> Value:
    if text == NULL or (text == ANY and allow_any):
        return None
    if len(text) >= 2 and text[0] == text[-1] == "'":
        text = text[1:-1].replace("''", "'")
    if column.type == STRING:
        return text
    if not castable(STRING, column.type):
        raise DataError(f"column {column.name!r} of {relation.name!r} is {column.type}, which cannot be typed here")
    try:
        return converter(STRING, column.type)(text)
    except EvaluationError as error:
        raise DataError(f"{error.message}, for column {column.name!r} of {relation.name!r}") from None


# Where a database on Spark has its commits.
SPARK_FILES = "commits"
TARGET_HELP = "a .sql or .dl file, or the directory of a database"


def target(text: str) -> Path:
    path = Path(text)
    if not is_program(path) and not path.is_dir():
        raise argparse.ArgumentTypeError(f"a program is a .sql or .dl file, and a database a directory, not {text!r}")
    return path


def add_target(command: argparse.ArgumentParser) -> None:
    command.add_argument("target", metavar="TARGET", type=target, help=TARGET_HELP)
    add_changes_option(command, "a .sql file of statements to run after the program; may be repeated")


@contextmanager
def opened(path: Path, changes: Sequence[Path] = ()) -> Iterator[Database]:
    """A database to be asked. Nothing that happens to it is kept."""
    if is_program(path):
        with running(path, changes) as db:
            yield db
        return
    if changes:
        raise FileError(f"--changes are for a program, and {str(path)!r} is a database", hint="it is only read")
    with snapshot(path) as db:
        yield db


def check_kept_here(directory: Path, hint: str | None = None) -> None:
    """Raises where a directory has the database of a cluster."""
    from whence.storage.sqlite.files import DATABASE_FILE

    if (directory / SPARK_FILES).is_dir() and not (directory / DATABASE_FILE).exists():
        raise FileError(
            f"the database in {directory} is one on Spark",
            hint=hint or f'ask it in a program: whence.connect("{directory}", engine="spark")',
        )


def snapshot(directory: Path) -> Database:
    """A database as its directory has it now, whether or not another process has it open."""
    from whence.database.connect import open_snapshot

    check_kept_here(directory)
    with working(f"reading {directory}"):
        return open_snapshot(directory)


def relation_of(db: Database, name: str) -> Relation:
    """The table or view of that name; letter case does not matter."""
    relations = db.catalog().relations
    found = db.catalog().find(name)
    if found is None:
        raise UnknownNameError(
            f"there is no relation {name!r}",
            hint=did_you_mean(name, relations) or f"there is {', '.join(sorted(relations)) or 'none yet'}",
        )
    return found


def on_terminal(target: Path | None, changes: Sequence[Path] = ()) -> Say:
    """Commands about a target, with the changes that were run after it."""
    place = "TARGET" if target is None else shlex.quote(str(target))
    changed = "".join(f" --changes {shlex.quote(str(file))}" for file in changes)

    def say(way: NextStep) -> str | None:
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


def in_shell(way: NextStep) -> str | None:
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


def _in_a_program(way: NextStep) -> str | None:
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
