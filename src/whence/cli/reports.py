"""What `whence run` prints, in each of its formats."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console

from whence.cli.output import amount, plain, print_changes, print_rows, print_text, written
from whence.model.schema import Relation
from whence.model.span import SourceText
from whence.model.types import Row
from whence.session.contents import row_order

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.cli.run import ScriptStep
    from whence.database.database import Database

# The rows of an update come as two changes, like everything else.
SIGNS = {"delete": "-", "update_preimage": "-", "update_postimage": "+", "insert": "+"}


class Report:
    """What is told while a program and its changes run; nothing, unless a format has something to say."""

    def program(self, source: SourceText, db: Database) -> None:
        """The program has run."""

    def contents(self, db: Database, shown: Sequence[Relation]) -> None:
        """The rows that are there now."""

    def step(self, step: ScriptStep) -> None:
        """A statement that changes something is about to run."""

    def changes(self, db: Database, shown: Sequence[Relation], since: int) -> None:
        """What it has changed."""


class TextReport(Report):
    """For people: words, aligned tables, and the first rows of what is long."""

    def __init__(self, console: Console, *, rows: int | None, echo: bool) -> None:
        self._console = console
        self._rows = rows
        self._echo = echo
        self._steps = 0

    def program(self, source: SourceText, db: Database) -> None:
        if self._echo:
            self._say(f"The program, {source.name}:\n")
            print_text(self._console, source.text.strip())
            self._say("")
        catalog = db.catalog()
        tables = [name for name in catalog.relations if name not in catalog.views]
        if tables:
            sizes = ", ".join(f"{name} has {amount(db.table(name).num_rows, 'row')}" for name in tables)
            self._say(f"Tables: {sizes}.")

    def contents(self, db: Database, shown: Sequence[Relation]) -> None:
        for relation in shown:
            table = db.table(relation.name)
            self._say(f"\n{relation.name}: {amount(table.num_rows, 'row')}{self._cut(table.num_rows)}")
            if table.num_rows:
                print_rows(self._console, relation.columns, [*rows(table.slice(0, self._rows))])

    def step(self, step: ScriptStep) -> None:
        self._steps += 1
        self._say(f"\nChange {self._steps}{'. ' + step.words if step.words else ''}\n")
        print_text(self._console, step.statement)

    def changes(self, db: Database, shown: Sequence[Relation], since: int) -> None:
        unchanged = []
        for relation in shown:
            changes = signed(db.changes(relation.name, since), relation)
            if changes:
                self._say(f"\n{relation.name}: {_balance(changes)}{self._cut(len(changes))}")
                print_changes(self._console, relation.columns, changes[: self._rows])
            else:
                unchanged.append(relation.name)
        if unchanged:
            self._say(f"\nUnchanged: {', '.join(unchanged)}.")

    def _cut(self, size: int) -> str:
        return "" if self._rows is None or size <= self._rows else f", the first {self._rows:,} shown"

    def _say(self, words: str) -> None:
        self._console.print(words, soft_wrap=True)


def _balance(changes: Sequence[tuple[str, Row]]) -> str:
    """`2 rows left`, `1 row left, 1 row came`."""
    left = sum(sign == "-" for sign, _ in changes)
    came = len(changes) - left
    return ", ".join(f"{amount(number, 'row')} {verb}" for number, verb in ((left, "left"), (came, "came")) if number)


class RecordReport(Report):
    """For programs: every row, and nothing else; once there are changes, the change feed."""

    def contents(self, db: Database, shown: Sequence[Relation]) -> None:
        for relation in shown:
            self.write(relation, db.table(relation.name))

    def changes(self, db: Database, shown: Sequence[Relation], since: int) -> None:
        for relation in shown:
            self.write(relation, db.changes(relation.name, since))

    def write(self, relation: Relation, table: pa.Table, /) -> None:
        raise NotImplementedError


class CsvReport(RecordReport):
    """Rows under a header. An empty field is NULL."""

    def __init__(self, out: TextIO) -> None:
        self._csv = csv.writer(out, lineterminator="\n")
        self._has_header = False

    def write(self, _: Relation, table: pa.Table, /) -> None:
        if not self._has_header:
            self._csv.writerow(table.column_names)
            self._has_header = True
        for row in rows(table):
            self._csv.writerow(["" if value is None else written(value) for value in row])


class JsonReport(RecordReport):
    """An object a line: the relation's name, the row, and for a change its kind, version and time."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, relation: Relation, table: pa.Table, /) -> None:
        for row in rows(table):
            fields = dict(zip(table.column_names, map(plain, row), strict=True))
            values = {name: fields.pop(name) for name in relation.column_names}
            line = json.dumps({"relation": relation.name, **fields, "row": values}, ensure_ascii=False)
            self._out.write(line + "\n")


def rows(table: pa.Table) -> Iterator[Row]:
    columns = [map(_hashable, column.to_pylist()) for column in table.columns]
    return zip(*columns, strict=True) if columns else iter([()] * table.num_rows)


def _hashable(value: object) -> Any:
    """A value as rows hold it: Arrow's lists are their tuples."""
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def signed(changes: pa.Table, relation: Relation) -> list[tuple[str, Row]]:
    """Rows with - or +, those that left first.

    A view's last column is most often what it computes for the others: where rows left and came that agree in all but
    that, they stand together.
    """
    signs = changes.column("_change_type").to_pylist()
    found = [(SIGNS[sign], row) for sign, row in zip(signs, rows(changes.select(relation.column_names)), strict=True)]
    leading = relation.arity - 1
    left, came = ({row[:leading] for sign, row in found if sign == wanted} for wanted in "-+")
    together = leading if left & came else 0
    order = row_order(relation)

    def place(change: tuple[str, Row]) -> tuple[Any, ...]:
        sign, row = change
        columns = order(row)
        return columns[:together], sign == "+", columns

    return sorted(found, key=place)
