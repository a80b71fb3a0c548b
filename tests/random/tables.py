"""Random tables: few columns of every type, few rows, many NULLs and duplicates, so that values meet."""

from __future__ import annotations

import datetime
import decimal
from dataclasses import dataclass
from random import Random

from whence.model.types import Row, Value

# A column's name tells its type, so that USING and NATURAL find partners that can be compared.
NAMES = {
    "INT": ("i", "j", "k"),
    "BIGINT": ("n", "k"),
    "STRING": ("s", "t"),
    "DECIMAL(5,2)": ("d",),
    "DECIMAL(8,3)": ("d", "m"),
    "DOUBLE": ("x",),
    "BOOLEAN": ("b",),
    "DATE": ("e",),
}
TYPES = (
    "INT",
    "INT",
    "INT",
    "STRING",
    "STRING",
    "BIGINT",
    "DECIMAL(5,2)",
    "DECIMAL(8,3)",
    "DOUBLE",
    "BOOLEAN",
    "DATE",
    "DATE",
)
STRINGS = ("", "a", "b", "ab", "aB", "ba", "abc", "A%", "a_c", "é", " a")
# Doubles have few binary digits: sums of them are exact, in any order.
VALUES: dict[str, tuple[Value, ...]] = {
    "INT": (-3, -1, 0, 1, 2, 3, 5),
    "BIGINT": (-2, 0, 1, 2, 3, 7, 10_000_000_000),
    "STRING": STRINGS,
    "DECIMAL(5,2)": tuple(decimal.Decimal(text) for text in ("-1.25", "0.00", "1.00", "1.50", "2.00", "99.99")),
    "DECIMAL(8,3)": tuple(decimal.Decimal(text) for text in ("-1.250", "0.000", "1.000", "1.500", "2.125", "1000.001")),
    "DOUBLE": (-1.5, 0.0, 0.25, 1.0, 1.5, 2.0, 16.0),
    "BOOLEAN": (True, False),
    "DATE": tuple(datetime.date.fromisoformat(day) for day in ("2023-12-31", "2024-01-31", "2024-02-29", "2024-03-01")),
}


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    nullable: bool


@dataclass(frozen=True)
class Table:
    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    rows: tuple[Row, ...]

    def create(self) -> str:
        parts = [f"{c.name} {c.type}{'' if c.nullable else ' NOT NULL'}" for c in self.columns]
        if self.key:
            parts.append(f"PRIMARY KEY ({', '.join(self.key)})")
        return f"CREATE TABLE {self.name} ({', '.join(parts)})"

    def insert(self, rows: tuple[Row, ...]) -> str:
        values = ", ".join(f"({', '.join(literal(v) for v in row)})" for row in rows)
        return f"INSERT INTO {self.name} VALUES {values}"

    def key_of(self, row: Row) -> Row:
        return tuple(value for column, value in zip(self.columns, row, strict=True) if column.name in self.key)


def literal(value: Value) -> str:
    """A value as Spark and DuckDB both read it."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case float():
            return f"CAST({value!r} AS DOUBLE)"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime.date():
            return f"DATE '{value}'"
    return str(value)


def random_tables(rng: Random) -> list[Table]:
    return [random_table(rng, f"t{number}") for number in range(rng.randint(2, 4))]


def random_table(rng: Random, name: str) -> Table:
    columns: list[Column] = []
    for _ in range(rng.randint(1, 4)):
        kind = rng.choice(TYPES)
        free = [n for n in NAMES[kind] if n not in {c.name for c in columns}]
        if free:
            columns.append(Column(rng.choice(free), kind, rng.random() < 0.7))
    key: tuple[str, ...] = ()
    if rng.random() < 0.2:
        key = tuple(c.name for c in columns[: rng.randint(1, 2)])
        columns = [Column(c.name, c.type, c.nullable and c.name not in key) for c in columns]
    table = Table(name, tuple(columns), key, ())
    return Table(name, table.columns, key, random_rows(rng, table, rng.choice((0, 1, 3, 4, 5, 6, 8, 8))))


def random_rows(rng: Random, table: Table, size: int, taken: tuple[Row, ...] = ()) -> tuple[Row, ...]:
    """New rows, some of them copies of others unless a key forbids it."""
    rows: list[Row] = []
    keys = {table.key_of(row) for row in taken}
    for _ in range(size):
        row = tuple(random_value(rng, column) for column in table.columns)
        if not table.key:
            rows.extend([row] * rng.choice((1, 1, 1, 2, 3)))
        elif table.key_of(row) not in keys:
            keys.add(table.key_of(row))
            rows.append(row)
    return tuple(rows[:size])


def random_value(rng: Random, column: Column) -> Value:
    if column.nullable and rng.random() < 0.25:
        return None
    # The first few values of a type come up most, so that joins find something.
    values = VALUES[column.type]
    return rng.choice(values[: rng.choice((4, len(values)))])
