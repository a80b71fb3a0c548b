"""`whence shell`: SQL, Datalog and questions, one text after the other, each answered or complained about."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from whence.cli.output import amount, print_lines, print_rows
from whence.cli.reports import rows
from whence.cli.run import Commands, add_command, is_program, relocate, running, steps
from whence.cli.shell_questions import ask
from whence.cli.targets import check_kept_here, in_shell
from whence.errors import ParseError, UnsupportedError, WhenceError, did_you_mean
from whence.model.schema import Column
from whence.model.span import SourceText
from whence.model.types import DOUBLE, STRING
from whence.model.updates import Commit

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.database.database import Database


SQL_WORDS = frozenset(
    (
        "select",
        "with",
        "values",
        "create",
        "drop",
        "insert",
        "delete",
        "update",
        "alter",
        "refresh",
        "show",
        "describe",
        "desc",
    )
)
DIRECTIVES = frozenset((".decl", ".input", ".output", ".type", ".printsize"))

_FIRST = re.compile(r"\s*(\.?\w*)")
# What neither `;` nor `.` ends: comments, strings, quoted names. A number keeps its point.
_TOKEN = re.compile(
    r"""(?P<comment> --[^\n]* | //[^\n]* | /\*.*?\*/ )
      | (?P<open> /\*.* )
      | (?P<text> '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `[^`]*` | \d+\.\d+ )
      | (?P<unclosed> ['"`].* )
      | (?P<other> \S )""",
    re.VERBOSE | re.DOTALL,
)


class InputKind(Enum):
    NOTHING = "nothing"
    QUESTION = "question"
    SQL = "sql"
    DATALOG = "datalog"


def kind_of(text: str) -> InputKind:
    """What a text is, by its first word.

    >>> [kind_of(text).value for text in (" ", ".why p a", "SELECT 1;", "p(x) :- q(x).", ".decl p(x: symbol)")]
    ['nothing', 'question', 'sql', 'datalog', 'datalog']
    """
    if not any(token["comment"] is None for token in _TOKEN.finditer(text)):
        return InputKind.NOTHING
    bare = text[next(token.start() for token in _TOKEN.finditer(text) if token["comment"] is None) :]
    found = _FIRST.match(bare)
    word = "" if found is None else found[1].lower()
    if word.startswith("."):
        return InputKind.DATALOG if word in DIRECTIVES else InputKind.QUESTION
    return InputKind.SQL if word in SQL_WORDS else InputKind.DATALOG


def is_complete(text: str) -> bool:
    r"""Whether a text can be run as it is: a question is one line, SQL ends in `;`, and facts in `.`.

    After rules comes an empty line, since a view gets all its rules at once.

    >>> [is_complete(text) for text in ("SELECT 1", "SELECT ';'", "SELECT 1;", "p(1.5).", "x", ".help")]
    [False, False, True, True, False, True]
    >>> [is_complete(text) for text in ("p(x) :-", "p(x) :- q(x).", "p(x) :- q(x).\n", "SELEC 1;", "p(x) :- q(x);")]
    [False, False, True, True, False]
    """
    kind = kind_of(text)
    if kind in (InputKind.NOTHING, InputKind.QUESTION):
        return True
    last = None
    for token in _TOKEN.finditer(text):
        if token["open"] or token["unclosed"]:
            return False
        if not token["comment"]:
            last = token[0]
    if kind is InputKind.DATALOG and text.lstrip().startswith("."):
        # A directive ends with its line, unless a parenthesis is open.
        return text.count("(") == text.count(")")
    if kind is InputKind.SQL:
        return last == ";"
    if ":-" not in text:
        # Facts, or a statement that begins with a word that SQL does not know.
        return last in (".", ";")
    return last == "." and text.rstrip(" \t").endswith("\n")


def pieces(lines: Iterable[str]) -> Iterator[str]:
    """Lines as texts that are complete; at the end, what is left. Datalog that stands together stays together."""
    text = program = ""
    for line in lines:
        text += line
        if is_complete(text):
            match kind_of(text):
                case InputKind.DATALOG:
                    program += text
                case InputKind.QUESTION | InputKind.SQL:
                    if program:
                        yield program
                    yield text
                    program = ""
            text = ""
    if program:
        yield program
    if kind_of(text) is not InputKind.NOTHING:
        yield text


ROWS_SHOWN = 20
NAME = "<shell>"
_READING = ("select", "with", "values", "show", "describe", "desc")


class Shell:
    """A database, and a place to write to."""

    def __init__(self, db: Database, console: Console, errors: Console) -> None:
        self.db = db
        self.failed = False
        self._console = console
        self._errors = errors

    def run(self, text: str) -> None:
        try:
            match kind_of(text):
                case InputKind.QUESTION:
                    print_lines(self._console, str(ask(self.db, text)))
                case InputKind.SQL:
                    self._sql(SourceText(NAME, text))
                case InputKind.DATALOG:
                    self._datalog(text)
        except WhenceError as error:
            self.complain(error)

    def complain(self, error: WhenceError) -> None:
        self.failed = True
        first, _, rest = error.told(in_shell).partition("\n")
        self._errors.print(Text(first, style="bold red"), soft_wrap=True)
        if rest:
            self._errors.print(Text(rest), soft_wrap=True)

    def _datalog(self, text: str) -> None:
        try:
            self._say(self.db.rules(text, name=NAME))
        except ParseError as error:
            # What is no SQL is taken for Datalog, and may have been meant to be SQL.
            meant = did_you_mean(text.split(maxsplit=1)[0], SQL_WORDS)
            if error.hint is not None or meant is None:
                raise
            raise ParseError(error.message, span=error.span, hint=meant) from None

    def _sql(self, source: SourceText) -> None:
        for step in steps(source):
            try:
                if step.statement.split(None, 1)[0].lower() in _READING:
                    self._table(self.db.query(step.statement))
                else:
                    self._say(self.db.execute(step.statement, name=source.name))
            except WhenceError as error:
                relocate(error, step, source)
                raise

    def _say(self, commit: Commit | None) -> None:
        if commit is None:
            print_lines(self._console, "nothing changed")
            return
        changed = {*commit.inserted, *commit.deleted}
        names = [name for name in self.db.catalog().relations if name in changed]
        parts = [
            f"{name}{f' +{commit.inserted[name]:,}' if name in commit.inserted else ''}"
            f"{f' -{commit.deleted[name]:,}' if name in commit.deleted else ''}"
            for name in names
        ]
        print_lines(self._console, f"version {commit.version}: {', '.join(parts) or 'no row changed'}")

    def _table(self, table: pa.Table) -> None:
        columns = [Column(field.name, DOUBLE if _is_number(field.type) else STRING) for field in table.schema]
        print_lines(self._console, amount(table.num_rows, "row"))
        if table.num_rows:
            print_rows(self._console, columns, [*rows(table.slice(0, ROWS_SHOWN))])
        if table.num_rows > ROWS_SHOWN:
            print_lines(self._console, f"... the first {ROWS_SHOWN}")


def _is_number(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


EXAMPLES = """\
examples:
  whence shell                       a database in memory
  whence shell network.sql           with what the program defines
  whence shell state/                the database of a directory, to be changed, too
  echo '.why reachable a c' | whence shell network.sql
"""
LEAVE = (".quit", ".exit")


class Failed(SystemExit):
    """Some of what was piped in did not run."""


def add_shell(commands: Commands) -> None:
    shell = add_command(
        commands,
        "shell",
        "type SQL, Datalog and questions",
        "Run what is typed or piped in: SQL, Datalog, and questions such as `.why reachable a c`.",
        EXAMPLES,
    )
    shell.add_argument(
        "target",
        metavar="TARGET",
        type=Path,
        nargs="?",
        help="a .sql or .dl file, or the directory of a database, which is made if there is none",
    )
    shell.set_defaults(command=run_shell)


def run_shell(options: argparse.Namespace) -> None:
    with _database(options.target) as db:
        console = Console(highlight=False, emoji=False, markup=False)
        shell = Shell(db, console, Console(stderr=True, highlight=False, emoji=False, markup=False))
        if sys.stdin.isatty():
            console.print("Type .help for help, and .quit to leave.")
            run_all(shell, _typed(db))
        else:
            run_all(shell, pieces(sys.stdin))
            if shell.failed:
                raise Failed(1)


def run_all(shell: Shell, texts: Iterable[str]) -> None:
    for text in texts:
        if text.strip().lower() in LEAVE:
            return
        if kind_of(text) is not InputKind.NOTHING:
            shell.run(text)


def _typed(db: Database) -> Iterator[str]:
    try:
        from whence.cli.shell_prompt import prompted
    except ImportError as error:
        if not (error.name or "").startswith("prompt_toolkit"):
            raise
        raise UnsupportedError(
            "the shell needs prompt_toolkit to read from a terminal",
            hint="pip install 'whence[shell]'; what is piped in runs without",
        ) from None
    return prompted(db)


@contextmanager
def _database(path: Path | None) -> Iterator[Database]:
    from whence.database.connect import connect

    if path is None:
        with connect() as db:
            yield db
    elif is_program(path):
        with running(path) as db:
            yield db
    else:
        check_kept_here(path)
        is_new = not path.exists()
        with connect(path) as db:
            if is_new:
                sys.stderr.write(f"note: there was no database in {path}; this is a new one\n")
            yield db
