"""One text after the other, each answered or complained about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from whence.cli.answers import print_lines
from whence.cli.reports import rows
from whence.cli.script import relocate, steps
from whence.cli.shell.inputs import SQL_WORDS, Kind, kind_of
from whence.cli.shell.questions import ask
from whence.cli.tables import amount, print_rows
from whence.cli.wording import in_shell
from whence.errors import ParseError, WhenceError, did_you_mean
from whence.model.schema import Column
from whence.model.span import Source
from whence.model.types import DOUBLE, STRING
from whence.model.updates import Commit

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.database import Database

ROWS_SHOWN = 20
NAME = "<shell>"
_READING = ("select", "with", "values")


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
                case Kind.QUESTION:
                    print_lines(self._console, str(ask(self.db, text)))
                case Kind.SQL:
                    self._sql(Source(NAME, text))
                case Kind.DATALOG:
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

    def _sql(self, source: Source) -> None:
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
