"""Every SQL and Datalog text in the tests, the examples and the documentation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Literal

ROOT = Path(__file__).parents[3]
# Longer ones are generated, and slow to read.
LONGEST = 2_500
# Multiplied by it, numbers that differ in any bit differ in the high ones.
_ODD = 0x9E3779B97F4A7C15
_SQL = re.compile(r"\s*(?:--[^\n]*\n\s*)*(create|select|insert|with|delete|drop|values)\b", re.IGNORECASE)
_DATALOG = re.compile(r":-|^\s*\.(decl|type|input)\b|^\s*\w+\(.*\)\.\s*$", re.MULTILINE)
_QUERY = re.compile(r"\s*(?:--[^\n]*\n\s*)*(select|with|values)\b", re.IGNORECASE)
_TABLE = re.compile(r"create\s+table\s+(\w+)\s*\([^;]*?\)(?=\s*(?:;|$))", re.IGNORECASE)
_DECLARATION = re.compile(r"^\s*\.decl\s+(\w+)\([^)\n]*\)[^\n]*$", re.MULTILINE)
_MADE = re.compile(r"(?:table|view|exists|decl)\s+(\w+)|(\w+)\([^)]*\)\s*:-", re.IGNORECASE)
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Text:
    """A program, and the CREATE TABLE statements of its neighbours for the tables that it only reads."""

    language: Literal["sql", "datalog"]
    text: str
    tables: str = ""

    @cached_property
    def number(self) -> int:
        return int.from_bytes(sha256(self.text.encode(errors="surrogatepass")).digest()[:8])


def drawn(among: Sequence[Text], random: Random) -> Text:
    """Any of them, each as likely. One more among them is drawn now and then, and leaves all other draws as they were.

    Otherwise every new text in the repository would bring other mutants of all texts.
    """
    salt = random.getrandbits(64)
    return min(among, key=lambda text: (text.number ^ salt) * _ODD % 2**64)


@cache
def all_texts() -> list[Text]:
    """Each text once. A query on its own becomes a view, and what no neighbour declares is as others declare it."""
    by_file = [[piece for piece in _pieces(path) if _is_program(piece)] for path in _files()]
    everywhere = _declared([piece for pieces in by_file for piece in pieces])
    found: dict[Text, None] = {}
    for pieces in by_file:
        tables = everywhere | _declared(pieces)
        for piece in pieces:
            is_sql = _SQL.match(piece) is not None
            text = f"CREATE VIEW q AS {piece}" if _QUERY.match(piece) else piece
            needed = _needed(text, {name: text for name, text in tables.items() if name[0] == is_sql})
            found[Text("sql", text, ";\n".join(needed)) if is_sql else Text("datalog", text, "\n".join(needed))] = None
    return list(found)


def _is_program(piece: str) -> bool:
    # Braces around a word are for str.format.
    found = _SQL.match(piece) or _DATALOG.search(piece)
    return found is not None and len(piece) <= LONGEST and re.search(r"\{\w*\}", piece) is None


def _files() -> list[Path]:
    roots = [ROOT / folder for folder in ("tests", "examples", "docs")]
    endings = (".py", ".md", ".sql", ".dl")
    return sorted([*ROOT.glob("*.md"), *(path for root in roots for path in root.rglob("*") if path.suffix in endings)])


def _pieces(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".sql", ".dl"):
        yield text
    elif path.suffix == ".py":
        yield from _strings(text)
    else:
        for block in _BLOCK.finditer(text):
            if block[1] == "python" and not block[2].startswith(">>>"):
                yield from _strings(block[2])
            elif block[1] in ("sql", "datalog", "prolog"):
                yield block[2]


def _strings(code: str) -> Iterator[str]:
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return
    pieces = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in pieces:
            yield node.value


def _declared(texts: list[str]) -> dict[tuple[bool, str], str]:
    """The declarations of tables by the language, SQL or not, and the name."""
    found: dict[tuple[bool, str], str] = {}
    for text in texts:
        is_sql = _SQL.match(text) is not None
        for declaration in (_TABLE if is_sql else _DECLARATION).finditer(text):
            found.setdefault((is_sql, declaration[1].lower()), declaration[0])
    return found


def _needed(text: str, tables: dict[tuple[bool, str], str]) -> list[str]:
    words = set(re.findall(r"\w+", text.lower()))
    made = {name.lower() for pair in _MADE.findall(text) for name in pair}
    return [declaration for (_, name), declaration in tables.items() if name in words and name not in made]
