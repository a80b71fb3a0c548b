"""Golden files: the statements of a test, with the schema and the rows that Spark gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_QUERY = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/|\()*(SELECT|WITH|VALUES|FROM|TABLE)\b", re.IGNORECASE | re.DOTALL)


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
    """The types in `struct<name:type,...>`, as written there. A name may hold anything, and the type is what follows
    its last colon outside of brackets.
    """
    inner, parts, depth, start = schema.removeprefix("struct<").removesuffix(">"), [], 0, 0
    for place, sign in enumerate(inner):
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and depth == 0:
            parts.append(inner[start:place])
            start = place + 1
    return [_type(part) for part in [*parts, inner[start:]]]


def _type(part: str) -> str:
    found = re.search(r":((?:array|map|struct)<.*>|[a-z_]+(?:\([\d, ]*\))?(?: [a-z ]+)?)$", part)
    return found[1] if found else part
