"""Golden files: the statements of a test, with the schema and the rows that Spark gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_QUERY = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/|\()*(SELECT|WITH|VALUES|FROM|TABLE)\b", re.IGNORECASE | re.DOTALL)

_SIMPLE = re.compile(
    r"(?:tinyint|smallint|int|bigint|float|double|boolean|string|binary|date|void|variant|interval|user-defined type"
    r"|timestamp(?:_ntz|_ltz)?|time|decimal|char|varchar|geometry|geography)(?:\([\w, :]*\))?(?: collate \w+)?"
    r"|interval (?:year|month|day|hour|minute|second)(?: to (?:month|hour|minute|second))?",
    re.IGNORECASE,
)
_NESTED = re.compile(r"(?:array|map|struct)<")


@dataclass(frozen=True)
class Block:
    """One statement of a golden file: its text, the schema of its rows, or None, and its output."""

    text: str
    schema: str | None
    output: str

    @property
    def is_query(self) -> bool:
        return _QUERY.match(self.text) is not None

    @property
    def is_error(self) -> bool:
        return self.schema is None and bool(self.output.strip())


def blocks(path: Path) -> Iterator[Block]:
    for part in path.read_text().split("-- !query\n")[1:]:
        text, _, rest = part.partition("\n-- !query schema\n")
        schema, _, output = rest.partition("\n-- !query output\n")
        yield Block(text, None if schema.strip() in ("", "struct<>") else schema.strip(), output.rstrip("\n"))


def settings(source: Path) -> list[tuple[str, str]]:
    """What the input file sets for all of its statements."""
    lines = source.read_text().splitlines() if source.exists() else []
    given = [line.removeprefix("--SET").strip() for line in lines if line.startswith("--SET")]
    pairs = [each.split("=", 1) for line in given for each in line.split(",") if "=" in each]
    return [(name.strip(), value.strip()) for name, value in pairs]


def column_types(schema: str) -> list[str]:
    """The types in `struct<name:type,...>`, as written there. A name may hold anything, brackets and commas included:
    a column ends at a comma, or at the end, where a type is complete.
    """
    found: list[str] = []
    part = ""
    for piece in schema.removeprefix("struct<").removesuffix(">").split(","):
        part = f"{part},{piece}" if part else piece
        kind = _type(part)
        if kind is not None:
            found.append(kind)
            part = ""
    return found if not part else [*found, part]


def _type(part: str) -> str | None:
    """The type that a column ends with, if it is a whole one."""
    for end in (part[place + 1 :] for place, sign in enumerate(part) if sign == ":"):
        if _NESTED.match(end):
            return end if end.endswith(">") and end.count("<") == end.count(">") else None
        if _SIMPLE.fullmatch(end):
            return end
    return None
